// Predicted counters of launches, and measured ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the models say of a launch under the names that Nsight Compute (ncu) uses, and ncu's CSV as the same kind of
// table. Names that begin with `weft.` have no metric of ncu.
#ifndef WEFT_PLAN_COST_COUNTERS_H
#define WEFT_PLAN_COST_COUNTERS_H

#include "weft/Plan/Cost/Configuration.h"
#include <map>

namespace weft::plan {

/// Values by metric, in base units: bytes, sectors, per cent.
using Counters = std::map<std::string, double>;

/// DRAM bytes, sectors asked of the L2, its hit rate (cold cache, as ncu makes it), grid and waves (of blocks that take
/// several tiles: one; `weft.tile_waves` has those of the tiles), matrix instructions; operations, bytes
/// that are compulsory and that no schedule can avoid, how full the last wave is, steps of the whole launch (waiting
/// included); with a device, the seconds that DRAM and, for 16-bit elements, the matrix units need at their peak. Fails
/// (false, `error`) where a model refuses the launch.
bool predictCounters(const Configuration &configuration, Counters &counters, std::string &error);

/// Adds, for a chain in strips, the bytes of its tile trees with a managed memory (TileTree.h), one for each binding of
/// the two products within a strip of rows, and what they must hold. Nothing where tiles do not divide the extents.
void countTrees(const Configuration &configuration, Counters &counters);

/// Adds what the engine of the launch executes: matrix instructions of all warps, wavefronts of shared memory. Nothing
/// where the engine is not known.
void countInstructions(const Configuration &configuration, Counters &counters);

/// Adds bytes of DRAM where only sectors are there, and their sum.
void addBytes(Counters &counters);

struct MeasuredKernel {
  std::string name;
  Counters counters;
};

/// Kernels in order of launch, from `ncu --csv` (one row for each metric); lines before the table are skipped. Fails
/// (false, `error`) without the columns ID, Kernel Name, Metric Name, Metric Unit and Metric Value, or without rows.
bool parseNcuCsv(llvm::StringRef text, std::vector<MeasuredKernel> &kernels, std::string &error);

/// One launch, predicted and measured. Launches of one `family` differ in their order only.
struct Comparison {
  std::string name, family;
  Counters predicted, measured;
};

/// How far the predictions are off over all launches that have the metric: for bytes |predicted / measured - 1|, for
/// rates the difference in points.
struct ErrorSummary {
  int64_t launches = 0;
  double median = 0, worst = 0;
  std::string worstName;
};
ErrorSummary summarise(const std::vector<Comparison> &comparisons, const std::string &metric, bool isRate);

/// Of the pairs of one family whose measured values differ by more than `difference` of the larger, how many the
/// prediction puts in the same order.
struct PairSummary {
  int64_t pairs = 0, right = 0;
};
PairSummary rankPairs(const std::vector<Comparison> &comparisons, const std::string &metric, double difference);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_COUNTERS_H
