// Signal processing: DFT and STFT as contractions with Fourier matrices, window functions, mel filter banks. Lengths,
// steps and axes may be data: one formula on tensors makes the tables, which fold to constants where everything is
// known.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "Shared/RuntimeShapes.h"
#include "Shared/SignalTables.h"
#include "Shared/Window.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// Input `i`, an integer of one element, as an extent of at least `least`.
FailureOr<AffineExpr> extentInput(NodeContext &c, unsigned i, StringRef meaning, int64_t least = 1) {
  FailureOr<tg::Dims> values = c.requiredDims(i, meaning);
  if (failed(values))
    return failure();
  std::optional<int64_t> known = values->size() == 1 ? tg::getConstant(values->front()) : std::nullopt;
  if (values->size() != 1 || (known && (*known < least || *known > maxWindowParameter)))
    return c.error("expected `" + meaning + "` of one element in [" + Twine(least) + ", " + Twine(maxWindowParameter) +
                   "]");
  if (failed(c.assumeAtMost(c.constExpr(least), values->front(), meaning)))
    return failure();
  return values->front();
}

Value tableOf(NodeContext &c, Expr table, Type element) { return foldTable(c, c.cast(table, element)); }

LogicalResult checkTable(NodeContext &c, ArrayRef<AffineExpr> dims, StringRef what) {
  AffineExpr entries = product(c, dims);
  if (std::optional<int64_t> known = tg::getConstant(entries); known && (*known < 0 || *known > maxTableEntries))
    return c.limit("expected " + what + " of at most " + Twine(maxTableEntries) + " elements, got [" +
                   c.extentsText(dims) + "]");
  return success();
}

//===--- DFT ---===//

struct FourierRequest {
  AffineExpr outer, extent, inner; ///< Of the operand around the axis.
  AffineExpr length, outputs;
  tg::Dims result; ///< Without the parts.
  int64_t parts = 1;
  bool inverse = false, onesided = false;
};

/// The extents around an axis that is data, and where it is: each dimension is in front of it, it, or behind it.
FailureOr<Expr> splitAtAxis(NodeContext &c, Value x, FourierRequest &request) {
  int64_t spatial = c.rank(x) - 1;
  Type i64 = c.b.getI64Type();
  Expr axis(c, c.cast(c.reshape(c.required(2), ArrayRef<int64_t>()), i64));
  axis = axis.compare(tg::CmpPredicate::Lt, 0.0).select(axis + double(spatial + 1), axis);
  Expr place(c, iota(c, c.constExpr(spatial))), extent(c, c.extents(ArrayRef(c.dims(x)).drop_back()));
  auto productWhere = [&](tg::CmpPredicate predicate) {
    Expr chosen = place.compare(predicate, axis).select(extent, 1.0);
    return c.reduce(tg::Monoid::Mul, chosen, {0}, /*keepDims=*/true);
  };
  // An axis that is none has no elements, which the check of the extent refuses.
  Expr own = place.compare(tg::CmpPredicate::Eq, axis).select(extent, 0.0);
  FailureOr<tg::Dims> parts = c.runtimeDims(
      c.concat({productWhere(tg::CmpPredicate::Lt), c.reduce(tg::Monoid::Add, own, {0}, /*keepDims=*/true),
                productWhere(tg::CmpPredicate::Gt)},
               0),
      "axis");
  if (failed(parts))
    return failure();
  std::tie(request.outer, request.extent, request.inner) = std::tuple((*parts)[0], (*parts)[1], (*parts)[2]);
  return place.compare(tg::CmpPredicate::Eq, axis);
}

/// The axis where it is known; -1 where it is data.
FailureOr<int64_t> readFourierAxis(NodeContext &c, int64_t rank) {
  int64_t axis = -2;
  if (c.opset < 20) {
    FailureOr<int64_t> attr = c.intAttr("axis", 1);
    if (failed(attr))
      return failure();
    axis = *attr;
  } else if (Value given = c.input(2)) {
    if (tg::getConstant(tg::getNumElements(given.getType())) != 1 || !isInteger(c, given))
      return c.error("expected `axis` of one integer, got type " + typeName(given.getType()));
    std::optional<int64_t> known = c.constantInt(given);
    if (!known)
      return -1;
    axis = *known;
  }
  FailureOr<int64_t> normal = c.normalizeAxis(axis, rank);
  if (succeeded(normal) && *normal == rank - 1)
    return c.error("expected an axis before the last dimension, which holds real and imaginary parts");
  return normal;
}

/// The number of elements of the transform.
FailureOr<AffineExpr> readFourierLength(NodeContext &c, const FourierRequest &request) {
  if (c.input(1))
    return extentInput(c, 1, "dft_length");
  bool fromHalf = request.inverse && request.onesided;
  AffineExpr length = fromHalf ? tg::simplify(request.extent * 2 - 2) : request.extent;
  if (std::optional<int64_t> known = tg::getConstant(length); known && *known < 1)
    return c.error("expected a transform of at least 1 element, got " + Twine(*known));
  if (failed(c.assumeAtMost(c.constExpr(1), length, "elements of the transform")))
    return failure();
  return length;
}

FailureOr<FourierRequest> readFourier(NodeContext &c, Value x) {
  FourierRequest request;
  FailureOr<int64_t> axis = readFourierAxis(c, c.rank(x));
  FailureOr<bool> inverse = c.boolAttr("inverse", false), onesided = c.boolAttr("onesided", false);
  if (failed(axis) || failed(inverse) || failed(onesided))
    return failure();
  std::optional<int64_t> parts = c.staticDim(x, c.rank(x) - 1);
  if (parts != 1 && parts != 2)
    return c.error("expected an extent of 1 or 2 in the last dimension, got type " + typeName(x.getType()));
  request.parts = *parts;
  request.inverse = *inverse;
  request.onesided = *onesided;
  request.result = tg::Dims(ArrayRef(c.dims(x)).drop_back());
  FailureOr<Expr> isAxis = Expr(c, Value());
  if (*axis >= 0) {
    request.outer = product(c, ArrayRef(request.result).take_front(*axis));
    request.extent = request.result[*axis];
    request.inner = product(c, ArrayRef(request.result).drop_front(*axis + 1));
  } else if (failed(isAxis = splitAtAxis(c, x, request))) {
    return failure();
  }
  FailureOr<AffineExpr> length = readFourierLength(c, request);
  if (failed(length) || failed(c.assumeAtMost(c.constExpr(1), request.extent, "elements along the axis")))
    return failure();
  request.length = *length;
  request.outputs = *onesided && !*inverse ? tg::simplify(request.length.floorDiv(2) + 1) : request.length;
  if (*axis >= 0) {
    request.result[*axis] = request.outputs;
    return request;
  }
  Expr outputs(c, extentScalar(c, request.outputs, c.b.getI64Type()));
  FailureOr<tg::Dims> result = c.runtimeDims(isAxis->select(outputs, Expr(c, c.extents(request.result))), "extents");
  if (failed(result))
    return failure();
  request.result = *result;
  return request;
}

LogicalResult importDft(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, c.opset < 20 ? 2 : 3)) || failed(c.checkRank(x, 2, 8, "input")) ||
      failed(checkSameFloat(c, x, {}, "")))
    return failure();
  FailureOr<FourierRequest> request = readFourier(c, x);
  if (failed(request))
    return failure();
  FourierMatrix matrix{request->length, request->extent,  request->outputs,
                       request->parts,  request->inverse, request->onesided};
  Value samples =
      c.reshape(c.toCompute(x), {request->outer, request->extent, request->inner, c.constExpr(request->parts)});
  // More samples than take part are cut, where their number is known; the matrix has zeros for them.
  if (std::optional<int64_t> used = tg::getConstant(matrix.used()), given = tg::getConstant(request->extent);
      used && given && *used < *given) {
    samples = c.slice(samples, 1, 0, c.constExpr(*used));
    matrix.samples = c.constExpr(*used);
  }
  if (failed(checkTable(c, {matrix.samples, matrix.outputs}, "a Fourier matrix")))
    return failure();
  Type compute = computeType(c.elementType(x));
  Value y = c.contract(samples, tableOf(c, makeFourier(c, matrix), compute), "ajbp,jpkq->akbq", compute);
  if (!y)
    return failure();
  tg::Dims result = request->result;
  result.push_back(c.dim(y, 3));
  return deliver(c, c.cast(c.reshape(y, result), c.elementType(x)));
}

//===--- STFT ---===//

/// Frames of `length` samples of batch x samples x parts, `step` apart: batch x frames x parts x samples.
Value takeFrames(NodeContext &c, Value x, AffineExpr step, AffineExpr length) {
  std::optional<int64_t> knownStep = tg::getConstant(step), knownLength = tg::getConstant(length);
  if (knownStep && knownLength)
    return c.make<tg::WindowOp>(x, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{*knownLength}, ArrayRef<int64_t>{*knownStep},
                                ArrayRef<int64_t>{1});
  Type i64 = c.b.getI64Type();
  auto scalar = [&](AffineExpr extent) { return Expr(c, extentScalar(c, extent, i64)); };
  Expr count = (scalar(c.dim(x, 1)) - scalar(length)) / scalar(step) + 1.0;
  FailureOr<tg::Dims> frames = c.runtimeDims(count, "frames");
  if (failed(frames))
    return {};
  Expr start = Expr(c, iota(c, frames->front())) * scalar(step);
  Value taken = takeAlong(c, x, start.reshape({frames->front(), c.constExpr(1)}) + Expr(c, iota(c, length)), 1);
  return c.transpose(taken, {0, 1, 3, 2});
}

/// The number of samples of a frame: given, or that of the window, or of the signal.
FailureOr<AffineExpr> readFrameLength(NodeContext &c, Value x, Value window) {
  AffineExpr length = window ? c.dim(window, 0) : c.dim(x, 1);
  if (c.input(3)) {
    FailureOr<AffineExpr> given = extentInput(c, 3, "frame_length");
    if (failed(given) || (window && failed(c.assumeEqual(length, *given, "elements of `window` and `frame_length`"))))
      return failure();
    length = *given;
  }
  std::optional<int64_t> known = tg::getConstant(length), samples = c.staticDim(x, 1);
  if (known && (*known < 1 || (samples && *samples < *known)))
    return c.error("expected a signal of at least one frame of " + Twine(*known) + " samples");
  if (failed(c.assumeAtMost(length, c.dim(x, 1), "samples of a frame")) ||
      failed(checkTable(c, {length, length}, "a Fourier matrix")))
    return failure();
  return length;
}

LogicalResult importStft(NodeContext &c) {
  Value x = c.required(0), window = c.input(2);
  if (!x || failed(c.checkNumInputs(2, 4)) || failed(c.checkRank(x, 2, 3, "signal")) ||
      failed(checkSameFloat(c, x, window, "window")))
    return failure();
  if (c.rank(x) == 2)
    x = c.unsqueeze(x, {2});
  FailureOr<AffineExpr> step = extentInput(c, 1, "frame_step");
  FailureOr<bool> onesided = c.boolAttr("onesided", true);
  if (failed(step) || failed(onesided) || (window && failed(c.checkRank(window, 1, 1, "window"))))
    return failure();
  std::optional<int64_t> parts = c.staticDim(x, 2);
  if (parts != 1 && parts != 2)
    return c.error("expected an extent of 1 or 2 in the last dimension of `signal`, got type " + typeName(x.getType()));
  FailureOr<AffineExpr> length = readFrameLength(c, x, window);
  if (failed(length))
    return failure();
  Type compute = computeType(c.elementType(x));
  Expr frames(c, takeFrames(c, c.toCompute(x), *step, *length));
  if (window)
    frames = frames * Expr(c, c.toCompute(window));
  AffineExpr outputs = *onesided ? tg::simplify(length->floorDiv(2) + 1) : *length;
  FourierMatrix matrix{*length, *length, outputs, *parts, /*inverse=*/false, *onesided};
  Value y = c.contract(frames, tableOf(c, makeFourier(c, matrix), compute), "bfpj,jpkq->bfkq", compute);
  return deliver(c, c.cast(y, c.elementType(x)));
}

//===--- Windows and filter banks ---===//

FailureOr<Type> outputFloat(NodeContext &c) {
  FailureOr<Type> type = c.typeAttr("output_datatype", c.b.getF32Type());
  if (succeeded(type) && !type->isF32() && !type->isF64() && !type->isF16() && !type->isBF16())
    return c.unsupported("a result of type " + typeName(*type) + " is not supported");
  return type;
}

template <WindowKind kind> LogicalResult importWindow(NodeContext &c) {
  if (failed(c.checkNumInputs(1, 1)))
    return failure();
  FailureOr<AffineExpr> size = extentInput(c, 0, "size", 0);
  FailureOr<bool> periodic = c.boolAttr("periodic", true);
  FailureOr<Type> type = outputFloat(c);
  if (failed(size) || failed(periodic) || failed(type) || failed(checkTable(c, *size, "a window")))
    return failure();
  return deliver(c, tableOf(c, makeWindow(c, kind, *size, *periodic), *type));
}

LogicalResult importMelWeightMatrix(NodeContext &c) {
  if (failed(c.checkNumInputs(5, 5)))
    return failure();
  FailureOr<AffineExpr> bins = extentInput(c, 0, "num_mel_bins"), length = extentInput(c, 1, "dft_length"),
                        rate = extentInput(c, 2, "sample_rate");
  FailureOr<Type> type = outputFloat(c);
  if (failed(bins) || failed(length) || failed(rate) || failed(type))
    return failure();
  SmallVector<Value, 2> hertz;
  for (unsigned i : {3, 4}) {
    Value edge = c.required(i);
    if (!edge)
      return failure();
    if (tg::getConstant(tg::getNumElements(edge.getType())) != 1)
      return c.error("expected `lower_edge_hertz` and `upper_edge_hertz` of one element");
    hertz.push_back(c.cast(c.reshape(edge, ArrayRef<int64_t>()), c.b.getF64Type()));
  }
  MelSpec spec{*bins, tg::simplify(length->floorDiv(2) + 1), *length, *rate, hertz[0], hertz[1]};
  if (failed(checkTable(c, {spec.spectrum, spec.bins}, "a matrix of mel weights")))
    return failure();
  Expr edges(c, tableOf(c, melEdges(c, spec), c.b.getI64Type()));
  if (std::optional<SmallVector<int64_t>> known = edges ? c.constantInts(edges) : std::nullopt) {
    std::optional<int64_t> spectrum = tg::getConstant(spec.spectrum);
    if (!llvm::is_sorted(*known) || known->front() < 0 || (spectrum && known->back() >= *spectrum))
      return c.error("expected the mel filters to lie inside the spectrum of " + c.extentsText(spec.spectrum) +
                     " frequencies");
  }
  return deliver(c, tableOf(c, makeMelWeights(c, spec, edges), *type));
}

} // namespace

ArrayRef<OpEntry> getSignalOps() {
  static const OpEntry ops[] = {
      {"", "DFT", 17, newestOpset, importDft, ""},
      {"", "STFT", 17, newestOpset, importStft, ""},
      {"", "HannWindow", 17, newestOpset, importWindow<WindowKind::Hann>, ""},
      {"", "HammingWindow", 17, newestOpset, importWindow<WindowKind::Hamming>, ""},
      {"", "BlackmanWindow", 17, newestOpset, importWindow<WindowKind::Blackman>, ""},
      {"", "MelWeightMatrix", 17, newestOpset, importMelWeightMatrix, ""},
  };
  return ops;
}

} // namespace weft::onnx
