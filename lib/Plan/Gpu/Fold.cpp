// Schedules of kernels with a fold: rows by tiles, columns whole where that fills the device, the stream in steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contraction that a fold sums up says what is what: dimensions of its result that only the streamed operand has
// are rows, those that only the other has are columns, the rest is batch. A warp takes 16 rows (the fragment of
// mma.sync, so that a step's scores are the left operand of the next GEMM where they are), all columns and the whole
// step.
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/FoldModel.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Traversal/GridTail.h"
#include "weft/Traversal/Traversal.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {
namespace {

struct FoldRoles {
  SmallVector<unsigned> rows, columns, batch; ///< Dimensions of the kernel's result.
  tg::ContractOp sum;                         ///< The contraction over the streamed dimension.

  FoldRoles(const KernelToSchedule &kernel, tg::FoldOp fold) {
    sum = findFoldSum(fold);
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
  choice.reason = llvm::formatv("fold over {0} elements without a contraction: {1} columns a CTA, steps of {2}",
                                streamed, width, choice.stream[0]);
  return choice;
}

/// The problem of a kernel whose fold sums up `roles.sum`: rows by dimensions of the kernel's result.
static FoldProblem describeKernel(const KernelToSchedule &kernel, tg::FoldOp fold, const FoldRoles &roles) {
  FoldProblem problem = describeFold(fold, roles.sum);
  problem.rows.clear();
  for (unsigned d : roles.rows)
    problem.rows.push_back(kernel.extents[d]);
  problem.batch = productOf(roles.batch, kernel.extents);
  KernelToSchedule inside(kernel.func, /*entersFolds=*/true);
  if (std::optional<GrowingFold> growing = findGrowingFold(fold, inside.access))
    if (auto *found = llvm::find(roles.rows, growing->dim); found != roles.rows.end()) {
      problem.growing = found - roles.rows.begin();
      problem.growingBase = growing->base;
    }
  func::FuncOp func = kernel.func;
  problem.operandBytes = problem.resultBytes = 0;
  for (BlockArgument argument : func.getArguments())
    problem.operandBytes += estimateBytes(argument);
  for (Value result : func.getBody().front().getTerminator()->getOperands())
    problem.resultBytes += estimateBytes(result);
  return problem;
}

/// For the remark; nothing where no CTAs share a tile.
static std::string describeTail(const FoldTile &tile) {
  return tile.parts == 1 ? std::string()
                         : llvm::formatv(", {0} CTAs for each tile behind {1}", tile.parts, tile.whole).str();
}

ScheduleChoice chooseFold(const KernelToSchedule &kernel, tg::FoldOp fold, const Device &device) {
  FoldRoles roles(kernel, fold);
  if (!roles.sum)
    return chooseFoldOfMaps(kernel, fold);
  FoldProblem problem = describeKernel(kernel, fold, roles);
  auto [tile, cost] = chooseFoldTile(problem, device);
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  for (auto [d, rows] : llvm::zip_equal(roles.rows, tile.rows))
    choice.tile[d] = rows;
  int64_t columnTiles = tile.columnTiles;
  for (unsigned d : roles.columns) {
    choice.tile[d] = llvm::PowerOf2Ceil(kernel.extents[d]);
    int64_t cut = std::min(columnTiles, choice.tile[d]);
    choice.tile[d] /= cut;
    columnTiles /= cut;
  }
  choice.stream = {tile.step};
  choice.engine = tile.engine;
  choice.warps = tile.warps;
  choice.stages = tile.stages;
  choice.persistent = tile.persistent;
  choice.turns = takesTurns(problem, tile, device);
  if (tile.parts > 1) {
    choice.order = GridTail{tile.whole, tile.parts}.print(choice.order);
    choice.isOrdered = true;
  } else if (tile.persistent && problem.growing) {
    choice.order = makeZigzag(device.sms, Traversal()).print();
  }
  choice.ctasPerSm = std::max<int64_t>(cost.ctasPerSm, 1);
  choice.stepSeconds = cost.stepSeconds;
  choice.reason =
      llvm::formatv("fold over {0} elements: {1} rows of {2} columns in {3} batches, {4} rows a CTA, steps of "
                    "{5}{6}: {7:f1} us, bound by {8}",
                    problem.streamed, problem.getRows(), problem.width, problem.batch, tile.numRows, tile.step,
                    describeTail(tile), cost.seconds * 1e6, cost.bound);
  return choice;
}

std::optional<double> estimateFoldKernel(const KernelToSchedule &kernel, tg::FoldOp fold, tg::ScheduleAttr schedule,
                                         const Device &device) {
  FoldRoles roles(kernel, fold);
  if (!roles.sum)
    return estimateMemoryBound(kernel, schedule, device).seconds;
  if (schedule.getTile().size() < kernel.access.resultRank || schedule.getStream().empty())
    return std::nullopt;
  FoldProblem problem = describeKernel(kernel, fold, roles);
  FoldTile tile;
  tile.numRows = 1;
  for (unsigned d : roles.rows) {
    tile.rows.push_back(schedule.getTile()[d]);
    tile.numRows *= schedule.getTile()[d];
  }
  constexpr int64_t fragment = 16;
  tile.numRows = std::max(tile.numRows, fragment);
  for (unsigned d : roles.columns)
    tile.columnTiles *= int64_t(llvm::divideCeil(kernel.extents[d], schedule.getTile()[d]));
  tile.step = schedule.getStream().front();
  tile.engine = schedule.getEngine();
  tile.warps = schedule.getWarps();
  tile.stages = schedule.getStages();
  tile.persistent = schedule.getPersistent();
  GridTail tail;
  std::string error;
  std::string_view order = schedule.getOrder();
  if (takeGridTail(order, tail, error)) {
    tile.whole = tail.whole;
    tile.parts = tail.parts;
  }
  FoldCost cost = estimateFold(problem, tile, device);
  return cost.fits ? std::optional(cost.seconds) : std::nullopt;
}

} // namespace weft::plan
