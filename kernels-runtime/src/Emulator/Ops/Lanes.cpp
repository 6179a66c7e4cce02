//===- Lanes.cpp - Loops over the lanes of operands ---------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Blending by mask and packing of flags, the two loops that every family shares.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Emulator/Ops/Lanes.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::emu {

/// A select by a shifted mask is not vectorised for want of per-lane shifts in SSE2; an AND with the lane's bit is.
template <typename T> void blendLanes(T *target, const T *values, LaneMask mask) {
  for (unsigned half = 0; half < 32; half += 8) {
    unsigned bits = mask >> half & 0xff;
    if (bits == 0)
      continue;
    for (unsigned lane = 0; lane < 8; ++lane) {
      T chosen = T(-T(bits >> lane & 1)); // all ones or zero
      target[half + lane] = T((target[half + lane] & T(~chosen)) | (values[half + lane] & chosen));
    }
  }
}
template void blendLanes(uint8_t *, const uint8_t *, LaneMask);
template void blendLanes(uint16_t *, const uint16_t *, LaneMask);
template void blendLanes(uint32_t *, const uint32_t *, LaneMask);
template void blendLanes(uint64_t *, const uint64_t *, LaneMask);

LaneMask packLanes(const int32_t *flags) {
#if defined(__SSE2__)
  LaneMask result = 0;
  for (unsigned half = 0; half < 2; ++half) {
    __m128i quads[4];
    for (unsigned i = 0; i < 4; ++i)
      quads[i] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(flags + half * 16 + i * 4));
    __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(quads[0], quads[1]), _mm_packs_epi32(quads[2], quads[3]));
    result |= LaneMask(_mm_movemask_epi8(bytes)) << (16 * half);
  }
  return result;
#else
  LaneMask result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    result |= LaneMask(flags[lane] != 0) << lane;
  return result;
#endif
}

} // namespace weft::emu
