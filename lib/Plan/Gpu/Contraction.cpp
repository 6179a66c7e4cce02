// Schedules of kernels with a contraction: which dimensions are m, n and k, and the tile that the model likes best.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension of the result is m if only the left operand is read by it, n if only the right one, batch if both are.
// Kernelize puts the dimensions of a side into one lane, so a tile goes over several of them, from the innermost on;
// along batch dimensions it has extent 1.
#include "../Models/OperandBoxes.h"
#include "../Models/ProductRows.h"
#include "../Models/Roles.h"
#include "../Models/Unpacked.h"
#include "../Models/Windows.h"
#include "Stored.h"
#include "WindowSteps.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Plan/GemmLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/OrderModel.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Traversal/GridTail.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

static GemmType typeOf(Type lhs, Type rhs) {
  if (lhs.isInteger(8) && rhs.isInteger(8)) // With or without a sign, each for itself.
    return GemmType::S8;
  if (lhs != rhs)
    return GemmType::Other;
  if (lhs.isF16() || lhs.isBF16())
    return GemmType::F16;
  if (lhs.isF32())
    return GemmType::F32;
  if (lhs.isF64())
    return GemmType::F64;
  return GemmType::Other;
}

static int64_t bytesOf(Value value) {
  return std::max<int64_t>(tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()) / 8, 1);
}

/// Whether rows of an operand run along the reduction: wgmma reads others of 16-bit elements only.
static bool isContiguousAlongK(tg::ContractOp contract, unsigned operand) {
  AffineMap map = contract.getMap(operand), result = contract.getMap(2);
  auto last = map.getNumResults() ? dyn_cast<AffineDimExpr>(map.getResults().back()) : AffineDimExpr(nullptr);
  return last && !result.isFunctionOfDim(last.getPosition());
}

/// The largest tile along the innermost of `dims`.
static int64_t innermostBox(ArrayRef<unsigned> dims, ArrayRef<int64_t> extents) {
  unsigned several = llvm::count_if(dims, [&](unsigned d) { return extents[d] > 1; });
  std::optional<unsigned> inner = Roles::innermost(dims, extents);
  return several > 1 ? llvm::bit_floor(uint64_t(extents[*inner])) : 256;
}

/// Whether the memory of an operand or of the result is contiguous along one of `dims`.
static bool isContiguousAlong(const KernelToSchedule &kernel, Value value, ArrayRef<unsigned> dims) {
  return llvm::any_of(kernel.access.of(sourceOf(value)), [&](const KernelRequest *request) {
    AffineDimExpr dim = tg::getShiftedDim(request->coordinates.empty() ? AffineExpr() : request->coordinates.back());
    return dim && llvm::is_contained(dims, dim.getPosition());
  });
}

/// Instructions of an element of an operand that sums over windows: for each term a product, what its load takes, and
/// for elements of less than 32 bits their conversion. What else is computed there is little beside them.
static double workOf(Value operand) {
  double work = 0;
  SmallVector<Value> values{operand};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto contract = dyn_cast<tg::ContractOp>(op))
      if (std::optional<int64_t> terms = tg::countTerms(contract))
        work += double(*terms) * (bytesOf(contract.getLhs()) < 4 ? 3 : 2);
    llvm::append_range(values, op->getOperands());
  }
  return work;
}

/// What `value` is in another type and order.
static Value getPlain(Value value) {
  while (isa_and_nonnull<tg::CastOp, tg::TransposeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The innermost dimension of the kernel's result among those that `parts` cuts.
static std::optional<unsigned> findCutDim(const tg::TileParts &parts, Value result) {
  std::optional<tg::ProductOf> whole = tg::findProductOf(parts.whole), made = tg::findProductOf(result);
  if (!whole || !made)
    return std::nullopt;
  return llvm::find(made->order, whole->order[parts.end - 1]) - made->order.begin();
}

/// The reduction dimensions that a step goes along, the longest first: that one alone, or, where all of it does not
/// fill an instruction (a window over the three channels of an image), as many others as 128 bytes of a row take. Else
/// each tap of the window is a step, which waits for what it loads.
static SmallVector<unsigned> chooseStepDims(const Roles &roles, ArrayRef<int64_t> extents, int64_t elementBytes) {
  constexpr int64_t instructionBytes = 32, lineBytes = 128;
  auto whole = [&](unsigned d) { return int64_t(llvm::PowerOf2Ceil(extents[d])); };
  SmallVector<unsigned> dims;
  std::optional<unsigned> longest = Roles::largest(roles.k, extents);
  if (!longest)
    return dims;
  dims.push_back(*longest);
  int64_t bytes = whole(*longest) * elementBytes;
  if (bytes >= instructionBytes)
    return dims;
  for (unsigned d : llvm::reverse(roles.k))
    if (d != *longest && extents[d] > 1 && bytes * whole(d) <= lineBytes) {
      dims.push_back(d);
      bytes *= whole(d);
    }
  return dims;
}

/// Where rows of the operands start, and how many elements there are of each for a batch: windows read them often.
static void describeOperands(const KernelToSchedule &kernel, Value lhs, Value rhs, GemmProblem &problem) {
  problem.lhsAlignment = findVectorAlignment(kernel, lhs);
  problem.rhsAlignment = findVectorAlignment(kernel, rhs);
  problem.lhsSlides = slidesAlongRows(kernel, lhs);
  problem.rhsSlides = slidesAlongRows(kernel, rhs);
  auto elementsOf = [&](Value operand, int64_t rows) {
    return std::min(estimateElements(sourceOf(operand)) / double(problem.batch),
                    double(rows) * double(problem.k * problem.taps));
  };
  problem.lhsElements = elementsOf(lhs, problem.m);
  problem.rhsElements = elementsOf(rhs, problem.n);
}

/// What TMA allows of one of the GEMMs.
static void describeBoxes(const KernelToSchedule &kernel, tg::ContractOp product, const Roles &roles,
                          std::optional<unsigned> depth, GemmProblem &problem) {
  for (unsigned i : {0u, 1u}) {
    Value operand = product->getOperand(i);
    bool isRight = bool(i) != roles.isSwapped;
    if (problem.unpackedBits && !isRight)
      continue;
    bool boxes = hasBoxes(kernel, operand, depth);
    problem.allowWgmma &=
        boxes || (isa<BlockArgument>(operand) && hasAlignedRows(operand) && readsBoxes(product.getMap(i)));
    problem.allowWgmma &= problem.lhsBytes == 2 || isContiguousAlongK(product, i);
    int64_t &mostBox = isRight ? problem.mostBoxN : problem.mostBoxM;
    if (boxes) {
      mostBox = std::min(mostBox, findMostBox(kernel, operand, isRight ? roles.n : roles.m));
    } else { // Boxes along the innermost of the dimensions only.
      problem.mostBoxM = innermostBox(roles.m, kernel.extents);
      problem.mostBoxN = innermostBox(roles.n, kernel.extents);
    }
  }
}

/// Whether CTAs may share tiles: what is read beside their sums would have a buffer of its own in shared memory.
static bool mayShareTail(const GemmProblem &problem, ArrayRef<Value> tensors) {
  auto isStatic = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).hasStaticShape(); };
  return problem.epilogueRegisters == 0 && llvm::all_of(tensors, isStatic);
}

static GemmProblem describe(const KernelToSchedule &kernel, tg::ContractOp contract, const Roles &roles,
                            int64_t unpackedBits = 0) {
  GemmProblem problem;
  problem.unpackedBits = unpackedBits;
  Value lhs = contract.getLhs(), rhs = contract.getRhs();
  if (roles.isSwapped)
    std::swap(lhs, rhs);
  problem.lhsBytes = bytesOf(lhs);
  problem.rhsBytes = bytesOf(rhs);
  SmallVector<unsigned> stepDims = chooseStepDims(roles, kernel.extents, std::max(problem.lhsBytes, problem.rhsBytes));
  auto productOf = [&](ArrayRef<unsigned> dims, ArrayRef<unsigned> without) {
    int64_t product = 1;
    for (unsigned d : dims)
      if (!llvm::is_contained(without, d) && llvm::MulOverflow(product, kernel.extents[d], product))
        product = int64_t(1) << 40;
    return product;
  };
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  problem.m = productOf(roles.m, {});
  problem.n = productOf(roles.n, {});
  problem.k = k ? kernel.extents[*k] : 1;
  if (stepDims.size() > 1) {
    problem.k = 1;
    for (unsigned d : stepDims)
      problem.k *= int64_t(llvm::PowerOf2Ceil(kernel.extents[d]));
    problem.onlyK = problem.k;
  }
  problem.taps = productOf(roles.k, stepDims);
  problem.batch = productOf(roles.batch, {});
  problem.type = typeOf(cast<RankedTensorType>(lhs.getType()).getElementType(),
                        cast<RankedTensorType>(rhs.getType()).getElementType());
  problem.contiguousAlongK = k && isContiguousAlong(kernel, problem.m > problem.n ? lhs : rhs, *k);
  if (problem.type == GemmType::F32 && kernel.allowTf32)
    problem.type = GemmType::Tf32;
  problem.allowWgmma &= problem.type != GemmType::Tf32; // It cuts operands off to TF32; no thread sees them to round.
  func::FuncOp func = kernel.func;
  Value result = cast<func::ReturnOp>(func.getBody().front().getTerminator()).getOperand(0);
  problem.resultBytes = bytesOf(result);
  problem.resultAlignment = findRowAlignment(result);
  problem.lhsAlongK = !k || isContiguousAlong(kernel, lhs, *k);
  problem.rhsAlongK = !k || isContiguousAlong(kernel, rhs, *k);
  describeOperands(kernel, lhs, rhs, problem);
  problem.epilogueWork = countEpilogue(func) / (double(problem.batch) * double(problem.m) * double(problem.n));
  llvm::SmallPtrSet<Value, 4> left, right;
  problem.products = 0;
  for (auto product : func.getBody().front().getOps<tg::ContractOp>()) {
    if (tg::isInner(product))
      continue;
    ++problem.products;
    (roles.isSwapped ? right : left).insert(product.getLhs());
    (roles.isSwapped ? left : right).insert(product.getRhs());
    describeBoxes(kernel, product, roles, k, problem);
  }
  for (const tg::PartsResult &found : tg::findPartsResults(func.getBody().front().getTerminator()->getOperands())) {
    std::optional<unsigned> dim = findCutDim(found.parts, result);
    (dim && llvm::is_contained(roles.m, *dim) ? problem.onlyM : problem.onlyN) = found.parts.places;
    if (getPlain(found.parts.whole) != getPlain(result))
      problem.heldRegisters = 1; // What is reduced, beside what is stored.
  }
  problem.lhsWork = workOf(lhs);
  problem.rhsWork = workOf(rhs);
  auto describeSide = [&](ArrayRef<unsigned> dims, Value operand, SmallVector<int64_t> &extents, int64_t &least) {
    for (unsigned d : dims)
      extents.push_back(kernel.extents[d]);
    constexpr int64_t line = 128, vectors = 32; // Bytes.
    if (isContiguousAlong(kernel, operand, dims))
      least = std::max<int64_t>(line / bytesOf(operand), 1);
    else if (isContiguousAlong(kernel, result, dims))
      least = std::max<int64_t>(vectors / bytesOf(result), 1);
  };
  describeSide(roles.m, lhs, problem.mExtents, problem.leastInnerM);
  describeSide(roles.n, rhs, problem.nExtents, problem.leastInnerN);
  problem.lhsTensors = left.size();
  problem.rhsTensors = right.size();
  auto isOne = [&](ArrayRef<unsigned> dims) {
    return llvm::count_if(dims, [&](unsigned d) { return kernel.extents[d] > 1; }) == 1;
  };
  problem.allowMulticast =
      problem.allowWgmma && problem.taps == 1 && problem.batch == 1 && isOne(roles.m) && isOne(roles.n);
  problem.allowSplit = !unpackedBits && problem.allowMulticast && problem.products == 1 && func.getNumResults() == 1 &&
                       hasAlignedRows(result) && (problem.resultBytes == 2 || problem.resultBytes == 4);
  problem.allowWgmma &= problem.onlyK == 0;
  problem.allowRowShares = problem.onlyM == 0 && problem.onlyN == 0 && !kernel.find<tg::ReduceOp>() &&
                           (problem.type == GemmType::F16 || problem.type == GemmType::F32);
  for (const KernelRequest &request : kernel.access.requests) {
    auto reads = [&](std::optional<unsigned> d) {
      return d && llvm::any_of(request.coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(*d); });
    };
    if (isa<BlockArgument>(request.value) && reads(m) && reads(n))
      problem.epilogueRegisters += double(bytesOf(request.value)) / 4;
  }
  problem.allowTail = problem.allowSplit && mayShareTail(problem, {lhs, rhs, result});
  return problem;
}

/// A matrix whose rows are contiguous along the reduction streams by long pieces of few rows: DRAM gives 128 bytes a
/// row 10 % more slowly than 1 KiB (measured on an H100: 0.097 ms against 0.088 for 28672 x 4096). A thread holds 16
/// vectors if that takes whole rows of a `plainVector` (0.0864 ms there; by steps 0.0878). Else a CTA takes rows of 16
/// or 8 in steps of one vector a thread, so that sums and what is computed of the vector take few registers, and
/// `streamedSteps` of them are under way (a Llama layer with its norms behind such GEMMs: 163.8 us; in whole rows
/// 171.5, by 2, 8, 16 steps 167.2, 165.5, 168.6).
static void streamRowsOfMatrix(const KernelToSchedule &kernel, int64_t rows, int64_t depth, int64_t vector,
                               bool plainVector, const Device &device, ScheduleChoice &choice, int64_t &columns,
                               int64_t &step) {
  constexpr int64_t lanes = 32, streamedSteps = 4;
  func::FuncOp func = kernel.func;
  int64_t matrices =
      llvm::count_if(func.getBody().front().getOps<tg::ContractOp>(), [](auto each) { return !tg::isInner(each); });
  StreamedRows streamed = streamRows(rows, depth, vector, matrices, device);
  columns = streamed.columns;
  step = streamed.step;
  if (streamed.isWhole && plainVector)
    return;
  step = std::min(step, std::max(streamingThreads * vector / columns, lanes * vector));
  choice.stages = streamedSteps;
}

/// Whether the kernel has contractions that its anchor reads, longer than a window.
static bool hasInner(const KernelToSchedule &kernel) {
  func::FuncOp func = kernel.func;
  return llvm::any_of(func.getBody().front().getOps<tg::ContractOp>(),
                      [](tg::ContractOp each) { return tg::isInner(each) && !tg::isWindowSum(each); });
}

/// Whether the result has elements that the contraction lacks: its elements stand there again.
static bool hasStretched(const KernelToSchedule &kernel, const Roles &roles) {
  for (unsigned d = 0; d < kernel.access.resultRank; ++d)
    if (kernel.extents[d] > 1 && !llvm::is_contained(roles.batch, d) && !llvm::is_contained(roles.m, d) &&
        !llvm::is_contained(roles.n, d))
      return true;
  return false;
}

/// A vector that other contractions make, or that is stretched over more dimensions: a CTA computes what it reads
/// alone, so it has many threads, a line of columns, and as many of the other elements as its threads hold.
static ScheduleChoice chooseStretched(const KernelToSchedule &kernel, const Roles &roles, const Device &device) {
  constexpr int64_t warps = 16, placesPerThread = 8, lineBytes = 128, mostStep = 256;
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  choice.stream.assign(roles.k.size(), 1);
  choice.warps = warps;
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  unsigned out = n ? *n : *m;
  int64_t threads = warps * 32, columns = fitPower(kernel.extents[out], lineBytes / kernel.getWidestBytes(), 1);
  choice.tile[out] = columns;
  if (k) // In one step where that fits: what makes the vector then stands in no loop.
    choice.stream[llvm::find(roles.k, *k) - roles.k.begin()] =
        std::min({int64_t(llvm::PowerOf2Ceil(kernel.extents[*k])), mostStep, threads * placesPerThread * 2 / columns});
  int64_t left = threads * placesPerThread / columns, tiles = llvm::divideCeil(kernel.extents[out], columns);
  for (unsigned d = kernel.access.resultRank; d-- > 0;) {
    bool isOwn = llvm::is_contained(roles.batch, d) || llvm::is_contained(roles.m, d) || llvm::is_contained(roles.n, d);
    if (!isOwn) {
      choice.tile[d] = std::min<int64_t>(llvm::PowerOf2Ceil(kernel.extents[d]), left);
      left = std::max<int64_t>(left / choice.tile[d], 1);
    }
    if (d != out)
      tiles *= int64_t(llvm::divideCeil(kernel.extents[d], choice.tile[d]));
  }
  choice.reason = llvm::formatv("vector in each CTA: {0} columns, {1} elements a thread, {2} CTAs", columns,
                                placesPerThread, tiles);
  return choice;
}

/// Whether all that is summed up is a window: each reduced dimension is added to one of the result where an operand is
/// read.
static bool sumsWindows(tg::ContractOp contract) {
  AffineMap result = contract.getMap(2);
  auto isAdded = [&](unsigned reduced, AffineExpr at) {
    bool isAlone = true;
    for (unsigned d = 0; d < result.getNumDims(); ++d)
      isAlone &= !result.isFunctionOfDim(d) || !at.isFunctionOfDim(d);
    return at.isFunctionOfDim(reduced) && !isAlone;
  };
  for (unsigned d = 0; d < result.getNumDims(); ++d) {
    bool found = result.isFunctionOfDim(d);
    for (unsigned operand : {0u, 1u})
      found |= llvm::any_of(contract.getMap(operand).getResults(), [&](AffineExpr at) { return isAdded(d, at); });
    if (!found)
      return false;
  }
  return true;
}

/// Without a left or a right dimension there is nothing to multiply tile by tile: the larger operand streams through,
/// wide along what is contiguous in it.
static ScheduleChoice chooseVector(const KernelToSchedule &kernel, tg::ContractOp contract, const Roles &roles,
                                   const Device &device) {
  ScheduleChoice choice;
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  if ((m || n) && (hasStretched(kernel, roles) || hasInner(kernel)))
    return chooseStretched(kernel, roles, device);
  if ((!m && !n) || tg::isWindowSum(contract) || sumsWindows(contract)) { // Depthwise: a map with a loop of elements.
    std::optional<ScheduleChoice> windows = chooseWindows(kernel, contract, device);
    choice = windows ? *windows : chooseElementwise(kernel, device);
    choice.stream.assign(roles.k.size(), 1);
    return choice;
  }
  choice.tile.assign(kernel.access.resultRank, 1);
  choice.stream.assign(roles.k.size(), 1);
  bool isRight = bool(n) != roles.isSwapped;
  Value matrix = isRight ? contract.getRhs() : contract.getLhs();
  Value stored = skipCasts(matrix); // A cast is part of the load.
  bool plainVector = isa<BlockArgument>(skipCasts(isRight ? contract.getLhs() : contract.getRhs()));
  int64_t vector = std::max<int64_t>(16 / bytesOf(stored), 1);
  int64_t others = 1;
  for (unsigned d = 0; d < kernel.access.resultRank; ++d)
    if (d != m && d != n)
      others = llvm::MulOverflow(others, kernel.extents[d], others) ? INT64_MAX : others;
  unsigned out = n ? *n : *m;
  // The most columns with enough CTAs, at least a sector; the reduction in steps of four vectors a thread.
  choice.warps = 4;
  int64_t columns = std::min<int64_t>(llvm::PowerOf2Ceil(kernel.extents[out]), 128), sector = 2 * vector;
  while (columns > sector && int64_t(llvm::divideCeil(kernel.extents[out], columns)) * others < 2 * device.sms)
    columns /= 2;
  int64_t step =
      k ? fitPower(kernel.extents[*k], std::max<int64_t>(choice.warps * 32 * vector * 4 / columns, 1), 1) : 1;
  if (k && isContiguousAlong(kernel, matrix, *k) && kernel.extents[*k] >= choice.warps * 32)
    streamRowsOfMatrix(kernel, kernel.extents[out] * others, kernel.extents[*k], vector, plainVector, device, choice,
                       columns, step);
  choice.tile[out] = columns;
  if (k)
    choice.stream[llvm::find(roles.k, *k) - roles.k.begin()] = step;
  int64_t places = columns;
  for (int64_t step : choice.stream)
    places *= step;
  while (choice.warps > 1 && choice.warps * 32 > places)
    choice.warps /= 2;
  choice.reason = llvm::formatv("matrix by vector: {0} columns a CTA, steps of {1}", columns,
                                choice.stream.empty() ? 1 : *llvm::max_element(choice.stream));
  return choice;
}

ScheduleChoice chooseSummedProduct(const KernelToSchedule &kernel, tg::ContractOp contract, const Device &device) {
  GemmProblem problem;
  problem.type = typeOf(cast<RankedTensorType>(contract.getLhs().getType()).getElementType(),
                        cast<RankedTensorType>(contract.getRhs().getType()).getElementType());
  if (problem.type == GemmType::F32 && kernel.allowTf32)
    problem.type = GemmType::Tf32;
  problem.lhsBytes = problem.rhsBytes = problem.resultBytes = bytesOf(contract.getLhs());
  problem.wholeM = true;
  problem.allowWgmma = false;
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  SmallVector<int64_t> steps;
  unsigned out = 0, depth = 0;
  for (auto [d, dim] : llvm::enumerate(kernel.access.dims)) {
    int64_t extent = kernel.extents[d];
    if (isa_and_nonnull<tg::ReduceOp>(dim.reducer)) {
      problem.m *= extent;
      choice.stream.push_back(llvm::PowerOf2Ceil(extent));
    } else if (dim.reducer) {
      depth = extent > (steps.empty() ? 0 : problem.k) ? steps.size() : depth;
      problem.k = std::max(problem.k, extent);
      steps.push_back(1);
    } else {
      problem.n *= extent;
      out = extent >= kernel.extents[out] ? d : out;
    }
  }
  GemmChoice best = chooseGemmTile(problem, device);
  choice.tile[out] = best.tile.n;
  if (!steps.empty())
    steps[depth] = best.tile.k;
  llvm::append_range(choice.stream, steps);
  choice.engine = best.tile.engine;
  choice.warps = best.tile.warps;
  choice.stages = best.tile.stages;
  choice.reason =
      llvm::formatv("accumulators of a GEMM {0} x {1} x {2}: {3} tiles of all rows, {4} columns, steps of {5}",
                    problem.m, problem.n, problem.k, best.cost.tiles, best.tile.n, best.tile.k);
  return choice;
}

/// The tile that was chosen for all GEMMs of the kernel's launch.
static std::optional<GemmTile> readLaunchTile(const KernelToSchedule &kernel) {
  func::FuncOp func = kernel.func;
  auto schedule = func->getParentOp()->getAttrOfType<tg::ScheduleAttr>(launchTileAttr);
  if (!schedule || schedule.getTile().size() != 2 || schedule.getStream().size() != 1)
    return std::nullopt;
  return GemmTile{schedule.getTile()[0], schedule.getTile()[1], schedule.getStream()[0], schedule.getWarps(),
                  schedule.getStages(),  schedule.getEngine(),  schedule.getSplit(),     schedule.getMulticast()};
}

std::optional<TiledProduct> describeTiledProduct(const KernelToSchedule &kernel) {
  func::FuncOp func = kernel.func;
  tg::ContractOp contract = tg::findAnchor(func.getBody().front());
  if (!contract || kernel.find<tg::FoldOp>())
    return std::nullopt;
  Roles roles(kernel, contract);
  for (ArrayRef<unsigned> dims : {ArrayRef(roles.m), ArrayRef(roles.n), ArrayRef(roles.k)})
    if (!Roles::largest(dims, kernel.extents))
      return std::nullopt;
  Value left = roles.isSwapped ? contract.getRhs() : contract.getLhs();
  return TiledProduct{describe(kernel, contract, roles), sourceOf(left)};
}

static ProductDims dimsOf(tg::ContractOp contract, const Roles &roles, unsigned depth) {
  Value operands[2] = {sourceOf(contract.getLhs()), sourceOf(contract.getRhs())};
  return {operands[roles.isSwapped], operands[!roles.isSwapped], roles.m, roles.n, roles.k, depth};
}

ScheduleChoice chooseContraction(const KernelToSchedule &kernel, tg::ContractOp contract, const Device &device) {
  Roles roles(kernel, contract);
  int64_t unpackedBits = 0;
  if (!hasStretched(kernel, roles) && !hasInner(kernel)) {
    unpackedBits = turnForWarpgroups(kernel, contract, roles, device);
    if (auto unpacked = unpackedBits ? std::nullopt : chooseUnpacked(kernel, contract, roles, device))
      return *unpacked;
  }
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  if (!m || !n || !k)
    return chooseVector(kernel, contract, roles, device);
  GemmProblem problem = describe(kernel, contract, roles, unpackedBits);
  problem.only = readLaunchTile(kernel);
  func::FuncOp func = kernel.func;
  problem.isBeside = func->getParentOp()->hasAttr(besideAttr);
  if (problem.isBeside && problem.lhsWork + problem.rhsWork == 0)
    problem.allowRowShares = problem.allowSplit =
        false; // It would gain less than the launch that it has in common with them.
  GemmChoice best = chooseGemmTile(problem, device);
  std::optional<WindowStep> window = chooseWindowStep(kernel, dimsOf(contract, roles, *k), problem, best, device);
  if (window)
    best = window->choice;
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  choice.stream.assign(roles.k.size(), 1);
  auto spread = [&](bool isLeft, ArrayRef<int64_t> extents, int64_t elements, int64_t least) {
    SmallVector<int64_t> tile =
        window && window->isLeft == isLeft ? window->sideTile : splitTile(extents, elements, least);
    for (auto [d, part] : llvm::zip_equal(isLeft ? roles.m : roles.n, tile))
      choice.tile[d] = part;
  };
  spread(/*isLeft=*/true, problem.mExtents, best.tile.m, problem.leastInnerM);
  spread(/*isLeft=*/false, problem.nExtents, best.tile.n, problem.leastInnerN);
  auto stepOf = [&](unsigned d) -> int64_t & { return choice.stream[llvm::find(roles.k, d) - roles.k.begin()]; };
  stepOf(*k) = best.tile.k;
  if (window && window->tap)
    stepOf(*window->tap) = kernel.extents[*window->tap];
  if (problem.onlyK)
    for (unsigned d : chooseStepDims(roles, kernel.extents, std::max(problem.lhsBytes, problem.rhsBytes)))
      stepOf(d) = int64_t(llvm::PowerOf2Ceil(kernel.extents[d]));
  choice.engine = best.tile.engine;
  choice.warps = best.tile.warps;
  choice.stages = best.tile.stages;
  choice.split = best.tile.split;
  choice.multicast = best.tile.multicast;
  bool hasTail = best.tile.parts > 1;
  choice.persistent = best.tile.engine == tg::Engine::Wgmma && (hasTail || best.cost.tiles > int64_t(device.sms));
  choice.reason = llvm::formatv(
      "contraction {0} x {1} x {2} x {3}: {4} tiles of {5}x{6}x{7}, {8} CTAs an SM, {9:f1} us, bound by {10}",
      problem.batch, problem.m, problem.n, problem.k * problem.taps, best.cost.tiles, best.tile.m, best.tile.n,
      best.tile.k, best.cost.ctasPerSm, best.cost.seconds * 1e6, best.cost.bound);
  if (problem.only == best.tile)
    choice.reason += "; as GEMMs beside it in its launch";
  if (window && window->tap)
    choice.reason += llvm::formatv("; steps of {0} taps of the window", kernel.extents[*window->tap]);
  if (best.tile.split > 1)
    choice.reason += llvm::formatv("; clusters of {0} CTAs share a tile's steps", best.tile.split);
  if (best.tile.multicast > 1)
    choice.reason +=
        llvm::formatv("; clusters of {0} CTAs read once what their tiles have in common", best.tile.multicast);
  if (hasTail)
    choice.reason += llvm::formatv("; {0} CTAs share each tile behind the first {1}", best.tile.parts, best.tile.whole);
  if (problem.products > 1)
    choice.reason += llvm::formatv("; {0} GEMMs in a tile", problem.products);
  choice.ctasPerSm = std::max<int64_t>(best.cost.ctasPerSm, 1);
  chooseOrderOf(kernel, problem, best, *m, *n, device, choice);
  if (hasTail)
    choice.order = GridTail{best.tile.whole, best.tile.parts}.print(choice.order);
  return choice;
}

std::optional<double> estimateContraction(const KernelToSchedule &kernel, tg::ContractOp contract,
                                          tg::ScheduleAttr schedule, const Device &device) {
  Roles roles(kernel, contract);
  bool byGroups = schedule.getEngine() == tg::Engine::Wgmma;
  int64_t unpackedBits = byGroups ? turnForWarpgroups(kernel, contract, roles, device) : 0;
  std::optional<unsigned> k = Roles::largest(roles.k, kernel.extents);
  if (!Roles::largest(roles.m, kernel.extents) || !Roles::largest(roles.n, kernel.extents) || !k)
    return estimateMemoryBound(kernel, schedule, device).seconds;
  if (schedule.getTile().size() < kernel.access.resultRank || schedule.getStream().size() < roles.k.size())
    return std::nullopt;
  auto productOf = [&](ArrayRef<unsigned> dims) {
    int64_t product = 1;
    for (unsigned d : dims)
      product *= schedule.getTile()[d];
    return product;
  };
  int64_t step = schedule.getStream()[llvm::find(roles.k, *k) - roles.k.begin()];
  GemmTile tile{productOf(roles.m),  productOf(roles.n),     step,
                schedule.getWarps(), schedule.getStages(),   schedule.getEngine(),
                schedule.getSplit(), schedule.getMulticast()};
  GridTail tail;
  std::string error;
  if (std::string_view order = schedule.getOrder(); takeGridTail(order, tail, error)) {
    tile.whole = tail.whole;
    tile.parts = tail.parts;
  }
  GemmProblem problem = describe(kernel, contract, roles, unpackedBits);
  if (auto seconds = estimateWindowStep(kernel, dimsOf(contract, roles, *k), problem, schedule, tile, device))
    return seconds;
  GemmCost cost = estimateGemm(problem, tile, device);
  return cost.fits ? std::optional(cost.seconds) : std::nullopt;
}

} // namespace weft::plan
