// Checks, constants and gathers that several operator handlers build on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft::onnx {

std::string typeName(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

LogicalResult checkSameFloat(NodeContext &c, Value x, Value y, StringRef what) {
  Type element = c.elementType(x);
  if (!element.isF16() && !element.isBF16() && !element.isF32() && !element.isF64())
    return c.error("expected operands of type f16, bf16, f32 or f64, got " + typeName(element));
  if (y && c.elementType(y) != element)
    return c.error("expected `" + what + "` of element type " + typeName(element) + ", got " +
                   typeName(c.elementType(y)));
  return success();
}

Value broadcastInput(NodeContext &c, unsigned i) {
  Value x = c.required(0), y = c.required(i);
  if (!x || !y || c.opset >= 7)
    return y;
  int64_t room = c.rank(x) - c.rank(y);
  FailureOr<bool> broadcasts = c.boolAttr("broadcast", false);
  FailureOr<int64_t> axis = c.intAttr("axis", std::max<int64_t>(room, 0));
  if (failed(broadcasts) || failed(axis))
    return {};
  if (!*broadcasts && room != 0) {
    (void)c.error("expected operands of one rank where attribute `broadcast` is 0, got " + Twine(c.rank(x)) + " and " +
                  Twine(c.rank(y)));
    return {};
  }
  int64_t first = *axis < 0 ? *axis + c.rank(x) : *axis;
  if (!*broadcasts || room == first)
    return y;
  if (first < 0 || first > room) {
    (void)c.error("attribute `axis`: expected the first of " + Twine(c.rank(y)) + " axes among " + Twine(c.rank(x)) +
                  ", got " + Twine(*axis));
    return {};
  }
  tg::Dims dims = c.dims(y);
  dims.append(room - first, c.constExpr(1));
  return c.reshape(y, dims);
}

LogicalResult checkIsTest(NodeContext &c) {
  FailureOr<bool> isTest = c.opset < 7 ? c.boolAttr("is_test", false) : FailureOr<bool>(true);
  if (failed(isTest) || *isTest)
    return failed(isTest) ? failure() : success();
  return c.unsupported("training mode is not supported: attribute `is_test` is 0", "export the model for inference");
}

FailureOr<SmallVector<int64_t>> staticDims(NodeContext &c, Value value, int64_t from, StringRef what) {
  SmallVector<int64_t> extents;
  for (int64_t d = from; d < c.rank(value); ++d) {
    std::optional<int64_t> extent = c.staticDim(value, d);
    if (!extent)
      return c.unsupported("a symbolic extent in dimension " + Twine(d) + " of `" + what + "` is not supported",
                           "fix the extent with --dim");
    extents.push_back(*extent);
  }
  return extents;
}

Value intTable(NodeContext &c, ArrayRef<int64_t> values, ArrayRef<int64_t> shape) {
  return c.constantValue(DenseElementsAttr::get(RankedTensorType::get(shape, c.b.getI64Type()), values));
}

Value floatTable(NodeContext &c, ArrayRef<double> values, ArrayRef<int64_t> shape, Type element) {
  auto type = cast<FloatType>(element);
  auto tensor = RankedTensorType::get(shape, element);
  if (type.isF64())
    return c.constantValue(DenseElementsAttr::get(tensor, values));
  if (type.isF32())
    return c.constantValue(
        DenseElementsAttr::get(tensor, ArrayRef<float>(SmallVector<float>(values.begin(), values.end()))));
  SmallVector<APFloat> rounded;
  rounded.reserve(values.size());
  for (double value : values) {
    bool losesInfo = false;
    rounded.emplace_back(value);
    rounded.back().convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  }
  return c.constantValue(DenseElementsAttr::get(tensor, rounded));
}

Value foldTable(NodeContext &c, Value table) {
  std::optional<int64_t> entries = table ? tg::getConstant(tg::getNumElements(table.getType())) : std::nullopt;
  ElementsAttr known =
      entries && *entries <= maxTableEntries ? c.constant(table, /*withIndices=*/true) : ElementsAttr();
  return known ? c.constantValue(known) : table;
}

Value boolTable(NodeContext &c, const std::vector<bool> &values, ArrayRef<int64_t> shape) {
  SmallVector<bool> plain(values.begin(), values.end());
  return c.constantValue(DenseElementsAttr::get(RankedTensorType::get(shape, c.b.getI1Type()), ArrayRef<bool>(plain)));
}

Value repeatAlong(NodeContext &c, Value x, int64_t axis, int64_t times) {
  if (!x || times == 1)
    return x;
  tg::Dims dims = c.dims(x), split = dims, wide = dims, result = dims;
  split.insert(split.begin() + axis + 1, c.constExpr(1));
  wide.insert(wide.begin() + axis + 1, c.constExpr(times));
  result[axis] = tg::simplify(dims[axis] * times);
  return c.reshape(c.broadcastTo(c.reshape(x, split), wide), result);
}

Value takeTable(NodeContext &c, Value x, int64_t axis, ArrayRef<int64_t> table) {
  if (!x)
    return {};
  int64_t count = table.size(), extent = c.staticDim(x, axis).value_or(0);
  if (count == 0 || extent == 0)
    return take(c, x, c.intsConstant(table), axis);

  int64_t step = count > 1 ? table[1] - table[0] : 1;
  bool arithmetic = true, repeats = count % extent == 0;
  int64_t times = count / extent;
  for (int64_t i = 0; i < count; ++i) {
    arithmetic &= table[i] == table[0] + i * step;
    repeats &= times > 0 && table[i] == i / times;
  }
  if (repeats)
    return repeatAlong(c, x, axis, times);
  if (arithmetic && step != 0)
    return c.slice(x, axis, table[0], c.constExpr(count), step);
  return take(c, x, c.intsConstant(table), axis);
}

} // namespace weft::onnx
