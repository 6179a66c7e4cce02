// Memory as asynchronous operations reach it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches of pieces through Machine::resolve.
#include "Emulator/Async/AsyncMemory.h"

namespace weft::emu {

AsyncPieces::AsyncPieces(Machine &machine, AsyncOp &op, AccessKind kind, MemorySpace space, uint32_t bytes)
    : machine(machine), kind(kind), space(space) {
  access.bytes = bytes;
  access.alignment = 16;
  access.warp = op.warp;
  access.step = op.step;
  access.async = &op;
}

bool AsyncPieces::flush() {
  if (count == 0)
    return true;
  access.kind = kind;
  access.space = space;
  access.mask = count == 32 ? kAllLanes : (LaneMask(1) << count) - 1;
  if (!machine.resolve(access))
    return false;
  for (unsigned i = 0; i < count; ++i)
    pointers.push_back(reinterpret_cast<uint8_t *>(access.host[i]));
  count = 0;
  return true;
}

} // namespace weft::emu
