// What an agent knows of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Agents are numbered within a cluster. Clocks begin at 1; 0 is "nothing known".
#ifndef WEFT_EMULATOR_SANITIZER_VECTORCLOCK_H
#define WEFT_EMULATOR_SANITIZER_VECTORCLOCK_H

#include <cstddef>
#include <cstdint>
#include <memory>
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
  bool covers(const VectorClock &other) const {
    for (size_t i = 0; i < other.clocks.size(); ++i)
      if ((*this)[i] < other.clocks[i])
        return false;
    return true;
  }

private:
  std::vector<uint32_t> clocks;
};

/// What is known of the agents of each cluster of the launch, by its number. Shared by those who know the same.
using ClusterClocks = std::vector<std::shared_ptr<const VectorClock>>;

/// The orders that matter: accesses that happened before; of those the generic writes that a proxy fence has made
/// visible to the asynchronous proxy on the way; and initialisations of mbarriers, which fence.mbarrier_init publishes
/// even through a relaxed arrival.
struct Knowledge {
  VectorClock seen;
  VectorClock fenced;
  VectorClock inits;
  std::shared_ptr<const ClusterClocks> clusters; ///< Of others, by words of global memory; null: nothing.

  void join(const Knowledge &other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    inits.join(other.inits);
    joinClusters(other.clusters);
  }
  void clear() {
    seen.clear();
    fenced.clear();
    inits.clear();
    clusters.reset();
  }
  uint32_t ofCluster(size_t cluster, size_t agent) const {
    return clusters && cluster < clusters->size() && (*clusters)[cluster] ? (*(*clusters)[cluster])[agent] : 0;
  }
  void joinClusters(const std::shared_ptr<const ClusterClocks> &other);
};

inline void Knowledge::joinClusters(const std::shared_ptr<const ClusterClocks> &other) {
  if (!other || other == clusters)
    return;
  if (!clusters) {
    clusters = other;
    return;
  }
  std::shared_ptr<ClusterClocks> joined; // None as long as `other` brings nothing new.
  for (size_t i = 0; i < other->size(); ++i) {
    const std::shared_ptr<const VectorClock> &theirs = (*other)[i];
    const std::shared_ptr<const VectorClock> mine = i < clusters->size() ? (*clusters)[i] : nullptr;
    if (!theirs || theirs == mine || (mine && mine->covers(*theirs)))
      continue;
    if (!joined)
      joined = std::make_shared<ClusterClocks>(*clusters);
    if (i >= joined->size())
      joined->resize(other->size());
    auto both = mine ? std::make_shared<VectorClock>(*mine) : std::make_shared<VectorClock>();
    both->join(*theirs);
    (*joined)[i] = mine ? std::shared_ptr<const VectorClock>(both) : theirs;
  }
  if (joined)
    clusters = joined;
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_VECTORCLOCK_H
