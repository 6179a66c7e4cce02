// Sequences and optionals. They are lists of the importer, and nothing of them reaches the IR: a sequence of a known
// length is its elements, one of a length that only the run knows is a tensor whose rows are its elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Compose.h"
#include "Shared/Extents.h"
#include "Shared/RuntimeShapes.h"
#include "weft/Import/Onnx/ModelReader.h"
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace weft::onnx {
namespace {

/// Input `i` as a sequence, which may be stacked if `mayStack`; null after an error.
Value sequence(NodeContext &n, unsigned i, bool mayStack = false) {
  Value list = n.required(i);
  if (list && !mayStack && NodeContext::stackedRows(list)) {
    (void)n.unsupported("input " + Twine(i) +
                            " is a sequence of a length known when the model runs; expected one of a known length",
                        "if the length comes from an extent or a graph input, fix that with --dim or --bind");
    return {};
  }
  if (list && (!NodeContext::isList(list) || NodeContext::isEmptyOptional(list))) {
    (void)n.error("input " + Twine(i) + ": expected a sequence");
    return {};
  }
  return list;
}

/// Input `i` as a position among `count`; negative ones count from the end. Absent: `otherwise`.
FailureOr<int64_t> position(NodeContext &n, unsigned i, int64_t count, int64_t otherwise) {
  if (!n.input(i))
    return otherwise;
  if (failed(n.checkTensor(n.input(i), "input " + Twine(i))))
    return failure();
  FailureOr<SmallVector<int64_t>> place = n.requiredInts(i, "position");
  if (failed(place))
    return failure();
  if (place->size() != 1)
    return n.error("expected one position, got " + Twine(place->size()));
  int64_t at = place->front() < 0 ? place->front() + count : place->front();
  if (at < 0 || at >= count)
    return n.error("position " + Twine(place->front()) + " is not among " + Twine(count));
  return at;
}

/// Input `i`, which is data, as a position among `count`, checked when the model runs; negative ones count from `end`.
/// Null after an error, and without one if the input is absent or known.
Value runtimePosition(NodeContext &n, unsigned i, int64_t count, int64_t end) {
  Value given = n.input(i);
  if (!given || NodeContext::isList(given) || n.constantInts(given))
    return {};
  Expr place(n, n.reshape(n.cast(given, n.b.getI64Type()), ArrayRef<int64_t>()));
  place = place.compare(tg::CmpPredicate::Lt, 0.0).select(place + double(end), place);
  FailureOr<tg::Dims> bound = n.runtimeDims(place, "position");
  if (failed(bound) || failed(n.assumeAtMost(bound->front(), n.constExpr(count - 1), "position")))
    return {};
  return place;
}

/// Hands over a sequence of at most as many elements as a loop may have iterations.
LogicalResult deliver(NodeContext &n, ArrayRef<Value> elements, unsigned output = 0) {
  if (int64_t(elements.size()) > n.limits().maxTripCount)
    return n.limit("a sequence of " + Twine(elements.size()) + " elements", "raise the limit with --max-trip-count");
  for (Value element : elements)
    if (failed(n.checkTensor(element, "an element of the sequence")))
      return failure();
  Value list = n.list(elements);
  n.output(output, list);
  return success(bool(list));
}

//===--- Sequences ---===//

LogicalResult sequenceEmpty(NodeContext &n) {
  n.ignoreAttr("dtype");
  return deliver(n, ArrayRef<Value>());
}

LogicalResult sequenceConstruct(NodeContext &n) {
  SmallVector<Value> elements;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    elements.push_back(n.required(i));
  return deliver(n, elements);
}

/// The rows of a stacked list with those of `element` behind it.
Value appendRow(NodeContext &n, Value rows, Value element) {
  if (!element || failed(n.checkTensor(element, "the element")))
    return {};
  return n.concat({rows, n.unsqueeze(element, {0})}, 0);
}

LogicalResult sequenceAt(NodeContext &n) {
  Value list = sequence(n, 0, /*mayStack=*/true);
  if (!list || failed(n.checkNumInputs(2, 2)))
    return failure();
  if (Value rows = NodeContext::stackedRows(list)) {
    Value place = n.required(1);
    if (!place || failed(n.checkTensor(place, "the position")))
      return failure();
    Expr at(n, n.reshape(n.cast(place, n.b.getI64Type()), ArrayRef<int64_t>()));
    at = at.compare(tg::CmpPredicate::Lt, 0.0)
             .select(at + Expr(n, extentScalar(n, n.dim(rows, 0), n.b.getI64Type())), at);
    Value row = takeAlong(n, rows, at, 0);
    n.output(0, row);
    return success(bool(row));
  }
  OperandRange elements = NodeContext::elements(list);
  int64_t count = int64_t(elements.size());
  if (Value place = elements.empty() ? Value() : runtimePosition(n, 1, count, count)) {
    Value found = elementOfList(n, SmallVector<Value>(elements), place);
    n.output(0, found);
    return success(bool(found));
  }
  if (n.failedAlready())
    return failure();
  FailureOr<int64_t> at = position(n, 1, count, 0);
  if (failed(at))
    return failure();
  if (elements.empty())
    return n.error("expected a position");
  n.output(0, elements[*at]);
  return success();
}

LogicalResult sequenceLength(NodeContext &n) {
  Value list = sequence(n, 0, /*mayStack=*/true);
  if (!list)
    return failure();
  if (Value rows = NodeContext::stackedRows(list)) {
    n.output(0, extentScalar(n, n.dim(rows, 0), n.b.getI64Type()));
    return success();
  }
  n.output(0, n.scalarInt(int64_t(NodeContext::elements(list).size()), n.b.getI64Type()));
  return success();
}

LogicalResult sequenceInsert(NodeContext &n) {
  Value list = sequence(n, 0, /*mayStack=*/!n.input(2)), element = n.required(1);
  if (!list || !element)
    return failure();
  if (Value rows = NodeContext::stackedRows(list)) {
    Value longer = n.stackedList(appendRow(n, rows, element));
    n.output(0, longer);
    return success(bool(longer));
  }
  SmallVector<Value> elements(NodeContext::elements(list));
  int64_t count = int64_t(elements.size());
  if (Value place = runtimePosition(n, 2, count + 1, count)) {
    // What was in front of the position, the new element, what was behind it.
    SmallVector<Value> sources = elements;
    sources.push_back(element);
    if (failed(n.checkTensor(element, "the element")))
      return failure();
    for (int64_t i = 0; i <= count; ++i) {
      Expr here = Expr(n, place).like(double(i)), at(n, place);
      Expr source = at.compare(tg::CmpPredicate::Gt, here).select(here, here - 1.0);
      source = at.compare(tg::CmpPredicate::Eq, here).select(here.like(double(count)), source);
      elements.insert(elements.end(), elementOfList(n, sources, source));
    }
    return deliver(n, ArrayRef(elements).drop_front(count));
  }
  FailureOr<int64_t> at = position(n, 2, count + 1, count);
  if (n.failedAlready() || failed(at))
    return failure();
  // A negative position counts from the last element, not from the position after it.
  std::optional<int64_t> given = n.input(2) ? n.constantInt(n.input(2)) : std::nullopt;
  if (given && *given < 0 && *at == 0)
    return n.error("position " + Twine(*given) + " is not among " + Twine(count));
  elements.insert(elements.begin() + (given && *given < 0 ? *at - 1 : *at), element);
  return deliver(n, elements);
}

LogicalResult sequenceErase(NodeContext &n) {
  Value list = sequence(n, 0);
  if (!list)
    return failure();
  SmallVector<Value> elements(NodeContext::elements(list));
  if (elements.empty())
    return n.error("the sequence is empty");
  int64_t count = int64_t(elements.size());
  if (Value place = runtimePosition(n, 1, count, count)) {
    SmallVector<Value> kept;
    for (int64_t i = 0; i + 1 < count; ++i) {
      Expr here = Expr(n, place).like(double(i));
      kept.push_back(
          elementOfList(n, elements, Expr(n, place).compare(tg::CmpPredicate::Gt, here).select(here, here + 1.0)));
    }
    return deliver(n, kept);
  }
  FailureOr<int64_t> at = position(n, 1, count, count - 1);
  if (n.failedAlready() || failed(at))
    return failure();
  elements.erase(elements.begin() + *at);
  return deliver(n, elements);
}

/// The rows side by side along `axis` of one, or of one with a new dimension there.
LogicalResult concatRows(NodeContext &n, Value rows, int64_t axis, bool isNew) {
  FailureOr<int64_t> place = n.normalizeAxis(axis, n.rank(rows) - !isNew);
  if (failed(place))
    return failure();
  SmallVector<int64_t> order = axisRange(1, n.rank(rows));
  order.insert(order.begin() + *place, 0);
  Value joined = n.transpose(rows, order);
  if (!isNew && joined) {
    tg::Dims dims = n.dims(joined);
    dims[*place] = tg::simplify(dims[*place] * dims[*place + 1]);
    dims.erase(dims.begin() + *place + 1);
    joined = n.reshape(joined, dims);
  }
  n.output(0, joined);
  return success(bool(joined));
}

LogicalResult concatFromSequence(NodeContext &n) {
  Value list = sequence(n, 0, /*mayStack=*/true);
  FailureOr<int64_t> axis = n.intAttr("axis");
  FailureOr<bool> isNew = n.boolAttr("new_axis", false);
  if (!list || failed(axis) || failed(isNew))
    return failure();
  if (Value rows = NodeContext::stackedRows(list))
    return concatRows(n, rows, *axis, *isNew);
  SmallVector<Value> elements(NodeContext::elements(list));
  if (elements.empty())
    return n.error("the sequence is empty");
  int64_t rank = n.rank(elements.front());
  FailureOr<int64_t> place = n.normalizeAxis(*axis, rank + *isNew);
  if (failed(place))
    return failure();
  for (Value &element : elements) {
    if (failed(n.checkRank(element, rank, rank, "an element of the sequence")))
      return failure();
    if (*isNew)
      element = n.unsqueeze(element, {*place});
  }
  n.output(0, n.concat(elements, *place));
  return success();
}

/// The sizes of as many pieces as the user says: all of `size` but the last one, which may be smaller.
FailureOr<tg::Dims> toldPieces(NodeContext &n, AffineExpr extent, AffineExpr size, int64_t count) {
  if (count == 0)
    return failed(n.assumeEqual(extent, n.constExpr(0), "`SplitToSequence` extent")) ? FailureOr<tg::Dims>(failure())
                                                                                     : tg::Dims();
  AffineExpr rest = tg::simplify(extent - size * (count - 1));
  if (failed(n.assumeAtMost(n.constExpr(1), rest, "the last piece of the told number")) ||
      failed(n.assumeAtMost(rest, size, "the last piece of the told number")))
    return failure();
  tg::Dims sizes(count - 1, size);
  sizes.push_back(rest);
  return sizes;
}

/// The sizes of the pieces of `extent`: given ones, pieces of one given size, or of 1. Given ones may be data, their
/// number not.
FailureOr<tg::Dims> pieceSizes(NodeContext &n, AffineExpr extent) {
  auto limited = [&](int64_t count) {
    return n.limit("a sequence of " + Twine(count) + " elements", "raise the limit with --max-trip-count");
  };
  Value given = n.input(1);
  if (given && n.rank(given) == 1) {
    if (std::optional<int64_t> count = n.staticDim(given, 0); count && *count > n.limits().maxTripCount)
      return limited(*count);
    FailureOr<tg::Dims> sizes = n.requiredDims(1, "split");
    if (failed(sizes))
      return failure();
    AffineExpr total = n.constExpr(0);
    for (AffineExpr size : *sizes) {
      std::optional<int64_t> known = tg::getConstant(size), all = tg::getConstant(extent);
      if (known && (*known < 0 || (all && *known > *all)))
        return n.error("size " + Twine(*known) + " is out of range");
      total = tg::simplify(total + size);
    }
    if (failed(n.assumeEqual(extent, total, "the sum of the sizes")))
      return failure();
    return *sizes;
  }
  std::optional<int64_t> whole = tg::getConstant(extent);
  std::optional<int64_t> known = given ? n.constantInt(given) : 1;
  if (!whole || !known) {
    std::optional<int64_t> count = n.toldElements(0);
    if (!count)
      return n.needsElements(0, "a split into pieces of one size, where the extent or the size is not known at compile "
                                "time");
    if (*count > n.limits().maxTripCount)
      return limited(*count);
    FailureOr<tg::Dims> one = given ? n.requiredDims(1, "split") : tg::Dims{n.constExpr(1)};
    if (failed(one) || one->size() != 1)
      return failed(one) ? failure() : n.error("expected one size, got " + Twine(one->size()));
    return toldPieces(n, extent, one->front(), *count);
  }
  int64_t size = *known;
  if (size < 1)
    return n.error("expected pieces of at least 1, got " + Twine(size));
  if (*whole / size >= n.limits().maxTripCount)
    return limited(*whole / size);
  SmallVector<int64_t> sizes(*whole / size, size);
  if (*whole % size)
    sizes.push_back(*whole % size);
  return n.constDims(sizes);
}

bool isOne(NodeContext &n, Value size) {
  return !NodeContext::isList(size) && n.rank(size) == 0 && n.constantInt(size) == 1;
}

LogicalResult splitToSequence(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<int64_t> axis = n.intAttr("axis", 0);
  FailureOr<bool> keepDims = n.boolAttr("keepdims", true);
  if (!x || failed(axis) || failed(keepDims) || failed(axis = n.normalizeAxis(*axis, n.rank(x))) ||
      (n.input(1) && failed(n.checkRank(n.input(1), 0, 1, "split"))))
    return failure();
  // Pieces of 1 are rows, however many there are.
  if (!n.staticDim(x, *axis) && !n.toldElements(0) && (!n.input(1) || isOne(n, n.input(1)))) {
    SmallVector<int64_t> order = axisRange(0, n.rank(x));
    order.erase(order.begin() + *axis);
    order.insert(order.begin(), *axis);
    Value rows = n.transpose(x, order);
    Value list = n.stackedList(rows && (*keepDims || n.input(1)) ? n.unsqueeze(rows, {*axis + 1}) : rows);
    n.output(0, list);
    return success(bool(list));
  }
  FailureOr<tg::Dims> sizes = pieceSizes(n, n.dim(x, *axis));
  if (failed(sizes))
    return failure();
  SmallVector<Value> elements;
  AffineExpr offset = n.constExpr(0);
  for (AffineExpr size : *sizes) {
    Value piece = takeRange(n, x, *axis, offset, size, 1);
    // ONNX ignores `keepdims` where sizes are given.
    elements.push_back(*keepDims || n.input(1) ? piece : n.squeeze(piece, {*axis}));
    offset = tg::simplify(offset + size);
  }
  return deliver(n, elements);
}

/// The body once for each element of the first input; other sequences go along, tensors stay.
LogicalResult sequenceMap(NodeContext &n) {
  Value first = sequence(n, 0);
  auto body = n.graphAttr("body");
  if (!first || failed(body))
    return failure();
  size_t count = NodeContext::elements(first).size();
  SmallVector<SmallVector<Value>> results((*body)->output_size());
  for (unsigned i = 1; i < n.numInputs(); ++i)
    if (Value x = n.required(i); !x || (NodeContext::isList(x) && !sequence(n, i)))
      return failure();
    else if (NodeContext::isList(x) && NodeContext::elements(x).size() != count)
      return n.error("expected sequences of one length");
  for (size_t at = 0; at < count; ++at) {
    SmallVector<Value> inputs;
    for (unsigned i = 0; i < n.numInputs(); ++i)
      inputs.push_back(NodeContext::isList(n.input(i)) ? NodeContext::elements(n.input(i))[at] : n.input(i));
    auto mapped = n.inlineGraph(**body, inputs);
    if (failed(mapped))
      return failure();
    for (auto [list, value] : llvm::zip(results, *mapped))
      list.push_back(value);
  }
  if (n.numOutputs() > results.size())
    return n.error("expected " + Twine(n.numOutputs()) + " outputs of the body, got " + Twine(results.size()));
  for (unsigned i = 0; i < n.numOutputs(); ++i)
    if (failed(deliver(n, results[i], i)))
      return failure();
  return success();
}

//===--- Optionals: their element itself, or an empty one ---===//

LogicalResult optional(NodeContext &n) {
  n.ignoreAttr("type");
  n.output(0, n.input(0) ? n.input(0) : n.list({}, /*isOptional=*/true));
  return success();
}

LogicalResult optionalHasElement(NodeContext &n) {
  bool has = n.input(0) && !NodeContext::isEmptyOptional(n.input(0));
  n.output(0, n.scalarInt(has, n.b.getI1Type()));
  return success();
}

LogicalResult optionalGetElement(NodeContext &n) {
  Value x = n.required(0);
  if (x && NodeContext::isEmptyOptional(x))
    return n.error("the optional is empty");
  n.output(0, x);
  return success(bool(x));
}

} // namespace

ArrayRef<OpEntry> getSequenceOps() {
  static const OpEntry table[] = {
      {"", "SequenceEmpty", 11, newestOpset, sequenceEmpty, ""},
      {"", "SequenceConstruct", 11, newestOpset, sequenceConstruct, ""},
      {"", "SequenceAt", 11, newestOpset, sequenceAt, "", true},
      {"", "SequenceLength", 11, newestOpset, sequenceLength, "", true},
      {"", "SequenceInsert", 11, newestOpset, sequenceInsert, "", true},
      {"", "SequenceErase", 11, newestOpset, sequenceErase, "", true},
      {"", "SequenceMap", 17, newestOpset, sequenceMap, "", true},
      {"", "ConcatFromSequence", 11, newestOpset, concatFromSequence, "", true},
      {"", "SplitToSequence", 11, newestOpset, splitToSequence, "known number of pieces, or pieces of 1"},
      {"", "Optional", 15, newestOpset, optional, "", true},
      {"", "OptionalHasElement", 15, newestOpset, optionalHasElement, "", true},
      {"", "OptionalGetElement", 15, newestOpset, optionalGetElement, "", true},
  };
  return table;
}

} // namespace weft::onnx
