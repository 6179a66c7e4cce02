// A card that executes PTX on the CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rest of the runtime, the tool and the tests see of the emulator: modules from PTX text, global memory, and
// launches. One Emulator is one card; it is not thread safe. Every call that can fail returns an Error and leaves the
// card usable. A launch is deterministic: its result, findings and counters depend on nothing but its LaunchSpec, the
// module and the contents of memory.
#ifndef WEFT_EMULATOR_EMULATOR_H
#define WEFT_EMULATOR_EMULATOR_H

#include "weft/Bundle/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::emu {

using bundle::Error;
struct Card;
struct EmulatorState;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// When a queued asynchronous operation happens, between its issue and the last moment that the program may rely on.
enum class AsyncTiming : uint8_t { Early, Random, Late };

/// Order in which warps run. Random: turns of a random number of steps. DepthFirst: a CTA runs for as long as it can,
/// lowest first. Reverse: the same, highest first.
enum class Interleaving : uint8_t { Random, DepthFirst, Reverse };

/// Order in which CTAs (clusters) begin. No manual promises that of their numbers, which all cards follow.
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

/// One thing that a kernel does wrong (or that makes its result depend on luck). Equal ones of one place are one
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

/// What a caller must know of an entry before it launches it.
struct EntryInfo {
  std::string name;
  size_t parameterBytes = 0;
  uint32_t staticSharedBytes = 0;
  uint32_t registersPerThread = 0;
  uint32_t maxThreads = 0;       ///< Per CTA, from .maxntid or .reqntid; 1024 without.
  bool waitsForGrids = false;    ///< It holds a griddepcontrol.wait.
  Dim3 requiredCluster{0, 0, 0}; ///< {0,0,0}: any.
};

/// A launch that may start while the grids in front of it still run. Does not outlive its emulator and module.
class EarlyLaunch {
public:
  virtual ~EarlyLaunch() = default;
  /// Runs until whatever can still run stands at a griddepcontrol.wait, or is behind it for want of data.
  virtual Error begin() = 0;
  /// The grids in front have ended: runs to the end.
  virtual Error finish() = 0;
  LaunchResult result;
};

class Emulator {
public:
  /// `card`: a card's name ("H100") or an architecture ("sm_90a": its default card), see Card.h.
  static Error create(std::string_view card, std::unique_ptr<Emulator> &emulator);
  ~Emulator();
  Emulator(const Emulator &) = delete;
  Emulator &operator=(const Emulator &) = delete;

  const Card &card() const;

  /// Parses, binds and lays out a module and places its .global and .const variables. `name` stands before
  /// "line:column" in messages.
  Error load(std::string_view ptx, std::string_view name, uint32_t &module);
  Error unload(uint32_t module);
  Error entries(uint32_t module, std::vector<EntryInfo> &entries) const;
  /// Address and size of a .global or .const variable.
  Error symbol(uint32_t module, std::string_view name, uint64_t &address, uint64_t &bytes) const;

  /// At least 256-byte aligned; the contents are uninitialised. The address is never used again after free.
  Error allocate(uint64_t bytes, uint64_t &address);
  Error free(uint64_t address);
  Error write(uint64_t address, const void *source, uint64_t bytes);
  Error read(uint64_t address, void *target, uint64_t bytes) const;
  /// Fills with a pattern and marks as uninitialised.
  Error poison(uint64_t address, uint64_t bytes);
  /// Marks as initialised what something else than write() has filled.
  Error markInitialised(uint64_t address, uint64_t bytes);
  /// The bytes behind an address, for callers that map device memory; null when not one allocation.
  void *hostPointer(uint64_t address, uint64_t bytes);

  /// Runs a kernel to its end. An Error is a launch that cannot be or that failed (bad access, deadlock, trap, limit):
  /// what it had written stays written, and `result` holds what was found until then.
  Error launch(const LaunchSpec &spec, LaunchResult &result);
  /// The same in two parts. The parameters are copied.
  Error prepare(const LaunchSpec &spec, std::unique_ptr<EarlyLaunch> &launch);

private:
  explicit Emulator(std::unique_ptr<EmulatorState> state);
  std::unique_ptr<EmulatorState> state;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EMULATOR_H
