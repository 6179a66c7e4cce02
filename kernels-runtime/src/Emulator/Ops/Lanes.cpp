// Loops over the lanes of operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blending by mask and packing of flags, the two loops that every family shares.
#include "Emulator/Ops/Lanes.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::emu {

namespace {

/// bits[i]: the bit of lane i in a mask, once for each of the `perLane` words of a lane. A select by a shifted mask is
/// not vectorised for want of per-lane shifts in SSE2; one by an AND with these is.
template <typename Word, unsigned perLane> struct LaneWords {
  Word bits[32 * perLane];
  constexpr LaneWords() : bits() {
    for (unsigned i = 0; i < 32 * perLane; ++i)
      bits[i] = Word(uint32_t(1) << (i / perLane % (8 * sizeof(Word))));
  }
};
template <typename Word, unsigned perLane> constexpr LaneWords<Word, perLane> kLaneWords;

/// `count` words, of which `mask` has bits for the lanes that they belong to.
template <typename Word, typename Bits>
inline void blendWords(Word *target, const Word *values, const Bits *bits, Bits mask, unsigned count) {
  WEFT_LANE_LOOP
  for (unsigned i = 0; i < count; ++i)
    target[i] = (mask & bits[i]) == 0 ? target[i] : values[i];
}

} // namespace

template <typename T> void blendLanes(T *target, const T *values, LaneMask mask) {
  if constexpr (sizeof(T) >= 4) {
    using Half __attribute__((may_alias)) = uint32_t;
    constexpr unsigned perLane = sizeof(T) / 4;
    blendWords(reinterpret_cast<Half *>(target), reinterpret_cast<const Half *>(values),
               kLaneWords<uint32_t, perLane>.bits, mask, 32 * perLane);
  } else { // as many lanes at a time as a word has bits
    constexpr unsigned step = 8 * sizeof(T);
    for (unsigned lane = 0; lane < 32; lane += step)
      blendWords(target + lane, values + lane, kLaneWords<T, 1>.bits, T(mask >> lane), step);
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
