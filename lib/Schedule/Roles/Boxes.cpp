// Accumulators to global memory by TMA: which stores, and the buffers they pass through.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roles.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/Wgmma.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// Rows of one slot, and bits of its widest and least lines.
static constexpr int64_t slotRows = 64, mostLineBits = 1024, leastLineBits = 256;

/// Whether the tile is computed, element by element, from the result of a wgmma dot: its layout will be that of the
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
    if (auto sum = dyn_cast<tk::PartSumOp>(op))
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

/// Columns of the lines that a tile is stored in: as wide as divide the live columns and a warpgroup's.
static int64_t getLine(tk::StoreOp store, const WgmmaTiling &tiling) {
  tk::TileType type = store.getValue().getType();
  int64_t widest = mostLineBits / tk::getElementBits(type.getElementType());
  return std::gcd(std::gcd(getLiveShape(getAccess(store))[1], widest), tiling.columns);
}

bool schedule::canStoreBox(tk::StoreOp store, int64_t warps) {
  tk::TileType type = store.getValue().getType();
  unsigned bits = tk::getElementBits(type.getElementType());
  if (type.getRank() != 2 || (bits != 16 && bits != 32) || store.getMask() || !store.getIndices().empty() ||
      store.getCombine())
    return false;
  std::optional<WgmmaTiling> tiling = getWgmmaTiling(type.getShape()[0], type.getShape()[1], warps);
  Access access = getAccess(store);
  SmallVector<int64_t> live = getLiveShape(access);
  if (!tiling || live[0] < type.getShape()[0] || (tiling->columnGroups > 1 && live[1] < type.getShape()[1]))
    return false;
  int64_t line = getLine(store, *tiling);
  if (line * bits < leastLineBits)
    return false;
  access.shape = {slotRows, line}; // What is stored at once.
  if (!isBox(access) || llvm::any_of(*getBoxParts(access.map, access.shape),
                                     [](const BoxPart &part) { return part.step != 1; })) // What lies between stays.
    return false;
  AffineExpr inner = store.getMap().getResults().back(); // Rows of the tile lie in rows of the tensor.
  return inner.isFunctionOfDim(1) && isAccumulator(store.getValue());
}

/// Results of a tile go on from the slot behind that of the result before: each from the first slot on would wait for
/// the one before to have left. Nothing is known of blocks that one CTA of several stores, or that a branch leaves out.
static void numberBlocks(ArrayRef<tk::StoreBoxOp> stores, int64_t warps) {
  int64_t passed = 0;
  bool isKnown = llvm::all_of(stores, [&](tk::StoreBoxOp store) {
    return store->getBlock() == stores.front()->getBlock() && !store.getShare() && !store.getLiveColumns();
  });
  for (tk::StoreBoxOp store : isKnown ? stores : ArrayRef<tk::StoreBoxOp>()) {
    if (passed > 0)
      store->setAttr(passedAttr, Builder(store.getContext()).getI64IntegerAttr(passed));
    ArrayRef<int64_t> shape = store.getValue().getType().getShape();
    WgmmaTiling tiling = *getWgmmaTiling(shape[0], shape[1], warps);
    passed += tiling.rowSteps * tiling.columnSteps * tiling.columns / store.getBuffer().getType().getShape()[1];
  }
}

void schedule::storeBoxes(tk::ForTilesOp tiles, Operation *before, int64_t warps, int64_t sharedBytes, int64_t shares) {
  SmallVector<tk::StoreOp> stores;
  tiles.walk([&](tk::StoreOp store) {
    if (canStoreBox(store, warps))
      stores.push_back(store);
  });
  llvm::DenseMap<std::pair<Type, int64_t>, Value> buffers;
  llvm::MapVector<Value, SmallVector<tk::StoreBoxOp>> ofBuffers;
  for (tk::StoreOp store : stores) {
    tk::TileType type = store.getValue().getType();
    int64_t bits = tk::getElementBits(type.getElementType()), columns = type.getShape()[1];
    int64_t line = getLine(store, *getWgmmaTiling(type.getShape()[0], columns, warps));
    Value &buffer = buffers[{type.getElementType(), line}];
    if (!buffer) {
      int64_t slotBytes = slotRows * line * bits / 8, groups = warps / 4;
      int64_t wanted = 2 * mostLineBits / (line * bits), room = sharedBytes / (groups * slotBytes);
      if (room <= 0) // Less than none where the steps alone are too large, which is refused later.
        continue;
      int64_t depth = std::min<int64_t>(wanted, llvm::bit_floor(uint64_t(room)));
      sharedBytes -= groups * depth * slotBytes;
      std::optional<layout::LinearLayout> layout = getWgmmaBuffer({slotRows, line}, 1, bits);
      OpBuilder allocs(before);
      auto shared = tk::SharedType::get(groups * depth, {slotRows, line}, type.getElementType(),
                                        tk::LayoutAttr::get(tiles.getContext(), *layout));
      buffer = tk::AllocOp::create(allocs, store.getLoc(), shared, IntegerAttr());
    }
    OpBuilder builder(store);
    int64_t live = getLiveShape(getAccess(store))[1];
    Value share = shares > 1 ? tk::ClusterRankOp::create(builder, store.getLoc()) : Value();
    ofBuffers[buffer].push_back(
        tk::StoreBoxOp::create(builder, store.getLoc(), store.getValue(), store.getTarget(), store.getSymbols(), buffer,
                               share, store.getMap(), share ? builder.getI64IntegerAttr(shares) : IntegerAttr(),
                               live < columns ? builder.getI64IntegerAttr(live) : IntegerAttr()));
    store.erase();
  }
  for (auto &[buffer, passing] : ofBuffers)
    numberBlocks(passing, warps);
}

/// The stores that are all there is behind the elements of `value`, each computed by itself; false if there is more.
static bool findBoxes(Value value, SmallVectorImpl<tk::StoreBoxOp> &boxes) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto box = dyn_cast<tk::StoreBoxOp>(user)) {
      if (!llvm::is_contained(boxes, box))
        boxes.push_back(box);
      return true;
    }
    return isa<tk::MapOp>(user) &&
           llvm::all_of(user->getResults(), [&](Value result) { return findBoxes(result, boxes); });
  });
}

void schedule::sharePartSums(tk::ForTilesOp tiles) {
  auto sums = tiles.getOps<tk::PartSumOp>();
  SmallVector<tk::StoreBoxOp> boxes;
  if (std::distance(sums.begin(), sums.end()) != 1 || !findBoxes((*sums.begin()).getResult(), boxes) || boxes.empty())
    return;
  tk::PartSumOp sum = *sums.begin();
  tk::SharedType buffer = boxes.front().getBuffer().getType();
  int64_t line = buffer.getShape()[1], threads = 128; // A block of 64 rows is one warpgroup's.
  if (!llvm::all_of(boxes, [&](tk::StoreBoxOp box) {
        return tk::SharedType(box.getBuffer().getType()).getShape()[1] == line && box.getLiveColumns() == sum.getLive();
      }))
    return;
  Builder builder(tiles.getContext());
  sum.setPieceAttr(builder.getI64IntegerAttr(slotRows * line / threads));
  for (tk::StoreBoxOp box : boxes) {
    box.getShareMutable().assign(sum.getShare());
    box.setSharesAttr(builder.getI64IntegerAttr(sum.getMost()));
    box->removeAttr(passedAttr); // Each share begins with the first slot.
  }
}
