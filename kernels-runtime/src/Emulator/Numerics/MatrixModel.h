// How the matrix units round.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX says no more of mma and wgmma on floating-point types than that products and sums have "at least single
// precision". What the hardware does was measured by others; this is the model that their studies agree on:
//
//   The depth K of an instruction is cut into blocks of `blockDepth` products; a block is added to the accumulator in
//   one step, in this order:
//   1. Products are exact. A product of x = s_x 2^e_x and y = s_y 2^e_y, with 1 <= s < 2 (for a subnormal s < 1 and e
//      the smallest exponent), is s_x s_y in [0, 4) at exponent e_x + e_y: it is not normalised.
//   2. E is the largest exponent of the block's products and of the accumulator, not counting those that are zero,
//      but at least `minExponent`.
//   3. Every term is truncated towards zero to a multiple of 2^(E - fractionBits). The sum of the terms is exact.
//   4. The sum is normalised and rounded to the accumulator's type: f32 by truncation, to `resultBits` bits after the
//      point (13 on units whose fp8 accumulator is short), f16 to nearest even. Subnormal results are kept.
//   A sum beyond the largest number is infinite. NaN, 0 * infinity and infinities of both signs give the canonical NaN.
//   An exact sum of zero is +0. tf32 operands lose their 13 low bits.
//
// On sm_90 and above ptxas turns mma.sync on fp8 into two steps of f16 HMMA and one addition: that is a row of the
// table (`order`, `addsAfterwards`), seen in its machine code. f64 is a chain of fused multiply-adds along K. Integers
// are exact and wrap, or saturate once at the end with .satfinite.
//
// Sources: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021 (V100,
// T4, A100); Khattak, Mikaitis, "Accurate models of NVIDIA tensor cores", arXiv 2512.07004 (V100 to B200); Xie, Wang,
// Yang, Yang, "MMA-Sim", arXiv 2511.10909 (Volta to Blackwell). Both of the latter report bit equality with GPUs on
// random data.
#ifndef WEFT_EMULATOR_NUMERICS_MATRIXMODEL_H
#define WEFT_EMULATOR_NUMERICS_MATRIXMODEL_H

#include "Emulator/Numerics/FloatFormat.h"

#include <cstddef>

namespace weft::emu {

enum class MatrixUnit : uint8_t { Mma, Wgmma };

/// Types of the elements of A and B. Elements of 4 and 1 bit are handed over unpacked, one in a byte.
enum class MatrixElement : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8 };

/// Bytes of an element in memory: 1, 2 or 4.
unsigned byteWidth(MatrixElement element);
inline bool isFloat(MatrixElement element) { return element <= MatrixElement::E5M2; }
inline bool isFp8(MatrixElement element) { return element == MatrixElement::E4M3 || element == MatrixElement::E5M2; }
/// The format of a floating-point element.
const FloatFormat &floatFormat(MatrixElement element);

enum class MatrixOrder : uint8_t {
  Consecutive, ///< Block i takes k from i * blockDepth on.
  PairsOfFour, ///< Two blocks: of every four consecutive k the first takes 0 and 1, the second 2 and 3.
};

struct MatrixModel {
  uint8_t blockDepth; ///< At most 32. An instruction with a smaller K has one block.
  uint8_t fractionBits;
  int16_t minExponent;
  uint8_t resultBits; ///< 23 or fewer for f32; f16 accumulators always have 10.
  MatrixOrder order;
  bool addsAfterwards; ///< The blocks start from 0, and the accumulator is added at the end, to nearest even.
};

/// The model of an instruction of depth `depth` on architecture `smVersion` (80, 86, 89, 90, ...).
MatrixModel matrixModel(unsigned smVersion, MatrixUnit unit, MatrixElement element, bool isHalfAccumulator,
                        unsigned depth);

/// A floating-point operand, taken apart: (-1)^isNegative * significand * 2^(exponent - mantissa bits of the format).
struct MatrixTerm {
  enum Kind : uint8_t { Finite, Infinite, NotANumber };
  int32_t exponent; ///< kZeroExponent for zero
  uint32_t significand;
  bool isNegative;
  Kind kind;
};
/// So small that no product with a zero ever sets the largest exponent.
constexpr int32_t kZeroExponent = -1000;

MatrixTerm matrixTerm(const FloatFormat &format, uint32_t bits);

/// One step of the model, in plain integer arithmetic: the accumulator's bits after `count` products of a and b (whose
/// formats have `mantissaBits` mantissa bits together, at most fractionBits of the model) are added to `accumulator`.
/// `accumulator` and the result are f32 bits, or f16 bits if `isHalf`.
uint32_t matrixStep(const MatrixModel &model, const MatrixTerm *a, const MatrixTerm *b, size_t count,
                    unsigned mantissaBits, uint32_t accumulator, bool isHalf);

/// Rounds sum * 2^exponent to an accumulator as step 4 says.
uint32_t matrixResult(const MatrixModel &model, int64_t sum, int exponent, bool isHalf);

/// The addition of `addsAfterwards`: x + y to nearest even, f32 or f16 bits.
uint32_t matrixAdd(uint32_t x, uint32_t y, bool isHalf);

} // namespace weft::emu

#endif // WEFT_EMULATOR_NUMERICS_MATRIXMODEL_H
