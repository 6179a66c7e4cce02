// What a GPU does, measured: bandwidth by level, effective size of the L2, latencies, launches, barriers, matrix
// units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_CALIBRATE_CALIBRATION_H
#define WEFT_TOOLS_WEFT_CALIBRATE_CALIBRATION_H

#include "LinkCalibration.h"
#include "TileCalibration.h"

namespace weft::calibrate {

/// Reads of a working set again and again. `own`: every SM reads its part; `shifted`: another part in each pass, as
/// when all SMs share it, so that each half of an L2 of two needs a copy of everything.
struct WorkingSet {
  int64_t bytes = 0;
  double own = 0, shifted = 0; ///< Bytes a second.
};

struct Calibration {
  CardDescription card;
  int steps = 0;     ///< That came to their end.
  std::string error; ///< What ended it early: what was not reached is 0.
  double clock = 0;  ///< Hertz, under load of barriers.
  double dramBytesPerSecond = 0, l2BytesPerSecond = 0, sharedBytesPerClock = 0; ///< Reads; shared memory of an SM.
  std::vector<WorkingSet> workingSets;
  /// The largest working sets that are read at no less than the geometric mean of the L2's and DRAM's rate.
  int64_t effectiveL2Own = 0, effectiveL2Shifted = 0;
  double dramLatency = 0, nearLatency = 0, farLatency = 0, farPart = 0; ///< Clocks; part of lines that are far.
  double launchSeconds = 0, blockBarrierClocks = 0, gridBarrierSeconds = 0;
  /// 0: the GPU has no clusters. Bytes that an SM sends to another one's shared memory while it gets as many; clocks
  /// of a merge beside that and two barriers; SMs that clusters of four blocks find.
  double clusterBarrierClocks = 0, clusterBytesPerClock = 0, clusterMergeClocks = 0;
  int64_t clusteredSms = 0;
  double mmaFoldClocks = 0, foldClocks = 0; ///< A step of a fold's latencies; the latter by wgmma, 0: none.
  TileTimes tiles;
  LinkTimes links;
  double mmaFlops = 0, wgmmaFlops = 0; ///< A second, all SMs, f16 with f32 sums; 0: the GPU has none.
};

/// Runs all benchmarks, and fills in all but `links`. An emulated GPU gets fewer of everything that takes time, and the
/// same proportions: what a GPU's kernels would touch beside what was allocated, an emulated one's do, too.
Error calibrateCard(CalibratedCard &card, Calibration &result);

/// "linkRanks", "linkBytesPerSecond" and "linkSeconds", or nothing.
std::string formatLinks(const LinkTimes &links);

/// JSON with the date (UTC) and how each number was taken.
std::string formatCalibration(const Calibration &calibration);

} // namespace weft::calibrate

#endif // WEFT_TOOLS_WEFT_CALIBRATE_CALIBRATION_H
