// Verifiers of the ops that Schedule adds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::tk;

LogicalResult SlotOp::verify() {
  SharedType from = getBuffer().getType(), to = getResult().getType();
  int64_t count = countSlots();
  if (to.getSlots() != 1 || to.getElementType() != from.getElementType() || count == 0 ||
      to.getLayout() != joinSlots(from.getLayout(), from.getShape(), to.getShape()))
    return emitOpError("expected one slot of ") << from << ", or several along one dimension, got " << to;
  // A tile that is no power of two ends in its second half, and what it lacks is not read.
  int64_t least = count > 1 ? count / 2 + 1 : count;
  if (int64_t each = getEach(); each < 1 || from.getSlots() % each || int64_t(getFrom()) + least > each)
    return emitOpError("expected ") << least << " of " << each
                                    << " slots, and whole times as many in the buffer, got from " << getFrom() << " of "
                                    << from;
  return success();
}

int64_t SlotOp::countSlots() {
  ArrayRef<int64_t> part = getBuffer().getType().getShape(), whole = getResult().getType().getShape();
  int64_t count = 1;
  if (part.size() != whole.size())
    return 0;
  for (auto [own, all] : llvm::zip_equal(part, whole)) {
    if (all % own || (all != own && count != 1))
      return 0;
    count *= all / own;
  }
  return count;
}

LayoutAttr tk::joinSlots(LayoutAttr slot, ArrayRef<int64_t> part, ArrayRef<int64_t> whole) {
  if (!slot || part == whole || part.size() != whole.size())
    return slot;
  std::optional<layout::LinearLayout> joined = slot.getValue();
  for (auto [dim, own, all] : llvm::enumerate(part, whole))
    if (joined && all > own)
      joined =
          joined->product(layout::LinearLayout::identity("offset", layout::dimName(dim), llvm::Log2_64(all / own)));
  return joined ? LayoutAttr::get(slot.getContext(), *joined) : LayoutAttr();
}

LayoutAttr tk::getSlotLayout(LayoutAttr joined, ArrayRef<int64_t> part, ArrayRef<int64_t> whole) {
  if (!joined || part == whole || part.size() != whole.size())
    return joined;
  layout::Dims ins{{"offset", unsigned(llvm::Log2_64(llvm::product_of(part)))}}, outs;
  for (auto [dim, extent] : llvm::enumerate(part))
    outs.push_back({layout::dimName(dim), unsigned(llvm::Log2_64(extent))});
  layout::LinearLayout zero = layout::LinearLayout::zeros("offset", 0, outs);
  layout::Vectors columns, bases = joined.getValue().basesOf("offset");
  for (uint64_t image : ArrayRef(bases).take_front(ins.front().bits))
    columns.push_back(zero.flattenOut(joined.getValue().unflattenOut(image)));
  std::optional<layout::LinearLayout> slot = layout::LinearLayout::make(ins, outs, columns);
  LayoutAttr own = slot ? LayoutAttr::get(joined.getContext(), *slot) : LayoutAttr();
  return own && joinSlots(own, part, whole) == joined ? own : LayoutAttr();
}

LogicalResult ClusterSendOp::verify() {
  SharedType to = getBuffer().getType();
  int64_t tiles = getValues().size(), ctas = tiles ? to.getSlots() / tiles : 0;
  if (!ctas || to.getSlots() % tiles || !llvm::all_equal(getValues().getTypes()))
    return emitOpError("expected tiles of one type and as many slots for each, got ")
           << getValues().getTypes() << " and " << to;
  auto from = cast<TileType>(getValues().front().getType());
  if (from.getRank() != 2 || from.getElementType() != to.getElementType() ||
      to.getShape() != ArrayRef<int64_t>({from.getShape()[0] / ctas, from.getShape()[1]}) || from.getShape()[0] % ctas)
    return emitOpError("expected a slot for the share of each CTA of the cluster in the rows of a tile, got ")
           << from << " and " << to;
  return success();
}

LogicalResult LocalLoadOp::verify() {
  SharedType from = getBuffer().getType();
  TileType to = getResult().getType();
  if (from.getSlots() != 1 || from.getElementType() != to.getElementType() || from.getRank() != to.getRank())
    return emitOpError("expected a tile of one slot, got ") << from << " and " << to;
  std::optional<ArrayRef<int64_t>> offsets = getOffsets();
  if (offsets && int64_t(offsets->size()) != from.getRank())
    return emitOpError("expected ") << from.getRank() << " offsets, got [" << *offsets << "]";
  for (auto [i, extent] : llvm::enumerate(to.getShape())) {
    int64_t offset = offsets ? (*offsets)[i] : 0;
    if (offset < 0 || offset % extent || offset + extent > from.getShape()[i])
      return emitOpError("expected a part at multiples of its extents inside ")
             << from << ", got " << to << " at " << offset;
  }
  return success();
}

LogicalResult LocalStoreOp::verify() {
  TileType from = getValue().getType();
  SharedType to = getBuffer().getType();
  if (to.getSlots() != 1 || from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError("expected one slot of the tile's shape, got ") << from << " and " << to;
  return success();
}

LogicalResult RolesOp::verify() {
  if (getWarps().size() != getRoles().size() || getRegisters().size() != getRoles().size() || getRoles().empty())
    return emitOpError("expected warps and registers for each of ")
           << getRoles().size() << " regions, got [" << getWarps() << "] and [" << getRegisters() << "]";
  constexpr int64_t unchanged = 256;
  bool isPlain = llvm::all_of(getRegisters(), [](int64_t registers) { return registers == unchanged; });
  for (int64_t warps : getWarps())
    if (warps < 1 || warps > 32 || (!isPlain && warps % 4))
      return emitOpError("expected up to 32 warps, in multiples of 4 unless all have 256 registers, got [")
             << getWarps() << "] and [" << getRegisters() << "]";
  for (int64_t registers : getRegisters())
    if (registers < 24 || registers > 256 || registers % 8)
      return emitOpError("expected registers in multiples of 8 from 24 to 256, got [") << getRegisters() << "]";
  for (Region &role : getRoles())
    if (role.front().empty() || !isa<YieldOp>(role.front().back()) || role.front().back().getNumOperands())
      return emitOpError("expected regions that end with `tk.yield` without values");
  return success();
}
