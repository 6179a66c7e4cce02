// A GPU that executes PTX on the CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the rest of the runtime, the tool and the tests see of the emulator: modules from PTX text, global memory, and
// launches. One Emulator is one GPU; it is not thread safe. Every call that can fail returns an Error and leaves the
// GPU usable. A launch is deterministic: its result, findings and counters depend on nothing but its LaunchSpec, the
// module and the contents of memory.
#ifndef WEFT_EMULATOR_EMULATOR_H
#define WEFT_EMULATOR_EMULATOR_H

#include "Emulator/Exec/Launch.h"

#include <memory>

namespace weft::emu {

struct Card;
struct EmulatorState;

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
  /// `card`: a GPU's name ("H100") or an architecture ("sm_90a": its default GPU), see GPU.h.
  static Error create(std::string_view card, std::unique_ptr<Emulator> &emulator);
  ~Emulator();
  Emulator(const Emulator &) = delete;
  Emulator &operator=(const Emulator &) = delete;

  const Card &card() const;

  /// Parses, binds and lays out a module and places its .global and .const variables. `name` stands before
  /// "line:column" in messages.
  Error load(std::string_view ptx, std::string_view name, uint32_t &module);
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
