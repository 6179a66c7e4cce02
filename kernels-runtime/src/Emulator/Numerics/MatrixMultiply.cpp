// D = A B + C on gathered tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model's step on eight columns at once, in 32-bit integer lanes. That the sum of a block fits 32 bits decides the
// layout: blockDepth products, each below 4 * 2^fractionBits, stay below 2^31 for every row of the model's table (the
// tightest is f16 on sm_90: 16 * 2047^2 * 2^5 = 2145387008); the accumulator is added in f64, where all is exact.
// Lanes with a NaN, an infinity or a subnormal result take the reference step.

#include "Emulator/Numerics/MatrixMultiply.h"

#include <algorithm>
#include <cmath>

namespace weft::emu {

namespace {

constexpr unsigned kLanes = 8;
// Conversions between vector types of one size keep the bits. GCC warns that such values are passed differently with
// and without AVX: here they are never passed, every function that takes one is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
using Lanes = int32_t __attribute__((vector_size(32)));
using FloatLanes = float __attribute__((vector_size(32)));
using DoubleLanes = double __attribute__((vector_size(64)));
using LongLanes = int64_t __attribute__((vector_size(64)));

/// An element of A: what the inner loop broadcasts.
struct Left {
  int32_t exponent;
  int32_t significand;
  int32_t sign; ///< 0 or -1
};

/// Eight columns of B at one k.
struct Right {
  Lanes exponent;
  Lanes significand; ///< Scaled so that a product has fractionBits bits after its point.
  Lanes sign;
};

/// Everything that is the same for all elements of D.
struct Plan {
  MatrixModel model;
  MatrixShape shape;
  MatrixOptions options;
  unsigned mantissaBits;          ///< Of an element of A and of B together.
  uint8_t order[kMaxMatrixDepth]; ///< k of the i-th product.
  const uint8_t *a;
  const uint8_t *b;
};

/// The operands of a strip of eight columns, and the room for a row.
struct Strip {
  Right right[kMaxMatrixDepth];
  Lanes special; ///< -1 where the column of B has a NaN or infinity.
  unsigned column;
};

} // namespace

static uint32_t loadElement(const uint8_t *base, size_t index, unsigned width) {
  uint32_t bits = 0;
  std::memcpy(&bits, base + index * width, width);
  return bits;
}

static MatrixTerm loadTerm(const Plan &plan, bool isB, size_t line, unsigned step) {
  MatrixElement element = isB ? plan.shape.b : plan.shape.a;
  uint32_t bits = loadElement(isB ? plan.b : plan.a, line * plan.shape.depth + plan.order[step], byteWidth(element));
  MatrixTerm term = matrixTerm(floatFormat(element), bits);
  term.isNegative ^= isB ? plan.options.negatesB : plan.options.negatesA;
  return term;
}

namespace {

/// A row of A or column of B in the order of the steps.
struct Line {
  int32_t exponent[kMaxMatrixDepth];
  int32_t significand[kMaxMatrixDepth];
  int32_t sign[kMaxMatrixDepth];
};

} // namespace

template <typename T> static void loadBits(const Plan &plan, const uint8_t *line, uint32_t *bits) {
  for (unsigned step = 0; step < plan.shape.depth; ++step) {
    T element;
    std::memcpy(&element, line + plan.order[step] * sizeof(T), sizeof(T));
    bits[step] = element;
  }
}

/// Takes a line apart as matrixTerm() does. True if it has a NaN or infinity.
static bool loadLine(const Plan &plan, bool isB, size_t index, Line &line) {
  MatrixElement element = isB ? plan.shape.b : plan.shape.a;
  const FloatFormat &format = floatFormat(element);
  unsigned width = byteWidth(element), depth = plan.shape.depth;
  const uint8_t *source = (isB ? plan.b : plan.a) + index * depth * width;
  uint32_t bits[kMaxMatrixDepth] = {};
  if (width == 1)
    loadBits<uint8_t>(plan, source, bits);
  else if (width == 2)
    loadBits<uint16_t>(plan, source, bits);
  else
    loadBits<uint32_t>(plan, source, bits);
  uint32_t signBit = format.signBit(), flip = (isB ? plan.options.negatesB : plan.options.negatesA) ? signBit : 0;
  int32_t hidden = 1 << format.mantissaBits, bias = format.bias(), special = 0;
  // The first magnitude, as a number, that is none.
  int32_t limit = int32_t((format.hasInfinity ? format.infinity() : format.nan) >> format.padding);
  constexpr unsigned kChunk = 8; // loops of a known length are vectorised
  for (unsigned first = 0; first < depth; first += kChunk)
    for (unsigned i = first; i < first + kChunk; ++i) {
      uint32_t word = bits[i] ^ flip;
      int32_t magnitude = int32_t((word & (signBit - 1)) >> format.padding);
      int32_t exponent = magnitude >> format.mantissaBits, mantissa = magnitude & (hidden - 1);
      line.significand[i] = exponent > 0 ? mantissa | hidden : mantissa;
      line.exponent[i] = magnitude == 0 ? kZeroExponent : (exponent > 0 ? exponent : 1) - bias;
      line.sign[i] = -int32_t((word & signBit) != 0);
      special |= magnitude >= limit;
    }
  return special != 0;
}

static void loadStrip(const Plan &plan, unsigned column, Strip &strip) {
  strip.column = column;
  unsigned scale = plan.model.fractionBits - plan.mantissaBits;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Line line;
    strip.special[lane] = -int32_t(loadLine(plan, true, column + lane, line));
    for (unsigned step = 0; step < plan.shape.depth; ++step) {
      strip.right[step].exponent[lane] = line.exponent[step];
      strip.right[step].significand[lane] = line.significand[step] << scale;
      strip.right[step].sign[lane] = line.sign[step];
    }
  }
}

/// True if the row of A has a NaN or infinity.
static bool loadRow(const Plan &plan, unsigned row, Left *left) {
  Line line;
  bool hasSpecial = loadLine(plan, false, row, line);
  for (unsigned step = 0; step < plan.shape.depth; ++step)
    left[step] = {line.exponent[step], line.significand[step], line.sign[step]};
  return hasSpecial;
}

static uint32_t referenceStep(const Plan &plan, unsigned row, unsigned column, unsigned firstStep,
                              uint32_t accumulator) {
  MatrixTerm a[kMaxMatrixDepth], b[kMaxMatrixDepth];
  for (unsigned i = 0; i < plan.model.blockDepth; ++i) {
    a[i] = loadTerm(plan, false, row, firstStep + i);
    b[i] = loadTerm(plan, true, column, firstStep + i);
  }
  return matrixStep(plan.model, a, b, plan.model.blockDepth, plan.mantissaBits, accumulator,
                    plan.options.isHalfAccumulator);
}

namespace {

/// The parts of eight accumulators.
struct AccumulatorLanes {
  Lanes exponent;
  Lanes magnitude; ///< In units of 2^(exponent - fractionBits), before alignment; dropping `drop` bits first.
  Lanes sign;
  Lanes special;
  int drop;
};

} // namespace

// The functions below are inlined into one caller for each instruction set.
#define WEFT_INLINE inline __attribute__((always_inline))

static WEFT_INLINE Lanes maximum(const Lanes &x, const Lanes &y) { return x > y ? x : y; }

/// magnitude >> shift for shifts of 0 and more; 31 drops every bit of a magnitude.
static WEFT_INLINE Lanes shiftRight(const Lanes &magnitude, const Lanes &shift) {
  return magnitude >> (shift < 31 ? shift : 31);
}

static WEFT_INLINE void splitAccumulators(const Plan &plan, const Lanes &bits, AccumulatorLanes &c) {
  const FloatFormat &format = plan.options.isHalfAccumulator ? kF16 : kF32;
  int mantissaBits = format.mantissaBits;
  int fullExponent = (1 << format.exponentBits) - 1;
  Lanes magnitude = bits & int32_t(format.signBit() - 1);
  Lanes exponent = magnitude >> mantissaBits;
  Lanes mantissa = magnitude & ((1 << mantissaBits) - 1);
  Lanes significand = mantissa | ((exponent != 0) & (1 << mantissaBits));
  c.special = exponent == fullExponent;
  c.exponent = (exponent > 0 ? exponent : 1) - format.bias();
  c.exponent = magnitude == 0 ? Lanes{} + kZeroExponent : c.exponent;
  int scale = int(plan.model.fractionBits) - mantissaBits;
  c.drop = scale < 0 ? -scale : 0;
  c.magnitude = scale < 0 ? significand : significand << scale;
  c.sign = (bits & int32_t(format.signBit())) != 0;
}

static WEFT_INLINE bool anyLane(const Lanes &mask) {
  uint64_t words[4];
  std::memcpy(words, &mask, sizeof(words));
  return (words[0] | words[1] | words[2] | words[3]) != 0;
}

/// One block for eight columns: the accumulators after it. Lanes of `slow` need the reference.
static WEFT_INLINE Lanes stepLanes(const Plan &plan, const Left *left, const Right *right, const Lanes &bits,
                                   Lanes &slow) {
  AccumulatorLanes c;
  splitAccumulators(plan, bits, c);
  Lanes largest = maximum(c.exponent, Lanes{} + int32_t(plan.model.minExponent));
  unsigned count = plan.model.blockDepth;
  for (unsigned i = 0; i < count; ++i)
    largest = maximum(largest, right[i].exponent + left[i].exponent);
  Lanes sum = {};
  for (unsigned i = 0; i < count; ++i) {
    Lanes shift = (largest - left[i].exponent) - right[i].exponent;
    Lanes product = shiftRight(right[i].significand * left[i].significand, shift);
    Lanes sign = right[i].sign ^ left[i].sign;
    sum += (product ^ sign) - sign;
  }
  Lanes own = shiftRight(c.magnitude, largest - c.exponent + c.drop);
  own = (own ^ c.sign) - c.sign;
  DoubleLanes total = __builtin_convertvector(sum, DoubleLanes) + __builtin_convertvector(own, DoubleLanes);
  LongLanes scale = __builtin_convertvector(largest + (1023 - int(plan.model.fractionBits)), LongLanes) << 52;
  total *= DoubleLanes(scale);
  slow |= c.special;
  if (plan.options.isHalfAccumulator) {
    Lanes result;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = int32_t(encode(kF16, total[lane], Rounding::NearestEven));
    return result;
  }
  // Truncation drops low bits of the f64; what is left is an f32, unless it is below the normal numbers.
  LongLanes truncated = LongLanes(total) & -(int64_t(1) << (52 - plan.model.resultBits));
  FloatLanes result = __builtin_convertvector(DoubleLanes(truncated), FloatLanes);
  Lanes magnitude = Lanes(result) & 0x7fffffff;
  // The smallest normal number included: the conversion may have rounded up to it.
  slow |= (magnitude <= 0x00800000) & ((sum != 0) | (own != 0));
  // An exact zero is +0, whatever the terms were.
  return magnitude == 0 ? Lanes{} : Lanes(result);
}

static WEFT_INLINE Lanes addLanes(const Lanes &x, const Lanes &y, bool isHalf) {
  Lanes result;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = int32_t(matrixAdd(uint32_t(x[lane]), uint32_t(y[lane]), isHalf));
  return result;
}

static WEFT_INLINE void multiplyStrip(const Plan &plan, const Left *left, const bool *isSpecialRow, const Strip &strip,
                                      uint32_t *d) {
  const MatrixShape &shape = plan.shape;
  int32_t mask = plan.options.isHalfAccumulator ? 0xffff : -1;
  for (unsigned row = 0; row < shape.rows; ++row) {
    uint32_t *target = d + size_t(row) * shape.columns + strip.column;
    Lanes before = {};
    if (!plan.options.startsAtZero)
      std::memcpy(&before, target, sizeof(before));
    before &= mask;
    Lanes value = plan.model.addsAfterwards ? Lanes{} : before;
    for (unsigned step = 0; step < shape.depth; step += plan.model.blockDepth) {
      Lanes slow = isSpecialRow[row] ? Lanes{} - 1 : strip.special;
      Lanes next = stepLanes(plan, left + size_t(row) * shape.depth + step, strip.right + step, value, slow);
      if (__builtin_expect(anyLane(slow), 0))
        for (unsigned lane = 0; lane < kLanes; ++lane)
          if (slow[lane])
            next[lane] = int32_t(referenceStep(plan, row, strip.column + lane, step, uint32_t(value[lane])));
      value = next;
    }
    if (plan.model.addsAfterwards)
      value = addLanes(before, value, plan.options.isHalfAccumulator);
    std::memcpy(target, &value, sizeof(value));
  }
}

using StripFunction = void (*)(const Plan &, const Left *, const bool *, const Strip &, uint32_t *);

static void multiplyStripPortable(const Plan &plan, const Left *left, const bool *isSpecialRow, const Strip &strip,
                                  uint32_t *d) {
  multiplyStrip(plan, left, isSpecialRow, strip, d);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void
multiplyStripAvx2(const Plan &plan, const Left *left, const bool *isSpecialRow, const Strip &strip, uint32_t *d) {
  multiplyStrip(plan, left, isSpecialRow, strip, d);
}
#endif

static StripFunction stripFunction() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2"))
    return multiplyStripAvx2;
#endif
  return multiplyStripPortable;
}

static void fillOrder(Plan &plan) {
  unsigned depth = plan.shape.depth;
  for (unsigned i = 0; i < depth; ++i) {
    unsigned block = i / plan.model.blockDepth, within = i % plan.model.blockDepth;
    plan.order[i] = uint8_t(plan.model.order == MatrixOrder::PairsOfFour ? within / 2 * 4 + block * 2 + within % 2 : i);
  }
}

/// 8-bit integers: exact in 64 bits, then clamped or wrapped.
static void multiplyIntegers(const MatrixShape &shape, const MatrixOptions &options, const uint8_t *a, const uint8_t *b,
                             uint32_t *d) {
  auto load = [](MatrixElement element, uint8_t byte) {
    return element == MatrixElement::S8 ? int32_t(int8_t(byte)) : int32_t(byte);
  };
  for (unsigned column = 0; column < shape.columns; ++column) {
    int32_t right[kMaxMatrixDepth];
    for (unsigned k = 0; k < shape.depth; ++k)
      right[k] = load(shape.b, b[size_t(column) * shape.depth + k]);
    for (unsigned row = 0; row < shape.rows; ++row) {
      int32_t dot = 0; // at most 64 * 2^16
      for (unsigned k = 0; k < shape.depth; ++k)
        dot += load(shape.a, a[size_t(row) * shape.depth + k]) * right[k];
      uint32_t &target = d[size_t(row) * shape.columns + column];
      int64_t sum = int64_t(dot) + (options.startsAtZero ? 0 : int32_t(target));
      if (options.isSaturating)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      target = uint32_t(sum);
    }
  }
}

void multiplyMatrices(const MatrixModel &model, const MatrixShape &shape, const MatrixOptions &options,
                      const uint8_t *a, const uint8_t *b, uint32_t *d) {
  if (!isFloat(shape.a))
    return multiplyIntegers(shape, options, a, b, d);
  Plan plan = {model, shape, options, 0, {}, a, b};
  plan.mantissaBits = unsigned(floatFormat(shape.a).mantissaBits) + floatFormat(shape.b).mantissaBits;
  fillOrder(plan);
  constexpr unsigned kMaxRows = 64;
  Left left[kMaxRows * kMaxMatrixDepth];
  bool isSpecialRow[kMaxRows];
  for (unsigned row = 0; row < shape.rows; ++row)
    isSpecialRow[row] = loadRow(plan, row, left + size_t(row) * shape.depth);
  StripFunction multiply = stripFunction();
  Strip strip;
  for (unsigned column = 0; column < shape.columns; column += kLanes) {
    loadStrip(plan, column, strip);
    multiply(plan, left, isSpecialRow, strip, d);
  }
}

void multiplyMatricesF64(unsigned rows, unsigned columns, unsigned depth, const double *a, const double *b, double *d) {
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned column = 0; column < columns; ++column) {
      double sum = d[size_t(row) * columns + column];
      for (unsigned k = 0; k < depth; ++k)
        sum = std::fma(a[size_t(row) * depth + k], b[size_t(column) * depth + k], sum);
      d[size_t(row) * columns + column] = sum;
    }
  }
}

void multiplyMatricesB1(unsigned rows, unsigned columns, unsigned depth, bool isXor, const uint32_t *a,
                        const uint32_t *b, uint32_t *d) {
  unsigned words = depth / 32;
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned column = 0; column < columns; ++column) {
      uint32_t count = 0;
      for (unsigned word = 0; word < words; ++word) {
        uint32_t x = a[size_t(row) * words + word], y = b[size_t(column) * words + word];
        count += uint32_t(__builtin_popcount(isXor ? x ^ y : x & y));
      }
      d[size_t(row) * columns + column] += count;
    }
  }
}

} // namespace weft::emu
