// D = A B + C on gathered tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of one mma.sync or wgmma instruction as a pure function on matrices in memory, after operands were
// gathered from fragments or shared memory. Floating-point results follow MatrixModel.h bit for bit; where they are the
// result of an integer type they are exact.
#ifndef WEFT_EMULATOR_NUMERICS_MATRIXMULTIPLY_H
#define WEFT_EMULATOR_NUMERICS_MATRIXMULTIPLY_H

#include "Emulator/Numerics/MatrixModel.h"

namespace weft::emu {

/// The largest K of one instruction on elements of a byte or more.
constexpr unsigned kMaxMatrixDepth = 64;

/// What one instruction multiplies.
struct MatrixShape {
  MatrixElement a = MatrixElement::F16;
  MatrixElement b = MatrixElement::F16; ///< As `a`, or the other fp8 type, or the other 8-bit integer type.
  unsigned rows = 0;                    ///< M: at most 64
  unsigned columns = 0;                 ///< N: a multiple of 8, at most 256
  unsigned depth = 0;                   ///< K: at most kMaxMatrixDepth, a multiple of the model's block
};

struct MatrixOptions {
  bool isHalfAccumulator = false; ///< D holds f16; otherwise f32, or s32 for integer elements.
  bool startsAtZero = false;      ///< D = A B: what `d` held is not read as a number (scale-d = 0).
  bool negatesA = false;          ///< imm-scale-a = -1
  bool negatesB = false;
  bool isSaturating = false; ///< .satfinite of integers: sums clamp to s32, and do not wrap.
};

/// d[i * columns + j] += sum over k of a[i * depth + k] * b[j * depth + k]. `a` and `b` are little-endian elements
/// without gaps (B is handed over transposed: K runs fastest); `d` has one 32-bit word for each element: f32 bits, f16
/// bits in the low half (the high half is written as zero and not read), or s32.
void multiplyMatrices(const MatrixModel &model, const MatrixShape &shape, const MatrixOptions &options,
                      const uint8_t *a, const uint8_t *b, uint32_t *d);

/// The same on f64: one chain of fused multiply-adds per element, along K.
void multiplyMatricesF64(unsigned rows, unsigned columns, unsigned depth, const double *a, const double *b, double *d);

/// The same on single bits, K a multiple of 32, k-th bit of a row from the lowest of its first word on: d += population
/// count of (a xor b), or of (a and b).
void multiplyMatricesB1(unsigned rows, unsigned columns, unsigned depth, bool isXor, const uint32_t *a,
                        const uint32_t *b, uint32_t *d);

} // namespace weft::emu

#endif // WEFT_EMULATOR_NUMERICS_MATRIXMULTIPLY_H
