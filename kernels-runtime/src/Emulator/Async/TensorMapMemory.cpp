// Tensor maps in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight accesses of 16 bytes through the one path of every access.
#include "Emulator/Async/TensorMapMemory.h"

#include <cstring>

namespace weft::emu {
namespace {

constexpr unsigned kPiece = 16;

/// Calls body(host bytes, offset in the map) for each piece. False: fault.
template <typename Body>
bool forPieces(Warp &warp, const Step &step, unsigned lane, AccessKind kind, MemorySpace space, uint64_t address,
               unsigned alignment, Body &&body) {
  if (address % alignment) {
    warp.machine->fault(warp, step, lane, "expected a tensor map at a multiple of %u, got 0x%llx", alignment,
                        (unsigned long long)address);
    return false;
  }
  for (unsigned i = 0; i < kTensorMapBytes; i += kPiece) {
    Access access;
    access.kind = kind;
    access.space = space;
    access.bytes = kPiece;
    access.mask = LaneMask(1) << lane;
    access.warp = &warp;
    access.step = &step;
    access.addresses[lane] = address + i;
    if (!warp.machine->resolve(access))
      return false;
    body(access.host[lane], i);
  }
  return true;
}

} // namespace

bool readMapBytes(Warp &warp, const Step &step, unsigned lane, MemorySpace space, uint64_t address, unsigned alignment,
                  uint8_t bytes[kTensorMapBytes]) {
  return forPieces(warp, step, lane, AccessKind::Load, space, address, alignment,
                   [&](const std::byte *host, unsigned i) { std::memcpy(bytes + i, host, kPiece); });
}

bool writeMapBytes(Warp &warp, const Step &step, unsigned lane, MemorySpace space, uint64_t address, unsigned alignment,
                   const uint8_t bytes[kTensorMapBytes]) {
  return forPieces(warp, step, lane, AccessKind::Store, space, address, alignment,
                   [&](std::byte *host, unsigned i) { std::memcpy(host, bytes + i, kPiece); });
}

} // namespace weft::emu
