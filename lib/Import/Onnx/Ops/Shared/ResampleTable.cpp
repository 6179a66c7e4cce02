// Taps and weights of ONNX Resize along one axis. The source coordinate x of output o follows the coordinate
// transformation mode; the taps are the filter's support around x, clamped to the axis (edge padding) unless outside
// taps are excluded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ResampleTable.h"
#include "ResampleFormulas.h"

#include <algorithm>
#include <cmath>

namespace weft::onnx {
namespace {

/// Casts a coordinate to an index inside [0, extent), for any finite or infinite `x`.
int64_t clampIndex(double x, int64_t extent) {
  if (!(x > 0))
    return 0;
  return x >= static_cast<double>(extent) ? extent - 1 : static_cast<int64_t>(x);
}

/// Fills row `o`: the taps are floor(x) + first, floor(x) + first + 1, ...
void fillRow(const ResampleSpec &spec, const ResampleAxis &axis, double x, double filterScale, int64_t first, int64_t o,
             ResampleTable &table) {
  double left = std::floor(x), sum = 0;
  double *weights = &table.weight[o * table.taps];
  for (int64_t t = 0; t < table.taps; ++t) {
    double place = left + (first + t);
    bool outside = place < 0 || place >= axis.input;
    weights[t] = spec.excludeOutside && outside ? 0 : resample::kernelWeight(spec, (place - x) * filterScale);
    table.index[o * table.taps + t] = clampIndex(place, axis.input);
    sum += weights[t];
  }
  // The kernels sum to 1 only at their own scale and with all taps inside.
  if ((spec.excludeOutside || filterScale != 1) && sum != 0)
    for (int64_t t = 0; t < table.taps; ++t)
      weights[t] /= sum;
}

/// Drops taps that have weight 0 in every row.
void dropUnusedTaps(ResampleTable &table) {
  int64_t rows = table.index.size() / table.taps;
  std::vector<int64_t> kept;
  for (int64_t t = 0; t < table.taps; ++t)
    for (int64_t o = 0; o < rows; ++o)
      if (table.weight[o * table.taps + t] != 0) {
        kept.push_back(t);
        break;
      }
  if (kept.empty())
    kept.push_back(0);
  ResampleTable result;
  result.taps = kept.size();
  for (int64_t o = 0; o < rows; ++o)
    for (int64_t t : kept) {
      result.index.push_back(table.index[o * table.taps + t]);
      result.weight.push_back(table.weight[o * table.taps + t]);
    }
  result.outside = std::move(table.outside);
  table = std::move(result);
}

} // namespace

bool ResampleTable::isSelection() const {
  return taps == 1 && std::all_of(weight.begin(), weight.end(), [](double w) { return w == 1; });
}

std::optional<ResampleTable> makeResampleTable(const ResampleSpec &spec, const ResampleAxis &axis, int64_t maxEntries) {
  double filterScale = spec.antialias ? std::min(axis.scale, 1.0) : 1;
  double reach = spec.mode == ResampleMode::Nearest ? 0 : resample::firstTap(spec, filterScale);
  double entries = (spec.mode == ResampleMode::Nearest ? 1 : 2 - 2 * reach) * axis.output;
  if (!(entries <= static_cast<double>(maxEntries)))
    return std::nullopt;

  ResampleTable table;
  table.taps = spec.mode == ResampleMode::Nearest ? 1 : static_cast<int64_t>(2 - 2 * reach);
  table.index.assign(table.taps * axis.output, 0);
  table.weight.assign(table.taps * axis.output, 1);
  resample::Axis<double> numbers = {static_cast<double>(axis.input), static_cast<double>(axis.output), axis.scale,
                                    axis.roiStart, axis.roiEnd};
  for (int64_t o = 0; o < axis.output; ++o) {
    double x = resample::sourceCoordinate(spec.coordinates, numbers, static_cast<double>(o));
    if (spec.coordinates == CoordinateMode::TfCropAndResize)
      table.outside.push_back(x < 0 || x > axis.input - 1);
    if (spec.mode == ResampleMode::Nearest)
      table.index[o] = clampIndex(resample::roundNearest(spec.nearest, x), axis.input);
    else
      fillRow(spec, axis, x, filterScale, static_cast<int64_t>(reach), o, table);
  }
  if (spec.mode != ResampleMode::Nearest)
    dropUnusedTaps(table);
  if (std::find(table.outside.begin(), table.outside.end(), true) == table.outside.end())
    table.outside.clear();
  return table;
}

} // namespace weft::onnx
