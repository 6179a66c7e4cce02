// Correctly rounded arithmetic on the lanes of a warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32, f64, f16 and bf16 arithmetic as PTX defines it for the instructions that round correctly, on all 32 lanes at
// once (64 for packed halves): whoever calls it keeps the lanes that do not execute. Operands and result are bits; the
// result may be one of the operands.
//
// f32 and f64: IEEE 754 in the given rounding mode, by the host's own arithmetic in that mode (no code moves across the
// change of mode: the loops are called through pointers, in a file of their own). f16 and bf16 always round to nearest
// even, once. FloatFormat.h says which NaNs are results, and what .ftz flushes.
#ifndef WEFT_EMULATOR_NUMERICS_ARITHMETIC_H
#define WEFT_EMULATOR_NUMERICS_ARITHMETIC_H

#include "Emulator/Numerics/FloatFormat.h"

namespace weft::emu {

constexpr unsigned kWarpLanes = 32;

enum class FloatOp : uint8_t { Add, Sub, Mul, Fma, Div, Rcp, Sqrt };
constexpr unsigned kFloatOps = 7;

/// What happens around the operation, in this order.
struct FloatMode {
  Rounding rounding = Rounding::NearestEven; ///< Not NearestAway. Halves: NearestEven.
  bool flushes = false;                      ///< .ftz: subnormal operands and results become zeros of their sign.
  bool saturates = false;                    ///< .sat: the result is clamped to [+0, 1], NaN becomes +0. Not f64.
  bool isRelu = false;                       ///< .relu: a negative result becomes +0. Halves only.

  bool isPlain() const { return rounding == Rounding::NearestEven && !flushes && !saturates && !isRelu; }
};

/// Operands that the operation does not have may be null.
void arithmeticF32(FloatOp op, const FloatMode &mode, void *result, const void *a, const void *b, const void *c);
void arithmeticF64(FloatOp op, Rounding rounding, void *result, const void *a, const void *b, const void *c);

enum class HalfKind : uint8_t { F16, BF16 };
/// Add, Sub, Mul and Fma on `count` halves: 32, or 64 for the packed types.
void arithmeticHalf(HalfKind kind, FloatOp op, const FloatMode &mode, unsigned count, void *result, const void *a,
                    const void *b, const void *c);

/// f64 to f32 bits, rounded to odd: a result that is not exact has its last bit set, so that rounding it again to a
/// format at least two bits shorter rounds as if once.
inline uint32_t floatBitsToOdd(double value) {
  float nearest = float(value); // to nearest; corrected below
  uint32_t bits = bitCast<uint32_t>(nearest);
  if (double(nearest) == value || value != value)
    return bits;
  // Of the two neighbours that enclose the value one is odd.
  if (bits & 1)
    return bits;
  double magnitude = value < 0 ? -value : value;
  double rounded = nearest < 0 ? -double(nearest) : double(nearest);
  return rounded < magnitude ? bits + 1 : bits - 1;
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_NUMERICS_ARITHMETIC_H
