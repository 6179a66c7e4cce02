// A warp's instructions wait for nobody: it loads vectors of packed numbers, unpacks and multiplies them, and adds its
// sums to those of other warps at the end. What counts is how many loads are under way, and that all SMs have as many
// columns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Unpacked.h"
#include "OperandBoxes.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/GemmModel.h"
#include "weft/Plan/MemoryLevels.h"
#include "weft/Schedule/Mma.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {
namespace {

constexpr int64_t widestTile = 32, narrowTile = 16; ///< Columns.

struct UnpackedTile {
  int64_t rows = 16, columns = 32, step = 512, warps = 4, stages = 2;
};

} // namespace

bool mayUnpack(Type packed, Type factor) {
  constexpr int64_t mostBits = 8;
  auto narrow = dyn_cast<FloatType>(factor);
  return isa<IntegerType>(packed) && !packed.isInteger(1) && narrow && narrow.getWidth() == 16 &&
         tg::getElementBits(packed) <= std::min<int64_t>(mostBits, narrow.getFPMantissaWidth() - 1);
}

int64_t countPacked(Value value) {
  constexpr int64_t mostBits = 8, wordBits = 32;
  auto type = value ? cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (!type || !isa<IntegerType>(type.getElementType()) || !type.hasStaticShape())
    return 0;
  int64_t bits = tg::getElementBits(type.getElementType());
  return bits <= mostBits && type.getNumElements() * bits % wordBits == 0 ? type.getNumElements() : 0;
}

int64_t countOtherRows(tg::ContractOp contract, unsigned operand) {
  int64_t rows = 1;
  for (auto [d, extent] : llvm::enumerate(contract.getDomainExtents()))
    if (!contract.getMap(operand).isFunctionOfDim(d))
      rows = llvm::SaturatingMultiply<uint64_t>(rows, estimateExtent(extent)) & INT64_MAX;
  return rows;
}

bool takesRows(Operation *op) {
  auto gather = dyn_cast<tg::GatherOp>(op);
  AffineMap data = gather ? gather.getDataMap() : AffineMap();
  if (!gather || data.getNumDims() == 0 || data.getNumResults() == 0)
    return false;
  unsigned last = data.getNumDims() - 1;
  return data.getResults().back() == getAffineDimExpr(last, gather.getContext()) &&
         llvm::none_of(llvm::seq(gather.getIndexMaps().size()),
                       [&](unsigned j) { return gather.getIndexMap(j).isFunctionOfDim(last); });
}

bool paysByWarpgroups(const UnpackedProduct &product, const Device &device) {
  constexpr int64_t leastColumns = 64, mostBits = 4; // A lane's words of wider numbers are not side by side.
  if (!device.hasWgmma() || product.bits > mostBits || product.columns < leastColumns)
    return false;
  GemmProblem packed, copied;
  packed.m = copied.n = product.columns;
  packed.n = copied.m = product.rows;
  packed.k = copied.k = product.depth;
  packed.unpackedBits = product.bits;
  packed.resultAlignment = packed.resultBytes; // Tiles leave turned.
  copied.allowMulticast = copied.allowSplit = copied.allowRowShares = true;
  double elements = double(product.columns) * double(product.depth), bytes = double(copied.rhsBytes) * elements;
  if (levelBetweenKernels(bytes, device) == MemoryLevel::L2)
    copied.rhsElements = 1; // Of DRAM.
  double copy = (bytes + elements * double(product.bits) / 8) / device.memoryBandwidth + device.kernelSeconds();
  return chooseGemmTile(packed, device).cost.seconds < copy + chooseGemmTile(copied, device).cost.seconds;
}

Value findPacked(Value operand) {
  Value found;
  SmallVector<Value> values{operand};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    bool isStored = !op || isa<tg::WeightOp, tg::ConstantOp>(op);
    bool isByPlace = op && (isa<tg::PointwiseOpInterface, tg::TransposeOp, tg::ReshapeOp, tg::BitcastOp,
                                tg::BroadcastOp, tg::SliceOp, tg::GatherOp>(op));
    if (isByPlace && seen.insert(op).second)
      llvm::append_range(values, op->getOperands());
    if (isStored && mayUnpack(getElementTypeOrSelf(value), getElementTypeOrSelf(operand)) &&
        countPacked(value) >= estimateElements(operand))
      found = value;
  }
  return found;
}

/// Columns of a tile. One instruction's rows leave room for several CTAs on an SM, which share its time, so that many
/// tiles are wide, and few ones narrow to reach all SMs. (H100, 4 bits: 13888 columns in 32s and 16s 29.1 and 30.8 us,
/// 4096 28.8 and 24.1; 8 bits, 4864: 21.2 and 24.6; 2 bits, 9728: 19.1 and 19.9.) More rows fill an SM: there the
/// fewest columns of one count, and of equal ones the widest tile, which reads rows once.
static int64_t chooseColumns(const UnpackedProduct &product, bool hasManyRows, const Device &device) {
  auto countTiles = [&](int64_t width) { return int64_t(llvm::divideCeil(product.columns, width)); };
  auto countOfSm = [&](int64_t width) { return int64_t(llvm::divideCeil(countTiles(width), device.sms)) * width; };
  bool isWide = hasManyRows ? countOfSm(widestTile) <= countOfSm(narrowTile) : countTiles(widestTile) >= device.sms;
  return isWide && product.products == 1 ? widestTile : narrowTile;
}

/// The tile, where the rows are few enough that their product is bound by what is read of the matrix.
static std::optional<UnpackedTile> chooseUnpackedTile(const UnpackedProduct &product, const Device &device) {
  // A thread's vector of 16 bytes along k, by four threads; a warp's operands have to fit its registers, so more rows
  // have shorter vectors.
  constexpr int64_t leastRows = 8, fewRows = 16, lanes = 4, vectorBits = 128, instruction = 16;
  if (product.rows > mostUnpackedRows || product.depth < 4 * instruction || product.columns < instruction)
    return std::nullopt;
  UnpackedTile tile;
  tile.rows = std::max<int64_t>(llvm::PowerOf2Ceil(product.rows), leastRows);
  int64_t slice = vectorBits / product.bits * lanes * fewRows / std::max(tile.rows, fewRows);
  tile.columns = chooseColumns(product, tile.rows > leastRows, device);
  // A thread of fewer columns has steps as much deeper, so that as many words are under way.
  if (tile.rows == leastRows && tile.columns * product.products < widestTile)
    slice *= widestTile / (tile.columns * product.products);
  constexpr int64_t leastSteps = 2, fewWarps = 4, leastSlice = 2 * instruction; // In a loop, whose sums slices have.
  while (slice > leastSlice && leastSteps * fewWarps * slice > product.depth)
    slice /= 2;
  auto countWords = [&] { return (tile.rows + tile.columns) * slice / 64; };
  while (slice > leastSlice && countWords() > schedule::mostUnpackedWords)
    slice /= 2;
  // Slices of a step by warps: enough loads under way (8192 x 8192, one row: 34 us by 4 warps, 27 by 8; 64 rows: 90 and
  // 56 by 4 and 16, an H100), not more than steps there are.
  int64_t pieces = std::max<int64_t>(tile.rows / 32, 1) * std::max<int64_t>(tile.columns / 32, 1);
  tile.warps = tile.rows > fewRows ? 16 : 8;
  while (tile.warps > pieces && leastSteps * tile.warps / pieces * slice > product.depth)
    tile.warps /= 2;
  tile.step = slice * std::max<int64_t>(tile.warps / pieces, 1);
  // Loads an iteration ahead (`stages`): what 16 rows need beside them takes the registers of other warps (28.2 us
  // without, 34.9 with; one row 27.4 and 26.2).
  tile.stages = tile.rows == fewRows ? 1 : 2;
  return tile;
}

std::optional<int64_t> countUnpackedColumns(tg::ContractOp product, unsigned matrix, const Device &device) {
  Value packed = findPacked(product->getOperand(matrix));
  if (!packed)
    return std::nullopt;
  UnpackedProduct shape{1, 1, 1, tg::getElementBits(getElementTypeOrSelf(packed))};
  for (auto [d, extent] : llvm::enumerate(product.getDomainExtents())) {
    bool isKept = product.getMap(2).isFunctionOfDim(d), isOwn = product.getMap(matrix).isFunctionOfDim(d);
    int64_t &side = !isKept ? shape.depth : isOwn ? shape.columns : shape.rows;
    side = std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(side, estimateExtent(extent)), int64_t(1) << 40);
  }
  std::optional<UnpackedTile> tile = chooseUnpackedTile(shape, device);
  return tile ? std::optional(tile->columns) : std::nullopt;
}

std::optional<UnpackedMatrix> findUnpackedMatrix(const KernelToSchedule &kernel, tg::ContractOp contract,
                                                 const Roles &roles) {
  auto count = [&](ArrayRef<unsigned> dims) {
    return llvm::count_if(dims, [&](unsigned d) { return kernel.extents[d] > 1; });
  };
  Type lhs = getElementTypeOrSelf(contract.getLhs()), rhs = getElementTypeOrSelf(contract.getRhs());
  bool isF16 = lhs == rhs && (lhs.isF16() || lhs.isBF16());
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  Value matrix = roles.isSwapped ? contract.getLhs() : contract.getRhs();
  if (!m || !n) { // The matrix is on the side that there is.
    matrix = bool(n) != roles.isSwapped ? contract.getRhs() : contract.getLhs();
    n = n ? n : m;
    m = std::nullopt;
  }
  auto packed = dyn_cast_or_null<BlockArgument>(isF16 ? findPacked(matrix) : Value());
  auto isAlongK = [&](const KernelRequest *request) {
    AffineExpr last = request->coordinates.empty() ? AffineExpr() : request->coordinates.back();
    return last && last.isFunctionOfDim(*k) && !last.isFunctionOfDim(*n);
  };
  bool isPlain = count(roles.m) + count(roles.n) == (m ? 2 : 1) && count(roles.k) == 1 && count(roles.batch) == 0;
  if (!packed || !isPlain || !n || !k || !llvm::all_of(kernel.access.of(packed), isAlongK))
    return std::nullopt;
  return UnpackedMatrix{packed, m, *n, *k, tg::getElementBits(getElementTypeOrSelf(packed))};
}

int64_t turnForWarpgroups(const KernelToSchedule &kernel, tg::ContractOp contract, Roles &roles, const Device &device) {
  constexpr int64_t leastColumns = 64, leastRows = 33;
  func::FuncOp func = kernel.func;
  auto products = llvm::make_filter_range(func.getBody().front().getOps<tg::ContractOp>(),
                                          [](tg::ContractOp product) { return !tg::isInner(product); });
  std::optional<UnpackedMatrix> matrix = device.hasWgmma() && llvm::hasSingleElement(products)
                                             ? findUnpackedMatrix(kernel, contract, roles)
                                             : std::nullopt;
  if (!matrix || !matrix->m || kernel.extents[matrix->n] < leastColumns || kernel.extents[*matrix->m] < leastRows)
    return 0;
  bool isLeft = llvm::is_contained(roles.m, matrix->n);
  Value rows = isLeft == roles.isSwapped ? contract.getLhs() : contract.getRhs();
  if (!hasBoxes(kernel, rows, matrix->k))
    return 0;
  if (!isLeft) {
    std::swap(roles.m, roles.n);
    roles.isSwapped = !roles.isSwapped;
  }
  return matrix->bits;
}

std::optional<ScheduleChoice> chooseUnpacked(const KernelToSchedule &kernel, tg::ContractOp contract,
                                             const Roles &roles, const Device &device) {
  std::optional<UnpackedMatrix> matrix = findUnpackedMatrix(kernel, contract, roles);
  if (!matrix)
    return std::nullopt;
  auto [packed, m, n, k, bits] = *matrix;
  UnpackedProduct product{m ? kernel.extents[*m] : 1, kernel.extents[n], kernel.extents[k], bits};
  func::FuncOp func = kernel.func;
  product.products = llvm::count_if(func.getBody().front().getOps<tg::ContractOp>(),
                                    [](tg::ContractOp each) { return !tg::isInner(each); });
  std::optional<UnpackedTile> tile = chooseUnpackedTile(product, device);
  if (!tile)
    return std::nullopt;
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  choice.stream.assign(roles.k.size(), 1);
  if (m)
    choice.tile[*m] = tile->rows;
  choice.tile[n] = tile->columns;
  choice.stream[llvm::find(roles.k, k) - roles.k.begin()] = tile->step;
  choice.engine = tg::Engine::Mma;
  choice.warps = tile->warps;
  choice.stages = tile->stages;
  choice.reason =
      llvm::formatv("{0} rows by a matrix of {1} bits: {2} columns a CTA, steps of {3}, unpacked in registers",
                    product.rows, product.bits, tile->columns, tile->step);
  return choice;
}

} // namespace weft::plan
