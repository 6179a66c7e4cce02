// Operations on mbarriers in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions and asynchronous operations change an mbarrier through these: they keep the mirror in memory, tell the
// observers, wake the waiters when a phase completes, and make findings of misuse.
#ifndef WEFT_EMULATOR_ASYNC_MBARRIEROPS_H
#define WEFT_EMULATOR_ASYNC_MBARRIEROPS_H

#include "Emulator/Async/AsyncStates.h"
#include "Emulator/Exec/Machine.h"

namespace weft::emu {

/// Who does it.
struct MbarrierActor {
  Warp *warp;
  const Step *step;
  LaneMask lanes; ///< One call may stand for several lanes that do the same.
  AsyncOp *async = nullptr;
  Order order = Order::Release;
  Scope scope = Scope::Cta;
  Machine &machine() const { return *warp->machine; }
  unsigned lane() const { return unsigned(__builtin_ctz(lanes)); }
};

/// An mbarrier's address.
struct MbarrierPlace {
  Cta *owner = nullptr;
  uint32_t offset = 0;
  uint8_t *host = nullptr;
};

/// The addresses of the lanes' mbarriers, checked (8 bytes, aligned, in shared memory of a CTA that runs). `addresses`:
/// 32, in `space`. False: fault.
bool placeMbarriers(const MbarrierActor &actor, MemorySpace space, const uint64_t *addresses, MbarrierPlace *places);
/// The same of the one mbarrier that an operation completes on, when the operation happens.
bool placeMbarrier(const MbarrierActor &actor, uint32_t sharedAddress, MbarrierPlace &place);

/// The object there; null after a fault (and the finding "mbarrier-uninitialised") when there is none.
MbarrierObject *findMbarrier(const MbarrierActor &actor, const MbarrierPlace &place);

bool initMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t count);
bool invalidateMbarrier(const MbarrierActor &actor, const MbarrierPlace &place);
/// `token` (may be null) receives the state before the arrival.
bool arriveMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t count, uint32_t tx, bool isDrop,
                    bool isNoComplete, uint64_t *token);
bool expectTxMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t bytes);
bool completeTxMbarrier(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t bytes);
/// cp.async.mbarrier.arrive without .noinc: one more arrival is pending in the phase.
bool addPendingMbarrier(const MbarrierActor &actor, const MbarrierPlace &place);

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_MBARRIEROPS_H
