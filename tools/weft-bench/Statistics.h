// What samples of times say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Percentiles with the confidence of the median, and the verdict over two programs that were measured in turns. Pure
// functions of numbers.
#ifndef WEFT_BENCH_STATISTICS_H
#define WEFT_BENCH_STATISTICS_H

#include <cstddef>
#include <vector>

namespace weft::bench {

/// The value below which `percent` of the sorted `samples` (not empty) lie; linear between neighbours.
double getPercentile(const std::vector<double> &sorted, double percent);

struct Summary {
  size_t count = 0;
  double min = 0, mean = 0, median = 0;
  std::vector<double> percentiles;      ///< As asked for.
  double medianLow = 0, medianHigh = 0; ///< 95 % confidence interval of the median.

  /// Half the interval, in per cent of the median.
  double getSpread() const { return median > 0 ? 50 * (medianHigh - medianLow) / median : 0; }
};

/// Of at least one sample. The interval is that of order statistics: of n sorted samples those number
/// n/2 -+ 0.98 sqrt(n), whatever the distribution; with fewer than six samples it is all of them.
Summary summarise(std::vector<double> samples, const std::vector<double> &percents);

/// The 97.5 % quantile of Student's t with `freedom` >= 1 degrees of freedom, to 0.2 %.
double getStudentQuantile(size_t freedom);

/// How many times faster one program is than the other.
struct Ratio {
  double value = 1, low = 1, high = 1; ///< 95 % confidence interval.
  size_t pairs = 0;

  enum Verdict { None, Faster, Slower };
  /// None while the interval holds 1.
  Verdict getVerdict() const { return low > 1 ? Faster : high < 1 ? Slower : None; }
};

/// From one ln(time of B / time of A) for each pair of sessions: the mean, with Student's t for paired samples. At
/// least two of them.
Ratio comparePairs(const std::vector<double> &logRatios);

} // namespace weft::bench

#endif // WEFT_BENCH_STATISTICS_H
