//===- VectorClock.h - What an agent knows of others --------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Agents are numbered within a cluster. Clocks begin at 1; 0 is "nothing known".
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef WEFT_EMULATOR_SANITIZER_VECTORCLOCK_H
#define WEFT_EMULATOR_SANITIZER_VECTORCLOCK_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::emu {

class VectorClock {
public:
  uint32_t operator[](size_t agent) const { return agent < clocks.size() ? clocks[agent] : 0; }
  void set(size_t agent, uint32_t clock) {
    if (agent >= clocks.size())
      clocks.resize(agent + 1);
    clocks[agent] = clock;
  }
  void join(const VectorClock &other) {
    if (other.clocks.size() > clocks.size())
      clocks.resize(other.clocks.size());
    for (size_t i = 0; i < other.clocks.size(); ++i)
      clocks[i] = clocks[i] < other.clocks[i] ? other.clocks[i] : clocks[i];
  }
  /// Knows no less of `agent` than `clock`.
  void raise(size_t agent, uint32_t clock) {
    if ((*this)[agent] < clock)
      set(agent, clock);
  }
  void clear() { clocks.clear(); }

private:
  std::vector<uint32_t> clocks;
};

/// The orders that matter: accesses that happened before; of those the generic writes that a proxy fence has made
/// visible to the asynchronous proxy on the way; and initialisations of mbarriers, which fence.mbarrier_init publishes
/// even through a relaxed arrival.
struct Knowledge {
  VectorClock seen;
  VectorClock fenced;
  VectorClock inits;
  void join(const Knowledge &other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    inits.join(other.inits);
  }
  void clear() {
    seen.clear();
    fenced.clear();
    inits.clear();
  }
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_VECTORCLOCK_H
