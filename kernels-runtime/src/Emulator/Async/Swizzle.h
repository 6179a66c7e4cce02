// The permutations of 16-byte chunks of shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor copies and wgmma descriptors permute the 16-byte chunks of a span of 32, 64 or 128 bytes by the number of the
// 128-byte line. The permutation is a function of the bits of the shared-memory address itself, not of the offset in
// the box: chunk bits 4.. are xored with line bits 7.. (one, two or three of them). It is its own inverse.
#ifndef WEFT_EMULATOR_ASYNC_SWIZZLE_H
#define WEFT_EMULATOR_ASYNC_SWIZZLE_H

#include <cstdint>

namespace weft::emu {

/// The address at which the byte that belongs at `address` lies. `span`: 0 (none), 32, 64 or 128 bytes.
inline uint32_t swizzleAddress(uint32_t address, unsigned span) {
  // span / 16 chunks: the mask of the chunk number is 0, 1, 3 or 7.
  uint32_t mask = span ? span / 16 - 1 : 0;
  return address ^ ((address >> 7 & mask) << 4);
}

/// Bytes after which the permutation repeats, to which a swizzled buffer should be aligned: 256, 512 or 1024.
inline unsigned swizzlePeriod(unsigned span) { return span * 8; }

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_SWIZZLE_H
