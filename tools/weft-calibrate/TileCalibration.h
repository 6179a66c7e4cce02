// What a tiled product takes beside its bytes and operations, measured: TileClocks of a device, and the L2's rates by
// lines and by parts of sectors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_CALIBRATE_TILECALIBRATION_H
#define WEFT_TOOLS_WEFT_CALIBRATE_TILECALIBRATION_H

#include "CalibratedCard.h"

#include <functional>

namespace weft::calibrate {

/// As in include/weft/Target/Device.h; 0: the GPU has nothing of the kind.
struct TileTimes {
  double start = 0, copy = 0, box = 0, step = 0, copyStep = 0, boxStep = 0, pairedStep = 0;
  double copyIssue = 0, narrowCopy = 0, narrowestCopy = 0, slidingCopy = 0;
  double store = 0, boxStore = 0, instruction = 0, besideBytesPerClock = 0, unpackedStep = 0;
  double panelBytesPerClock = 0, waveMerge = 0, partialSectorsPerClock = 0; ///< Of the whole GPU.
};

/// How kernels are measured: clocks of block 0, or seconds.
struct Stopwatch {
  std::function<Error(const KernelStart &start, double &value)> clocks, seconds;
  int64_t iterations = 1;
  double clockHz = 1;
  uint64_t out = 0; ///< Where kernels leave their clocks.
};

Error measureTiles(CalibratedCard &card, const Stopwatch &watch, TileTimes &times);

/// A line of the table, and what its numbers are.
std::string formatTileTimes(const TileTimes &times);
extern const char *const kTileMethod;

} // namespace weft::calibrate

#endif // WEFT_TOOLS_WEFT_CALIBRATE_TILECALIBRATION_H
