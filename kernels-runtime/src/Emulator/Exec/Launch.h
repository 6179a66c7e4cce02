// What a launch is asked to do, and what it reports.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMULATOR_EXEC_LAUNCH_H
#define WEFT_EMULATOR_EXEC_LAUNCH_H

#include "weft/Bundle/Error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::emu {

using bundle::Error;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// When a queued asynchronous operation happens, between its issue and the last moment that the program may rely on.
enum class AsyncTiming : uint8_t { Early, Random, Late };

/// Order in which warps run. Random: turns of a random number of steps. DepthFirst: a CTA runs for as long as it can,
/// lowest first. Reverse: the same, highest first.
enum class Interleaving : uint8_t { Random, DepthFirst, Reverse };

/// Order in which CTAs (clusters) begin. No manual promises that of their numbers, which all GPUs follow.
enum class BeginOrder : uint8_t { Numbers, Reverse, Random };

struct LaunchOptions {
  uint64_t seed = 1;
  AsyncTiming timing = AsyncTiming::Random;
  Interleaving interleaving = Interleaving::Random;
  BeginOrder beginOrder = BeginOrder::Numbers;
  bool isSanitized = true;
  bool isCounted = false;
  bool stopsAtFinding = false;                   ///< The first finding ends the launch with an error.
  uint64_t instructionLimit = uint64_t(1) << 40; ///< Warp instructions of the launch; more is an error.
};

/// A part of global memory.
struct MemoryRange {
  uint64_t address = 0, bytes = 0;
};

struct LaunchSpec {
  uint32_t module = 0; ///< From Emulator::load.
  std::string_view entry;
  Dim3 grid, block, cluster; ///< cluster: {1,1,1} unless the kernel demands one; counts CTAs.
  uint32_t dynamicSharedBytes = 0;
  const void *parameters = nullptr; ///< The kernel's parameter buffer, laid out as PTX lays out .param.
  size_t parameterBytes = 0;
  /// What no kernel of the program writes. A thread that touches other global memory before it has waited for the grids
  /// in front (griddepcontrol.wait) is a finding; nothing: that is not known, and not looked for.
  std::optional<std::vector<MemoryRange>> steady;
  LaunchOptions options;
};

/// One thing that a kernel does wrong (or that makes its result depend on luck). Equal ones of one position are one
/// finding with a count.
struct Finding {
  std::string kind;   ///< A fixed word per kind: "shared-race", "barrier-divergence", "deadlock", ...
  std::string kernel; ///< The function whose line it is.
  uint32_t line = 0, column = 0;
  Dim3 cta{0, 0, 0}, thread{0, 0, 0}; ///< Of the first occurrence.
  uint64_t address = 0;               ///< 0 when none is concerned.
  std::string message;                ///< All of the above in words, several lines where a picture helps.
  uint64_t count = 1;
};

struct Counter {
  std::string name; ///< Nsight Compute's where there is one.
  double value = 0;
};

struct LaunchResult {
  std::vector<Finding> findings;
  std::vector<Counter> counters; ///< Empty unless LaunchOptions::isCounted.
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_LAUNCH_H
