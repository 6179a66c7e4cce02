// What the floating-point families share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Numerics/ compute all 32 lanes: here their result is written to the lanes that execute.
#ifndef WEFT_EMULATOR_OPS_FLOATCOMMON_H
#define WEFT_EMULATOR_OPS_FLOATCOMMON_H

#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Warp.h"
#include "Emulator/Numerics/Arithmetic.h"

namespace weft::emu {

/// Copies the lanes of `mask`, of 2, 4 or 8 bytes.
inline void copyLanes(std::byte *target, const std::byte *source, LaneMask mask, unsigned bytes) {
  switch (bytes) {
  case 2:
    forLanes(mask, [&](unsigned lane) { std::memcpy(target + lane * 2, source + lane * 2, 2); });
    return;
  case 4:
    forLanes(mask, [&](unsigned lane) { std::memcpy(target + lane * 4, source + lane * 4, 4); });
    return;
  default:
    forLanes(mask, [&](unsigned lane) { std::memcpy(target + lane * 8, source + lane * 8, 8); });
    return;
  }
}

/// Calls `body(result)`, which writes 32 lanes of `bytes` bytes there, and keeps those of `mask` in `slot`. The result
/// may be the slot itself, which may be an operand too: `body` reads its operands before it writes.
template <typename Body> inline void writeLanes(Warp &warp, Slot slot, LaneMask mask, unsigned bytes, Body &&body) {
  std::byte *target = warp.lanes<std::byte>(slot);
  if (mask == kAllLanes) {
    body(static_cast<void *>(target));
    return;
  }
  alignas(64) std::byte buffer[kWarpLanes * 8];
  body(static_cast<void *>(buffer));
  copyLanes(target, buffer, mask, bytes);
}

/// The operand in the `index`-th slot; null when the step has fewer.
inline const void *operandLanes(const Warp &warp, const Step &step, unsigned index) {
  return index < step.slotCount ? warp.lanes<std::byte>(step.slots[index]) : nullptr;
}

/// Consumes .rn, .rz, .rm or .rp; without one the default, or an error if `isRequired`.
inline Rounding bindRounding(Binder &b, bool isRequired) {
  int index = b.acceptOneOf({"rn", "rz", "rm", "rp"});
  if (index < 0 && isRequired)
    b.expectOneOf({"rn", "rz", "rm", "rp"});
  constexpr Rounding modes[] = {Rounding::NearestEven, Rounding::Zero, Rounding::Down, Rounding::Up};
  return index < 0 ? Rounding::NearestEven : modes[index];
}

/// A result and `sources` operands of one type.
inline void bindOperands(Binder &b, Type type, unsigned sources) {
  b.operands(1 + sources);
  b.def(0, type);
  for (unsigned i = 1; i <= sources; ++i)
    b.use(i, type);
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_FLOATCOMMON_H
