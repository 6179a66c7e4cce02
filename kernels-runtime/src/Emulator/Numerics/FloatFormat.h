// Narrow floating-point formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16, bf16, tf32, e4m3, e5m2: exact decoding, and encoding from f64 in every rounding mode (any f32 is an f64, so one
// function rounds once from both). Beside the general functions stand inline ones for the common conversions, without
// branches, so that loops over lanes vectorise.
//
// NaN. PTX leaves most payloads open; here they are those of an H100 (driver 580.159, 2026-11-21), on which every NaN
// of f16 and bf16 and thousands of f32 and f64 were tried. "Quieted" is with the mantissa's highest bit set, sign and
// payload kept:
//   - Results of f16, bf16 and f32 arithmetic, of abs and neg too, are the format's `nan`: +, all mantissa bits set.
//   - f64 arithmetic hands on an operand's NaN, quieted: of several, add, sub, mul, min and max take the second, fma
//     the second before the third before the first, div the first. abs and neg quiet and leave the sign. A NaN made
//     of numbers is 0xfff8000000000000.
//   - cvt to f64 widens the payload and quiets; with .ftz the f32 is made canonical first. cvt from f64 quiets and
//     cuts the payload. bf16 to f32 appends zeros and does not quiet. A cvt that changes nothing is a move. Other
//     conversions give the target's `nan`, those from f64 to whole numbers the quieted operand.
//   - cvt to tf32 gives 0x7fffe000, but .rna clears the 13 low bits, and .rna.satfinite subtracts 0x2000 from that
//     (as it does from infinity).
//
// .ftz. A result is flushed when it is subnormal after it was rounded as if exponents had no end: what rounds to the
// smallest normal number only because subnormals are spaced wider is flushed (isTiny). Measured likewise.
#ifndef WEFT_EMULATOR_NUMERICS_FLOATFORMAT_H
#define WEFT_EMULATOR_NUMERICS_FLOATFORMAT_H

#include <cstdint>
#include <cstring>

namespace weft::emu {

enum class Rounding : uint8_t {
  NearestEven, ///< .rn
  Zero,        ///< .rz
  Down,        ///< .rm: towards minus infinity
  Up,          ///< .rp: towards plus infinity
  NearestAway, ///< .rna: ties away from zero
};

template <typename To, typename From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits of equal sizes");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// A binary format: sign, exponent, mantissa from the top, in the low bits of a word, then `padding` zero bits.
struct FloatFormat {
  uint8_t exponentBits;
  uint8_t mantissaBits;
  uint8_t padding;
  bool hasInfinity; ///< False for e4m3, whose largest exponent holds numbers and one NaN.
  uint32_t nan;     ///< The canonical NaN.
  uint32_t largest; ///< The largest finite number.

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint32_t signBit() const { return 1u << (exponentBits + mantissaBits + padding); }
  uint32_t infinity() const { return ((1u << exponentBits) - 1) << (mantissaBits + padding); }
};

extern const FloatFormat kF16;
extern const FloatFormat kBF16;
extern const FloatFormat kTF32; ///< An f32 whose 13 low bits are zero.
extern const FloatFormat kF32;
extern const FloatFormat kE4M3;
extern const FloatFormat kE5M2;

/// The value of `bits`; padding bits are ignored. Exact. NaNs become the host's quiet NaN.
double decode(const FloatFormat &format, uint32_t bits);

/// Rounds once. Overflow follows IEEE (infinity, or the largest number when the mode rounds towards zero there); with
/// `isSaturating`, or where there is no infinity, every number beyond the largest, infinities too, becomes the largest.
uint32_t encode(const FloatFormat &format, double value, Rounding rounding, bool isSaturating = false);

/// Whether .ftz flushes a result of f32 or f16 that was rounded to the smallest normal number, in magnitude. `value` is
/// the exact result or a rounding of it to f64: to odd, or towards zero if `rounding` is to nearest, else by
/// `rounding`.
bool isTiny(const FloatFormat &format, double value, Rounding rounding);

constexpr uint32_t kNanF32 = 0x7fffffff;
constexpr uint16_t kNanF16 = 0x7fff;
constexpr uint16_t kNanBF16 = 0x7fff;

/// f32 bits to f16 bits, to nearest even.
inline uint16_t halfFromFloatBits(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fffffffu;
  // Below 2^-14 an addition of 0.5 aligns the last bit of an f16 subnormal with the f32's last bit and rounds there.
  uint32_t small = bitCast<uint32_t>(bitCast<float>(magnitude) + 0.5f) - 0x3f000000u;
  // Otherwise rebias; the carry of the rounding goes into the exponent, up to infinity.
  uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1)) >> 13;
  uint32_t result = magnitude < 0x38800000u ? small : magnitude >= 0x47800000u ? 0x7c00u : normal;
  result |= (bits >> 16) & 0x8000u;
  return uint16_t(magnitude > 0x7f800000u ? kNanF16 : result);
}

/// f16 bits to f32 bits, exact; NaN to kNanF32.
inline uint32_t floatBitsFromHalf(uint16_t half) {
  uint32_t magnitude = half & 0x7fffu;
  uint32_t shifted = magnitude << 13;
  uint32_t normal = shifted + 0x38000000u;
  // A subnormal is m * 2^-24: as the mantissa of a number in [2^-14, 2^-13), less 2^-14.
  uint32_t small = bitCast<uint32_t>(bitCast<float>(shifted + 0x38800000u) - bitCast<float>(0x38800000u));
  uint32_t result = magnitude < 0x0400u ? small : magnitude >= 0x7c00u ? 0x7f800000u : normal;
  result |= uint32_t(half & 0x8000u) << 16;
  return magnitude > 0x7c00u ? kNanF32 : result;
}

/// f32 bits to bf16 bits, to nearest even.
inline uint16_t bfloatFromFloatBits(uint32_t bits) {
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? kNanBF16 : rounded);
}

/// bf16 bits to f32 bits, exact; NaN with its payload.
inline uint32_t floatBitsFromBfloat(uint16_t bfloat) { return uint32_t(bfloat) << 16; }

} // namespace weft::emu

#endif // WEFT_EMULATOR_NUMERICS_FLOATFORMAT_H
