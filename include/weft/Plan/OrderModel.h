// The order of a launch's tiles: candidates ranked by formulas, the best of them simulated through the L2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes are those that cross between DRAM and the L2 in one launch, reads and writes. docs/traversal.md has the models.
#ifndef WEFT_PLAN_ORDERMODEL_H
#define WEFT_PLAN_ORDERMODEL_H

#include "weft/Plan/GemmModel.h"
#include <string>
#include <vector>

namespace weft::plan {

struct ScheduleChoice;
struct KernelToSchedule;

/// Products whose tiles form `batch` grids; extents and tiles in elements.
struct OrderProblem {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t tileM = 128, tileN = 128, tileK = 64;
  int64_t lhsBytes = 2, rhsBytes = 2, resultBytes = 2; ///< Of one index, over all tensors on that side.
  int64_t ctasPerSm = 1;
  bool isOfLaunch = false; ///< m or n is what it is likely to be: curves need numbers of tiles that are known.

  int64_t getRows() const { return (m + tileM - 1) / tileM; }
  int64_t getCols() const { return (n + tileN - 1) / tileN; }
};

struct OrderCandidate {
  std::string order;
  double formulaBytes = 0;
  double simulatedBytes = -1; ///< Below 0: the formula put it behind those that were simulated.
  double hitRate = 0;         ///< Of the L2, simulated.
};

struct OrderChoice {
  std::string order = "row";
  std::vector<OrderCandidate> candidates; ///< By bytes, simulated ones first; empty where the order does not matter.

  /// The numbers that decided, for a remark; empty without candidates.
  std::string describe() const;
};

/// The bytes of an order by the shape of its waves and what the L2 holds from one wave to the next.
double estimateOrderBytes(const OrderProblem &problem, const std::string &order, const Device &device);

/// The order with the fewest bytes; of several within 1 %, the one whose index arithmetic is shortest. Takes at most 20
/// ms. A grid that one wave holds stays in rows.
OrderChoice chooseOrder(const OrderProblem &problem, const Device &device);

/// Sets `choice.order` of a contraction with rows along `m` and columns along `n` (dimensions of the result), and adds
/// the numbers to its reason. Grids whose last two dimensions are not these stay in rows.
void chooseOrderOf(const KernelToSchedule &kernel, const GemmProblem &problem, const GemmChoice &best, unsigned m,
                   unsigned n, const Device &device, ScheduleChoice &choice);

/// Whether a table is short enough to be emitted as arithmetic.
constexpr int64_t maxTableTiles = 4096;

/// Sets `choice.order` of a kernel with a contraction or a fold whose grid has rows and columns of tiles; leaves others
/// alone: each of their elements is read once in any order. `traversal` is the text of a GridOrder. Fails (false,
/// `error`) where grid and traversal do not fit.
bool overrideOrder(const KernelToSchedule &kernel, const std::string &traversal, ScheduleChoice &choice,
                   std::string &error);

/// Checks the text of an order for launches of one grid.
bool checkOrderText(const std::string &traversal, std::string &error);

} // namespace weft::plan

#endif // WEFT_PLAN_ORDERMODEL_H
