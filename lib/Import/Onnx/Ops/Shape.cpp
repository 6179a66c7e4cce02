// Shape and glue: constants, shape queries, reshaping, slicing, joining, repeating.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Import/Onnx/Handler.h"

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::failure;
using mlir::FailureOr;
using mlir::Value;

static llvm::LogicalResult importIdentity(NodeContext &ctx) {
  Value x = ctx.required(0);
  ctx.output(0, x);
  return mlir::success(static_cast<bool>(x));
}

namespace weft::onnx {

llvm::ArrayRef<OpEntry> getShapeOps() {
  static const OpEntry ops[] = {
      {"", "Identity", 1, newestOpset, importIdentity, ""},
  };
  return ops;
}

} // namespace weft::onnx
