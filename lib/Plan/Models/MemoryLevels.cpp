// Tiles of a kernel's values, and the memory level of each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/MemoryLevels.h"
#include "weft/Plan/FoldEdges.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

/// Of a warp's row: more elements are shared out to several warps.
static constexpr int64_t warpThreads = 32;

StringRef getLevelName(MemoryLevel level) {
  constexpr StringLiteral names[] = {"register", "shared", "cluster", "L2", "memory"};
  return names[unsigned(level)];
}

MemoryLevel levelBetweenKernels(double moved, const Device &device) {
  return moved <= double(device.effectiveL2Bytes) ? MemoryLevel::L2 : MemoryLevel::Memory;
}

double bandwidthOf(MemoryLevel level, const Device &device) {
  double clocks = device.clock * device.sms;
  switch (level) {
  case MemoryLevel::Register: // Three operands of four bytes for each lane of four FMA units.
    return clocks * device.f32PerClock / 2 * 12;
  case MemoryLevel::Shared:
    return clocks * device.sharedBytesPerClock;
  case MemoryLevel::Cluster:
    return clocks * device.mergeBytesPerClock;
  case MemoryLevel::L2:
    return device.l2BytesPerSecond();
  case MemoryLevel::Memory:
    return device.memoryBandwidth;
  }
  return device.memoryBandwidth;
}

double coalescedBytes(ArrayRef<int64_t> tile, ArrayRef<int64_t> extents, double elementBytes, double transaction) {
  double elements = 1, run = 1;
  bool isWhole = true; // So far, from the last dimension on.
  for (auto [size, extent] : llvm::reverse(llvm::zip_equal(tile, extents))) {
    elements *= double(size);
    if (isWhole)
      run *= double(size);
    isWhole &= size >= extent;
  }
  return std::max(transaction / std::min(transaction, run * elementBytes), 1.0) * elements * elementBytes;
}

namespace {

class LevelReader {
public:
  LevelReader(const KernelToSchedule &kernel, tg::ScheduleAttr schedule) : kernel(kernel), schedule(schedule) {
    sizeDims();
  }

  KernelLevels run() {
    for (const KernelRequest &request : kernel.access.requests)
      see(request);
    for (const auto &[value, found] : tiles)
      place(value, found);
    return std::move(levels);
  }

  /// The values inside of folds alone; `kernel` has the access that enters them.
  std::vector<ValueLevel> runInside() {
    for (const KernelRequest &request : kernel.access.requests)
      see(request);
    for (const auto &[value, found] : tiles)
      if (Operation *op = value.getDefiningOp(); op && op->getNumOperands() > 0 && getFoldOf(op))
        placeInside(value, found);
    return std::move(levels.values);
  }

private:
  /// The tile along each dimension of the iteration space: of the result, a step of a stream, or a whole reduction.
  void sizeDims() {
    const KernelAccess &access = kernel.access;
    ArrayRef<int64_t> tile = schedule.getTile(), stream = schedule.getStream();
    size_t streamed = 0;
    sides.assign(access.dims.size(), 1);
    for (auto [d, dim] : llvm::enumerate(access.dims)) {
      int64_t extent = std::max<int64_t>(kernel.extents[d], 1), side = extent;
      if (d < access.resultRank)
        side = d < tile.size() ? tile[d] : 1;
      else if (dim.along != d)
        side = sides[dim.along];
      else if (streamed < stream.size() && !isOfFold(dim.reducer))
        side = stream[streamed++];
      sides[d] = std::clamp<int64_t>(side, 1, extent);
      double blocks = double(llvm::divideCeil(extent, sides[d]));
      if (d < access.resultRank)
        levels.tiles *= blocks;
      else if (dim.along == d)
        levels.steps *= blocks;
    }
  }

  /// Whether `reducer` is inside of a fold, where only the fold's own dimension is streamed.
  static bool isOfFold(Operation *reducer) { return reducer && getFoldOf(reducer); }

  /// Elements between the least and the greatest value of `at` over a tile, both included.
  int64_t spanOf(AffineExpr at) const {
    if (auto dim = dyn_cast<AffineDimExpr>(at))
      return sides[dim.getPosition()];
    auto binary = dyn_cast<AffineBinaryOpExpr>(at);
    if (!binary)
      return 1;
    int64_t left = spanOf(binary.getLHS()), right = spanOf(binary.getRHS());
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    int64_t by = factor ? std::max<int64_t>(std::abs(factor.getValue()), 1) : 1;
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return left + right - 1;
    case AffineExprKind::Mul:
      return llvm::SaturatingMultiply<uint64_t>(left - 1, by) + 1;
    case AffineExprKind::FloorDiv:
    case AffineExprKind::CeilDiv:
      return (left - 1) / by + 1;
    default: // Mod.
      return std::min(left, by);
    }
  }

  /// The remainders of a reshape lie apart: no more elements than the tile has along the dimensions that they are made
  /// of.
  void capPlaces(const KernelRequest &request, MutableArrayRef<int64_t> tile) const {
    bool hasRemainder = false;
    double most = 1, places = 1;
    for (AffineExpr at : request.coordinates)
      if (at)
        at.walk([&](AffineExpr each) { hasRemainder |= each.getKind() == AffineExprKind::Mod; });
    if (!hasRemainder)
      return;
    for (unsigned d = 0; d < sides.size(); ++d)
      if (llvm::any_of(request.coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(d); }))
        most *= double(sides[d]);
    for (int64_t size : tile)
      places *= double(size);
    for (int64_t &size : llvm::reverse(tile)) {
      if (places <= most)
        return;
      double least = std::max(1.0, std::ceil(double(size) * most / places));
      places *= least / double(size);
      size = int64_t(least);
    }
  }

  void see(const KernelRequest &request) {
    auto type = dyn_cast<RankedTensorType>(request.value.getType());
    if (!type)
      return;
    SmallVector<int64_t> tile;
    bool depends = false; // On a stream: its steps come one after the other.
    for (auto [at, extent] : llvm::zip_equal(request.coordinates, tg::getDims(type))) {
      tile.push_back(at ? std::min(spanOf(at), std::max<int64_t>(estimateExtent(extent), 1)) : 1);
      for (unsigned d = kernel.access.resultRank; at && d < kernel.access.dims.size(); ++d)
        depends |= kernel.access.dims[d].along == d && at.isFunctionOfDim(d);
    }
    capPlaces(request, tile);
    auto [it, isNew] = tiles.try_emplace(request.value, Tile{tile, depends});
    for (auto [known, size] : llvm::zip_equal(it->second.sides, tile))
      known = std::max(known, size);
    it->second.isStreamed |= depends;
  }

  struct Tile {
    SmallVector<int64_t> sides;
    bool isStreamed;
  };

  static bool isProduct(Operation *op) { return isa<tg::ContractOp, tg::FoldOp>(op); }

  void choose(ValueLevel &found) const {
    Operation *op = found.value.getDefiningOp();
    bool isRead = llvm::any_of(found.value.getUsers(),
                               [&](Operation *user) { return isProduct(user) || user->getParentOfType<tg::FoldOp>(); });
    if (op && isProduct(op)) {
      bool isShared = schedule.getSplit() > 1;
      found.level = isShared ? MemoryLevel::Cluster : MemoryLevel::Register;
      found.reason = isShared ? "CTAs of a cluster add their sums" : "accumulator of a GEMM";
    } else if (isRead && schedule.getEngine() != tg::Engine::Simt) {
      bool isCommon = !op && schedule.getMulticast() > 1;
      found.level = isCommon ? MemoryLevel::Cluster : MemoryLevel::Shared;
      found.reason = isCommon ? "CTAs of a cluster read it once" : "a GEMM reads it";
    } else if (isa_and_nonnull<tg::ReduceOp>(op) && schedule.getWarps() > 1 && rowOf(op) > warpThreads) {
      found.level = MemoryLevel::Shared;
      found.reason = "warps add their parts";
    } else {
      found.reason = op ? "element by element" : "read where it is used";
    }
  }

  /// A warp has whole rows of a fold with GEMMs: what it computes of one is in its registers for the next, the sums
  /// of a row too. What no GEMM made goes through shared memory to the GEMM that reads it.
  void chooseInside(ValueLevel &found) {
    Operation *op = found.value.getDefiningOp();
    bool hasProduct = !getFoldOf(op).getUpdate().getOps<tg::ContractOp>().empty();
    bool isRead = llvm::any_of(found.value.getUsers(), llvm::IsaPred<tg::ContractOp>);
    if (isa<tg::ContractOp>(op)) {
      found.reason = "accumulator of a GEMM";
    } else if (isRead && schedule.getEngine() != tg::Engine::Simt) {
      bool isOfProduct = dependsOnProduct(found.value);
      found.level = isOfProduct ? MemoryLevel::Register : MemoryLevel::Shared;
      found.reason = isOfProduct ? "fragments of one GEMM are the next one's operand" : "a GEMM reads it";
    } else if (isa<tg::ReduceOp>(op) && !hasProduct && schedule.getWarps() > 1 && rowOf(op) > warpThreads) {
      found.level = MemoryLevel::Shared;
      found.reason = "warps add their parts";
    } else {
      found.reason = isa<tg::ReduceOp>(op) && hasProduct ? "a warp has the whole row" : "element by element";
    }
  }

  /// Whether an op of the same fold that `value` is computed from, or its own, is a GEMM.
  bool dependsOnProduct(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !getFoldOf(op))
      return false;
    auto [it, isNew] = ofProducts.try_emplace(value, isa<tg::ContractOp>(op));
    if (isNew && !it->second &&
        llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOnProduct(operand); }))
      ofProducts[value] = true;
    return ofProducts.lookup(value);
  }

  void placeInside(Value value, const Tile &tile) {
    auto type = cast<RankedTensorType>(value.getType());
    ValueLevel found;
    found.value = value;
    found.tile = tile.sides;
    found.bytes = double(tg::getElementBits(type.getElementType())) / 8;
    for (int64_t size : tile.sides)
      found.bytes *= double(size);
    found.isEdge = !readersInFold(value).empty();
    chooseInside(found);
    levels.values.push_back(std::move(found));
  }

  /// Elements of a row that `op` reduces.
  int64_t rowOf(Operation *op) const {
    auto it = tiles.find(op->getOperand(0));
    if (it == tiles.end())
      return 1;
    int64_t row = 1;
    for (int64_t axis : cast<tg::ReduceOp>(op).getAxes())
      row *= it->second.sides[axis];
    return row;
  }

  void place(Value value, const Tile &tile) {
    auto type = cast<RankedTensorType>(value.getType());
    double elementBytes = double(tg::getElementBits(type.getElementType())) / 8;
    ValueLevel found;
    found.value = value;
    found.tile = tile.sides;
    found.bytes = elementBytes;
    SmallVector<int64_t> extents;
    for (auto [size, extent] : llvm::zip_equal(tile.sides, tg::getDims(type))) {
      found.bytes *= double(size);
      extents.push_back(estimateExtent(extent));
    }
    Operation *op = value.getDefiningOp();
    bool isResult =
        llvm::any_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    bool isConstant = op && op->getNumOperands() == 0;
    found.isEdge = op && !isResult && !isConstant;
    choose(found);
    double whole = levels.tiles * coalescedBytes(tile.sides, extents, elementBytes);
    if (!op) {
      found.moved =
          whole * (tile.isStreamed ? levels.steps : 1) /
          (found.level == MemoryLevel::Cluster && schedule.getMulticast() > 1 ? double(schedule.getMulticast()) : 1.0);
      levels.read += found.moved;
    } else if (isResult) {
      found.moved = whole;
      levels.written += whole;
    }
    double stages = !op && tile.isStreamed ? double(schedule.getStages()) : 1;
    if (found.level == MemoryLevel::Shared || found.level == MemoryLevel::Cluster)
      levels.shared += found.bytes * stages;
    else
      levels.registers += found.bytes;
    levels.values.push_back(std::move(found));
  }

  const KernelToSchedule &kernel;
  tg::ScheduleAttr schedule;
  SmallVector<int64_t> sides;
  llvm::MapVector<Value, Tile> tiles;
  llvm::DenseMap<Value, bool> ofProducts;
  KernelLevels levels;
};

} // namespace

KernelLevels analyseLevels(const KernelToSchedule &kernel, tg::ScheduleAttr schedule, bool entersFolds) {
  KernelLevels levels = LevelReader(kernel, schedule).run();
  if (!entersFolds || !kernel.find<tg::FoldOp>())
    return levels;
  KernelToSchedule inside(kernel.func, /*entersFolds=*/true);
  for (ValueLevel &each : LevelReader(inside, schedule).runInside())
    levels.values.push_back(std::move(each));
  return levels;
}

} // namespace weft::plan
