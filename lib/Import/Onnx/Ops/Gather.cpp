// Gathering and scattering by indices, as affine maps of tg.gather and tg.scatter; operators whose extents depend on
// data are folded where their data are constant.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "Shared/RuntimeShapes.h"

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::AffineMap;
using mlir::failure;
using mlir::FailureOr;
using mlir::success;
using mlir::Value;

/// Indices as tg.gather takes them: i32 or i64.
static Value indexOperand(NodeContext &ctx, unsigned i) {
  Value indices = ctx.required(i);
  if (!indices)
    return {};
  mlir::Type element = ctx.elementType(indices);
  if (!llvm::isa<mlir::IntegerType>(element) || element.isInteger(1)) {
    (void)ctx.error("expected integer indices");
    return {};
  }
  return element.isSignlessInteger(32) ? indices : ctx.cast(indices, ctx.b.getI64Type());
}

/// Constant indices that follow each other at one distance (one into a shape tensor, the last token) are a slice. Null
/// if they do not.
static FailureOr<Value> importAsSlice(NodeContext &ctx, Value data, Value indices, int64_t axis) {
  std::optional<int64_t> extent = ctx.staticDim(data, axis);
  std::optional<SmallVector<int64_t>> places = extent ? ctx.constantInts(indices) : std::nullopt;
  if (!places || places->empty() || ctx.rank(indices) > 1)
    return Value();
  for (int64_t &place : *places) {
    if (place < -*extent || place >= *extent) {
      if (ctx.rank(indices) != 0)
        return Value();
      return ctx.error("index " + llvm::Twine(place) + " is out of range for extent " + llvm::Twine(*extent));
    }
    place += place < 0 ? *extent : 0;
  }
  int64_t step = places->size() > 1 ? (*places)[1] - (*places)[0] : 1;
  for (size_t i = 1; i < places->size(); ++i)
    if (step == 0 || (*places)[i] - (*places)[i - 1] != step)
      return Value();
  Value part = ctx.slice(data, axis, places->front(), ctx.constExpr(int64_t(places->size())), step);
  return ctx.rank(indices) == 0 ? ctx.squeeze(part, axis) : part;
}

static llvm::LogicalResult importGather(NodeContext &ctx) {
  Value data = ctx.required(0), indices = indexOperand(ctx, 1);
  FailureOr<int64_t> axis = ctx.intAttr("axis", 0);
  if (!data || !indices || failed(axis) || failed(axis = ctx.normalizeAxis(*axis, ctx.rank(data))))
    return failure();
  FailureOr<Value> part = importAsSlice(ctx, data, indices, *axis);
  if (failed(part) || *part) {
    if (succeeded(part))
      ctx.output(0, *part);
    return part;
  }
  ctx.output(0, takeAlong(ctx, data, indices, *axis));
  return success();
}

//===--- Elements: indices of the data's rank ---===//

/// Maps of GatherElements and ScatterElements: the index itself, but for `axis`, which is the index at that index.
static std::pair<AffineMap, AffineMap> elementMaps(NodeContext &ctx, int64_t rank, int64_t axis) {
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d)
    exprs.push_back(d == axis ? ctx.b.getAffineSymbolExpr(0) : ctx.b.getAffineDimExpr(static_cast<unsigned>(d)));
  return {AffineMap::get(rank, 1, exprs, ctx.b.getContext()), ctx.b.getMultiDimIdentityMap(rank)};
}

/// The indices' extents other than `axis` must not exceed the data's.
static llvm::LogicalResult checkInside(NodeContext &ctx, Value indices, Value data, int64_t axis) {
  for (int64_t d = 0; d < ctx.rank(data); ++d)
    if (d != axis &&
        failed(ctx.assumeAtMost(ctx.dim(indices, d), ctx.dim(data, d), "indices dimension " + llvm::Twine(d))))
      return failure();
  return success();
}

static llvm::LogicalResult importGatherElements(NodeContext &ctx) {
  Value data = ctx.required(0), indices = indexOperand(ctx, 1);
  FailureOr<int64_t> axis = ctx.intAttr("axis", 0);
  if (!data || !indices || failed(axis) || failed(axis = ctx.normalizeAxis(*axis, ctx.rank(data))) ||
      failed(ctx.checkRank(indices, ctx.rank(data), ctx.rank(data), "indices")) ||
      failed(checkInside(ctx, indices, data, *axis)))
    return failure();
  auto [dataMap, indexMap] = elementMaps(ctx, ctx.rank(data), *axis);
  ctx.output(0, ctx.make<tg::GatherOp>(tg::getTensorType(ctx.dims(indices), ctx.elementType(data)), data, indices,
                                       dataMap, ctx.b.getAffineMapArrayAttr(indexMap)));
  return success();
}

/// Attribute `reduction` of scatters as a monoid; none means replacement.
static FailureOr<tg::MonoidAttr> reductionAttr(NodeContext &ctx) {
  FailureOr<unsigned> reduction = ctx.choiceAttr("reduction", {"none", "add", "mul", "max", "min"}, "none");
  if (failed(reduction))
    return failure();
  if (*reduction == 0)
    return tg::MonoidAttr();
  const tg::Monoid kinds[] = {tg::Monoid::Add, tg::Monoid::Mul, tg::Monoid::Max, tg::Monoid::Min};
  return tg::MonoidAttr::get(ctx.b.getContext(), kinds[*reduction - 1]);
}

static llvm::LogicalResult importScatterElements(NodeContext &ctx) {
  Value data = ctx.required(0), indices = indexOperand(ctx, 1), updates = ctx.required(2);
  FailureOr<int64_t> axis = ctx.intAttr("axis", 0);
  FailureOr<tg::MonoidAttr> kind = reductionAttr(ctx);
  if (!data || !indices || !updates || failed(axis) || failed(kind) ||
      failed(axis = ctx.normalizeAxis(*axis, ctx.rank(data))) ||
      failed(ctx.checkRank(indices, ctx.rank(data), ctx.rank(data), "indices")) ||
      failed(ctx.checkRank(updates, ctx.rank(data), ctx.rank(data), "updates")) ||
      failed(checkInside(ctx, indices, data, *axis)))
    return failure();
  if (ctx.elementType(updates) != ctx.elementType(data))
    return ctx.error("expected updates of the data's element type");
  for (int64_t d = 0; d < ctx.rank(data); ++d)
    if (failed(ctx.assumeEqual(ctx.dim(indices, d), ctx.dim(updates, d), "updates dimension " + llvm::Twine(d))))
      return failure();
  auto [dataMap, indexMap] = elementMaps(ctx, ctx.rank(data), *axis);
  ctx.output(0, ctx.make<tg::ScatterOp>(data, indices, updates, mlir::AffineMapAttr::get(dataMap),
                                        ctx.b.getAffineMapArrayAttr(indexMap), *kind));
  return success();
}

//===--- N-dimensional: the last dimension of the indices is an index ---===//

namespace {

/// Maps of GatherND and ScatterND over the domain: `batch` leading dimensions, the other index dimensions, the slice's
/// dimensions.
struct NdMaps {
  AffineMap dataMap;
  SmallVector<AffineMap> indexMaps;
  tg::Dims domain;
};

} // namespace

static FailureOr<NdMaps> ndMaps(NodeContext &ctx, Value data, Value indices, int64_t batch) {
  int64_t dataRank = ctx.rank(data), indexRank = ctx.rank(indices);
  if (indexRank < 1 || dataRank < 1 || batch < 0 || batch >= std::min(dataRank, indexRank))
    return ctx.error("expected data and indices of rank above " + llvm::Twine(batch) + ", got " +
                     llvm::Twine(dataRank) + " and " + llvm::Twine(indexRank));
  std::optional<int64_t> depth = ctx.staticDim(indices, indexRank - 1);
  if (!depth)
    return ctx.unsupported("the last dimension of the indices is dynamic", "fix it with --dim");
  if (*depth < 1 || *depth > dataRank - batch)
    return ctx.error("expected a last dimension of the indices from 1 to " + llvm::Twine(dataRank - batch) + ", got " +
                     llvm::Twine(*depth));
  for (int64_t d = 0; d < batch; ++d)
    if (failed(ctx.assumeEqual(ctx.dim(data, d), ctx.dim(indices, d), "batch dimension " + llvm::Twine(d))))
      return failure();
  NdMaps maps;
  SmallVector<AffineExpr> dataExprs, place;
  for (int64_t d = 0; d + 1 < indexRank; ++d) {
    maps.domain.push_back(ctx.dim(indices, d));
    place.push_back(ctx.b.getAffineDimExpr(static_cast<unsigned>(d)));
  }
  for (int64_t d = 0; d < dataRank; ++d) {
    if (d < batch) {
      dataExprs.push_back(ctx.b.getAffineDimExpr(static_cast<unsigned>(d)));
    } else if (d < batch + *depth) {
      dataExprs.push_back(ctx.b.getAffineSymbolExpr(static_cast<unsigned>(d - batch)));
    } else {
      dataExprs.push_back(ctx.b.getAffineDimExpr(static_cast<unsigned>(maps.domain.size())));
      maps.domain.push_back(ctx.dim(data, d));
    }
  }
  auto rank = static_cast<unsigned>(maps.domain.size());
  maps.dataMap = AffineMap::get(rank, static_cast<unsigned>(*depth), dataExprs, ctx.b.getContext());
  for (int64_t j = 0; j < *depth; ++j) {
    place.push_back(ctx.constExpr(j));
    maps.indexMaps.push_back(AffineMap::get(rank, 0, place, ctx.b.getContext()));
    place.pop_back();
  }
  return maps;
}

static llvm::LogicalResult importGatherND(NodeContext &ctx) {
  Value data = ctx.required(0), indices = indexOperand(ctx, 1);
  FailureOr<int64_t> batch = ctx.intAttr("batch_dims", 0);
  if (!data || !indices || failed(batch))
    return failure();
  FailureOr<NdMaps> maps = ndMaps(ctx, data, indices, *batch);
  if (failed(maps))
    return failure();
  ctx.output(0, ctx.make<tg::GatherOp>(tg::getTensorType(maps->domain, ctx.elementType(data)), data, indices,
                                       maps->dataMap, ctx.b.getAffineMapArrayAttr(maps->indexMaps)));
  return success();
}

static llvm::LogicalResult importScatterND(NodeContext &ctx) {
  Value data = ctx.required(0), indices = indexOperand(ctx, 1), updates = ctx.required(2);
  FailureOr<tg::MonoidAttr> kind = reductionAttr(ctx);
  if (!data || !indices || !updates || failed(kind))
    return failure();
  FailureOr<NdMaps> maps = ndMaps(ctx, data, indices, 0);
  if (failed(maps))
    return failure();
  if (ctx.elementType(updates) != ctx.elementType(data))
    return ctx.error("expected updates of the data's element type");
  auto rank = static_cast<int64_t>(maps->domain.size());
  if (failed(ctx.checkRank(updates, rank, rank, "updates")))
    return failure();
  for (int64_t d = 0; d < rank; ++d)
    if (failed(ctx.assumeEqual(maps->domain[d], ctx.dim(updates, d), "updates dimension " + llvm::Twine(d))))
      return failure();
  ctx.output(0, ctx.make<tg::ScatterOp>(data, indices, updates, mlir::AffineMapAttr::get(maps->dataMap),
                                        ctx.b.getAffineMapArrayAttr(maps->indexMaps), *kind));
  return success();
}

//===--- OneHot, ReverseSequence ---===//

static llvm::LogicalResult importOneHot(NodeContext &ctx) {
  Value indices = ctx.required(0), values = ctx.required(2);
  FailureOr<tg::Dims> depth = FailureOr<tg::Dims>(failure());
  if (Value given = ctx.input(1)) {
    // The depth may be of a float type.
    std::optional<double> number = ctx.constantFloat(given);
    depth = number ? FailureOr<tg::Dims>(ctx.constDims(static_cast<int64_t>(*number))) : ctx.requiredDims(1, "depth");
  }
  FailureOr<int64_t> axis = ctx.intAttr("axis", -1);
  if (!indices || !values || failed(axis) || failed(depth) || depth->size() != 1)
    return ctx.failedAlready() ? failure() : ctx.error("expected one depth");
  int64_t rank = ctx.rank(indices) + 1;
  if (failed(axis = ctx.normalizeAxis(*axis, rank)))
    return failure();
  if (failed(ctx.checkRank(values, 1, 1, "values")) ||
      failed(ctx.assumeEqual(ctx.dim(values, 0), ctx.constExpr(2), "values")))
    return failure();
  if (auto constant = tg::getConstant(depth->front()); constant && *constant < 1)
    return ctx.error("expected a positive depth, got " + llvm::Twine(*constant));
  mlir::Type i64 = ctx.b.getI64Type();
  Value places = ctx.unsqueeze(ctx.cast(indices, i64), *axis);
  // Negative indices count from the end.
  Value extent = ctx.reshape(ctx.extents(depth->front()), llvm::ArrayRef<int64_t>());
  Value isNegative = ctx.make<tg::CmpOp>(tg::CmpPredicate::Lt, places, ctx.scalarInt(0, i64));
  places = ctx.make<tg::SelectOp>(isNegative, ctx.make<tg::AddOp>(places, extent), places);
  tg::Dims own(rank, ctx.constExpr(1));
  own[*axis] = depth->front();
  Value hit = ctx.make<tg::CmpOp>(tg::CmpPredicate::Eq, places, ctx.reshape(iota(ctx, depth->front()), own));
  auto value = [&](int64_t i) {
    return ctx.reshape(ctx.slice(values, 0, i, ctx.constExpr(1)), llvm::ArrayRef<int64_t>());
  };
  ctx.output(0, ctx.make<tg::SelectOp>(hit, value(1), value(0)));
  return success();
}

/// r[.., t, .., b, ..] = x[.., t < n_b ? n_b - 1 - t : t, .., b, ..] with n the lengths.
static llvm::LogicalResult importReverseSequence(NodeContext &ctx) {
  Value x = ctx.required(0), lengths = indexOperand(ctx, 1);
  FailureOr<int64_t> time = ctx.intAttr("time_axis", 0), batch = ctx.intAttr("batch_axis", 1);
  if (!x || !lengths || failed(time) || failed(batch) || failed(ctx.checkRank(x, 2, 32, "input 0")) ||
      failed(ctx.checkRank(lengths, 1, 1, "lengths")))
    return failure();
  if (failed(time = ctx.normalizeAxis(*time, ctx.rank(x))) || failed(batch = ctx.normalizeAxis(*batch, ctx.rank(x))))
    return failure();
  if (*time == *batch || *time > 1 || *batch > 1)
    return ctx.error("expected time_axis and batch_axis to be 0 and 1");
  AffineExpr steps = ctx.dim(x, *time), count = ctx.dim(x, *batch), one = ctx.constExpr(1);
  if (failed(ctx.assumeEqual(count, ctx.dim(lengths, 0), "lengths")))
    return failure();
  mlir::Type i64 = ctx.b.getI64Type();
  Value t = ctx.reshape(iota(ctx, steps), *time == 0 ? tg::Dims{steps, one} : tg::Dims{one, steps});
  Value n = ctx.reshape(ctx.cast(lengths, i64), *time == 0 ? tg::Dims{one, count} : tg::Dims{count, one});
  Value mirrored = ctx.make<tg::SubOp>(ctx.make<tg::SubOp>(n, ctx.scalarInt(1, i64)), t);
  Value places = ctx.make<tg::SelectOp>(ctx.make<tg::CmpOp>(tg::CmpPredicate::Lt, t, n), mirrored, t);
  if (!places)
    return failure();
  auto rank = static_cast<unsigned>(ctx.rank(x));
  SmallVector<AffineExpr> exprs;
  for (unsigned d = 0; d < rank; ++d)
    exprs.push_back(d == *time ? ctx.b.getAffineSymbolExpr(0) : ctx.b.getAffineDimExpr(d));
  auto indexMap = AffineMap::get(rank, 0, {ctx.b.getAffineDimExpr(0), ctx.b.getAffineDimExpr(1)}, ctx.b.getContext());
  ctx.output(0, ctx.make<tg::GatherOp>(llvm::cast<mlir::RankedTensorType>(x.getType()), x, places,
                                       AffineMap::get(rank, 1, exprs, ctx.b.getContext()),
                                       ctx.b.getAffineMapArrayAttr(indexMap)));
  return success();
}

//===--- Extents that depend on data ---===//

/// Most elements that are looked at one by one.
static constexpr int64_t maxCounted = int64_t(1) << 20;

static std::optional<SmallVector<bool>> constantBooleans(NodeContext &ctx, Value value) {
  std::optional<int64_t> size = tg::getConstant(tg::getNumElements(value.getType()));
  if (!size || *size > maxCounted)
    return std::nullopt;
  std::optional<SmallVector<double>> numbers = ctx.constantFloats(value);
  if (!numbers)
    return std::nullopt;
  SmallVector<bool> booleans;
  for (double number : *numbers)
    booleans.push_back(number != 0);
  return booleans;
}

/// Indices in the flat operand, taken apart into one row for each dimension.
static llvm::LogicalResult countedNonZero(NodeContext &ctx, Value x) {
  Value flat = ctx.reshape(x, tg::Dims{tg::getNumElements(x.getType())});
  Value isNonZero = ctx.elementType(x).isInteger(1)
                        ? flat
                        : ctx.make<tg::CmpOp>(tg::CmpPredicate::Ne, flat, ctx.scalarInt(0, x.getType()));
  Expr rest(ctx, placesOfTrue(ctx, isNonZero, "number of elements that are not 0"));
  SmallVector<Value> rows(std::max<int64_t>(ctx.rank(x), 1));
  for (size_t d = rows.size(); d-- > 0;) {
    Expr extent(ctx, ctx.rank(x) == 0 ? ctx.intsConstant(1) : ctx.extents(ctx.dim(x, static_cast<int64_t>(d))));
    rows[d] = ctx.unsqueeze(rest.binary<tg::ModOp>(extent), {0});
    rest = rest / extent;
  }
  ctx.output(0, ctx.concat(rows, 0));
  return success();
}

static llvm::LogicalResult importNonZero(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  std::optional<SmallVector<bool>> nonZero = constantBooleans(ctx, x);
  if (!nonZero)
    return countedNonZero(ctx, x);
  auto type = llvm::cast<mlir::RankedTensorType>(x.getType());
  int64_t rank = type.getRank(), count = llvm::count(*nonZero, true);
  SmallVector<int64_t> places(rank * count);
  int64_t column = 0;
  for (auto [i, hit] : llvm::enumerate(*nonZero)) {
    if (!hit)
      continue;
    auto rest = static_cast<int64_t>(i);
    for (int64_t d = rank; d-- > 0; rest /= type.getDimSize(d))
      places[d * count + column] = rest % type.getDimSize(d);
    ++column;
  }
  auto resultType = mlir::RankedTensorType::get({rank, count}, ctx.b.getI64Type());
  ctx.output(0, ctx.constantValue(mlir::DenseElementsAttr::get(resultType, llvm::ArrayRef<int64_t>(places))));
  return success();
}

static llvm::LogicalResult importCompress(NodeContext &ctx) {
  Value x = ctx.required(0), condition = ctx.required(1);
  if (!x || !condition || failed(ctx.checkRank(condition, 1, 1, "condition")))
    return failure();
  std::optional<SmallVector<bool>> kept = constantBooleans(ctx, condition);
  int64_t axis = 0;
  if (ctx.hasAttr("axis")) {
    FailureOr<int64_t> given = ctx.intAttr("axis");
    if (failed(given) || failed(given = ctx.normalizeAxis(*given, ctx.rank(x))))
      return failure();
    axis = *given;
  } else {
    x = ctx.reshape(x, tg::Dims{tg::getNumElements(x.getType())});
  }
  if (!x)
    return failure();
  if (!kept) {
    if (failed(ctx.assumeAtMost(ctx.dim(condition, 0), ctx.dim(x, axis), "condition")))
      return failure();
    ctx.output(0, takeAlong(ctx, x, placesOfTrue(ctx, condition, "number of true elements"), axis));
    return success();
  }
  SmallVector<int64_t> places;
  for (auto [i, keep] : llvm::enumerate(*kept))
    if (keep)
      places.push_back(static_cast<int64_t>(i));
  if (!places.empty() && failed(ctx.assumeAtMost(ctx.constExpr(places.back() + 1), ctx.dim(x, axis), "condition")))
    return failure();
  ctx.output(0, takeAlong(ctx, x, ctx.intsConstant(places), axis));
  return success();
}

namespace weft::onnx {

llvm::ArrayRef<OpEntry> getGatherOps() {
  static const OpEntry ops[] = {
      {"", "Compress", 9, newestOpset, importCompress, ""},
      {"", "Gather", 1, newestOpset, importGather, ""},
      {"", "GatherElements", 11, newestOpset, importGatherElements, ""},
      {"", "GatherND", 11, newestOpset, importGatherND, ""},
      {"com.microsoft", "GatherND", 1, anyOpset, importGatherND, ""},
      {"", "NonZero", 9, newestOpset, importNonZero, ""},
      {"", "OneHot", 9, newestOpset, importOneHot, "depth known at compile time, or symbolic"},
      {"", "ReverseSequence", 10, newestOpset, importReverseSequence, ""},
      {"", "Scatter", 9, 10, importScatterElements, ""},
      {"", "ScatterElements", 11, newestOpset, importScatterElements, ""},
      {"", "ScatterND", 11, newestOpset, importScatterND, ""},
  };
  return ops;
}

} // namespace weft::onnx
