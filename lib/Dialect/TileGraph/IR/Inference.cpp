// Result types of the `tg` ops, and the interface defaults that several families share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Mapping.h"

using namespace mlir;

namespace weft::tg::detail {

/// Largest offset, padding, window or stride that an attribute may state: keeps sums of a few of them inside int64.
static constexpr int64_t attributeLimit = int64_t(1) << 40;

static LogicalResult fail(OptLoc location, const Twine &message) { return emitOptionalError(location, message); }

static Type elementOf(Type tensor) { return cast<RankedTensorType>(tensor).getElementType(); }
static int64_t rankOf(Type tensor) { return cast<RankedTensorType>(tensor).getRank(); }
static AffineExpr constant(Type like, int64_t value) { return getAffineConstantExpr(value, like.getContext()); }

static LogicalResult checkAxis(OptLoc location, Type input, int64_t axis) {
  if (axis >= 0 && axis < rankOf(input))
    return success();
  return fail(location, "expected axis within [0, " + Twine(rankOf(input)) + "), got " + Twine(axis));
}

static bool inLimits(ArrayRef<int64_t> values, int64_t least) {
  return llvm::all_of(values, [&](int64_t v) { return v >= least && v <= attributeLimit; });
}

//===-- Elementwise
//--------------------------------------------------------------------------------------------------===//

Type sameElement(OptLoc location, ValueRange operands) {
  Type element = elementOf(operands.front().getType());
  for (Value operand : operands.drop_front()) {
    if (elementOf(operand.getType()) != element) {
      (void)emitOptionalError(location, "expected operands of one element type, got ", element, " and ",
                              elementOf(operand.getType()));
      return {};
    }
  }
  return element;
}

Type boolElement(OptLoc location, ValueRange operands) {
  Type element = sameElement(location, operands);
  return element ? Type(IntegerType::get(element.getContext(), 1)) : element;
}

Type lastElement(OptLoc location, ValueRange operands) { return sameElement(location, operands.drop_front()); }

LogicalResult inferPointwise(OptLoc location, ValueRange operands, ElementRule element, Types &results) {
  Type type = element(location, operands);
  if (!type)
    return failure();
  SmallVector<Dims> shapes;
  for (Value operand : operands)
    shapes.push_back(getDims(operand.getType()));
  SmallVector<std::pair<AffineExpr, AffineExpr>> assumed;
  std::optional<Dims> dims = broadcastDims(shapes, &assumed);
  if (!dims) {
    std::string text;
    for (const Dims &shape : shapes)
      text += (text.empty() ? "[" : " and [") + formatDims(shape) + "]";
    return fail(location, "expected shapes that broadcast together, got " + text);
  }
  results.push_back(getTensorType(*dims, type));
  return success();
}

AffineMap broadcastMap(Operation *op, unsigned operand) {
  Type resultType = op->getResult(0).getType();
  MLIRContext *context = op->getContext();
  int64_t resultRank = rankOf(resultType);
  Dims resultDims = getDims(resultType);
  Dims operandDims = getDims(op->getOperand(operand).getType());
  int64_t shift = resultRank - int64_t(operandDims.size());
  SmallVector<AffineExpr> exprs;
  for (auto [i, dim] : llvm::enumerate(operandDims)) {
    bool stretched = getConstant(dim) == 1 && getConstant(resultDims[i + shift]) != 1;
    exprs.push_back(stretched ? getAffineConstantExpr(0, context) : getAffineDimExpr(i + shift, context));
  }
  return AffineMap::get(resultRank, 0, exprs, context);
}

AffineMap identityResultMap(Operation *op) {
  return AffineMap::getMultiDimIdentityMap(rankOf(op->getResult(0).getType()), op->getContext());
}

MappingType pointwiseMapping(Operation *op, unsigned operand) {
  return deriveMappingType(cast<TileOpInterface>(op), operand);
}

Dims resultExtents(Operation *op) { return getDims(op->getResult(0).getType()); }

SmallVector<utils::IteratorType> parallelIterators(Operation *op) {
  return SmallVector<utils::IteratorType>(rankOf(op->getResult(0).getType()), utils::IteratorType::parallel);
}

AffineExpr defaultBytes(Operation *op) {
  MLIRContext *context = op->getContext();
  AffineExpr bytes = getAffineConstantExpr(0, context);
  auto addType = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes = bytes + (getNumElements(tensor) * getElementBits(tensor.getElementType())).ceilDiv(8);
  };
  llvm::SmallDenseSet<Value> seen;
  for (Value operand : op->getOperands())
    if (seen.insert(operand).second)
      addType(operand.getType());
  for (Type type : op->getResultTypes())
    addType(type);
  return simplify(bytes);
}

//===-- Reductions
//-------------------------------------------------------------------------------------------------===//

LogicalResult inferReduce(OptLoc location, Type input, ArrayRef<int64_t> axes, bool keepDims, Types &results) {
  Dims dims = getDims(input);
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (failed(checkAxis(location, input, axis)))
      return failure();
    if (axis <= previous)
      return fail(location, "expected axes in increasing order, got " + Twine(axis) + " after " + Twine(previous));
    previous = axis;
    dims[axis] = keepDims ? constant(input, 1) : AffineExpr();
  }
  llvm::erase_if(dims, [](AffineExpr dim) { return !dim; });
  results.push_back(getTensorType(dims, elementOf(input)));
  return success();
}

LogicalResult inferArgReduce(OptLoc location, Type input, int64_t axis, bool keepDims, Types &results) {
  if (failed(inferReduce(location, input, axis, keepDims, results)))
    return failure();
  results.back() = withElement(results.back(), IntegerType::get(input.getContext(), 64));
  return success();
}

LogicalResult inferTopK(OptLoc location, Type input, int64_t axis, int64_t k, Types &results) {
  if (failed(checkAxis(location, input, axis)))
    return failure();
  Dims dims = getDims(input);
  std::optional<int64_t> extent = getConstant(dims[axis]);
  if (k < 0 || (extent && k > *extent))
    return fail(location, "expected k within [0, extent of the axis], got " + Twine(k));
  dims[axis] = constant(input, k);
  results.push_back(getTensorType(dims, elementOf(input)));
  results.push_back(getTensorType(dims, IntegerType::get(input.getContext(), 64)));
  return success();
}

//===-- Data movement
//----------------------------------------------------------------------------------------------===//

LogicalResult inferTranspose(OptLoc location, Type input, ArrayRef<int64_t> permutation, Types &results) {
  int64_t rank = rankOf(input);
  SmallVector<bool> seen(rank, false);
  bool valid = int64_t(permutation.size()) == rank;
  for (int64_t d : permutation)
    valid = valid && d >= 0 && d < rank && !std::exchange(seen[d], true);
  if (!valid)
    return fail(location, "expected a permutation of " + Twine(rank) + " dimensions");
  Dims dims = getDims(input), permuted;
  for (int64_t d : permutation)
    permuted.push_back(dims[d]);
  results.push_back(getTensorType(permuted, elementOf(input)));
  return success();
}

LogicalResult inferPad(OptLoc location, Type input, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                       ArrayRef<int64_t> interior, Types &results) {
  size_t rank = rankOf(input);
  if (low.size() != rank || high.size() != rank || interior.size() != rank)
    return fail(location, "expected low, high and interior padding for each of " + Twine(rank) + " dimensions");
  if (!inLimits(low, 0) || !inLimits(high, 0) || !inLimits(interior, 0))
    return fail(location, "expected padding within [0, 2^40]");
  Dims dims = getDims(input);
  for (size_t d = 0; d < rank; ++d) {
    AffineExpr inner = dims[d];
    if (interior[d] != 0 && getConstant(dims[d]) != 0)
      inner = dims[d] + (dims[d] - 1) * interior[d];
    dims[d] = inner + (low[d] + high[d]);
  }
  results.push_back(getTensorType(dims, elementOf(input)));
  return success();
}

LogicalResult inferConcat(OptLoc location, TypeRange inputs, int64_t axis, Types &results) {
  if (inputs.empty())
    return fail(location, "expected at least one operand");
  if (failed(checkAxis(location, inputs.front(), axis)))
    return failure();
  Dims dims = getDims(inputs.front());
  for (Type input : inputs.drop_front()) {
    Dims other = getDims(input);
    if (other.size() != dims.size() || elementOf(input) != elementOf(inputs.front()))
      return fail(location, "expected operands of one rank and element type");
    for (size_t d = 0; d < dims.size(); ++d) {
      if (int64_t(d) == axis)
        dims[d] = dims[d] + other[d];
      else if (getConstant(dims[d]) && getConstant(other[d]) && dims[d] != other[d])
        return fail(location, "expected equal extents in dimension " + Twine(d) + ", got " + formatDims(dims[d]) +
                                  " and " + formatDims(other[d]));
      else if (getConstant(other[d]))
        dims[d] = other[d];
    }
  }
  results.push_back(getTensorType(dims, elementOf(inputs.front())));
  return success();
}

LogicalResult inferWindow(OptLoc location, Type input, ArrayRef<int64_t> windowDims, ArrayRef<int64_t> sizes,
                          ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations, Types &results) {
  size_t count = windowDims.size();
  if (sizes.size() != count || strides.size() != count || dilations.size() != count)
    return fail(location, "expected one size, stride and dilation for each of " + Twine(count) + " dimensions");
  if (!inLimits(sizes, 1) || !inLimits(strides, 1) || !inLimits(dilations, 1))
    return fail(location, "expected window sizes, strides and dilations within [1, 2^40]");
  Dims dims = getDims(input);
  SmallVector<bool> seen(dims.size(), false);
  for (size_t j = 0; j < count; ++j) {
    int64_t d = windowDims[j];
    if (failed(checkAxis(location, input, d)))
      return failure();
    if (std::exchange(seen[d], true))
      return fail(location, "expected distinct window dimensions, got " + Twine(d) + " twice");
    int64_t reach = 0;
    if (llvm::MulOverflow(sizes[j] - 1, dilations[j], reach))
      return fail(location, "window reaches beyond 2^63 elements");
    std::optional<int64_t> extent = getConstant(dims[d]);
    if (extent && *extent <= reach)
      return fail(location, "window of " + Twine(reach + 1) + " elements does not fit dimension " + Twine(d) +
                                " of extent " + Twine(*extent));
    dims[d] = (dims[d] - (reach + 1)).floorDiv(strides[j]) + 1;
    dims.push_back(constant(input, sizes[j]));
  }
  results.push_back(getTensorType(dims, elementOf(input)));
  return success();
}

//===-- Composites and structure
//-----------------------------------------------------------------------------------===//

LogicalResult inferLayerNorm(OptLoc location, Type input, int64_t axis, Type stash, Types &results) {
  if (failed(checkAxis(location, input, axis)))
    return failure();
  if (!isa<FloatType>(stash))
    return emitOptionalError(location, "expected a float stash type, got ", stash);
  Dims statistics = getDims(input);
  for (size_t d = axis; d < statistics.size(); ++d)
    statistics[d] = constant(input, 1);
  results.push_back(input);
  results.append(2, getTensorType(statistics, stash));
  return success();
}

LogicalResult inferAttention(OptLoc location, Type query, Type key, Type value, Types &results) {
  if (rankOf(query) != 4 || rankOf(key) != 4 || rankOf(value) != 4)
    return fail(location, "expected query, key and value of rank 4 (batch, heads, sequence, width)");
  Dims q = getDims(query), k = getDims(key), v = getDims(value);
  results.push_back(getTensorType({q[0], q[1], q[2], v[3]}, elementOf(query)));
  results.push_back(getTensorType({q[0], q[1], q[2], k[2]}, elementOf(query)));
  return success();
}

Type extentsType(MLIRContext *context, AffineMap map) {
  return RankedTensorType::get({int64_t(map.getNumResults())}, IntegerType::get(context, 64));
}

} // namespace weft::tg::detail
