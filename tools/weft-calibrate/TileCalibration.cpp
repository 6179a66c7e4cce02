// Which kernels tell which times of a tiled product.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileCalibration.h"
#include "TileKernels.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <tuple>

using namespace weft::calibrate;

/// Rounds of blocks that measureStart() starts, and blocks of an SM in all of them.
static constexpr int64_t kStartRounds = 16, kStartBlocks = 2 * kStartRounds;

namespace {
class TileBenchmarks {
public:
  TileBenchmarks(CalibratedCard &card, const Stopwatch &watch, TileTimes &times)
      : card(card), description(card.getDescription()), watch(watch), times(times),
        sms(description.isEmulated ? kPanelSms : description.sms / kPanelSms * kPanelSms) {}

  Error run();

private:
  /// Clocks of an iteration. `field`: what they tell, for errors.
  Error chain(const char *field, const std::string &entry, int64_t grid, int64_t block, double &clocks,
              int64_t cluster = 1);
  /// What one of `count` more takes.
  Error slope(const char *field, const std::string &entry, int64_t block, double &clocks, int count = kCopies);
  Error measureThreads();
  Error measureMemory();
  Error measureStart();
  Error measureBoxes();

  CalibratedCard &card;
  CardDescription description;
  const Stopwatch &watch;
  TileTimes &times;
  int64_t sms;
  uint64_t data = 0;
};
} // namespace

Error TileBenchmarks::chain(const char *field, const std::string &entry, int64_t grid, int64_t block, double &clocks,
                            int64_t cluster) {
  Error error = watch.clocks({entry, grid, block, {uint64_t(watch.iterations), data, watch.out}, cluster}, clocks);
  clocks /= double(watch.iterations);
  return std::move(error).within(field);
}

Error TileBenchmarks::slope(const char *field, const std::string &entry, int64_t block, double &clocks, int count) {
  double once = 0, twice = 0;
  if (Error error = chain(field, entry + std::to_string(count), 1, block, once))
    return error;
  if (Error error = chain(field, entry + std::to_string(2 * count), 1, block, twice))
    return error;
  clocks = std::max((twice - once) / count, 0.0);
  return {};
}

/// Of one SM.
Error TileBenchmarks::measureThreads() {
  constexpr int64_t warp = 32, group = 128, many = 512, resultsOfRegister = 2;
  if (Error error = chain("copy", "copy_chain", 1, group, times.copy))
    return error;
  if (Error error = chain("copyStep", "step_chain", 1, group, times.copyStep))
    return error;
  if (Error error = chain("step", "empty_steps", 1, group, times.step))
    return error;
  if (Error error = slope("copyIssue", "copy_issue", warp, times.copyIssue))
    return error;
  if (Error error = slope("instruction", "dependent", warp, times.instruction, kResults))
    return error;
  for (auto [field, entry, clocks] : {std::tuple("narrowCopy", "narrow_copies", &times.narrowCopy),
                                      {"narrowestCopy", "narrowest_copies", &times.narrowestCopy},
                                      {"slidingCopy", "sliding_copies", &times.slidingCopy}}) {
    if (Error error = slope(field, entry, many, *clocks))
      return error;
    *clocks /= double(many / warp);
  }
  Error error = slope("store", "result_stores", group, times.store, kResults);
  times.store /= resultsOfRegister;
  return error;
}

/// Of all SMs side by side.
Error TileBenchmarks::measureMemory() {
  constexpr int64_t warps = 8, threads = 1024;
  double clocks = 0;
  if (Error error = chain("besideBytesPerClock", "beside_reads", sms, 32 * warps, clocks))
    return error;
  times.besideBytesPerClock = double(kBesideBytes * warps) / std::max(clocks, 1.0);
  if (Error error = chain("partialSectorsPerClock", "half_sectors", sms, threads, clocks))
    return error;
  times.partialSectorsPerClock = double(sms * threads) / std::max(clocks, 1.0);
  return {};
}

/// Rounds of blocks that fill their SMs: what one round more takes.
Error TileBenchmarks::measureStart() {
  constexpr int64_t threads = 1024;
  double once = 0, twice = 0;
  for (auto [times, seconds] : {std::pair(1, &once), std::pair(2, &twice)})
    if (Error error =
            watch.seconds({"least_block", sms * kStartBlocks * times, threads, {1, data, watch.out}}, *seconds))
      return std::move(error).within("start");
  times.start = std::max(twice - once, 0.0) / double(kStartRounds) * watch.clockHz;
  return {};
}

Error TileBenchmarks::measureBoxes() {
  constexpr int64_t group = 128, ring = 64, resultsOfRegister = 2;
  // Of 64 x 128 by 64, 4,096 operations a clock.
  constexpr double pipeClocks = 2.0 * 64 * 128 * 64 / 4096;
  if (Error error = card.load(makeTileBoxKernels()))
    return error;
  if (Error error = chain("box", "box_chain", 1, 1, times.box))
    return error;
  if (Error error = chain("boxStep", "box_steps", 1, group, times.boxStep))
    return error;
  times.boxStep = std::max(times.boxStep - pipeClocks, 0.0);
  if (Error error = chain("unpackedStep", "unpacked_steps", 1, group, times.unpackedStep))
    return error;
  times.unpackedStep = std::max(times.unpackedStep - pipeClocks, 0.0);
  if (Error error = slope("boxStore", "box_stores", group, times.boxStore, kResults))
    return error;
  times.boxStore /= resultsOfRegister;
  double alone = 0, paired = 0, together = 0, apart = 0;
  if (Error error = chain("pairedStep", "box_ring", 2, ring, alone))
    return error;
  if (Error error = chain("pairedStep", "paired_ring", 2, ring, paired, 2))
    return error;
  times.pairedStep = std::max(paired - alone, 0.0);
  if (Error error = chain("waveMerge", "panels_together", sms, 1, together))
    return error;
  if (Error error = chain("panelBytesPerClock", "panels_apart", sms, 1, apart))
    return error;
  times.panelBytesPerClock = double(sms * kBoxBytes) / std::max(apart, 1.0);
  times.waveMerge = apart / std::max(together, 1.0);
  return {};
}

Error TileBenchmarks::run() {
  // What the blocks of an SM read and write at most: rows, sectors of 32 bytes, all starts, panels.
  int64_t bytes = sms * std::max({kBesideRows * kBesideRowBytes, int64_t(1024) * 32, 2 * kStartBlocks * kLeastBytes,
                                  kPanelBytes / kPanelSms});
  if (Error error = card.allocate(uint64_t(bytes), data))
    return error;
  if (Error error = card.load(makeTileKernels()))
    return error;
  // What is asked for in the newest ways comes last: after a fault nothing can be measured.
  for (auto step : {&TileBenchmarks::measureThreads, &TileBenchmarks::measureMemory, &TileBenchmarks::measureStart})
    if (Error error = (this->*step)())
      return error;
  return description.architecture == "sm_90a" ? measureBoxes() : Error();
}

Error weft::calibrate::measureTiles(CalibratedCard &card, const Stopwatch &watch, TileTimes &times) {
  return TileBenchmarks(card, watch, times).run();
}

std::string weft::calibrate::formatTileTimes(const TileTimes &t) {
  char text[1536];
  snprintf(text, sizeof text,
           " \"tileClocks\": {\"start\": %.0f, \"copy\": %.0f, \"box\": %.0f, \"step\": %.1f, \"copyStep\": %.1f, "
           "\"boxStep\": %.1f, \"pairedStep\": %.1f,\n  \"copyIssue\": %.1f, \"narrowCopy\": "
           "%.2f, \"narrowestCopy\": "
           "%.2f, \"slidingCopy\": %.1f, \"store\": %.1f, \"boxStore\": %.2f, \"instruction\": %.2f, "
           "\"besideBytesPerClock\": %.1f, \"unpackedStep\": %.1f},\n"
           " \"panelBytesPerClock\": %.0f, \"waveMerge\": %.2f, \"partialSectorsPerClock\": %.1f,\n",
           t.start, t.copy, t.box, t.step, t.copyStep, t.boxStep, t.pairedStep, t.copyIssue, t.narrowCopy,
           t.narrowestCopy, t.slidingCopy, t.store, t.boxStore, t.instruction, t.besideBytesPerClock, t.unpackedStep,
           t.panelBytesPerClock, t.waveMerge, t.partialSectorsPerClock);
  return text;
}

const char *const weft::calibrate::kTileMethod =
    "  \"tileClocks: of a warp's copies, stores and instructions what 4 or 16 more take "
    "(tools/weft-calibrate/TileKernels.h); "
    "start: a round more of blocks of 1024 threads that copy, store and end; boxStep, pairedStep: steps without the "
    "matrix pipe's clocks, and of pairs without those of blocks that copy for themselves; unpackedStep: with the left "
    "operand in registers\",\n"
    "  \"panelBytesPerClock: boxes of 8 KiB on all SMs, eight of which read the same 256 KiB, each from another offset "
    "on; waveMerge: times that where they begin at the same offset; partialSectorsPerClock: writes of 16 bytes\",\n";
