// Checked building of ops for handlers. An op whose types cannot be inferred or whose verifier fails becomes a
// diagnostic of the node (the import's diagnostic handler turns MLIR's errors into those), never an abort.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "mlir/IR/Verifier.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::failure;
using mlir::FailureOr;
using mlir::Value;

/// Whether the static extents alone give fewer than 2^40 elements; later arithmetic on sizes then stays inside 64 bits.
static bool isOfSaneSize(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return true;
  __uint128_t elements = 1;
  for (int64_t extent : tensor.getShape()) {
    if (extent > 0)
      elements *= static_cast<uint64_t>(extent);
    if (elements > (uint64_t(1) << 40))
      return false;
  }
  return true;
}

/// Symbolic extents that some values of the symbols would make negative: two of them multiply to a size that no later
/// check finds.
llvm::LogicalResult NodeContext::checkExtents(mlir::TypeRange types) {
  for (mlir::Type type : types)
    if (llvm::isa<mlir::RankedTensorType>(type))
      for (auto [d, extent] : llvm::enumerate(tg::getDims(type)))
        if (failed(assumeAtMost(constExpr(0), extent, "`" + opType() + "` dimension " + llvm::Twine(d))))
          return mlir::failure();
  return llvm::success();
}

mlir::Operation *
NodeContext::finish(mlir::OperationState &state, bool pointwise,
                    llvm::function_ref<llvm::LogicalResult(llvm::SmallVectorImpl<mlir::Type> &)> infer) {
  if (llvm::is_contained(state.operands, Value()))
    return nullptr;
  if (pointwise && state.operands.size() > 1 && failed(broadcastDims(state.operands)))
    return nullptr;
  if (infer) {
    SmallVector<mlir::Type> types;
    if (failed(infer(types))) {
      if (!failedAlready())
        (void)error("operand types do not fit " + llvm::Twine(state.name.getStringRef()));
      return nullptr;
    }
    state.types.assign(types.begin(), types.end());
  }
  if (llvm::is_contained(state.types, mlir::Type())) {
    if (!failedAlready())
      (void)error("the type of a result is not known");
    return nullptr;
  }
  for (mlir::Type type : state.types)
    if (!isOfSaneSize(type)) {
      (void)limit("a result has more than 2^40 elements", "check the shapes that the node computes with");
      return nullptr;
    }
  if (failed(checkExtents(state.types)))
    return nullptr;
  mlir::Operation *op = b.create(state);
  if (succeeded(mlir::verify(op, /*verifyRecursively=*/false)))
    return op;
  if (!failedAlready())
    (void)error("operands do not fit " + llvm::Twine(state.name.getStringRef()));
  return nullptr;
}

//===--- Extents ---===//

llvm::LogicalResult NodeContext::assumeEqual(AffineExpr x, AffineExpr y, const llvm::Twine &what) {
  if (tg::isEqual(x, y))
    return llvm::success();
  std::string dims =
      tg::formatDims(x, importer.symbols.names()) + " and " + tg::formatDims(y, importer.symbols.names());
  if (tg::getConstant(tg::simplify(x - y)))
    return error(what + ": expected equal extents, got " + dims);
  if (!importer.assumed.insert({x, y}).second)
    return llvm::success();
  unsigned count = importer.symbols.names().size();
  auto map = mlir::AffineMap::get(0, count, {x, y}, b.getContext());
  tg::AssumeEqualOp::create(b, mlir::AffineMapAttr::get(map),
                            b.getStringAttr(what + ": extents " + dims + " must be equal"));
  return llvm::success();
}

std::optional<int64_t> NodeContext::assumedConstant(AffineExpr extent) const {
  if (std::optional<int64_t> known = tg::getConstant(extent))
    return known;
  for (auto [x, y] : importer.assumed)
    for (auto [one, other] : {std::pair(x, y), std::pair(y, x)})
      if (std::optional<int64_t> value = tg::getConstant(other); value && tg::isEqual(one, extent))
        return value;
  return std::nullopt;
}

llvm::LogicalResult NodeContext::assumeAtMost(AffineExpr x, AffineExpr y, const llvm::Twine &what) {
  AffineExpr room = tg::simplify(y - x);
  if (tg::isNonNegative(room))
    return llvm::success();
  std::string low = tg::formatDims(x, importer.symbols.names()), high = tg::formatDims(y, importer.symbols.names());
  if (tg::isNonNegative(tg::simplify(x - y - 1)))
    return error(what + ": expected an extent of at most " + high + ", got " + low);
  if (!importer.assumedOrder.insert(room).second)
    return llvm::success();
  unsigned count = importer.symbols.names().size();
  auto map = mlir::AffineMap::get(0, count, {tg::simplify(x), tg::simplify(y)}, b.getContext());
  tg::AssumeAtMostOp::create(b, mlir::AffineMapAttr::get(map),
                             b.getStringAttr(what + ": expected " + low + " of at most " + high));
  return llvm::success();
}

FailureOr<tg::Dims> NodeContext::broadcastDims(llvm::ArrayRef<Value> values) {
  SmallVector<tg::Dims> shapes;
  for (Value value : values) {
    if (!value)
      return failure();
    shapes.push_back(dims(value));
  }
  SmallVector<std::pair<AffineExpr, AffineExpr>> assumed;
  std::optional<tg::Dims> result = tg::broadcastDims(shapes, &assumed);
  if (!result) {
    std::string text;
    for (const tg::Dims &shape : shapes)
      text += (text.empty() ? "[" : " and [") + tg::formatDims(shape, importer.symbols.names()) + "]";
    return error("shapes do not broadcast: " + text);
  }
  for (auto [x, y] : assumed)
    if (failed(assumeEqual(x, y, "`" + opType() + "` broadcast")))
      return failure();
  return *result;
}

//===--- Constants ---===//

static mlir::Type elementOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

/// `value` as an attribute of scalar type `element`: floats rounded to nearest even, integers modulo 2^n.
static mlir::Attribute scalarAttr(double value, mlir::Type element) {
  if (auto type = llvm::dyn_cast<mlir::FloatType>(element)) {
    llvm::APFloat rounded(value);
    bool inexact = false;
    rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return mlir::FloatAttr::get(type, rounded);
  }
  llvm::APSInt integer(64, /*isUnsigned=*/false);
  bool exact = false;
  llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &exact);
  return mlir::IntegerAttr::get(element, integer.trunc(element.getIntOrFloatBitWidth()));
}

Value NodeContext::constantValue(mlir::ElementsAttr value) {
  Value constant = make<tg::ConstantOp>(value);
  if (constant)
    importer.markConstant(constant);
  return constant;
}

Value NodeContext::splat(double value, mlir::RankedTensorType type) {
  if (!type || !type.hasStaticShape())
    return {};
  if (type.getNumElements() == 0)
    return constantValue(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>()));
  return constantValue(mlir::DenseElementsAttr::get(type, scalarAttr(value, type.getElementType())));
}

Value NodeContext::scalar(double value, mlir::Type element) {
  return splat(value, mlir::RankedTensorType::get({}, elementOf(element)));
}

Value NodeContext::scalarInt(int64_t value, mlir::Type element) {
  mlir::Type type = elementOf(element);
  if (!llvm::isa<mlir::IntegerType>(type))
    return scalar(static_cast<double>(value), type);
  auto attribute =
      mlir::IntegerAttr::get(type, llvm::APInt(64, static_cast<uint64_t>(value)).trunc(type.getIntOrFloatBitWidth()));
  return constantValue(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, type), attribute));
}

Value NodeContext::intsConstant(llvm::ArrayRef<int64_t> values) { return constantValue(b.getI64TensorAttr(values)); }

Value NodeContext::extents(llvm::ArrayRef<AffineExpr> exprs) {
  SmallVector<int64_t> constants;
  for (AffineExpr expr : exprs)
    if (std::optional<int64_t> constant = tg::getConstant(expr))
      constants.push_back(*constant);
  if (constants.size() == exprs.size())
    return intsConstant(constants);
  unsigned count = importer.symbols.names().size();
  return make<tg::ExtentsOp>(mlir::AffineMap::get(0, count, exprs, b.getContext()));
}

//===--- Movement ---===//

Value NodeContext::reshape(Value value, llvm::ArrayRef<AffineExpr> dims) {
  if (!value)
    return {};
  mlir::RankedTensorType type = tg::getTensorType(dims, elementType(value));
  if (type == value.getType())
    return value;
  AffineExpr before = tg::getNumElements(value.getType()), after = tg::getNumElements(type);
  if (failed(assumeEqual(before, after, "`" + opType() + "` number of elements")))
    return {};
  return make<tg::ReshapeOp>(type, value);
}

Value NodeContext::reshape(Value value, llvm::ArrayRef<int64_t> dims) { return reshape(value, constDims(dims)); }

Value NodeContext::unsqueeze(Value value, llvm::ArrayRef<int64_t> axes) {
  if (!value)
    return {};
  tg::Dims result = dims(value);
  for (int64_t axis : axes) {
    if (axis > static_cast<int64_t>(result.size())) {
      (void)error("axis " + llvm::Twine(axis) + " is out of range");
      return {};
    }
    result.insert(result.begin() + axis, constExpr(1));
  }
  return reshape(value, result);
}

Value NodeContext::squeeze(Value value, llvm::ArrayRef<int64_t> axes) {
  if (!value)
    return {};
  tg::Dims result;
  for (auto [d, extent] : llvm::enumerate(dims(value))) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(d)))
      result.push_back(extent);
    else if (failed(assumeEqual(extent, constExpr(1), "squeezed dimension " + llvm::Twine(d))))
      return {};
  }
  return reshape(value, result);
}

Value NodeContext::transpose(Value value, llvm::ArrayRef<int64_t> permutation) {
  bool identity = true;
  for (auto [i, from] : llvm::enumerate(permutation))
    identity &= static_cast<int64_t>(i) == from;
  if (value && identity && static_cast<int64_t>(permutation.size()) == rank(value))
    return value;
  return make<tg::TransposeOp>(value, permutation);
}

Value NodeContext::broadcastTo(Value value, llvm::ArrayRef<AffineExpr> dims) {
  if (!value)
    return {};
  mlir::RankedTensorType type = tg::getTensorType(dims, elementType(value));
  return type == value.getType() ? value : make<tg::BroadcastOp>(type, value);
}

Value NodeContext::slice(Value value, int64_t axis, int64_t offset, AffineExpr size, int64_t stride) {
  if (!value)
    return {};
  tg::Dims result = dims(value);
  if (axis < 0 || axis >= static_cast<int64_t>(result.size())) {
    (void)error("axis " + llvm::Twine(axis) + " is out of range");
    return {};
  }
  SmallVector<int64_t> offsets(result.size(), 0), strides(result.size(), 1);
  if (offset == 0 && stride == 1 && tg::isEqual(size, result[axis]))
    return value;
  bool isEmpty = tg::getConstant(result[axis]) == 0;
  offsets[axis] = offset;
  strides[axis] = stride;
  result[axis] = size;
  if (isEmpty) // There is nothing to read; a symbolic size is 0 when the model runs.
    return broadcastTo(scalarInt(0, elementType(value)), result);
  return make<tg::SliceOp>(tg::getTensorType(result, elementType(value)), value, offsets, strides);
}

Value NodeContext::concat(llvm::ArrayRef<Value> values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  if (values.empty() || llvm::is_contained(values, Value()))
    return {};
  for (Value value : values) {
    if (rank(value) != rank(values.front())) {
      (void)error("expected operands of one rank, got " + llvm::Twine(rank(values.front())) + " and " +
                  llvm::Twine(rank(value)));
      return {};
    }
    for (int64_t d = 0; d < rank(value); ++d)
      if (d != axis &&
          failed(assumeEqual(dim(value, d), dim(values.front(), d), "`" + opType() + "` dimension " + llvm::Twine(d))))
        return {};
  }
  return make<tg::ConcatOp>(mlir::ValueRange(values), axis);
}

//===--- Arithmetic ---===//

Value NodeContext::cast(Value value, mlir::Type element, bool saturate) {
  if (!value || elementType(value) == element)
    return value;
  return make<tg::CastOp>(tg::withElement(value.getType(), element), value, saturate, /*round_up=*/false);
}

Value NodeContext::toCompute(Value value) {
  if (!value)
    return {};
  mlir::Type element = elementType(value);
  return element.isF16() || element.isBF16() ? cast(value, b.getF32Type()) : value;
}

Value NodeContext::reduce(tg::Monoid kind, Value value, llvm::ArrayRef<int64_t> axes, bool keepDims) {
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  return make<tg::ReduceOp>(kind, value, sorted, keepDims);
}

Value NodeContext::count(Value value, llvm::ArrayRef<int64_t> axes, mlir::Type element) {
  if (!value)
    return {};
  AffineExpr product = constExpr(1);
  for (int64_t axis : axes)
    product = product * dim(value, axis);
  product = tg::simplify(product);
  if (std::optional<int64_t> constant = tg::getConstant(product))
    return scalarInt(*constant, element);
  return cast(reshape(extents(product), llvm::ArrayRef<int64_t>()), elementOf(element));
}

Value NodeContext::contract(Value lhs, Value rhs, llvm::StringRef einsum, mlir::Type element) {
  if (!lhs || !rhs)
    return {};
  auto [left, rest] = einsum.split(',');
  auto [right, result] = rest.split("->");
  if (static_cast<int64_t>(left.size()) != rank(lhs) || static_cast<int64_t>(right.size()) != rank(rhs)) {
    (void)error("expected ranks " + llvm::Twine(left.size()) + " and " + llvm::Twine(right.size()) + ", got " +
                llvm::Twine(rank(lhs)) + " and " + llvm::Twine(rank(rhs)));
    return {};
  }
  for (auto [d, letter] : llvm::enumerate(right)) {
    size_t other = left.find(letter);
    if (other != llvm::StringRef::npos &&
        failed(assumeEqual(dim(lhs, other), dim(rhs, d), "`" + opType() + "` contracted dimension")))
      return {};
  }
  return make<tg::ContractOp>(lhs, rhs, einsum, elementOf(element));
}
