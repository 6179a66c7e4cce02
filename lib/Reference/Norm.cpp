// Composites that are not attention, straight from their formulas in f64: gelu, softmax and the normalisations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "Index.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace weft::reference {
namespace {

Scalar real(double value) {
  Scalar scalar;
  scalar.f = value;
  return scalar;
}

/// `value` rounded to a float element type.
double roundTo(double value, Type element) {
  std::optional<Tensor> one = Tensor::create({}, element, 8);
  one->store(0, real(value));
  return one->load(0).f;
}

Results gelu(Evaluator &ev, tg::GeluOp op, const Tensor &input) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size(), 8)))
    return failure();
  for (int64_t i = 0; i < input.size(); ++i) {
    double x = input.load(i).f;
    double bell =
        op.getTanh() ? std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)) : std::erf(x / std::sqrt(2.0));
    result->store(i, real(x / 2 * (1 + bell)));
  }
  return single(std::move(*result));
}

/// max that gives NaN if there is one.
double largest(ArrayRef<double> values) {
  double most = -std::numeric_limits<double>::infinity();
  for (double value : values)
    most = std::isnan(value) || value > most ? value : most;
  return llvm::any_of(values, [](double v) { return std::isnan(v); }) ? std::numeric_limits<double>::quiet_NaN() : most;
}

Results softmax(Evaluator &ev, tg::SoftmaxOp op, const Tensor &input) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size(), 8)))
    return failure();
  if (input.size() == 0)
    return single(std::move(*result));
  int64_t axis = op.getAxis(), length = input.dim(axis), stride = getStrides(input.shape())[axis];
  std::vector<double> row(length);
  for (int64_t line = 0, lines = input.size() / length; line < lines; ++line) {
    int64_t base = line / stride * stride * length + line % stride;
    for (int64_t k = 0; k < length; ++k)
      row[k] = input.load(base + k * stride).f;
    double m = largest(row), sum = 0;
    for (double x : row)
      sum += std::exp(x - m);
    for (int64_t k = 0; k < length; ++k)
      result->store(base + k * stride, real(op.getLog() ? row[k] - m - std::log(sum) : std::exp(row[k] - m) / sum));
  }
  return single(std::move(*result));
}

struct Moments {
  double mean, variance, meanSquare;
};

/// Of elements [begin, begin + count).
Moments momentsOf(const Tensor &input, int64_t begin, int64_t count) {
  double sum = 0, squares = 0, deviations = 0;
  for (int64_t i = begin; i < begin + count; ++i) {
    double x = input.load(i).f;
    sum += x;
    squares += x * x;
  }
  double mean = sum / double(count);
  for (int64_t i = begin; i < begin + count; ++i)
    deviations += (input.load(i).f - mean) * (input.load(i).f - mean);
  return {mean, deviations / double(count), squares / double(count)};
}

/// Strides of `operand` broadcast to `shape`.
SmallVector<int64_t> broadcastStrides(const Tensor &operand, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> own = getStrides(operand.shape()), strides(shape.size(), 0);
  int64_t lead = int64_t(shape.size()) - operand.rank();
  for (int64_t d = 0; d < operand.rank(); ++d)
    strides[lead + d] = operand.dim(d) == 1 ? 0 : own[d];
  return strides;
}

/// Checks at run time what the verifier checks for static extents.
LogicalResult checkBroadcastsTo(Evaluator &ev, Operation *op, const Tensor &operand, const Tensor &input) {
  int64_t lead = input.rank() - operand.rank();
  bool fits = lead >= 0;
  for (int64_t d = 0; fits && d < operand.rank(); ++d)
    fits = operand.dim(d) == 1 || operand.dim(d) == input.dim(lead + d);
  if (!fits)
    return ev.fail(op, "expected an operand that broadcasts to " + formatShape(input.shape(), input.element()) +
                           ", got " + formatShape(operand.shape(), operand.element()));
  return success();
}

int64_t sizeFrom(const Tensor &input, int64_t axis) {
  int64_t count = 1;
  for (int64_t extent : input.shape().drop_front(axis))
    count *= extent;
  return count;
}

Results layerNorm(Evaluator &ev, tg::LayerNormOp op, Operands operands) {
  const Tensor &input = *operands[0], &scale = *operands[1];
  const Tensor *bias = operands.size() > 2 ? operands[2] : nullptr;
  FailureOr<Tensor> result = ev.makeResult(op, 0), means = ev.makeResult(op, 1), invStds = ev.makeResult(op, 2);
  if (failed(result) || failed(means) || failed(invStds) || failed(ev.charge(op, input.size(), 8)) ||
      failed(checkBroadcastsTo(ev, op, scale, input)) || (bias && failed(checkBroadcastsTo(ev, op, *bias, input))))
    return failure();
  SmallVector<int64_t> scaleStrides = broadcastStrides(scale, input.shape());
  SmallVector<int64_t> biasStrides = bias ? broadcastStrides(*bias, input.shape()) : SmallVector<int64_t>();
  int64_t count = sizeFrom(input, op.getAxis());
  Odometer place(input.shape());
  for (int64_t row = 0; row < means->size(); ++row) {
    Moments moments = momentsOf(input, row * count, count);
    double invStd = 1 / std::sqrt(moments.variance + op.getEpsilon().convertToDouble());
    means->store(row, real(moments.mean));
    invStds->store(row, real(invStd));
    for (int64_t i = row * count; i < (row + 1) * count; ++i, place.advance()) {
      double normal = roundTo((input.load(i).f - moments.mean) * invStd, input.element());
      double shift = bias ? bias->load(dot(biasStrides, *place)).f : 0.0;
      result->store(i, real(normal * scale.load(dot(scaleStrides, *place)).f + shift));
    }
  }
  SmallVector<Tensor> results;
  for (Tensor *tensor : {&*result, &*means, &*invStds})
    results.push_back(std::move(*tensor));
  return results;
}

Results rmsNorm(Evaluator &ev, tg::RmsNormOp op, const Tensor &input, const Tensor &scale) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size(), 8)) || failed(checkBroadcastsTo(ev, op, scale, input)))
    return failure();
  SmallVector<int64_t> strides = broadcastStrides(scale, input.shape());
  int64_t count = sizeFrom(input, op.getAxis());
  Odometer place(input.shape());
  for (int64_t row = 0, rows = count == 0 ? 0 : input.size() / count; row < rows; ++row) {
    double meanSquare = momentsOf(input, row * count, count).meanSquare;
    double root = std::sqrt(meanSquare + op.getEpsilon().convertToDouble());
    for (int64_t i = row * count; i < (row + 1) * count; ++i, place.advance()) {
      double normal = roundTo(input.load(i).f / root, input.element());
      result->store(i, real(normal * scale.load(dot(strides, *place)).f));
    }
  }
  return single(std::move(*result));
}

Results groupNorm(Evaluator &ev, tg::GroupNormOp op, Operands operands) {
  const Tensor &input = *operands[0], &scale = *operands[1], &bias = *operands[2];
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size(), 8)))
    return failure();
  int64_t channels = input.dim(1), groups = op.getGroups(), spatial = sizeFrom(input, 2);
  int64_t count = channels / groups * spatial;
  // A group's channels are neighbours, so that the group is one run of elements.
  for (int64_t group = 0, all = count == 0 ? 0 : input.size() / count; group < all; ++group) {
    Moments moments = momentsOf(input, group * count, count);
    double root = std::sqrt(moments.variance + op.getEpsilon().convertToDouble());
    for (int64_t i = group * count; i < (group + 1) * count; ++i) {
      int64_t channel = i / spatial % channels;
      result->store(i, real((input.load(i).f - moments.mean) / root * scale.load(channel).f + bias.load(channel).f));
    }
  }
  return single(std::move(*result));
}

} // namespace

std::optional<Results> evaluateNorm(Evaluator &ev, Operation *op, Operands operands) {
  using Answer = std::optional<Results>;
  return llvm::TypeSwitch<Operation *, Answer>(op)
      .Case([&](tg::GeluOp gate) -> Answer { return gelu(ev, gate, *operands[0]); })
      .Case([&](tg::SoftmaxOp soft) -> Answer { return softmax(ev, soft, *operands[0]); })
      .Case([&](tg::LayerNormOp norm) -> Answer { return layerNorm(ev, norm, operands); })
      .Case([&](tg::RmsNormOp norm) -> Answer { return rmsNorm(ev, norm, *operands[0], *operands[1]); })
      .Case([&](tg::GroupNormOp norm) -> Answer { return groupNorm(ev, norm, operands); })
      .Default(Answer());
}

} // namespace weft::reference
