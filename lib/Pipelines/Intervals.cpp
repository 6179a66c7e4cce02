// Which plans serve which values of a symbol: dynamic programming over values that are powers of two apart.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipelines/Variants.h"
#include "weft/Plan/Resolution.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>
#include <limits>
#include <map>

namespace weft {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A loss that needs no plan of its own: twice what the model can tell apart (Resolution.h), since a plan costs
/// code and the time to compile it.
constexpr double tolerated = 2 * plan::resolution;

class Intervals {
public:
  Intervals(int64_t low, int64_t high, int64_t likely, PlanTimes times) : times(times) {
    for (int64_t value = 2; value > 0 && value <= std::min(high, mostValue); value *= 2)
      if (value >= low)
        values.push_back(value);
    for (int64_t value : {std::max<int64_t>(low, 2), std::min(high, mostValue), std::max<int64_t>(likely, 2)})
      if (value <= high && value >= low && !llvm::is_contained(values, value))
        values.push_back(value);
    llvm::sort(values);
    if (values.empty())
      return;
    explore(0, values.size() - 1);
    if (auto *at = llvm::find(values, std::max<int64_t>(likely, 2)); at != values.end())
      plans.insert(*at);
    if (low <= 1) { // Of one value: a program of its own.
      values.insert(values.begin(), 1);
      plans.insert(1);
    }
  }

  bool isEmpty() const { return plans.empty(); }

  double time(int64_t planned, int64_t at) {
    if (planned == 1 && at != 1)
      return never;
    auto [it, isNew] = known.try_emplace({planned, at}, 0);
    if (isNew) {
      it->second = times(planned, /*isStatic=*/planned == 1, at);
      it->second = it->second < 0 ? never : it->second;
    }
    return it->second;
  }

  /// Whether the plan serves all values as well as any other one, as far as that matters.
  bool servesAll(int64_t plan) {
    return plans.contains(plan) && llvm::all_of(values, [&](int64_t at) { return lossOf(plan, at) <= tolerated; });
  }

  /// At most `most` plans: which serve which of the values.
  llvm::SmallVector<Variant> choose(unsigned most) {
    llvm::SmallVector<int64_t> order(plans.begin(), plans.end());
    llvm::sort(order);
    size_t count = values.size();
    // By number of intervals, then of values served: the least worst loss, and the sum of losses that comes with it.
    struct Cell {
      double worst = never, sum = never;
      size_t begin = 0;
      int64_t plan = 0;
    };
    std::vector<std::vector<Cell>> cells(most + 1, std::vector<Cell>(count + 1));
    cells[0][0] = {0, 0, 0, 0};
    for (unsigned used = 1; used <= most; ++used)
      for (size_t end = 1; end <= count; ++end)
        for (int64_t plan : order) {
          double worst = 0, sum = 0;
          for (size_t begin = end; begin-- > 0;) {
            double loss = lossOf(plan, values[begin]);
            worst = std::max(worst, loss);
            sum += loss;
            const Cell &before = cells[used - 1][begin];
            Cell next{std::max(worst, before.worst), sum + before.sum, begin, plan};
            Cell &best = cells[used][end];
            if (std::pair(next.worst, next.sum) < std::pair(best.worst, best.sum))
              best = next;
          }
        }
    if (cells[most][count].worst == never && cells[1][count].worst == never)
      return {};
    unsigned used = 1;
    while (used < most && cells[used][count].worst > tolerated)
      ++used;
    while (used > 1 && cells[used - 1][count].worst <= cells[used][count].worst)
      --used;
    llvm::SmallVector<Variant> chosen;
    for (size_t end = count; end > 0; --used) {
      const Cell &cell = cells[used][end];
      chosen.push_back({values[cell.begin], values[end - 1], cell.plan});
      end = cell.begin;
    }
    std::reverse(chosen.begin(), chosen.end());
    return chosen;
  }

  /// Moves the ends of neighbours together: where one begins to take longer than the other.
  void meet(Variant &left, Variant &right) {
    int64_t low = left.high, high = right.low; // The left one is better at low, the right one at high.
    while (high - low > std::max<int64_t>(1, low / 64)) {
      int64_t middle = low + (high - low) / 2;
      (time(left.planned, middle) <= time(right.planned, middle) ? low : high) = middle;
    }
    left.high = high - 1;
    right.low = high;
  }

private:
  /// Extents that plans are made for; beyond, the plan for the largest one serves.
  static constexpr int64_t mostValue = 8192;

  double best(int64_t at) {
    double least = never;
    for (int64_t plan : plans)
      least = std::min(least, time(plan, at));
    return least;
  }

  double lossOf(int64_t plan, int64_t at) {
    double own = time(plan, at), least = best(at);
    return own < never ? own / least - 1 : never;
  }

  /// Makes plans for both ends, and in the middle wherever the plans of the ends do not serve each other's.
  void explore(size_t first, size_t last) {
    int64_t low = values[first], high = values[last];
    plans.insert(low);
    plans.insert(high);
    auto serves = [&](int64_t plan, int64_t other) {
      return time(plan, other) <= time(other, other) * (1 + tolerated);
    };
    bool isWhole = first == 0 && last + 1 == values.size();
    if (last - first < 2 || (!isWhole && serves(low, high) && serves(high, low)))
      return;
    size_t middle = first + (last - first) / 2;
    explore(first, middle);
    explore(middle, last);
  }

  PlanTimes times;
  llvm::SmallVector<int64_t> values; ///< Rising.
  llvm::SetVector<int64_t> plans;
  std::map<std::pair<int64_t, int64_t>, double> known;
};

} // namespace

llvm::SmallVector<Variant> chooseIntervals(int64_t low, int64_t high, int64_t likely, unsigned most, PlanTimes times) {
  if (low == high)
    return {{low, high, low}};
  Intervals intervals(low, high, likely, times);
  llvm::SmallVector<Variant> variants;
  int64_t usual = std::clamp<int64_t>(std::max<int64_t>(likely, 2), low, high);
  if (!intervals.isEmpty() && most > 0 && !intervals.servesAll(usual))
    variants = intervals.choose(most);
  if (variants.empty()) // Nothing to choose by, or nothing to gain.
    return {{low, high, usual}};
  bool isOne = variants.front().planned == 1 && variants.size() > 1;
  for (size_t i = isOne ? 2 : 1; i < variants.size(); ++i)
    intervals.meet(variants[i - 1], variants[i]);
  if (!isOne) // The last one serves what is below the first otherwise: it is right for all values.
    variants.front().low = low;
  variants.back().high = high;
  return variants;
}

} // namespace weft
