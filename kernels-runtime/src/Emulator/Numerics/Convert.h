// Conversions between number types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One number at a time, from the bits of any scalar type to those of any other, as PTX's cvt does it: rounded once.
//
// Integers to integers keep the low bits, or saturate. Numbers to integers round to an integer and then always clamp;
// NaN becomes 0, or, if either type has 64 bits, only the highest bit is set. FloatFormat.h says what becomes
// of NaNs between floating-point types, and which results .ftz flushes.
#ifndef WEFT_EMULATOR_NUMERICS_CONVERT_H
#define WEFT_EMULATOR_NUMERICS_CONVERT_H

#include "Emulator/Numerics/FloatFormat.h"

namespace weft::emu {

enum class NumberKind : uint8_t { U8, U16, U32, U64, S8, S16, S32, S64, F16, BF16, TF32, F32, F64, E4M3, E5M2 };
inline bool isIntegerKind(NumberKind kind) { return kind <= NumberKind::S64; }
inline bool isSignedKind(NumberKind kind) { return kind >= NumberKind::S8 && kind <= NumberKind::S64; }
/// 8 to 64.
unsigned bitWidth(NumberKind kind);

struct Conversion {
  NumberKind target = NumberKind::F32;
  NumberKind source = NumberKind::F32;
  Rounding rounding = Rounding::NearestEven; ///< To the target's precision, or to an integer.
  bool toIntegral = false; ///< .rni and so on between types of one size: the result is a whole number.
  bool flushes = false;    ///< .ftz: f32 operands and f32 results that are subnormal become zeros of their sign.
  bool saturates = false;  ///< .sat: integers to the target's range, floats to [+0, 1] with NaN to +0.
  bool satFinite = false;  ///< .satfinite: nothing overflows to infinity; infinities become the largest number.
  bool isRelu = false;     ///< .relu: what is negative becomes +0.
};

/// The low bitWidth(source) bits of `bits` to the target's bits: zero extended, signed integers sign extended.
uint64_t convert(const Conversion &conversion, uint64_t bits);

/// The frequent conversions on all 32 lanes, each as wide as its type; null when there is no such loop.
using ConvertLanes = void (*)(void *result, const void *source);
ConvertLanes convertLanes(const Conversion &conversion);

} // namespace weft::emu

#endif // WEFT_EMULATOR_NUMERICS_CONVERT_H
