// What ProductRows.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProductRows.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/ReadTime.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <numeric>

using namespace mlir;

namespace weft::plan {

int64_t findRowAlignment(Value tensor) {
  constexpr int64_t line = 128;
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t bytes = std::max<int64_t>(tg::getElementBits(type.getElementType()) / 8, 1);
  tg::Dims dims = tg::getDims(type);
  for (AffineExpr extent : llvm::reverse(dims)) {
    std::optional<int64_t> row = tg::getConstant(extent);
    if (row == 1)
      continue;
    return row ? std::gcd(*row * bytes, line) : bytes; // What holds for every value of a symbol.
  }
  return line; // One element.
}

double countEpilogue(func::FuncOp kernel) {
  llvm::SmallPtrSet<Operation *, 16> behind;
  double instructions = 0;
  for (Operation &op : kernel.getBody().front()) {
    auto contract = dyn_cast<tg::ContractOp>(op);
    bool isBehind = llvm::any_of(op.getOperands(), [&](Value v) { return behind.contains(v.getDefiningOp()); });
    if (!isBehind && !(contract && !tg::isInner(contract)))
      continue;
    behind.insert(&op);
    if (!contract)
      instructions += countInstructions(op);
  }
  return instructions;
}

} // namespace weft::plan
