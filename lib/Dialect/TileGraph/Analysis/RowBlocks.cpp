// Blocks of rows by interval arithmetic on a kernel's accesses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles in the order of rows: those that share their position along the first dimension that is cut, R, have
// consecutive numbers, and make a block. Block b has d_R in [b t, b t + t - 1] and all of the other dimensions. An
// operand's row-major offset is the sum of its coordinates times their strides; where that is alpha d_R + rest, the
// block reads from alpha t b + min(rest) to alpha t b + alpha (t - 1) + max(rest).
#include "weft/Dialect/TileGraph/Analysis/RowBlocks.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::tg {

namespace {

/// alpha d_R + something in [low, high].
struct Places {
  int64_t alpha = 0, low = 0, high = 0;

  bool isConstant() const { return alpha == 0 && low == high; }
};

/// The iteration space, all extents known.
struct Space {
  SmallVector<int64_t> extents;
  unsigned rows = 0; ///< R.
};

} // namespace

/// a + b and a * factor; none where they leave 64 bits.
static std::optional<Places> add(const Places &a, const Places &b) {
  Places sum;
  bool hasLeft = llvm::AddOverflow(a.alpha, b.alpha, sum.alpha) | llvm::AddOverflow(a.low, b.low, sum.low) |
                 llvm::AddOverflow(a.high, b.high, sum.high);
  return hasLeft ? std::nullopt : std::optional(sum);
}
static std::optional<Places> multiply(const Places &a, int64_t factor) {
  Places product;
  int64_t one = 0, other = 0;
  if (llvm::MulOverflow(a.alpha, factor, product.alpha) | llvm::MulOverflow(a.low, factor, one) |
      llvm::MulOverflow(a.high, factor, other))
    return std::nullopt;
  product.low = std::min(one, other);
  product.high = std::max(one, other);
  return product;
}

static std::optional<Places> findPlaces(AffineExpr expr, const Space &space);

static std::optional<Places> findPlaces(AffineBinaryOpExpr expr, const Space &space) {
  std::optional<Places> lhs = findPlaces(expr.getLHS(), space), rhs = findPlaces(expr.getRHS(), space);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return add(*lhs, *rhs);
  if (expr.getKind() == AffineExprKind::Mul && lhs->isConstant())
    std::swap(lhs, rhs);
  if (!rhs->isConstant())
    return std::nullopt;
  int64_t factor = rhs->low;
  if (expr.getKind() == AffineExprKind::Mul)
    return multiply(*lhs, factor);
  if (lhs->alpha || factor <= 0)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return Places{0, llvm::divideFloorSigned(lhs->low, factor), llvm::divideFloorSigned(lhs->high, factor)};
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return Places{0, llvm::divideCeilSigned(lhs->low, factor), llvm::divideCeilSigned(lhs->high, factor)};
  return Places{0, 0, factor - 1};
}

static std::optional<Places> findPlaces(AffineExpr expr, const Space &space) {
  if (!expr)
    return std::nullopt;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Places{0, constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    unsigned d = dim.getPosition();
    if (d >= space.extents.size())
      return std::nullopt;
    return d == space.rows ? Places{1, 0, 0} : Places{0, 0, space.extents[d] - 1};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return binary ? findPlaces(binary, space) : std::nullopt;
}

/// The row-major offset in a tensor that a request asks for.
static std::optional<Places> findPlace(const KernelRequest &request, RankedTensorType type, const Space &space) {
  std::optional<Places> sum = Places();
  int64_t stride = 1;
  for (int64_t d = type.getRank() - 1; d >= 0 && sum; --d) {
    std::optional<Places> places = findPlaces(request.coordinates[d], space);
    places = places ? multiply(*places, stride) : std::nullopt;
    sum = places ? add(*sum, *places) : std::nullopt;
    if (llvm::MulOverflow(stride, type.getDimSize(d), stride))
      return std::nullopt;
  }
  return sum;
}

/// Elements of `value` that a block of `tile` rows reads; empty: any.
static SmallVector<int64_t> findRead(Value value, const KernelAccess &access, const Space &space, int64_t tile) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return {};
  std::optional<Places> all;
  for (const KernelRequest *request : access.of(value)) {
    std::optional<Places> sum = findPlace(*request, type, space);
    if (!sum || sum->alpha < 0 || (all && all->alpha != sum->alpha))
      return {};
    all = all ? Places{sum->alpha, std::min(all->low, sum->low), std::max(all->high, sum->high)} : *sum;
  }
  int64_t step = 0, reach = 0, last = 0;
  if (!all || llvm::MulOverflow(all->alpha, tile, step) || llvm::MulOverflow(all->alpha, tile - 1, reach) ||
      llvm::AddOverflow(all->high, reach, last))
    return {};
  return {step, all->low, last};
}

/// Whether a result lies at the indices of the first one, dimension by dimension.
static bool isAtDims(const std::optional<ResultPlace> &place, unsigned rank) {
  if (!place || place->size() != rank)
    return false;
  for (auto [d, expr] : llvm::enumerate(*place))
    if (auto dim = dyn_cast_or_null<AffineDimExpr>(expr); !dim || dim.getPosition() != d)
      return false;
  return true;
}

DictionaryAttr makeRowBlocks(func::FuncOp kernel, const KernelAccess &access, ScheduleAttr schedule) {
  Space space;
  for (const KernelDim &dim : access.dims) {
    std::optional<int64_t> extent = getConstant(dim.extent);
    if (!extent)
      return {};
    space.extents.push_back(*extent);
  }
  ArrayRef<int64_t> tile = schedule.getTile();
  unsigned rank = access.resultRank;
  constexpr size_t mostRequests = 4096; // Of more, the analysis does not know all.
  bool isByRows = access.requests.size() < mostRequests && schedule.getOrder() == "row" && !schedule.getPersistent() &&
                  schedule.getSplit() == 1;
  // The tiles of a fold with most steps come first.
  bool hasFold = llvm::any_of(kernel.getBody().front(), [](Operation &op) { return isa<FoldOp>(op); });
  if (!isByRows || hasFold || tile.size() != rank || !rank)
    return {};
  while (space.rows + 1 < rank && space.extents[space.rows] == 1)
    ++space.rows;
  int64_t ctas = 1, stride = 1, rows = tile[space.rows];
  for (unsigned d = space.rows + 1; d < rank; ++d) {
    ctas *= llvm::divideCeil(space.extents[d], tile[d]); // At most the stride.
    if (llvm::MulOverflow(stride, space.extents[d], stride))
      return {};
  }
  int64_t elements = 0;
  if (llvm::MulOverflow(rows, stride, elements))
    return {};
  Builder builder(kernel.getContext());
  SmallVector<int64_t> writes;
  for (const std::optional<ResultPlace> &place : access.results)
    writes.push_back(isAtDims(place, rank) ? elements : 0);
  SmallVector<Attribute> reads;
  for (BlockArgument argument : kernel.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      reads.push_back(builder.getDenseI64ArrayAttr(findRead(argument, access, space, rows)));
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("ctas", builder.getI64IntegerAttr(ctas)),
       builder.getNamedAttr("blocks", builder.getI64IntegerAttr(llvm::divideCeil(space.extents[space.rows], rows))),
       builder.getNamedAttr("writes", builder.getDenseI64ArrayAttr(writes)),
       builder.getNamedAttr("reads", builder.getArrayAttr(reads))});
}

} // namespace weft::tg
