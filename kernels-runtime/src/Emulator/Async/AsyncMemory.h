// Memory as asynchronous operations reach it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An asynchronous operation moves pieces of one size. They are resolved, checked and shown to the observers 32 at a
// time, as the lanes of an Access; the operation then moves the bytes through the pointers.
#ifndef WEFT_EMULATOR_ASYNC_ASYNCMEMORY_H
#define WEFT_EMULATOR_ASYNC_ASYNCMEMORY_H

#include "Emulator/Exec/Machine.h"

#include <vector>

namespace weft::emu {

class AsyncPieces {
public:
  /// `kind`: AsyncRead or AsyncWrite. `space`: Generic, Global or SharedCluster.
  AsyncPieces(Machine &machine, AsyncOp &op, AccessKind kind, MemorySpace space, uint32_t bytes);
  /// False: fault.
  bool add(uint64_t address) {
    access.addresses[count++] = address;
    return count < 32 || flush();
  }
  /// Resolves what is left; to be called once after the last add().
  bool flush();
  uint8_t *operator[](size_t i) const { return pointers[i]; }
  size_t size() const { return pointers.size(); }

private:
  Machine &machine;
  Access access;
  AccessKind kind;
  MemorySpace space;
  unsigned count = 0;
  std::vector<uint8_t *> pointers;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_ASYNCMEMORY_H
