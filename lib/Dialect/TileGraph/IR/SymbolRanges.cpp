// What SymbolRanges.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::tg {

SmallVector<SymbolRange> getSymbolRanges(Operation *module) {
  SmallVector<SymbolRange> ranges(getSymbolNames(module).size());
  auto array = module->getAttrOfType<ArrayAttr>(symbolRangesAttr);
  if (!array)
    return ranges;
  for (auto [range, attribute] : llvm::zip(ranges, array))
    if (auto values = dyn_cast<DenseI64ArrayAttr>(attribute); values && (values.size() == 2 || values.size() == 3)) {
      range.low = std::max<int64_t>(values[0], 0);
      range.high = std::max(values[1], range.low);
      if (values.size() == 3)
        range.likely = std::clamp(values[2], range.low, range.high);
    }
  return ranges;
}

void setSymbolRanges(Operation *module, ArrayRef<SymbolRange> ranges) {
  if (llvm::none_of(ranges, [](const SymbolRange &range) { return range.isKnown(); })) {
    module->removeAttr(symbolRangesAttr);
    return;
  }
  Builder builder(module->getContext());
  SmallVector<Attribute> list;
  for (const SymbolRange &range : ranges) {
    SmallVector<int64_t> values{range.low, range.high};
    if (range.likely)
      values.push_back(*range.likely);
    list.push_back(builder.getDenseI64ArrayAttr(values));
  }
  module->setAttr(symbolRangesAttr, builder.getArrayAttr(list));
}

static thread_local ArrayRef<int64_t> likelyExtents;

LikelyExtents::LikelyExtents(Operation *op) : before(likelyExtents) {
  Operation *module = isa<ModuleOp>(op) ? op : op->getParentOfType<ModuleOp>().getOperation();
  auto values = module ? module->getAttrOfType<DenseI64ArrayAttr>(likelyAttr) : DenseI64ArrayAttr();
  likelyExtents = values ? values.asArrayRef() : ArrayRef<int64_t>(); // The context owns an attribute's numbers.
}

LikelyExtents::~LikelyExtents() { likelyExtents = before; }

ArrayRef<int64_t> LikelyExtents::get() { return likelyExtents; }

bool LikelyExtents::has(AffineExpr extent) {
  return !extent
              .walk([](AffineExpr e) {
                auto symbol = dyn_cast<AffineSymbolExpr>(e);
                bool isKnown =
                    !symbol || (symbol.getPosition() < likelyExtents.size() && likelyExtents[symbol.getPosition()] > 0);
                return isKnown ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

} // namespace weft::tg
