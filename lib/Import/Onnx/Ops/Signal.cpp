// Signal processing: DFT and STFT as contractions with constant matrices, window functions and mel filter banks as
// constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Expr.h"
#include "Shared/SignalTables.h"
#include "Shared/Window.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// An integer input of one element in [1, maxWindowParameter].
FailureOr<int64_t> positiveInput(NodeContext &c, unsigned i, StringRef meaning) {
  FailureOr<SmallVector<int64_t>> values = c.requiredInts(i, meaning);
  if (failed(values))
    return failure();
  if (values->size() != 1 || values->front() < 1 || values->front() > maxWindowParameter)
    return c.error("expected `" + meaning + "` of one element in [1, " + Twine(maxWindowParameter) + "]");
  return values->front();
}

LogicalResult checkMatrixSize(NodeContext &c, int64_t inputs, int64_t outputs) {
  int64_t entries;
  if (llvm::MulOverflow(inputs, outputs, entries) || entries > maxTableEntries / 4)
    return c.limit("a transform of " + Twine(inputs) + " by " + Twine(outputs) +
                   " elements, for which the matrix would be too large");
  return success();
}

Value matrixConstant(NodeContext &c, const FourierMatrix &matrix, Type element) {
  return floatTable(c, matrix.values, {matrix.inputs, matrix.inputParts, matrix.outputs, matrix.outputParts}, element);
}

//===--- DFT ---===//

struct FourierRequest {
  int64_t axis = 0, extent = 0, parts = 1, length = 0;
  bool inverse = false, onesided = false;
};

FailureOr<int64_t> readFourierAxis(NodeContext &c, int64_t rank) {
  int64_t axis = -2;
  if (c.opset < 20) {
    FailureOr<int64_t> attr = c.intAttr("axis", 1);
    if (failed(attr))
      return failure();
    axis = *attr;
  } else if (c.input(2)) {
    FailureOr<SmallVector<int64_t>> values = c.requiredInts(2, "axis");
    if (failed(values))
      return failure();
    if (values->size() != 1)
      return c.error("expected `axis` of one element, got " + Twine(values->size()));
    axis = values->front();
  }
  FailureOr<int64_t> normal = c.normalizeAxis(axis, rank);
  if (succeeded(normal) && *normal == rank - 1)
    return c.error("expected an axis before the last dimension, which holds real and imaginary parts");
  return normal;
}

FailureOr<FourierRequest> readFourier(NodeContext &c, Value x) {
  FourierRequest request;
  FailureOr<int64_t> axis = readFourierAxis(c, c.rank(x));
  FailureOr<bool> inverse = c.boolAttr("inverse", false), onesided = c.boolAttr("onesided", false);
  if (failed(axis) || failed(inverse) || failed(onesided))
    return failure();
  std::optional<int64_t> parts = c.staticDim(x, c.rank(x) - 1), extent = c.staticDim(x, *axis);
  if (parts != 1 && parts != 2)
    return c.error("expected an extent of 1 or 2 in the last dimension, got type " + typeName(x.getType()));
  if (!extent)
    return c.unsupported("a transform along the symbolic dimension " + Twine(*axis) + " is not supported",
                         "fix the extent with --dim");
  request = {*axis, *extent, *parts, *extent, *inverse, *onesided};
  if (c.input(1)) {
    FailureOr<int64_t> length = positiveInput(c, 1, "dft_length");
    if (failed(length))
      return failure();
    request.length = *length;
  } else if (*inverse && *onesided) {
    request.length = 2 * (*extent - 1);
  }
  if (request.extent < 1 || request.length < 1)
    return c.error("expected a transform of at least 1 element, got " + Twine(request.length));
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
  // More samples than the transform's length are cut, fewer count as zeros.
  bool halfSpectrum = request->inverse && request->onesided;
  int64_t used = std::min(request->extent, halfSpectrum ? request->length / 2 + 1 : request->length);
  if (failed(checkMatrixSize(c, used, request->length)))
    return failure();
  FourierMatrix matrix = request->inverse ? inverseFourier(request->length, used, request->parts, request->onesided)
                                          : forwardFourier(request->length, used, request->parts, request->onesided);
  Value samples = c.toCompute(x);
  if (used < request->extent)
    samples = c.slice(samples, request->axis, 0, c.constExpr(used));
  std::string from, to;
  for (int64_t d = 0; d < c.rank(x); ++d) {
    bool last = d == c.rank(x) - 1;
    from.push_back(d == request->axis ? 'j' : last ? 'p' : static_cast<char>('a' + d));
    to.push_back(d == request->axis ? 'k' : last ? 'q' : static_cast<char>('a' + d));
  }
  Type compute = computeType(c.elementType(x));
  Value y = c.contract(samples, matrixConstant(c, matrix, compute), from + ",jpkq->" + to, compute);
  return deliver(c, c.cast(y, c.elementType(x)));
}

//===--- STFT ---===//

LogicalResult importStft(NodeContext &c) {
  Value x = c.required(0), window = c.input(2);
  if (!x || failed(c.checkNumInputs(2, 4)) || failed(c.checkRank(x, 2, 3, "signal")) ||
      failed(checkSameFloat(c, x, window, "window")))
    return failure();
  if (c.rank(x) == 2)
    x = c.unsqueeze(x, {2});
  FailureOr<int64_t> step = positiveInput(c, 1, "frame_step");
  FailureOr<bool> onesided = c.boolAttr("onesided", true);
  if (failed(step) || failed(onesided) || (window && failed(c.checkRank(window, 1, 1, "window"))))
    return failure();
  std::optional<int64_t> parts = c.staticDim(x, 2), length = window ? c.staticDim(window, 0) : c.staticDim(x, 1);
  if (c.input(3)) {
    FailureOr<int64_t> given = positiveInput(c, 3, "frame_length");
    if (failed(given))
      return failure();
    if (window && length != *given)
      return c.error("expected `window` of `frame_length` " + Twine(*given) + " elements, got type " +
                     typeName(window.getType()));
    length = *given;
  }
  if (parts != 1 && parts != 2)
    return c.error("expected an extent of 1 or 2 in the last dimension of `signal`, got type " + typeName(x.getType()));
  if (!length)
    return c.unsupported("a symbolic frame length is not supported", "fix the extent with --dim");
  std::optional<int64_t> samples = c.staticDim(x, 1);
  if (*length < 1 || (samples && *samples < *length))
    return c.error("expected a signal of at least one frame of " + Twine(*length) + " samples");
  if (failed(checkMatrixSize(c, *length, *length)))
    return failure();

  Type compute = computeType(c.elementType(x));
  // batch x frames x parts x samples of a frame.
  Expr frames(c, c.make<tg::WindowOp>(c.toCompute(x), ArrayRef<int64_t>{1}, ArrayRef<int64_t>{*length},
                                      ArrayRef<int64_t>{*step}, ArrayRef<int64_t>{1}));
  if (window)
    frames = frames * Expr(c, c.toCompute(window));
  Value matrix = matrixConstant(c, forwardFourier(*length, *length, *parts, *onesided), compute);
  return deliver(c, c.cast(c.contract(frames, matrix, "bfpj,jpkq->bfkq", compute), c.elementType(x)));
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
  FailureOr<int64_t> size = positiveInput(c, 0, "size");
  FailureOr<bool> periodic = c.boolAttr("periodic", true);
  FailureOr<Type> type = outputFloat(c);
  if (failed(size) || failed(periodic) || failed(type))
    return failure();
  if (*size > maxTableEntries)
    return c.limit("expected a window of at most " + Twine(maxTableEntries) + " elements, got " + Twine(*size));
  return deliver(c, floatTable(c, makeWindow(kind, *size, *periodic), {*size}, *type));
}

LogicalResult importMelWeightMatrix(NodeContext &c) {
  if (failed(c.checkNumInputs(5, 5)))
    return failure();
  FailureOr<int64_t> bins = positiveInput(c, 0, "num_mel_bins"), length = positiveInput(c, 1, "dft_length"),
                     rate = positiveInput(c, 2, "sample_rate");
  FailureOr<SmallVector<double>> low = c.requiredFloats(3, "lower_edge_hertz"),
                                 high = c.requiredFloats(4, "upper_edge_hertz");
  FailureOr<Type> type = outputFloat(c);
  if (failed(bins) || failed(length) || failed(rate) || failed(low) || failed(high) || failed(type))
    return failure();
  if (low->size() != 1 || high->size() != 1)
    return c.error("expected `lower_edge_hertz` and `upper_edge_hertz` of one element");
  int64_t spectrum = *length / 2 + 1;
  if (spectrum > maxTableEntries / *bins)
    return c.limit("expected at most " + Twine(maxTableEntries) + " mel weights");
  std::optional<std::vector<double>> weights = makeMelWeights({*bins, *length, *rate, low->front(), high->front()});
  if (!weights)
    return c.error("expected the mel filters to lie inside the spectrum of " + Twine(spectrum) + " frequencies");
  return deliver(c, floatTable(c, *weights, {spectrum, *bins}, *type));
}

} // namespace

ArrayRef<OpEntry> getSignalOps() {
  static const OpEntry ops[] = {
      {"", "DFT", 17, newestOpset, importDft, "static length along the axis"},
      {"", "STFT", 17, newestOpset, importStft, "constant frame step and length"},
      {"", "HannWindow", 17, newestOpset, importWindow<WindowKind::Hann>, "constant size"},
      {"", "HammingWindow", 17, newestOpset, importWindow<WindowKind::Hamming>, "constant size"},
      {"", "BlackmanWindow", 17, newestOpset, importWindow<WindowKind::Blackman>, "constant size"},
      {"", "MelWeightMatrix", 17, newestOpset, importMelWeightMatrix, "constant operands"},
  };
  return ops;
}

} // namespace weft::onnx
