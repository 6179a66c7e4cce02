// Keeps boxes in the order of their scores, each unless it overlaps one kept before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NonMaxSuppression.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weft::onnx {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box readBox(const double *values, bool centerFormat) {
  if (centerFormat)
    return {values[1] - values[3] / 2, values[0] - values[2] / 2, values[1] + values[3] / 2, values[0] + values[2] / 2};
  auto [top, bottom] = std::minmax(values[0], values[2]);
  auto [left, right] = std::minmax(values[1], values[3]);
  return {top, left, bottom, right};
}

/// Intersection over union; 0 for boxes without area.
double overlap(const Box &a, const Box &b) {
  double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0))
    return 0;
  double shared = height * width;
  return shared / (a.area() + b.area() - shared);
}

/// Numbers of the kept boxes of one class.
std::vector<int64_t> keepBest(const SuppressionSpec &spec, const std::vector<Box> &boxes, const double *scores) {
  std::vector<int64_t> order(boxes.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  if (spec.hasScoreThreshold)
    order.erase(
        std::remove_if(order.begin(), order.end(), [&](int64_t i) { return !(scores[i] > spec.scoreThreshold); }),
        order.end());
  auto rank = [&](int64_t i) { return std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i]; };
  std::sort(order.begin(), order.end(),
            [&](int64_t i, int64_t j) { return std::pair(-rank(i), i) < std::pair(-rank(j), j); });
  for (int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= spec.maxPerClass)
      break;
    auto suppresses = [&](int64_t k) { return overlap(boxes[k], boxes[i]) > spec.iouThreshold; };
    if (std::none_of(kept.begin(), kept.end(), suppresses))
      kept.push_back(i);
  }
  return kept;
}

} // namespace

std::vector<int64_t> suppressNonMaxima(const SuppressionSpec &spec, llvm::ArrayRef<double> boxes,
                                       llvm::ArrayRef<double> scores) {
  std::vector<int64_t> result;
  for (int64_t batch = 0; batch < spec.batches; ++batch) {
    std::vector<Box> decoded;
    for (int64_t i = 0; i < spec.boxes; ++i)
      decoded.push_back(readBox(boxes.data() + (batch * spec.boxes + i) * 4, spec.centerFormat));
    for (int64_t cls = 0; cls < spec.classes; ++cls)
      for (int64_t i : keepBest(spec, decoded, scores.data() + (batch * spec.classes + cls) * spec.boxes))
        result.insert(result.end(), {batch, cls, i});
  }
  return result;
}

} // namespace weft::onnx
