// Small idioms of operator decompositions: typed scalars, means, gathers, splits of a dimension.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compose.h"
#include <algorithm>

using namespace mlir;

namespace weft::onnx {

bool isFloat(NodeContext &n, Value value) {
  Type type = n.elementType(value);
  return type.isF64() || type.isF32() || type.isF16() || type.isBF16();
}

bool isInteger(NodeContext &n, Value value) {
  auto type = dyn_cast<IntegerType>(n.elementType(value));
  return type && type.getWidth() >= 8;
}

LogicalResult checkFloat(NodeContext &n, Value value, StringRef what) {
  if (!value)
    return failure();
  if (isFloat(n, value))
    return success();
  std::string type;
  llvm::raw_string_ostream(type) << n.elementType(value);
  return n.error("expected " + what + " of a float type, got " + type);
}

LogicalResult checkSameElement(NodeContext &n, Value reference, ArrayRef<Value> values) {
  if (!reference)
    return failure();
  for (Value value : values) {
    if (!value || n.elementType(value) == n.elementType(reference))
      continue;
    std::string message;
    llvm::raw_string_ostream(message) << "expected inputs of one element type, got " << n.elementType(reference)
                                      << " and " << n.elementType(value);
    return n.error(message);
  }
  return success();
}

Type computeType(Type type) {
  return type && (type.isF16() || type.isBF16()) ? Type(Float32Type::get(type.getContext())) : type;
}

Value scalarLike(NodeContext &n, double value, Value like) {
  return like ? n.scalar(value, n.elementType(like)) : Value();
}

Value full(NodeContext &n, double value, Type element, ArrayRef<AffineExpr> dims) {
  return n.broadcastTo(n.scalar(value, element), dims);
}

Value iota(NodeContext &n, int64_t axis, ArrayRef<AffineExpr> dims, Type element) {
  return n.make<tg::IotaOp>(tg::getTensorType(dims, element), n.b.getI64IntegerAttr(axis));
}

Value extentScalar(NodeContext &n, AffineExpr expr, Type element) {
  if (!expr)
    return {};
  if (std::optional<int64_t> constant = tg::getConstant(expr))
    return n.scalarInt(*constant, element);
  return n.cast(n.reshape(n.extents(expr), ArrayRef<AffineExpr>()), element);
}

Value mean(NodeContext &n, Value value, ArrayRef<int64_t> axes, bool keepDims) {
  Value sum = n.reduce(tg::Monoid::Add, value, axes, keepDims);
  return sum ? n.make<tg::DivOp>(sum, n.count(value, axes, n.elementType(sum))) : Value();
}

Value take(NodeContext &n, Value data, Value indices, int64_t axis) {
  if (!data || !indices)
    return {};
  MLIRContext *context = n.b.getContext();
  int64_t dataRank = n.rank(data), indexRank = n.rank(indices), domain = dataRank - 1 + indexRank;
  // The domain is (data dims before axis, index dims, data dims after axis); symbol 0 is the index read.
  tg::Dims dims;
  SmallVector<AffineExpr> place, index;
  for (int64_t d = 0; d < dataRank; ++d) {
    if (d == axis) {
      place.push_back(getAffineSymbolExpr(0, context));
      llvm::append_range(dims, n.dims(indices));
      continue;
    }
    place.push_back(getAffineDimExpr(d < axis ? d : d - 1 + indexRank, context));
    dims.push_back(n.dim(data, d));
  }
  for (int64_t i = 0; i < indexRank; ++i)
    index.push_back(getAffineDimExpr(axis + i, context));
  return n.make<tg::GatherOp>(tg::getTensorType(dims, n.elementType(data)), data, indices,
                              AffineMapAttr::get(AffineMap::get(domain, 1, place, context)),
                              n.b.getAffineMapArrayAttr(AffineMap::get(domain, 0, index, context)));
}

Value compare(NodeContext &n, tg::CmpPredicate predicate, Value lhs, Value rhs) {
  return n.make<tg::CmpOp>(tg::CmpPredicateAttr::get(n.b.getContext(), predicate), lhs, rhs);
}

Value swish(NodeContext &n, Value value, double alpha) {
  Value inner = alpha == 1.0 ? value : n.make<tg::MulOp>(value, scalarLike(n, alpha, value));
  return n.make<tg::MulOp>(value, n.make<tg::SigmoidOp>(inner));
}

Value softplus(NodeContext &n, Value value) {
  // max(x, 0) + ln(1 + e^-|x|): the exponential never overflows.
  Value negated = n.make<tg::NegOp>(n.make<tg::AbsOp>(value));
  Value tail = n.make<tg::Log1pOp>(n.make<tg::ExpOp>(negated));
  return n.make<tg::AddOp>(n.make<tg::MaxOp>(value, scalarLike(n, 0, value)), tail);
}

Value moveChannels(NodeContext &n, Value x, bool toFront) {
  if (!x)
    return {};
  SmallVector<int64_t> order = allAxes(n.rank(x));
  auto channels = order.begin() + 1;
  if (toFront)
    std::rotate(channels, order.end() - 1, order.end());
  else
    std::rotate(channels, channels + 1, order.end());
  return n.transpose(x, order);
}

SmallVector<int64_t> allAxes(int64_t rank) { return axisRange(0, rank); }

SmallVector<int64_t> axisRange(int64_t first, int64_t last) {
  return llvm::to_vector(llvm::seq(first, std::max(first, last)));
}

tg::Dims withDim(ArrayRef<AffineExpr> dims, int64_t axis, AffineExpr extent) {
  tg::Dims changed(dims);
  changed[axis] = extent;
  return changed;
}

AffineExpr product(NodeContext &n, ArrayRef<AffineExpr> dims) {
  AffineExpr total = n.constExpr(1);
  for (AffineExpr dim : dims)
    total = total * dim;
  return tg::simplify(total);
}

FailureOr<tg::Dims> splitDim(NodeContext &n, ArrayRef<AffineExpr> dims, int64_t axis, int64_t outerCount,
                             StringRef what) {
  if (outerCount <= 0)
    return n.error("expected " + what + " to be positive, got " + Twine(outerCount));
  std::optional<int64_t> extent = tg::getConstant(dims[axis]);
  if (extent && *extent % outerCount != 0)
    return n.error("expected dimension " + Twine(axis) + " of extent " + Twine(*extent) + " to be a multiple of " +
                   what + " = " + Twine(outerCount));
  tg::Dims split(dims);
  split[axis] = tg::simplify(dims[axis].floorDiv(outerCount));
  split.insert(split.begin() + axis, n.constExpr(outerCount));
  return split;
}

} // namespace weft::onnx
