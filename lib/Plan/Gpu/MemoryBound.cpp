// Schedules of kernels that memory bounds: maps and reductions without a contraction.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes in flight: an SM hides DRAM's latency (about 600 ns) with latency * bandwidth / SMs = 15 KiB under way on an
// H100, half of what its 2,048 threads bring with one 16-byte vector each. So a thread takes several vectors only where
// enough CTAs remain to fill the SMs, and a tile whose rows are contiguous in one tensor and its columns in another is
// wide in both.
#include "../Facts/RowStatistics.h"
#include "../Groups/InnerContractions.h"
#include "../Models/ProductRows.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Plan/ReadTime.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

static constexpr int64_t warpThreads = 32, vectorBytes = 16;
/// CTAs for each SM below which tiles shrink.
static constexpr int64_t ctasWanted = 4;
/// Elements of a row that a thread holds at most, and the most threads of a CTA that may hold that many.
static constexpr int64_t rowElementsPerThread = 32, rowWarps = 32;
static constexpr int64_t rowLimit = rowElementsPerThread * rowWarps * warpThreads;
/// Elements that are sorted in one tile at most.
static constexpr int64_t sortLimit = 1024;
/// What estimates tell apart.
static constexpr double resolution = 0.03;

static int64_t product(ArrayRef<int64_t> numbers) {
  int64_t result = 1;
  for (int64_t n : numbers)
    result = llvm::MulOverflow(result, n, result) ? INT64_MAX : result;
  return result;
}

static int64_t countTiles(ArrayRef<int64_t> extents, ArrayRef<int64_t> tile) {
  int64_t count = 1;
  for (auto [extent, size] : llvm::zip(extents, tile))
    if (llvm::MulOverflow(count, int64_t(llvm::divideCeil(extent, size)), count))
      return INT64_MAX;
  return count;
}

static std::string textOf(ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t n : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(n);
  return text.empty() ? "1" : text;
}

/// Whether `coordinates` end in exactly one dimension with coefficient 1, beside multiples of others and a constant:
/// that dimension.
static std::optional<unsigned> contiguousDim(ArrayRef<AffineExpr> coordinates) {
  if (coordinates.empty() || !coordinates.back())
    return std::nullopt;
  std::optional<unsigned> found;
  SmallVector<AffineExpr> terms{coordinates.back()};
  while (!terms.empty()) {
    AffineExpr term = terms.pop_back_val();
    auto binary = dyn_cast<AffineBinaryOpExpr>(term);
    if (term.getKind() == AffineExprKind::Add) {
      terms.append({binary.getLHS(), binary.getRHS()});
    } else if (auto dim = dyn_cast<AffineDimExpr>(term); dim && !found) {
      found = dim.getPosition();
    } else {
      bool isMultiple = term.getKind() == AffineExprKind::Mul && isa<AffineConstantExpr>(binary.getRHS());
      if (!isMultiple && !isa<AffineConstantExpr>(term))
        return std::nullopt;
    }
  }
  return found;
}

/// The dimensions along which the kernel's larger tensors are contiguous: first that of the result. Tensors smaller
/// than an eighth of the largest do not count: caches keep them.
static llvm::SetVector<unsigned> contiguousDims(const KernelToSchedule &kernel) {
  const KernelAccess &access = kernel.access;
  llvm::SetVector<unsigned> found;
  auto sizeOf = [&](Value value) {
    int64_t size = 1;
    for (AffineExpr extent : tg::getDims(value.getType()))
      size = llvm::MulOverflow(size, estimateExtent(extent), size) ? INT64_MAX : size;
    return size;
  };
  for (unsigned d = access.resultRank; d-- > 0 && found.empty();)
    if (kernel.extents[d] > 1)
      found.insert(d);
  int64_t largest = 1;
  for (const KernelRequest &request : access.requests)
    if (isa<BlockArgument>(request.value))
      largest = std::max(largest, sizeOf(request.value));
  for (const KernelRequest &request : access.requests) {
    if (!isa<BlockArgument>(request.value) || sizeOf(request.value) < largest / 8)
      continue;
    if (std::optional<unsigned> dim = contiguousDim(request.coordinates))
      if (unsigned along = access.dims[*dim].along; kernel.extents[along] > 1)
        found.insert(along);
  }
  return found;
}

/// Elements of a vector of the widest tensor; those smaller than an eighth of the largest do not count.
static int64_t vectorOfLarge(const KernelToSchedule &kernel) {
  func::FuncOp func = kernel.func;
  SmallVector<Value> values(func.getArguments().begin(), func.getArguments().end());
  llvm::append_range(values, func.getBody().front().getTerminator()->getOperands());
  llvm::erase_if(values, [](Value value) { return !isa<RankedTensorType>(value.getType()); });
  double largest = 0;
  for (Value value : values)
    largest = std::max(largest, estimateElements(value));
  int64_t widest = 1;
  for (Value value : values)
    if (estimateElements(value) * 8 >= largest)
      widest =
          std::max<int64_t>(widest, tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()) / 8);
  return std::max<int64_t>(vectorBytes / widest, 1);
}

/// Whether rows of a large tensor that is read along `dim` begin inside of sectors.
static bool hasLooseRows(const KernelToSchedule &kernel, unsigned dim) {
  constexpr int64_t sectorBytes = 32;
  return llvm::any_of(kernel.access.requests, [&](const KernelRequest &request) {
    std::optional<unsigned> along =
        isa<BlockArgument>(request.value) ? contiguousDim(request.coordinates) : std::nullopt;
    return along && kernel.access.dims[*along].along == dim && findRowAlignment(request.value) < sectorBytes;
  });
}

/// Spreads a tile of `elements` over dimensions of these extents: first over those of `wide` (an equal part each, or
/// 32 for all but the last), then over the others from the last on.
static SmallVector<int64_t> spread(ArrayRef<int64_t> extents, ArrayRef<unsigned> wide, int64_t elements,
                                   bool isLastLong = false) {
  constexpr int64_t leastWide = 32;
  SmallVector<int64_t> tile(extents.size(), 1);
  int64_t left = elements;
  for (auto [i, d] : llvm::enumerate(wide)) {
    unsigned remaining = wide.size() - i;
    int64_t share = remaining == 1 ? left : isLastLong ? leastWide : int64_t(1) << (llvm::Log2_64(left) / remaining);
    tile[d] = fitPower(extents[d], std::max(share, std::min(left, leastWide)), leastWide);
    left = std::max<int64_t>(left / tile[d], 1);
  }
  for (unsigned d = extents.size(); d-- > 0 && left > 1;) {
    if (llvm::is_contained(wide, d))
      continue;
    tile[d] = fitPower(extents[d], left, 1);
    left /= tile[d];
  }
  return tile;
}

/// Whether it sums over windows of more than 9 elements: what 8 elements of a thread read of 25 takes 200 registers.
static bool hasManyTerms(const KernelToSchedule &kernel) {
  constexpr int64_t many = 9;
  func::FuncOp func = kernel.func;
  return llvm::any_of(func.getBody().front().getOps<tg::ContractOp>(),
                      [](tg::ContractOp each) { return tg::countTerms(each).value_or(0) > many; });
}

/// Tiles that are wide along these dimensions, with the most work a CTA that leaves enough of them. `hasSums`: each CTA
/// computes sums of few terms first.
static ScheduleChoice tileMap(const KernelToSchedule &kernel, ArrayRef<unsigned> wide, bool hasSums,
                              const Device &device) {
  ArrayRef<int64_t> extents = ArrayRef(kernel.extents).take_front(kernel.access.resultRank);
  int64_t vector = hasSums ? vectorOfLarge(kernel) : std::max<int64_t>(vectorBytes / kernel.getWidestBytes(), 1);
  if (hasManyTerms(kernel))
    vector = std::max<int64_t>(vector / 2, 1);
  ScheduleChoice choice;
  // Warps, and vectors a thread: the most work a CTA first.
  constexpr std::pair<int64_t, int64_t> shapes[] = {{4, 4}, {4, 2}, {4, 1}, {2, 1}, {1, 1}};
  // More warps of a CTA share its sums: 0.0145 against 0.0150 ms for GroupNorm + SiLU on an H100.
  constexpr std::pair<int64_t, int64_t> shapesWithSums[] = {{8, 2}, {4, 2}, {4, 1}, {2, 1}, {1, 1}};
  // Rows that begin inside of sectors: the longer a line, the less of what its ends touch is read again (H100, 18 x 576
  // x 9801 to channels innermost: 64 x 64 elements and channels 167 us, 256 x 32 150; 20 x 256 x 3025: 36 and 29, 16 x
  // 256 86).
  constexpr std::pair<int64_t, int64_t> shapesOfLines[] = {{8, 4}, {4, 4}, {4, 2}, {4, 1}, {2, 1}, {1, 1}};
  bool isLoose = wide.size() == 2 && hasLooseRows(kernel, wide.back());
  for (auto [warps, vectors] : hasSums   ? ArrayRef(shapesWithSums)
                               : isLoose ? ArrayRef(shapesOfLines)
                                         : ArrayRef(shapes)) {
    choice.warps = warps;
    // A transposition needs 32 x 32 elements at least to be contiguous on both sides.
    int64_t elements = std::max<int64_t>(warps * warpThreads * vectors * vector, wide.size() > 1 ? 1024 : 1);
    choice.tile = spread(extents, wide, elements, isLoose);
    if (countTiles(extents, choice.tile) >= ctasWanted * device.sms)
      break;
  }
  choice.reason = llvm::formatv("map of {0} elements: {1} CTAs of {2}", product(extents),
                                countTiles(extents, choice.tile), textOf(choice.tile));
  return choice;
}

/// Tiles of a map whose sums have hundreds of terms, `terms` in a step: each element along `inner` sums up for itself,
/// so a tile has a sector of them, or two where the terms of all fit the registers. (GroupNorm with SiLU of 2x320x64x64
/// behind a convolution on an H100, 160 terms: 128 x 32 elements by 8 warps 8.8 us, 256 x 16 9.1, 256 x 32 9.9, 64 x 32
/// by 4 warps 11.0, 64 x 64 12.7, 1024 x 16 by 16 warps 14.3; 8.4 with 10 terms.)
static ScheduleChoice tileUnderSums(const KernelToSchedule &kernel, unsigned inner, int64_t terms,
                                    const Device &device) {
  constexpr int64_t sectorBytes = 32, termsPerThread = 32, vectors = 2;
  ArrayRef<int64_t> extents = ArrayRef(kernel.extents).take_front(kernel.access.resultRank);
  ScheduleChoice choice;
  choice.warps = 8;
  int64_t threads = choice.warps * warpThreads, vector = vectorOfLarge(kernel), left = threads * vectors * vector;
  int64_t sector = sectorBytes * vector / vectorBytes, columns = threads * termsPerThread / terms;
  choice.tile.assign(extents.size(), 1);
  choice.tile[inner] = fitPower(extents[inner], std::clamp(columns, sector, 2 * sector), sector);
  left /= choice.tile[inner];
  for (unsigned d = extents.size(); d-- > 0 && left > 1;)
    if (d != inner) {
      choice.tile[d] = fitPower(extents[d], left, 1);
      left /= choice.tile[d];
    }
  choice.reason = llvm::formatv("map of {0} elements: {1} CTAs of {2}", product(extents),
                                countTiles(extents, choice.tile), textOf(choice.tile));
  return choice;
}

static ScheduleChoice chooseMap(const KernelToSchedule &kernel, bool hasSums, const Device &device) {
  SmallVector<unsigned> wide;
  for (unsigned d : contiguousDims(kernel))
    if (d < kernel.access.resultRank)
      wide.push_back(d);
  hasSums &= wide.size() == 1;
  ScheduleChoice choice = tileMap(kernel, wide, hasSums, device);
  if (wide.size() < 2 || (wide.size() == 2 && hasLooseRows(kernel, wide.back())))
    return choice;
  // Tensors that lie across each other: wide along both, unless the model of reads finds one side's waste the lesser.
  MLIRContext *context = func::FuncOp(kernel.func).getContext();
  ScheduleChoice along = tileMap(kernel, wide.front(), hasSums, device);
  double both = estimateMemoryBound(kernel, choice.getAttr(context), device).seconds;
  double one = estimateMemoryBound(kernel, along.getAttr(context), device).seconds;
  if (one < both)
    std::swap(choice, along);
  choice.reason += llvm::formatv("; {0:f1} us wide along both sides, {1:f1} us along one", both * 1e6, one * 1e6);
  return choice;
}

ScheduleChoice chooseElementwise(const KernelToSchedule &kernel, const Device &device) {
  return chooseMap(kernel, /*hasSums=*/false, device);
}

namespace {

/// The reduced dimensions of a kernel, and how they lie.
struct Rows {
  SmallVector<unsigned> inResult; ///< Dimensions of the result that reductions run along.
  SmallVector<unsigned> streamed; ///< Reduced dimensions of their own, in the order of the axes.
  /// Dimensions of the result that an order statistic makes as a whole, with the extent of its operand's axis.
  SmallVector<std::pair<unsigned, int64_t>> sorted;
  bool hasWholeAxis = false; ///< Scans and order statistics want the whole axis in one tile.

  explicit Rows(const KernelToSchedule &kernel) {
    const KernelAccess &access = kernel.access;
    for (const auto &[d, dim] : llvm::enumerate(access.dims)) {
      if (!dim.reducer || isa<tg::ContractOp>(dim.reducer)) // A window is gone through element by element.
        continue;
      SmallVector<unsigned> &kind = dim.along < access.resultRank ? inResult : streamed;
      if ((dim.along < access.resultRank || dim.along == d) && !llvm::is_contained(kind, dim.along))
        kind.push_back(dim.along);
    }
    func::FuncOp func = kernel.func;
    func.walk([&](Operation *op) {
      hasWholeAxis |= isa<tg::ScanOp, tg::TopKOp>(op);
      if (auto scan = dyn_cast<tg::ScanOp>(op))
        noteAxis(kernel, scan.getResult(), scan.getAxis(), inResult);
      if (auto topK = dyn_cast<tg::TopKOp>(op)) {
        SmallVector<unsigned> dims;
        for (Value result : topK->getResults())
          noteAxis(kernel, result, topK.getAxis(), dims);
        int64_t extent = estimateExtent(tg::getDim(topK.getInput().getType(), topK.getAxis()));
        for (unsigned d : dims)
          sorted.push_back({d, extent});
      }
    });
  }

  /// Adds the dimension of the kernel's result that runs along `axis` of `value`.
  static void noteAxis(const KernelToSchedule &kernel, Value value, int64_t axis, SmallVector<unsigned> &dims) {
    for (const KernelRequest *request : kernel.access.of(value))
      if (auto dim = dyn_cast_or_null<AffineDimExpr>(request->coordinates[axis]))
        if (dim.getPosition() < kernel.access.resultRank && !llvm::is_contained(dims, dim.getPosition()))
          dims.push_back(dim.getPosition());
  }
};

} // namespace

/// Whether some tensor is read at a sum of a dimension and others: a window.
static bool isWindowed(const KernelAccess &access, unsigned d) {
  return llvm::any_of(access.requests, [&](const KernelRequest &request) {
    return llvm::any_of(request.coordinates, [&](AffineExpr at) {
      if (!at || !at.isFunctionOfDim(d))
        return false;
      for (unsigned other = 0; other < access.dims.size(); ++other)
        if (other != d && at.isFunctionOfDim(other))
          return true;
      return false;
    });
  });
}

/// Rows that lie across what is contiguous in memory: as many side by side as make a sector (32 bytes), or a line where
/// that leaves a CTA for each SM. Their number; 1 where a row itself is contiguous, or several do not fit a CTA.
static int64_t spreadAcross(const KernelToSchedule &kernel, const Rows &rows, int64_t row, const Device &device,
                            SmallVectorImpl<int64_t> &tile) {
  constexpr int64_t sectorBytes = 32, lineBytes = 128;
  ArrayRef<int64_t> extents = ArrayRef(kernel.extents).take_front(kernel.access.resultRank);
  llvm::SetVector<unsigned> contiguous = contiguousDims(kernel);
  if (contiguous.empty() || llvm::is_contained(rows.inResult, contiguous.front()))
    return 1;
  unsigned inner = contiguous.front();
  int64_t widest = kernel.getWidestBytes(), most = rowLimit / 2 / row, others = product(extents) / extents[inner];
  for (unsigned d : rows.inResult)
    others /= extents[d];
  int64_t side = fitPower(extents[inner], std::max<int64_t>(std::min(lineBytes / widest, most), 1), 1);
  while (side * widest > sectorBytes && int64_t(llvm::divideCeil(extents[inner], side)) * others < device.sms)
    side /= 2;
  if (kernel.find<tg::ContractOp>()) // Windows in front of them.
    side = std::min(side, int64_t(columnsOfWindows(extents[inner], others, widest, device)));
  return tile[inner] = side;
}

/// Of CTAs that have a row each, the warps that the model likes best: many share a row's latency, few leave room for
/// others beside them.
static void chooseWarps(const KernelToSchedule &kernel, int64_t row, const Device &device, ScheduleChoice &choice) {
  constexpr int64_t leastWarps = 4;
  MLIRContext *context = func::FuncOp(kernel.func).getContext();
  ScheduleChoice candidate = choice;
  double least = estimateMemoryBound(kernel, choice.getAttr(context), device).seconds * (1 - resolution);
  for (int64_t warps = leastWarps; warps <= rowWarps; warps *= 2) {
    if (row > rowElementsPerThread * warps * warpThreads || row < warps * warpThreads)
      continue;
    candidate.warps = warps;
    if (double seconds = estimateMemoryBound(kernel, candidate.getAttr(context), device).seconds; seconds < least)
      choice.warps = warps, least = seconds;
  }
}

/// Rows that the result has: whole in registers where they fit, several of them in a CTA where they are short.
static ScheduleChoice chooseWholeRows(const KernelToSchedule &kernel, const Rows &rows, const Device &device) {
  ArrayRef<int64_t> extents = ArrayRef(kernel.extents).take_front(kernel.access.resultRank);
  ScheduleChoice choice;
  choice.tile.assign(extents.size(), 1);
  int64_t row = 1;
  for (unsigned d : rows.inResult) {
    choice.tile[d] = llvm::PowerOf2Ceil(extents[d]);
    row = llvm::MulOverflow(row, choice.tile[d], row) ? INT64_MAX : row;
  }
  int64_t vector = std::max<int64_t>(vectorBytes / kernel.getWidestBytes(), 1);
  if (row > rowLimit) { // Each element of a scan then has a loop of its own.
    // Streamed: 16 warps with four vectors a thread along the innermost reduced dimension.
    choice.warps = 16;
    int64_t left = choice.warps * warpThreads * vector * 4;
    for (unsigned d : llvm::reverse(rows.inResult)) {
      choice.tile[d] = std::min<int64_t>(choice.tile[d], std::max<int64_t>(left, 1));
      left /= choice.tile[d];
    }
    choice.reason =
        llvm::formatv("rows of {0} elements exceed {1}: streamed by {2}", row, rowLimit, textOf(choice.tile));
    return choice;
  }
  int64_t across = spreadAcross(kernel, rows, row, device, choice.tile);
  row *= across;
  // Two vectors a thread hide latency and leave registers; short rows share a CTA of four warps. Four vectors, and half
  // as many warps, where rows fill the SMs and have fewer elements than the tile, or more than 16 warps: other CTAs
  // then load meanwhile. (8192 rows of 9,932 bf16 on an H100: 119 us with 16 warps, 191 with 32; of 5,120: 61 with 8,
  // 79 with 16; softmax of 16,000: 179, 277; LayerNorm and GELU of 7,280 x 2,816: 39, 54; 8192 rows of
  // 4,096: 50.1, 49.0.)
  int64_t perThread = std::clamp<int64_t>(2 * vector, 4, 16), mostWarps = rowWarps;
  int64_t numRows = 1, elements = across;
  for (auto [d, extent] : llvm::enumerate(extents))
    (llvm::is_contained(rows.inResult, d) ? elements : numRows) *= extent;
  bool isPadded = elements<row, isLong = row> rowWarps / 2 * warpThreads * perThread;
  bool fillsSms = across == 1 && numRows >= ctasWanted * int64_t(device.sms);
  int64_t held = fillsSms && (isPadded || isLong) ? 2 * perThread : perThread;
  // Terms of windows are code for each element of a thread, and want registers; two elements of a thread share what
  // they read from shared memory (14x14x672, 25 terms, f32: 4.3 us with 8 warps, 5.3 with 16).
  if (kernel.find<tg::ContractOp>()) {
    perThread = held = 4;
    mostWarps = rowWarps / 4;
  }
  choice.warps = std::clamp<int64_t>(llvm::divideCeil(row, warpThreads * held), 4, mostWarps);
  choice.warps = llvm::PowerOf2Ceil(choice.warps);
  int64_t left = across > 1 ? 1 : std::max<int64_t>(choice.warps * warpThreads * perThread / row, 1);
  while (left > 1 && numRows / left < ctasWanted * device.sms)
    left /= 2;
  while (choice.warps > 1 && choice.warps * warpThreads > left * row)
    choice.warps /= 2;
  for (unsigned d = extents.size(); d-- > 0 && left > 1;) {
    if (llvm::is_contained(rows.inResult, d))
      continue;
    choice.tile[d] = fitPower(extents[d], left, 1);
    left /= choice.tile[d];
  }
  if (across == 1 && product(choice.tile) == row && !kernel.find<tg::ContractOp>())
    chooseWarps(kernel, row, device, choice);
  choice.reason = llvm::formatv("{0} rows of {1} elements in one pass: {2} CTAs of {3}", numRows, row / across,
                                countTiles(extents, choice.tile), textOf(choice.tile));
  return choice;
}

/// Rows that the result lacks and that are contiguous: several short ones, or steps of a long one.
static void streamRows(const KernelToSchedule &kernel, ArrayRef<int64_t> extents, unsigned inner, bool isWhole,
                       const Device &device, ScheduleChoice &choice) {
  int64_t vector = vectorOfLarge(kernel);
  int64_t numRows = product(extents), enough = ctasWanted * device.sms;
  int64_t row = kernel.extents[inner], whole = llvm::PowerOf2Ceil(row);
  // A CTA a row keeps more warps busy where rows are few.
  choice.warps = numRows >= enough ? 4 : 16;
  // What several reductions read stays in registers, where a CTA can hold it.
  func::FuncOp func = kernel.func;
  auto reductions = func.getBody().front().getOps<tg::ReduceOp>();
  bool isReadAgain = std::distance(reductions.begin(), reductions.end()) > 1;
  if (isReadAgain && whole <= rowElementsPerThread * warpThreads * 16) {
    isWhole = true;
    choice.warps = std::max(choice.warps, whole / (rowElementsPerThread * warpThreads));
  }
  int64_t elements = choice.warps * warpThreads * vector * 4;
  int64_t step = isWhole ? whole : fitPower(row, elements, warpThreads * vector);
  int64_t rows = std::max<int64_t>(elements / step, 1);
  while (rows > 1 && numRows / rows < enough)
    rows /= 2;
  choice.tile = spread(extents, {}, rows);
  while (choice.warps > 1 && choice.warps * warpThreads > product(choice.tile) * step)
    choice.warps /= 2;
  choice.stream.push_back(step);
}

/// Rows across what is contiguous: columns at least a sector (32 bytes) wide, enough CTAs before more width, and steps
/// that give each thread four vectors.
static void streamColumns(const KernelToSchedule &kernel, ArrayRef<int64_t> extents, ArrayRef<unsigned> streamed,
                          bool isWhole, ArrayRef<unsigned> wide, const Device &device, ScheduleChoice &choice) {
  int64_t vector = std::max<int64_t>(vectorBytes / kernel.getWidestBytes(), 1);
  choice.warps = 8;
  int64_t width = warpThreads * vector;
  do {
    choice.tile = spread(extents, wide, width);
    width /= 2;
  } while (width >= 2 * vector && countTiles(extents, choice.tile) < 2 * device.sms);
  // Steps come one after the other: where CTAs are few, more warps make fewer of them, past the row's end if need be.
  // (A mean of 12,544 by 32 elements, 2 CTAs of an H100: 10.0 us with 8 warps, 7.6 with 16, 8.1 with twice the
  // vectors.)
  bool isAlone = countTiles(extents, choice.tile) * ctasWanted <= device.sms;
  choice.warps = isAlone ? 16 : choice.warps;
  int64_t left = std::max<int64_t>(choice.warps * warpThreads * vector * 4 / product(choice.tile), 1);
  for (unsigned d : streamed) {
    int64_t extent = kernel.extents[d], whole = llvm::PowerOf2Ceil(extent);
    choice.stream.push_back(isWindowed(kernel.access, d) ? 1
                            : isWhole                    ? whole
                            : isAlone                    ? std::min(whole, left)
                                                         : fitPower(extent, left, 1));
    left = std::max<int64_t>(left / choice.stream.back(), 1);
  }
  while (choice.warps > 1 && choice.warps * warpThreads > product(choice.tile) * product(choice.stream))
    choice.warps /= 2;
}

static ScheduleChoice chooseStreamed(const KernelToSchedule &kernel, const Rows &rows, const Device &device) {
  ArrayRef<int64_t> extents = ArrayRef(kernel.extents).take_front(kernel.access.resultRank);
  auto isWindow = [&](unsigned d) { return isWindowed(kernel.access, d); };
  llvm::SetVector<unsigned> contiguous = contiguousDims(kernel);
  SmallVector<unsigned> wide;
  for (unsigned d : contiguous)
    if (d < extents.size())
      wide.push_back(d);
  ScheduleChoice choice;
  if (llvm::all_of(rows.streamed, isWindow)) { // A map with a short loop.
    choice = chooseElementwise(kernel, device);
    choice.stream.assign(rows.streamed.size(), 1);
  } else if (unsigned inner = rows.streamed.back(); contiguous.contains(inner) && !isWindow(inner)) {
    streamRows(kernel, extents, inner, rows.hasWholeAxis, device, choice); // Of several axes, along the last.
    choice.stream.insert(choice.stream.begin(), rows.streamed.size() - 1, 1);
  } else {
    streamColumns(kernel, extents, rows.streamed, rows.hasWholeAxis, wide, device, choice);
  }
  SmallVector<int64_t> steps;
  for (unsigned d : rows.streamed)
    steps.push_back(kernel.extents[d]);
  choice.reason =
      llvm::formatv("reduction of {0} to {1} elements: {2} CTAs of {3}, steps of {4}", product(steps), product(extents),
                    countTiles(extents, choice.tile), textOf(choice.tile), textOf(choice.stream));
  return choice;
}

/// Whole axes of order statistics, few at a time: a sorting network is code for each element that a thread holds.
/// Kernelize refuses axes that are longer than the tile.
static void sortInTile(const Rows &rows, ScheduleChoice &choice) {
  SmallVector<unsigned> sorted;
  for (auto [d, axis] : rows.sorted) {
    choice.tile[d] = llvm::PowerOf2Ceil(std::min(axis, sortLimit));
    sorted.push_back(d);
  }
  for (unsigned d = 0; d < choice.tile.size(); ++d)
    while (!llvm::is_contained(sorted, d) && choice.tile[d] > 1 && product(choice.tile) > sortLimit)
      choice.tile[d] /= 2;
  choice.warps = std::clamp<int64_t>(product(choice.tile) / (2 * warpThreads), choice.warps, rowWarps);
}

/// Whether all that the kernel reduces are sums of few terms, which the tiles of a map share.
static bool isMapWithStatistics(const KernelToSchedule &kernel) {
  func::FuncOp func = kernel.func;
  double elements = 1;
  for (int64_t extent : ArrayRef(kernel.extents).take_front(kernel.access.resultRank))
    elements *= double(extent);
  return llvm::all_of(func.getBody().front(), [&](Operation &op) {
    auto reduce = dyn_cast<tg::ReduceOp>(op);
    return reduce ? isStatistic(reduce, elements) : !isa<tg::ArgReduceOp, tg::TopKOp, tg::ScanOp, tg::ContractOp>(op);
  });
}

/// The dimension along which the result is contiguous, if sums of hundreds of terms change along it.
static std::optional<unsigned> findSummedAlong(const KernelToSchedule &kernel) {
  llvm::SetVector<unsigned> wide = contiguousDims(kernel);
  if (wide.empty())
    return std::nullopt;
  func::FuncOp func = kernel.func;
  bool changes = llvm::any_of(func.getBody().front().getOps<tg::ReduceOp>(), [&](tg::ReduceOp reduce) {
    bool isLong = estimateElements(reduce.getInput()) > estimateElements(reduce) * double(mostStatistics);
    return isLong && llvm::any_of(kernel.access.of(reduce), [&](const KernelRequest *request) {
             return llvm::any_of(request->coordinates,
                                 [&](AffineExpr at) { return !at || at.isFunctionOfDim(wide.front()); });
           });
  });
  return changes ? std::optional(wide.front()) : std::nullopt;
}

ScheduleChoice chooseReduction(const KernelToSchedule &kernel, const Device &device) {
  func::FuncOp func = kernel.func;
  if (isMapWithStatistics(kernel)) {
    SmallVector<int64_t> steps;
    for (unsigned d : Rows(kernel).streamed)
      steps.push_back(std::max<int64_t>(llvm::PowerOf2Ceil(kernel.extents[d]), mostStatistics));
    std::optional<unsigned> inner = findSummedAlong(kernel);
    ScheduleChoice map =
        inner ? tileUnderSums(kernel, *inner, product(steps), device) : chooseMap(kernel, /*hasSums=*/true, device);
    map.stream = steps;
    map.reason += "; sums of few terms in each";
    return map;
  }
  for (auto contract : func.getBody().front().getOps<tg::ContractOp>())
    if (!tg::isWindowSum(contract))
      return chooseSummedProduct(kernel, contract, device);
  Rows rows(kernel);
  ScheduleChoice choice;
  if (!rows.inResult.empty())
    choice = chooseWholeRows(kernel, rows, device);
  else
    choice = chooseStreamed(kernel, rows, device);
  if (!rows.sorted.empty())
    sortInTile(rows, choice);
  // A group may have both: rows of the result, and reductions of their own.
  if (!rows.inResult.empty())
    for (unsigned d : rows.streamed)
      choice.stream.push_back(isWindowed(kernel.access, d) ? 1 : fitPower(kernel.extents[d], 256, 1));
  return choice;
}

} // namespace weft::plan
