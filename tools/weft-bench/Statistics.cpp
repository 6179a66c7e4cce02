// What samples of times say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

using namespace weft::bench;

static constexpr double kNormalQuantile = 1.959964; ///< 97.5 % of the normal distribution.

double weft::bench::getPercentile(const std::vector<double> &sorted, double percent) {
  double place = percent / 100 * double(sorted.size() - 1);
  auto below = size_t(place);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - double(below));
}

Summary weft::bench::summarise(std::vector<double> samples, const std::vector<double> &percents) {
  std::sort(samples.begin(), samples.end());
  Summary summary;
  summary.count = samples.size();
  summary.min = samples.front();
  summary.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / double(samples.size());
  summary.median = getPercentile(samples, 50);
  for (double percent : percents)
    summary.percentiles.push_back(getPercentile(samples, percent));
  double reach = kNormalQuantile / 2 * std::sqrt(double(samples.size()));
  double low = std::floor(double(samples.size()) / 2 - reach) - 1;
  size_t first = low > 0 ? size_t(low) : 0;
  summary.medianLow = samples[first];
  summary.medianHigh = samples[samples.size() - 1 - first];
  return summary;
}

double weft::bench::getStudentQuantile(size_t freedom) {
  static constexpr double few[] = {12.706, 4.303, 3.182, 2.776};
  if (freedom - 1 < std::size(few))
    return few[freedom - 1];
  // The expansion of Cornish and Fisher in 1 / freedom.
  double z = kNormalQuantile, n = double(freedom);
  double first = (std::pow(z, 3) + z) / 4;
  double second = (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96;
  double third = (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / 384;
  return z + first / n + second / (n * n) + third / (n * n * n);
}

Ratio weft::bench::comparePairs(const std::vector<double> &logRatios) {
  double n = double(logRatios.size());
  double mean = std::accumulate(logRatios.begin(), logRatios.end(), 0.0) / n;
  double squares = 0;
  for (double value : logRatios)
    squares += (value - mean) * (value - mean);
  double reach = getStudentQuantile(logRatios.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return {std::exp(mean), std::exp(mean - reach), std::exp(mean + reach), logRatios.size()};
}
