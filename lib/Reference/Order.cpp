// Ops that compare elements along an axis: arg_reduce and top_k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <cmath>
#include <numeric>

using namespace mlir;

namespace weft::reference {
namespace {

/// The order of elements of one type; NaN is larger than every number.
struct Less {
  explicit Less(Type element)
      : isFloat(isa<FloatType>(element)), isUnsigned(tg::isUnsignedElement(element)),
        width(element.getIntOrFloatBitWidth()) {}

  bool operator()(Scalar a, Scalar b) const {
    if (isFloat)
      return std::isnan(a.f) ? false : std::isnan(b.f) ? true : a.f < b.f;
    return isUnsigned ? a.i < b.i : signExtend(a.i, width) < signExtend(b.i, width);
  }
  bool isNaN(Scalar a) const { return isFloat && std::isnan(a.f); }

  bool isFloat, isUnsigned;
  unsigned width;
};

/// One line of a tensor along an axis: element k is at base + k * stride.
struct Line {
  int64_t base, stride;
};

Line lineAt(const Tensor &tensor, int64_t axis, int64_t line) {
  int64_t stride = getStrides(tensor.shape())[axis];
  return {line / stride * stride * tensor.dim(axis) + line % stride, stride};
}

std::vector<Scalar> loadLine(const Tensor &tensor, int64_t axis, int64_t line) {
  Line where = lineAt(tensor, axis, line);
  std::vector<Scalar> values(tensor.dim(axis));
  for (auto [k, value] : llvm::enumerate(values))
    value = tensor.load(where.base + int64_t(k) * where.stride);
  return values;
}

/// Whether `x` beats `best`: a NaN beats every number, and nothing beats a NaN.
bool beats(const Less &less, Scalar x, Scalar best, bool wantsMax) {
  if (less.isNaN(best))
    return false;
  return less.isNaN(x) || (wantsMax ? less(best, x) : less(x, best));
}

int64_t extremeOf(ArrayRef<Scalar> values, const Less &less, bool wantsMax, bool selectLast) {
  int64_t best = 0;
  for (int64_t k = 1, n = values.size(); k < n; ++k) {
    bool isTie = !beats(less, values[k], values[best], wantsMax) && !beats(less, values[best], values[k], wantsMax);
    if (isTie ? selectLast : beats(less, values[k], values[best], wantsMax))
      best = k;
  }
  return best;
}

Results argReduce(Evaluator &ev, tg::ArgReduceOp op, const Tensor &input) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size(), 4)))
    return failure();
  if (result->size() == 0)
    return single(std::move(*result));
  int64_t axis = op.getAxis();
  if (input.dim(axis) == 0)
    return ev.fail(op, "expected at least one element along axis " + Twine(axis));
  Less less(input.element());
  for (int64_t line = 0; line < result->size(); ++line) {
    Scalar index;
    index.i = extremeOf(loadLine(input, axis, line), less, op.getKind() == tg::Monoid::Max, op.getSelectLast());
    result->store(line, index);
  }
  return single(std::move(*result));
}

Results topK(Evaluator &ev, tg::TopKOp op, const Tensor &input) {
  FailureOr<Tensor> values = ev.makeResult(op, 0), indices = ev.makeResult(op, 1);
  if (failed(values) || failed(indices) || failed(ev.charge(op, input.size(), 64)))
    return failure();
  int64_t axis = op.getAxis(), k = op.getK(), length = input.dim(axis);
  if (k < 0 || k > length)
    return ev.fail(op, "expected k within [0, " + Twine(length) + "], got " + Twine(k));
  Less less(input.element());
  for (int64_t line = 0, lines = k == 0 ? 0 : values->size() / k; line < lines; ++line) {
    std::vector<Scalar> elements = loadLine(input, axis, line);
    std::vector<int64_t> order(length);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      Scalar first = elements[op.getLargest() ? b : a], second = elements[op.getLargest() ? a : b];
      return less(first, second) || (!less(second, first) && a < b);
    });
    Line to = lineAt(*values, axis, line);
    for (int64_t i = 0; i < k; ++i) {
      Scalar index;
      index.i = order[i];
      values->store(to.base + i * to.stride, elements[order[i]]);
      indices->store(to.base + i * to.stride, index);
    }
  }
  SmallVector<Tensor> results;
  results.push_back(std::move(*values));
  results.push_back(std::move(*indices));
  return results;
}

} // namespace

std::optional<Results> evaluateOrder(Evaluator &ev, Operation *op, Operands operands) {
  if (auto arg = dyn_cast<tg::ArgReduceOp>(op))
    return argReduce(ev, arg, *operands[0]);
  if (auto top = dyn_cast<tg::TopKOp>(op))
    return topK(ev, top, *operands[0]);
  return std::nullopt;
}

} // namespace weft::reference
