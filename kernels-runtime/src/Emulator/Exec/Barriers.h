// Named barriers and the cluster's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrivals are counted in threads; a phase completes when as many have arrived as the first arrival asked for, or, if
// it named no number, as many as live.
#ifndef WEFT_EMULATOR_EXEC_BARRIERS_H
#define WEFT_EMULATOR_EXEC_BARRIERS_H

#include "Emulator/Exec/Cta.h"

namespace weft::emu {

/// Counts `threads` more at barrier `id`, of `expected` (0: all that live), and completes the phase if that is all.
void arriveAtBarrier(Cta &cta, uint32_t id, uint32_t threads, uint32_t expected);
/// Completes phases that waited only for threads that have ended.
void recheckBarriers(Cta &cta);
void arriveAtCluster(Cluster &cluster, uint32_t threads);
void recheckCluster(Cluster &cluster);

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_BARRIERS_H
