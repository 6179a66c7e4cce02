// Schedules of kernels with a fold: rows by tiles, columns whole where that fills the device, the stream in steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contraction that a fold sums up says what is what: dimensions of its result that only the streamed operand has
// are rows, those that only the other has are columns, the rest is batch. A warp takes 16 rows (the fragment of
// mma.sync, so that a step's scores are the left operand of the next product where they are), all columns and the whole
// step.
#include "../Groups/GroupCost.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/Schedule.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {
namespace {

struct FoldRoles {
  SmallVector<unsigned> rows, columns, batch; ///< Dimensions of the kernel's result.
  tg::ContractOp sum;                         ///< The contraction over the streamed dimension.

  FoldRoles(const KernelToSchedule &kernel, tg::FoldOp fold) {
    fold.getUpdate().walk([&](tg::ContractOp contract) {
      if (contract->hasAttr(tg::FoldOp::streamedAttr))
        sum = contract;
    });
    SmallVector<const KernelRequest *> requests = kernel.access.of(fold.getResult(0));
    for (unsigned d = 0; d < kernel.access.resultRank; ++d)
      (sum && !requests.empty() ? roleOf(ArrayRef(requests.front()->coordinates).drop_front(fold.getNumPartDims()), d)
                                : batch)
          .push_back(d);
  }

private:
  SmallVector<unsigned> &roleOf(ArrayRef<AffineExpr> coordinates, unsigned dim) {
    bool lhs = false, rhs = false;
    AffineMap result = sum.getMap(2);
    for (auto [at, expr] : llvm::zip(coordinates, result.getResults())) {
      if (!at || !at.isFunctionOfDim(dim))
        continue;
      unsigned domain = cast<AffineDimExpr>(expr).getPosition();
      lhs |= sum.getMap(0).isFunctionOfDim(domain);
      rhs |= sum.getMap(1).isFunctionOfDim(domain);
    }
    return lhs == rhs ? batch : lhs ? rows : columns;
  }
};

} // namespace

static int64_t productOf(ArrayRef<unsigned> dims, ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (unsigned d : dims)
    product = llvm::MulOverflow(product, extents[d], product) ? INT64_MAX : product;
  return product;
}

/// The tile of `elements` rows along the dimensions that are rows (grouped heads and queries): the longest along the
/// last dimension, or one whose tiles take clearly fewer steps in all. Where a mask lets the steps grow along
/// `growing`, tiles that are short there have fewer.
static void spreadRows(ArrayRef<unsigned> dims, ArrayRef<int64_t> extents, int64_t elements, int64_t streamed,
                       std::optional<unsigned> growing, SmallVectorImpl<int64_t> &tile) {
  constexpr double clearly = 0.94;
  SmallVector<int64_t> now(tile.begin(), tile.end()), best;
  double least = std::numeric_limits<double>::infinity();
  auto look = [&](auto &self, size_t next, int64_t rest) -> void {
    if (next == dims.size()) {
      double steps = double(streamed) + (growing ? double(now[*growing]) : 0.0);
      for (unsigned d : dims)
        steps *= double(llvm::divideCeil(extents[d], now[d]));
      if (steps < least * clearly) {
        least = steps;
        best = now;
      }
      return;
    }
    int64_t whole = std::min<int64_t>(rest, llvm::PowerOf2Ceil(extents[dims[next]]));
    for (int64_t side = next + 1 == dims.size() ? whole : 1; side <= whole; side *= 2) {
      now[dims[next]] = side;
      self(self, next + 1, rest / side);
    }
  };
  look(look, 0, elements);
  tile.assign(best.begin(), best.end());
  // What they do not need pads the innermost one that is not 1.
  for (unsigned d : dims)
    elements /= tile[d];
  auto isLong = [&](unsigned d) { return tile[d] > 1; };
  if (!dims.empty())
    tile[llvm::any_of(dims, isLong) ? *llvm::find_if(llvm::reverse(dims), isLong) : dims.back()] *= elements;
}

/// A fold without a contraction, such as the one that merges parts: the last dimension wide, the stream in as many
/// steps as registers allow.
static ScheduleChoice chooseFoldOfMaps(const KernelToSchedule &kernel, tg::FoldOp fold) {
  constexpr int64_t elementsOfThread = 32, warpThreads = 32, widest = 256;
  ScheduleChoice choice;
  unsigned rank = kernel.access.resultRank;
  choice.tile.assign(rank, 1);
  if (rank > 0)
    choice.tile.back() = std::min<int64_t>(llvm::PowerOf2Ceil(kernel.extents[rank - 1]), widest);
  int64_t width = rank > 0 ? choice.tile.back() : 1, streamed = estimateExtent(fold.getExtent().getResult(0));
  choice.warps = 4;
  choice.stream = {
      std::clamp<int64_t>(choice.warps * warpThreads * elementsOfThread / width, 1, llvm::PowerOf2Ceil(streamed))};
  while (choice.warps > 1 && choice.warps * warpThreads > width * choice.stream[0])
    choice.warps /= 2;
  choice.reason = llvm::formatv("fold of {0} places without a contraction: {1} columns a CTA, steps of {2}", streamed,
                                width, choice.stream[0]);
  return choice;
}

/// Whether maps of a fold hold nothing but scores: no mask chooses some, and no tile of a tensor is read beside them.
static bool hasPlainMaps(tg::ContractOp sum, tg::FoldOp fold) {
  tg::Dims scores = tg::getDims(sum.getLhs().getType());
  bool isPlain = true;
  int64_t products = 0;
  fold.getUpdate().walk([&](Operation *op) {
    products += isa<tg::ContractOp>(op);
    if (!isa<tg::PointwiseOpInterface>(op))
      return;
    isPlain &= !isa<tg::SelectOp>(op) || tg::getDims(op->getResult(0).getType()) != scores;
    for (Value operand : op->getOperands()) // From memory, as it is or behind a cast.
      isPlain &= fold->isAncestor(operand.getParentBlock()->getParentOp()) ||
                 llvm::all_of(tg::getDims(operand.getType()), [](AffineExpr dim) { return dim == 1; });
  });
  return isPlain && products == 2;
}

/// Whether a tile of a tensor is read beside the scores: a bias, a mask that is an input.
static bool readsTiles(tg::FoldOp fold) {
  auto isTile = [&](Value value) {
    auto isLong = [](AffineExpr dim) { return tg::getConstant(dim) != 1; };
    return !fold->isAncestor(value.getParentBlock()->getParentOp()) &&
           llvm::count_if(tg::getDims(value.getType()), isLong) > 1;
  };
  return llvm::any_of(fold.getUpdate().front(), [&](Operation &op) {
    return isa<tg::PointwiseOpInterface>(op) && llvm::any_of(op.getOperands(), isTile);
  });
}

/// Clocks of an SM for one score of the fold: by the maps that make its term of it, in the pipes of special functions
/// and of f32, one after the other as a warpgroup runs them; and by the products, of `columns` terms and `columns`
/// results.
static std::pair<double, double> getScoreClocks(tg::ContractOp sum, tg::FoldOp fold, int64_t columns,
                                                const Device &device) {
  // By the number of elements: scores may be seen through a reshape.
  AffineExpr scores = tg::getNumElements(sum.getLhs().getType());
  int64_t plain = 0, special = 0;
  fold.getUpdate().walk([&](Operation *op) {
    bool isReduce = isa<tg::ReduceOp>(op);
    if ((!isReduce && !isa<tg::PointwiseOpInterface>(op)) ||
        !tg::isEqual(tg::getNumElements((isReduce ? op->getOperand(0) : op->getResult(0)).getType()), scores))
      return;
    ++(countInstructions(op) > 1 ? special : plain);
  });
  return {double(special) / device.specialPerClock + double(plain) / (device.f32PerClock / 2.0),
          4.0 * double(columns) / device.matrix.f16};
}

namespace {
/// What a fold of matrices comes down to.
struct FoldSize {
  int64_t rows, columns, batch, streamed;
  int64_t live; ///< Columns that are in the result; tiles have a power of two.
  int64_t longestStep;
  int64_t bytes;                   ///< Of an element.
  double mapClocks, productClocks; ///< Of an SM for a score.
  bool isPlain;                    ///< Maps hold nothing but scores: no mask, no other tile.
  bool isGrowing;                  ///< Later tiles of rows take more steps.
  bool isInParts;                  ///< Results are states.
  bool readsTiles;                 ///< Maps read a tile of a tensor beside the scores.
};
} // namespace

/// Clocks of an SM for a place of the stream and a tile of `rows`: a warpgroup alone is at its products or at its maps,
/// several are at both.
static double getTileClocks(const FoldSize &size, int64_t rows, int64_t groupRows) {
  double products = double(rows) * size.productClocks, maps = double(rows) * size.mapClocks;
  return rows > groupRows ? std::max(products, maps) : products + maps;
}

/// Two warpgroups, or one where its tiles keep the SMs busy for less time all in all. Under a mask that lets the steps
/// grow tiles take half of the steps on average, the longest ones first.
static int64_t chooseRows(const FoldSize &size, int64_t most, int64_t groupRows, const Device &device) {
  auto clocksOf = [&](int64_t rows) {
    double tiles = double(size.batch) * double(llvm::divideCeil(size.rows, rows)), sms = device.sms;
    double rounds = size.isGrowing ? std::max(tiles / 2 / sms, 1.0) : std::ceil(tiles / sms);
    return rounds * getTileClocks(size, rows, groupRows);
  };
  int64_t wide = 2 * groupRows;
  return most >= wide && clocksOf(wide) <= clocksOf(groupRows) ? wide : groupRows;
}

/// Four warpgroups instead of two, where maps take longer than products: while one waits for the maximum of its rows
/// others compute. Their threads have 112 registers, enough for steps of 64 and maps of the scores alone; the mask of a
/// ragged last step takes some. Not where tiles of so many rows take the SMs longer.
static bool useFourGroups(const FoldSize &size, int64_t rows, const Device &device) {
  constexpr int64_t few = 128, many = 256, step = 64, mostAccumulators = 80, ofMask = 8;
  int64_t accumulators = mostAccumulators - (size.streamed % step ? ofMask : 0);
  auto roundsOf = [&](int64_t tile) {
    int64_t tiles = size.batch * int64_t(llvm::divideCeil(size.rows, tile));
    return int64_t(llvm::divideCeil(tiles, device.sms)) * tile;
  };
  return rows == few && size.isPlain && size.mapClocks >= size.productClocks &&
         size.live / 2 + step * 3 / 4 <= accumulators && roundsOf(many) <= roundsOf(few);
}

/// Warpgroups that multiply by wgmma, 64 rows each, and a producer that copies by TMA. A thread holds the scores of a
/// step, those of the step before as the next product's operand (half as wide), and the columns' sums; the rest of its
/// registers is for the maps between. False if no step fits.
static bool useWarpgroups(ScheduleChoice &choice, const FoldSize &size, int64_t &rows, int64_t &step,
                          const Device &device) {
  constexpr int64_t groupRows = 64, leastDepth = 16, accumulators = 176, mostStages = 4, shortFold = 16;
  int64_t whole = llvm::PowerOf2Ceil(size.rows);
  if (!device.hasWgmma() || size.bytes != 2 || whole < groupRows || size.columns < leastDepth)
    return false;
  rows = chooseRows(size, whole, groupRows, device);
  int64_t wide = std::clamp<int64_t>(llvm::PowerOf2Ceil(size.streamed), leastDepth, size.longestStep);
  if (useFourGroups(size, rows, device)) {
    rows *= 2;
    wide = std::min<int64_t>(wide, 64);
  }
  // A tile that is read beside the scores takes registers, in long steps: of several warpgroups where the scores are
  // masked too, and, since a loop of two turns is unrolled, for both of them. States that are stored as they are take
  // more than a result of 16 bits.
  auto registersFor = [&](int64_t places) {
    bool isMasked = rows > groupRows && size.streamed % places != 0;
    bool isUnrolled = size.streamed > places && size.streamed <= 2 * places;
    int64_t beside = (isMasked ? places / 4 + 8 : 0) + (isUnrolled ? places / 2 : 0);
    int64_t stored = size.isInParts ? 16 : 0;
    return size.live / 2 + places * 3 / 4 + (size.readsTiles ? stored + (places > 64 ? beside : 0) : 0);
  };
  while (registersFor(wide) > accumulators && wide > leastDepth)
    wide /= 2;
  if (registersFor(wide) > accumulators)
    return false;
  // Left operands (those of the next tile too, if the CTA goes on), both right operands of the steps, and the lines
  // through which results leave.
  auto sharedFor = [&](int64_t stages, int64_t lefts) {
    return (lefts * rows + stages * 2 * wide) * size.columns * size.bytes + rows * 256 + 2048;
  };
  while (sharedFor(2, 1) > int64_t(device.sharedPerCta) && wide > leastDepth)
    wide /= 2;
  if (sharedFor(2, 1) > int64_t(device.sharedPerCta))
    return false;
  step = wide;
  choice.engine = tg::Engine::Wgmma;
  choice.warps = rows / groupRows * 4;
  // Left alone, warpgroups come to their products at the same time, and then to their maps.
  choice.turns = rows > groupRows && size.mapClocks >= size.productClocks;
  // The start of a tile counts where it has few steps; many are better shared out to whoever is free.
  int64_t tiles = size.batch * int64_t(llvm::divideCeil(size.rows, rows));
  choice.persistent = tiles > int64_t(device.sms) && size.streamed <= shortFold * step &&
                      sharedFor(2, 2) <= int64_t(device.sharedPerCta);
  choice.stages = mostStages;
  while (choice.stages > 2 &&
         sharedFor(choice.stages, choice.persistent ? choice.stages : 1) > int64_t(device.sharedPerCta))
    --choice.stages;
  return true;
}

ScheduleChoice chooseFold(const KernelToSchedule &kernel, tg::FoldOp fold, const Device &device) {
  FoldRoles roles(kernel, fold);
  ArrayRef<int64_t> extents = kernel.extents;
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  if (!roles.sum)
    return chooseFoldOfMaps(kernel, fold);
  auto type = cast<RankedTensorType>(roles.sum.getRhs().getType()).getElementType();
  bool hasMatrix = type.isF16() || type.isBF16();
  int64_t bytes = std::max<int64_t>(tg::getElementBits(type) / 8, 1);
  int64_t columns = 1, columnTiles = 1, live = 1;
  for (unsigned d : roles.columns) {
    choice.tile[d] = llvm::PowerOf2Ceil(extents[d]);
    columns *= choice.tile[d];
    live *= roles.columns.size() == 1 ? int64_t(llvm::alignTo(extents[d], 8)) : choice.tile[d];
  }
  int64_t numRows = productOf(roles.rows, extents), numBatch = productOf(roles.batch, extents);
  int64_t streamed = estimateExtent(fold.getPartExtent());
  // Rows: 128 where they still fill the device, else 64; never more than there are. A step's scores and the columns'
  // sums are registers: at most 64 each of a thread. Queries and two steps of keys and values must fit shared memory.
  int64_t rows = 128, step = std::min<int64_t>(hasMatrix ? 64 : 32, llvm::PowerOf2Ceil(streamed));
  if (hasMatrix) // An instruction's depth.
    step = std::max<int64_t>(step, 16);
  if (!hasMatrix || numBatch * int64_t(llvm::divideCeil(numRows, rows)) < int64_t(device.sms))
    rows = 64;
  rows = std::min<int64_t>(rows, std::max<int64_t>(llvm::PowerOf2Ceil(numRows), 16));
  auto sharedFor = [&](int64_t stages) { return (rows + stages * 2 * step) * columns * bytes + 2048; };
  while (sharedFor(2) > int64_t(device.sharedPerCta) && (rows > 16 || step > 16))
    (rows > 32 || step == 16 ? rows : step) /= 2;
  choice.warps = std::clamp<int64_t>(rows / 16, 4, 8);
  choice.engine = hasMatrix ? tg::Engine::Mma : tg::Engine::Simt;
  KernelToSchedule inside(kernel.func, /*entersFolds=*/true);
  std::optional<GrowingFold> growing = findGrowingFold(fold, inside.access);
  FoldSize size;
  size.rows = numRows;
  size.columns = columns;
  size.batch = numBatch;
  size.streamed = streamed;
  size.live = live;
  size.longestStep = std::min<int64_t>(fold.getUnit().value_or(128), 128);
  size.bytes = bytes;
  std::tie(size.mapClocks, size.productClocks) = getScoreClocks(roles.sum, fold, live, device);
  // An extent that is not known may be ragged, which is a mask.
  size.isPlain = tg::getConstant(fold.getExtent().getResult(0)) && hasPlainMaps(roles.sum, fold);
  size.isGrowing = growing.has_value();
  size.isInParts = fold.getParts().has_value();
  size.readsTiles = readsTiles(fold);
  bool useWgmma = hasMatrix && useWarpgroups(choice, size, rows, step, device);
  choice.stream = {step};
  spreadRows(roles.rows, extents, rows, streamed, growing ? std::optional(growing->dim) : std::nullopt, choice.tile);
  // One query row a head leaves most SMs idle: columns go to several CTAs, each of which computes the scores again.
  int64_t ctas = numBatch * int64_t(llvm::divideCeil(numRows, rows));
  for (unsigned d : roles.columns)
    for (; choice.tile[d] > 32 && ctas * columnTiles * 2 <= int64_t(device.sms); columnTiles *= 2)
      choice.tile[d] /= 2;
  // More steps under way if two CTAs still fit an SM, or if there is no second one for it.
  int64_t share = ctas * columnTiles <= int64_t(device.sms) ? device.sharedPerCta : device.sharedPerSm / 2;
  if (!useWgmma)
    choice.stages = sharedFor(4) <= share ? 4 : sharedFor(3) <= share ? 3 : 2;
  choice.reason =
      llvm::formatv("fold of {0} places: {1} rows of {2} columns in {3} batches, {4} rows a CTA, steps of {5}",
                    streamed, numRows, columns, numBatch, rows, step);
  return choice;
}

} // namespace weft::plan
