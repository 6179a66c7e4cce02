// Accumulators to global memory by TMA: which stores, and the buffers they pass through.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roles.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// Bytes of one slot: 64 rows of 128 bytes.
static constexpr int64_t slotBytes = 64 * 128;

/// Whether the tile is computed, place by place, from the result of a wgmma dot: its layout will be that of the
/// accumulator.
static bool isAccumulator(Value tile) {
  if (auto result = dyn_cast<OpResult>(tile)) {
    Operation *op = result.getOwner();
    if (auto dot = dyn_cast<tk::DotOp>(op))
      return isWgmma(dot);
    if (auto wait = dyn_cast<tk::DotWaitOp>(op))
      return isAccumulator(wait.getValues()[result.getResultNumber()]);
    if (auto sum = dyn_cast<tk::ClusterSumOp>(op))
      return isAccumulator(sum.getValue());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return isAccumulator(loop.getBody()->getTerminator()->getOperand(result.getResultNumber())) ||
             isAccumulator(loop.getInitArgs()[result.getResultNumber()]);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return isAccumulator(branch.thenYield().getOperand(result.getResultNumber()));
    return isa<tk::MapOp>(op) && llvm::any_of(op->getOperands(), isAccumulator);
  }
  return false;
}

bool schedule::canStoreBox(tk::StoreOp store, int64_t warps) {
  tk::TileType type = store.getValue().getType();
  unsigned bits = tk::getElementBits(type.getElementType());
  if (type.getRank() != 2 || (bits != 16 && bits != 32) || store.getMask() || !store.getIndices().empty() ||
      store.getCombine())
    return false;
  std::optional<WgmmaTiling> tiling = getWgmmaTiling(type.getShape()[0], type.getShape()[1], warps);
  if (!tiling || tiling->columns * bits < 1024)
    return false;
  Access access = getAccess(store);
  access.shape = {64, 1024 / bits}; // What is stored at once.
  if (!isBox(access) || llvm::any_of(*getBoxParts(access.map, access.shape),
                                     [](const BoxPart &part) { return part.step != 1; })) // What lies between stays.
    return false;
  AffineExpr inner = store.getMap().getResults().back(); // Rows of the tile lie in rows of the tensor.
  return inner.isFunctionOfDim(1) && isAccumulator(store.getValue());
}

void schedule::storeBoxes(tk::ForTilesOp tiles, Operation *before, int64_t warps, int64_t sharedBytes, bool isParted) {
  SmallVector<tk::StoreOp> stores;
  tiles.walk([&](tk::StoreOp store) {
    if (canStoreBox(store, warps))
      stores.push_back(store);
  });
  llvm::DenseMap<Type, Value> buffers;
  for (tk::StoreOp store : stores) {
    tk::TileType type = store.getValue().getType();
    Value &buffer = buffers[type.getElementType()];
    if (!buffer) {
      int64_t groups = warps / 4, depth = std::min<int64_t>(2, sharedBytes / (groups * slotBytes));
      if (depth == 0)
        continue;
      sharedBytes -= groups * depth * slotBytes;
      int64_t line = 1024 / tk::getElementBits(type.getElementType());
      std::optional<layout::LinearLayout> layout = getWgmmaBuffer({64, line}, 1, 1024 / line);
      OpBuilder allocs(before);
      auto shared = tk::SharedType::get(groups * depth, {64, line}, type.getElementType(),
                                        tk::LayoutAttr::get(tiles.getContext(), *layout));
      buffer = tk::AllocOp::create(allocs, store.getLoc(), shared, IntegerAttr());
    }
    OpBuilder builder(store);
    tk::StoreBoxOp::create(builder, store.getLoc(), store.getValue(), store.getTarget(), store.getSymbols(), buffer,
                           store.getMap(), isParted);
    store.erase();
  }
}
