// Tensor maps in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 128 bytes of a map, read and written by one thread.
#ifndef WEFT_EMULATOR_ASYNC_TENSORMAPMEMORY_H
#define WEFT_EMULATOR_ASYNC_TENSORMAPMEMORY_H

#include "Emulator/Async/TensorMap.h"
#include "Emulator/Exec/Machine.h"

namespace weft::emu {

/// Reads the bytes at `address` of `space`, at a multiple of `alignment`. False: fault.
bool readMapBytes(Warp &warp, const Step &step, unsigned lane, MemorySpace space, uint64_t address, unsigned alignment,
                  uint8_t bytes[kTensorMapBytes]);
bool writeMapBytes(Warp &warp, const Step &step, unsigned lane, MemorySpace space, uint64_t address, unsigned alignment,
                   const uint8_t bytes[kTensorMapBytes]);

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_TENSORMAPMEMORY_H
