// tg.attention, one row of scores at a time, in f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace weft::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Shape {
  int64_t batch, heads, groups, queries, keys, width, valueWidth;
};

/// One row: the query at (batch b, head h, position i).
struct Row {
  int64_t b, h, i;
};

class Attention {
public:
  Attention(tg::AttentionOp op, const Shape &s, Operands operands)
      : op(op), s(s), query(*operands[0]), key(*operands[1]), value(*operands[2]),
        mask(operands.size() > 3 ? operands[3] : nullptr) {}

  /// Stages 0 to 3 of the row's scores; `keep` is called with the wanted one.
  std::vector<double> scores(Row row, llvm::function_ref<void(ArrayRef<double>)> keep) const {
    std::vector<double> values(s.keys);
    for (int64_t j = 0; j < s.keys; ++j)
      values[j] = op.getScale().convertToDouble() * product(row, j);
    report(0, values, keep);
    double cap = op.getSoftcap().convertToDouble();
    if (cap > 0)
      for (double &x : values)
        x = cap * std::tanh(x / cap);
    report(1, values, keep);
    for (int64_t j = 0; j < s.keys; ++j)
      values[j] = masked(values[j], row, j);
    report(2, values, keep);
    normalize(values);
    report(3, values, keep);
    return values;
  }

  double result(Row row, ArrayRef<double> p, int64_t e) const {
    double sum = 0;
    for (int64_t j = 0; j < s.keys; ++j)
      sum += p[j] * value.load(((row.b * s.groups + group(row)) * s.keys + j) * s.valueWidth + e).f;
    return sum;
  }

private:
  int64_t group(Row row) const { return row.h / (s.heads / s.groups); }

  void report(int64_t stage, ArrayRef<double> values, llvm::function_ref<void(ArrayRef<double>)> keep) const {
    if (stage == int64_t(op.getScoresStage()))
      keep(values);
  }

  double product(Row row, int64_t j) const {
    int64_t q = ((row.b * s.heads + row.h) * s.queries + row.i) * s.width;
    int64_t k = ((row.b * s.groups + group(row)) * s.keys + j) * s.width;
    double sum = 0;
    for (int64_t d = 0; d < s.width; ++d)
      sum += query.load(q + d).f * key.load(k + d).f;
    return sum;
  }

  double masked(double x, Row row, int64_t j) const {
    if (mask) {
      // numpy broadcast to B x H x S x T.
      int64_t point[] = {row.b, row.h, row.i, j}, offset = 0;
      SmallVector<int64_t> strides = getStrides(mask->shape());
      for (int64_t d = 0; d < mask->rank(); ++d)
        offset += mask->dim(d) == 1 ? 0 : point[4 - mask->rank() + d] * strides[d];
      if (mask->isFloat())
        x += mask->load(offset).f;
      else if (!mask->load(offset).i)
        x = -infinity;
    }
    std::optional<int64_t> causal = op.getCausalOffset();
    int64_t last;
    if (causal && !llvm::AddOverflow(row.i, *causal, last) && j > last)
      x = -infinity;
    return x;
  }

  void normalize(std::vector<double> &values) const {
    double most = -infinity;
    for (double x : values)
      most = std::isnan(x) ? x : std::isnan(most) ? most : std::max(most, x);
    if (most == -infinity && op.getZeroMaskedRows()) {
      std::fill(values.begin(), values.end(), 0.0);
      return;
    }
    double sum = 0;
    for (double &x : values)
      sum += x = std::exp(x - most);
    for (double &x : values)
      x /= sum;
  }

  mutable tg::AttentionOp op; ///< Accessors of ops are not const.
  Shape s;
  const Tensor &query, &key, &value, *mask;
};

LogicalResult checkShapes(Evaluator &ev, Operation *op, const Shape &s, Operands operands) {
  SmallVector<int64_t> key = {s.batch, s.groups, s.keys, s.width}, value = {s.batch, s.groups, s.keys, s.valueWidth};
  bool fits = operands[1]->shape() == ArrayRef<int64_t>(key) && operands[2]->shape() == ArrayRef<int64_t>(value) &&
              s.groups > 0 && s.heads % s.groups == 0;
  if (operands.size() > 3) {
    int64_t full[] = {s.batch, s.heads, s.queries, s.keys}, rank = operands[3]->rank();
    fits &= rank <= 4;
    for (int64_t d = 0; fits && d < rank; ++d)
      fits = operands[3]->dim(d) == 1 || operands[3]->dim(d) == full[4 - rank + d];
  }
  if (!fits)
    return ev.fail(op, "expected query, key, value and mask of agreeing extents");
  return success();
}

} // namespace

std::optional<Results> evaluateAttention(Evaluator &ev, Operation *op, Operands operands) {
  auto attention = dyn_cast<tg::AttentionOp>(op);
  if (!attention)
    return std::nullopt;
  const Tensor &q = *operands[0], &k = *operands[1], &v = *operands[2];
  Shape s{q.dim(0), q.dim(1), k.dim(1), q.dim(2), k.dim(2), q.dim(3), v.dim(3)};
  FailureOr<Tensor> result = ev.makeResult(op, 0), scores = ev.makeResult(op, 1);
  if (failed(result) || failed(scores) || failed(checkShapes(ev, op, s, operands)) ||
      failed(ev.charge(op, scores->size(), s.width + s.valueWidth + 8)))
    return Results(failure());
  Attention rows(attention, s, operands);
  for (int64_t row = 0; row < s.batch * s.heads * s.queries; ++row) {
    Row at{row / s.queries / s.heads, row / s.queries % s.heads, row % s.queries};
    std::vector<double> p = rows.scores(at, [&](ArrayRef<double> stage) {
      for (auto [j, x] : llvm::enumerate(stage)) {
        Scalar score;
        score.f = x;
        scores->store(row * s.keys + j, score);
      }
    });
    for (int64_t e = 0; e < s.valueWidth; ++e) {
      Scalar sum;
      sum.f = rows.result(at, p, e);
      result->store(row * s.valueWidth + e, sum);
    }
  }
  SmallVector<Tensor> results;
  results.push_back(std::move(*result));
  results.push_back(std::move(*scores));
  return Results(std::move(results));
}

} // namespace weft::reference
