// The approximations of the special function unit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// div.approx, div.full, rcp, rsqrt, sqrt, sin, cos, lg2, ex2 and tanh in their .approx forms. PTX bounds their errors
// and fixes their values for special operands; the bits in between are the hardware's tables, which are not published.
// Here results are computed in f64 and rounded to the type: within every documented bound, but NOT BIT EQUAL to a GPU.
// Zeros, infinities, NaN and the signs and limits of the manual are exact.
//
// Measured on an H100 (2026-11-21): f16 and bf16 results are f32 ones cut, not rounded; division multiplies by the
// reciprocal; sin and cos see x / (2 pi) as a product in f32, cut, with 25 binary digits; tanh is x up to 2^-8 and 1
// from 8 on; ex2 of halves is 1 below 2^-23. With that these shares of results on random operands are bit-equal: ex2 of
// halves all, tanh of halves 99.9 %, div 88 %, rcp 87 %, sqrt 83 %, rsqrt 78 %, ex2 67 %, tanh 41 %, lg2 34 %, sin and
// cos 19 %. The others differ by 1 or 2 units in the last place; sin and cos by 2^-21.5, lg2 by 2^-22.6 near 1, tanh
// by 128 units.
#ifndef WEFT_EMULATOR_NUMERICS_APPROXIMATE_H
#define WEFT_EMULATOR_NUMERICS_APPROXIMATE_H

#include "Emulator/Numerics/Arithmetic.h"

namespace weft::emu {

enum class ApproximateOp : uint8_t { Rcp, Rsqrt, Sqrt, Sin, Cos, Lg2, Ex2, Tanh, Div, DivFull };

/// All 32 lanes; `b` only for the divisions. .approx divides by |b| in (2^126, 2^128) give 0 (NaN for infinite a).
void approximateF32(ApproximateOp op, bool flushes, void *result, const void *a, const void *b);
/// Ex2 and Tanh of 32 or 64 halves.
void approximateHalf(HalfKind kind, ApproximateOp op, bool flushes, unsigned count, void *result, const void *a);
/// Rcp and Rsqrt of the upper 32 bits of the operand; the lower 32 bits of the result are zero. rsqrt.approx.f64
/// without .ftz (`isFull`) reads and yields all 64.
void approximateF64(ApproximateOp op, bool isFull, void *result, const void *a);

} // namespace weft::emu

#endif // WEFT_EMULATOR_NUMERICS_APPROXIMATE_H
