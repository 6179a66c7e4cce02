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

StreamedRows streamRows(int64_t rows, int64_t depth, int64_t vector, int64_t matrices, const Device &device) {
  constexpr int64_t wholeVectors = 16, steppedVectors = 8, ctasOfSm = 4;
  int64_t whole =
      streamingThreads * wholeVectors * vector / int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(matrices, 1)));
  StreamedRows streamed;
  streamed.step = fitPower(depth, whole / 4, streamingThreads);
  streamed.isWhole = streamed.step >= depth;
  streamed.columns = (streamed.isWhole ? whole : whole * steppedVectors / wholeVectors) / streamed.step;
  while (streamed.columns > 1 && int64_t(llvm::divideCeil(rows, streamed.columns)) < ctasOfSm * int64_t(device.sms))
    streamed.columns /= 2;
  return streamed;
}

} // namespace weft::plan
