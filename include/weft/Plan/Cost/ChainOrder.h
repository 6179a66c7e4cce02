// How two dependent kernels of a launch take turns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// g of the order chain<g>: two launches of one stage each, the second of which reads what the first writes, become one
// of two stages, and every g is simulated. CTAs of both are numbered in row-major order of their grids. Plain C++17.
#ifndef WEFT_PLAN_COST_CHAINORDER_H
#define WEFT_PLAN_COST_CHAINORDER_H

#include "weft/Plan/Cost/Simulate.h"

namespace weft::plan {

/// One of the two kernels. Its CTAs go by rows: a unit of the chain (rows of the second that need a unit of the first
/// and nothing else) takes `blocks` blocks of `ctas` CTAs.
struct ChainPart {
  LaunchModel launch; ///< One stage.
  int64_t ctas = 1, blocks = 1;
  double stepSeconds = 0; ///< Of a CTA's step that finds all it reads in the L2.
};

/// A tensor that the first part writes and the second reads, by their arrays' names.
struct ChainLink {
  std::string written, read;
};

struct ChainProblem {
  ChainPart first, second;
  std::vector<ChainLink> links;
  int64_t units = 1;
};

/// What of a launch is simulated, for a cache of that part of the size: one in `depth` parts of every tile's steps, and
/// of what it touches once; one in `thinning` bytes of every row.
struct ChainSample {
  int64_t depth = 1, thinning = 1;
};

/// The launch of both: linked arrays are one, laid out unit by unit, of which a CTA writes and a step reads its share.
/// Fails (false, `error`) where a CTA's position is no sum of functions of unit and position in it, or tiles have
/// unequal steps.
bool joinLaunches(const ChainProblem &problem, const ChainSample &sample, LaunchModel &result, std::string &error);

struct ChainCandidate {
  int64_t units = 1;  ///< Of the first part, before the second's; all of them: the second part comes last.
  double bytes = 0;   ///< Between the L2 and DRAM, read and written.
  double seconds = 0; ///< The longer of two: until the last CTA is done, waiting included; the bytes at DRAM's rate.
  double hitRate = 0;
};

struct ChainChoice {
  int64_t units = 0;                      ///< 0: nothing was chosen, the second part comes last.
  std::vector<ChainCandidate> candidates; ///< All units first, then from few to many.
  int64_t lookups = 0;                    ///< Of the boxes of all simulations: what the choice costs.
};

/// The most lookups of one choice: what 20 ms allow.
constexpr int64_t mostChainLookups = int64_t(1) << 19;

/// Simulates 1, 2, 4, ... 32 units and all of them, as many as the time allows. Turns are taken if they take 3 % less
/// time than all of the first part before the second, or move 5 % fewer bytes in no more time: those of the least time,
/// within 1 % of the fewest bytes, within 1 % the most units. Where steps are too many for the time, a part of them is
/// simulated, and bytes count against turns only. Empty where the two parts' tiles are too many (2^14), or
/// joinLaunches refuses them. `bytesPerSecond` of DRAM.
ChainChoice chooseChain(const ChainProblem &problem, const MachineModel &machine, double bytesPerSecond);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_CHAINORDER_H
