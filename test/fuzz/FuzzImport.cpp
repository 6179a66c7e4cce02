// libFuzzer target of the ONNX importer: any bytes are a model in memory. It must answer with a verified module or with
// diagnostics, within limits low enough that a run stays fast; external data have no folder and are refused.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "weft/Import/Onnx/Diagnostics.h"
#include "weft/Import/Onnx/Import.h"

#include <cstdlib>

using namespace weft::onnx;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  // The importer's own messages go to `diagnostics`; what MLIR says besides would only slow the runs down.
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
  ImportOptions options;
  options.limits.maxNodes = 1000;
  options.limits.maxExpandedNodes = 2000;
  options.limits.maxTripCount = 64;
  Diagnostics diagnostics;
  MappedBytes file;
  file.bytes = llvm::ArrayRef(reinterpret_cast<const char *>(data), size);
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(std::move(file), options, context, diagnostics);
  if (!module && (diagnostics.empty() || diagnostics.exitCode() == static_cast<int>(ErrorClass::Internal)))
    abort();
  return 0;
}
