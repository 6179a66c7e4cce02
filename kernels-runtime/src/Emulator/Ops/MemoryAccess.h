// What loads, stores and atomics do alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMULATOR_OPS_MEMORYACCESS_H
#define WEFT_EMULATOR_OPS_MEMORYACCESS_H

#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"

namespace weft::emu {

/// Calls `perform` with an access for the lanes of each space that the addresses of `mask` point into.
template <typename Payload, typename Perform>
Outcome accessMemory(AccessKind kind, Warp &warp, const Step &step, LaneMask mask, const Payload &payload,
                     Perform &&perform) {
  Access access;
  access.kind = kind;
  access.order = payload.order;
  access.scope = payload.scope;
  access.cache = payload.cache;
  access.bytes = uint32_t(payload.elements) * payload.elementBytes;
  access.warp = &warp;
  access.step = &step;
  computeAddresses(warp, step, payload.address, mask, access.addresses);
  Machine &machine = *warp.machine;
  for (LaneMask rest = mask; rest;) {
    access.space = payload.space;
    access.mask = rest;
    if (payload.space == MemorySpace::Generic)
      machine.splitGeneric(access, rest, access.mask);
    rest &= ~access.mask;
    if (!machine.resolve(access))
      return Outcome::Fault;
    perform(access);
  }
  return Outcome::Next;
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_MEMORYACCESS_H
