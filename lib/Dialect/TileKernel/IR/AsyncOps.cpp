// Verifiers of the ops that Schedule adds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/IR/TileKernel.h"

using namespace mlir;
using namespace weft::tk;

LogicalResult SlotOp::verify() {
  SharedType from = getBuffer().getType(), to = getResult().getType();
  if (to != SharedType::get(1, from.getShape(), from.getElementType(), from.getLayout()))
    return emitOpError("expected one slot of ") << from << ", got " << to;
  return success();
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
