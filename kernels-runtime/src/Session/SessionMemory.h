// The device of a session, and the outputs it gave away.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller may keep the memory of an output longer than the session lives (DLPack), so the device and the budget are
// shared by the session and by what it gave away. Memory that comes back serves the next run: a caller who drops an
// output before the next run gets the same address again, and recorded runs stay valid.
#ifndef WEFT_SESSION_SESSIONMEMORY_H
#define WEFT_SESSION_SESSIONMEMORY_H

#include "../Memory/AlignedMemory.h"
#include "Arena.h"

#include <mutex>

namespace weft {

class SessionMemory {
public:
  std::unique_ptr<Device> device; ///< Used by the session's runs, and at last by the destructor.
  MemoryBudget budget;

  /// Makes `memory` hold at least `bytes` for output number `output`: as it is, by memory that came back (that output's
  /// first, then the smallest), or by new memory.
  bundle::Error reserveOutput(size_t output, DeviceMemory &memory, uint64_t bytes);
  /// From any thread.
  void giveBack(size_t output, DeviceMemory &&memory);

private:
  struct Spare {
    size_t output;
    DeviceMemory memory;
  };
  /// Spare memory of at least `bytes`; without memory if there is none.
  DeviceMemory findSpare(size_t output, uint64_t bytes);

  std::mutex mutex;
  std::vector<Spare> spare;
};

/// Memory of an output that a caller holds; goes back when the last one lets go.
struct TakenOutput {
  std::shared_ptr<SessionMemory> home;
  size_t output = 0;
  DeviceMemory memory;
  AlignedMemory hostMemory; ///< Instead, where the output was copied to the host.

  ~TakenOutput() {
    if (memory.get())
      home->giveBack(output, std::move(memory));
  }
};

} // namespace weft

#endif // WEFT_SESSION_SESSIONMEMORY_H
