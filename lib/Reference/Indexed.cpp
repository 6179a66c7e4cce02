// Gather and scatter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "Index.h"
#include "ScalarProgram.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::reference {
namespace {

/// Where the points of a gather's or scatter's domain lead in its data.
class IndexedPlaces {
public:
  static FailureOr<IndexedPlaces> create(Evaluator &ev, Operation *op, AffineMap dataMap, ArrayAttr indexMaps,
                                         ArrayRef<int64_t> domain, const Tensor &indices, const Tensor &data) {
    IndexedPlaces places;
    places.dataMap = dataMap;
    places.indices = &indices;
    places.shape = data.shape();
    places.strides = getStrides(data.shape());
    for (Attribute attr : indexMaps) {
      std::optional<Access> access = Access::create(cast<AffineMapAttr>(attr).getValue(), domain, indices.shape());
      if (!access)
        return ev.fail(op,
                       "expected reads within the indices of shape " + formatShape(indices.shape(), indices.element()));
      places.indexAccess.push_back(std::move(*access));
    }
    return places;
  }

  /// Element offset in the data of point `point`. An index counts from the end if negative; what is still out of bounds
  /// is clamped, or gives none. An index that the map itself puts out of bounds gives none, and sets `isInvalid`.
  std::optional<int64_t> offset(ArrayRef<int64_t> point, bool clamp, bool &isInvalid) const {
    SmallVector<int64_t, 4> values;
    for (const Access &access : indexAccess) {
      std::optional<int64_t> place = access.offset(point);
      isInvalid |= !place;
      if (!place)
        return std::nullopt;
      values.push_back(signExtend(indices->load(*place).i, indices->element().getIntOrFloatBitWidth()));
    }
    int64_t sum = 0;
    for (auto [d, expr] : llvm::enumerate(dataMap.getResults())) {
      std::optional<int64_t> index;
      if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
        index = values[symbol.getPosition()];
        if (*index < 0)
          index = *index + shape[d];
        if (clamp && shape[d] > 0)
          index = std::clamp<int64_t>(*index, 0, shape[d] - 1);
        if (*index < 0 || *index >= shape[d])
          return std::nullopt;
      } else {
        index = evaluateExpr(expr, point, {});
      }
      isInvalid |= !index || *index < 0 || *index >= shape[d];
      if (isInvalid)
        return std::nullopt;
      sum += *index * strides[d];
    }
    return sum;
  }

private:
  AffineMap dataMap;
  SmallVector<Access> indexAccess;
  const Tensor *indices = nullptr;
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> strides;
};

Results gather(Evaluator &ev, tg::GatherOp op, Operands operands) {
  const Tensor &data = *operands[0], &indices = *operands[1];
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, result->size(), 4)))
    return failure();
  auto places = IndexedPlaces::create(ev, op, op.getDataMap(), op.getIndexMaps(), result->shape(), indices, data);
  if (failed(places))
    return failure();
  Odometer point(result->shape());
  for (int64_t i = 0; i < result->size(); ++i, point.advance()) {
    bool isInvalid = false;
    std::optional<int64_t> offset = places->offset(*point, /*clamp=*/true, isInvalid);
    if (!offset)
      return ev.fail(op, "expected reads within data of shape " + formatShape(data.shape(), data.element()));
    result->copyElement(i, data, *offset);
  }
  return single(std::move(*result));
}

Results scatter(Evaluator &ev, tg::ScatterOp op, Operands operands) {
  const Tensor &data = *operands[0], &indices = *operands[1], &updates = *operands[2];
  if (failed(ev.charge(op, data.size())) || failed(ev.charge(op, updates.size(), 8)))
    return failure();
  auto places = IndexedPlaces::create(ev, op, op.getDataMap(), op.getIndexMaps(), updates.shape(), indices, data);
  if (failed(places))
    return failure();
  std::optional<ScalarProgram> combine;
  if (std::optional<tg::Monoid> kind = op.getKind()) {
    Type element = data.element(), scalar = tg::getScalarType(element, Float64Type::get(op.getContext()));
    combine = ScalarProgram::compile(op.getContext(), {scalar, scalar}, [&](OpBuilder &b, Location loc, ValueRange x) {
      return tg::buildCombine(b, loc, *kind, x[0], x[1], element);
    });
    if (!combine)
      return ev.fail(op, "the monoid is not defined on these elements");
  }
  Tensor result = data;
  Odometer point(updates.shape());
  for (int64_t i = 0; i < updates.size(); ++i, point.advance()) {
    bool isInvalid = false;
    std::optional<int64_t> offset = places->offset(*point, /*clamp=*/false, isInvalid);
    if (isInvalid)
      return ev.fail(op, "expected indices within data of shape " + formatShape(data.shape(), data.element()));
    if (!offset)
      continue;
    if (!combine) {
      result.copyElement(*offset, updates, i);
      continue;
    }
    *combine->argument(0) = result.load(*offset);
    *combine->argument(1) = updates.load(i);
    result.store(*offset, *combine->run(1));
  }
  return single(std::move(result));
}

} // namespace

std::optional<Results> evaluateIndexed(Evaluator &ev, Operation *op, Operands operands) {
  if (auto take = dyn_cast<tg::GatherOp>(op))
    return gather(ev, take, operands);
  if (auto put = dyn_cast<tg::ScatterOp>(op))
    return scatter(ev, put, operands);
  return std::nullopt;
}

} // namespace weft::reference
