// Loops over the lanes of operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise operations compute all 32 lanes, whatever the mask: straight into the destination when all lanes are
// active, into a buffer that is blended otherwise. So an operation is one loop, which the compiler vectorises, and must
// be total: defined for every bit pattern, because lanes that are not active hold anything. Slots of one width are the
// same or do not overlap, which the compiler is told.
#ifndef WEFT_EMULATOR_OPS_LANES_H
#define WEFT_EMULATOR_OPS_LANES_H

#include "Emulator/Exec/Warp.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" // a few operations stay scalar
#define WEFT_LANE_LOOP _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define WEFT_LANE_LOOP _Pragma("GCC ivdep")
#endif

namespace weft::emu {

/// Copies the lanes of `mask` from `values`. T: an unsigned type.
template <typename T> void blendLanes(T *target, const T *values, LaneMask mask);
extern template void blendLanes(uint8_t *, const uint8_t *, LaneMask);
extern template void blendLanes(uint16_t *, const uint16_t *, LaneMask);
extern template void blendLanes(uint32_t *, const uint32_t *, LaneMask);
extern template void blendLanes(uint64_t *, const uint64_t *, LaneMask);

/// Bit i of the result is set where flags[i] is not zero; flags are 0 or -1.
LaneMask packLanes(const int32_t *flags);

template <size_t bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> {
  using type = uint8_t;
};
template <> struct UnsignedOf<2> {
  using type = uint16_t;
};
template <> struct UnsignedOf<4> {
  using type = uint32_t;
};
template <> struct UnsignedOf<8> {
  using type = uint64_t;
};

/// target[lane] = value(lane) for the lanes of `mask`.
template <typename D, typename Value> inline Outcome assignLanes(D *target, LaneMask mask, Value value) {
  alignas(64) D buffer[32];
  D *out = mask == kAllLanes ? target : buffer;
  WEFT_LANE_LOOP
  for (unsigned lane = 0; lane < 32; ++lane)
    out[lane] = value(lane);
  if (mask != kAllLanes) {
    using Word = typename UnsignedOf<sizeof(D)>::type;
    blendLanes(reinterpret_cast<Word *>(target), reinterpret_cast<const Word *>(buffer), mask);
  }
  return Outcome::Next;
}

/// d = Op(a): slots are d, a.
template <typename D, typename A, typename Op> Outcome runUnary(Warp &warp, const Step &step, LaneMask mask) {
  const A *a = warp.lanes<A>(step.slots[1]);
  return assignLanes(warp.lanes<D>(step.slots[0]), mask, [=](unsigned i) { return D(Op::apply(a[i])); });
}

/// d = Op(a, b): slots are d, a, b.
template <typename D, typename A, typename B, typename Op>
Outcome runBinary(Warp &warp, const Step &step, LaneMask mask) {
  const A *a = warp.lanes<A>(step.slots[1]);
  const B *b = warp.lanes<B>(step.slots[2]);
  return assignLanes(warp.lanes<D>(step.slots[0]), mask, [=](unsigned i) { return D(Op::apply(a[i], b[i])); });
}

/// d = Op(a, b, c): slots are d, a, b, c.
template <typename D, typename A, typename B, typename C, typename Op>
Outcome runTernary(Warp &warp, const Step &step, LaneMask mask) {
  const A *a = warp.lanes<A>(step.slots[1]);
  const B *b = warp.lanes<B>(step.slots[2]);
  const C *c = warp.lanes<C>(step.slots[3]);
  return assignLanes(warp.lanes<D>(step.slots[0]), mask, [=](unsigned i) { return D(Op::apply(a[i], b[i], c[i])); });
}

/// Op over equal types, by the width of `type`; operations that do not depend on the sign.
template <typename Op> RunFunction unaryByWidth(ptx::Type type) {
  unsigned bits = ptx::bitWidth(type);
  return bits == 16   ? runUnary<uint16_t, uint16_t, Op>
         : bits == 32 ? runUnary<uint32_t, uint32_t, Op>
                      : runUnary<uint64_t, uint64_t, Op>;
}
template <typename Op> RunFunction binaryByWidth(ptx::Type type) {
  unsigned bits = ptx::bitWidth(type);
  return bits == 16   ? runBinary<uint16_t, uint16_t, uint16_t, Op>
         : bits == 32 ? runBinary<uint32_t, uint32_t, uint32_t, Op>
                      : runBinary<uint64_t, uint64_t, uint64_t, Op>;
}
template <typename Op> RunFunction ternaryByWidth(ptx::Type type) {
  unsigned bits = ptx::bitWidth(type);
  return bits == 16   ? runTernary<uint16_t, uint16_t, uint16_t, uint16_t, Op>
         : bits == 32 ? runTernary<uint32_t, uint32_t, uint32_t, uint32_t, Op>
                      : runTernary<uint64_t, uint64_t, uint64_t, uint64_t, Op>;
}
/// The same for operations that depend on the sign.
template <typename Op> RunFunction binaryByType(ptx::Type type) {
  if (!ptx::isSigned(type))
    return binaryByWidth<Op>(type);
  unsigned bits = ptx::bitWidth(type);
  return bits == 16   ? runBinary<int16_t, int16_t, int16_t, Op>
         : bits == 32 ? runBinary<int32_t, int32_t, int32_t, Op>
                      : runBinary<int64_t, int64_t, int64_t, Op>;
}
template <typename Op> RunFunction ternaryByType(ptx::Type type) {
  if (!ptx::isSigned(type))
    return ternaryByWidth<Op>(type);
  unsigned bits = ptx::bitWidth(type);
  return bits == 16   ? runTernary<int16_t, int16_t, int16_t, int16_t, Op>
         : bits == 32 ? runTernary<int32_t, int32_t, int32_t, int32_t, Op>
                      : runTernary<int64_t, int64_t, int64_t, int64_t, Op>;
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_LANES_H
