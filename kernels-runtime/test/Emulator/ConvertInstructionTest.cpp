// cvt and cvt.pack as kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pair of types with every rounding that PTX allows, in registers as wide as the types and wider; the packed
// forms; the modifiers. The oracle converts through long double and rounds by the definition of each mode.

#include "FloatOracle.h"
#include "LaneKernel.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft::emu::test;

namespace {

struct NumberType {
  const char *word;
  unsigned bytes;
  char kind; ///< 'u', 's' or 'f'
  int exponentBits = 0, mantissaBits = 0;
};
const NumberType kTypes[] = {{"u8", 1, 'u'},         {"u16", 2, 'u'},        {"u32", 4, 'u'},
                             {"u64", 8, 'u'},        {"s8", 1, 's'},         {"s16", 2, 's'},
                             {"s32", 4, 's'},        {"s64", 8, 's'},        {"f16", 2, 'f', 5, 10},
                             {"bf16", 2, 'f', 8, 7}, {"f32", 4, 'f', 8, 23}, {"f64", 8, 'f', 11, 52}};

uint64_t maskOf(unsigned bytes) { return bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (bytes * 8)) - 1; }

long double valueOf(const NumberType &type, uint64_t bits) {
  unsigned width = type.bytes * 8;
  bits &= maskOf(type.bytes);
  if (type.kind == 'u')
    return bits;
  if (type.kind == 's')
    return int64_t(bits << (64 - width)) >> (64 - width);
  int bias = (1 << (type.exponentBits - 1)) - 1, most = (1 << type.exponentBits) - 1;
  int exponent = int(bits >> type.mantissaBits & uint64_t(most));
  uint64_t mantissa = bits & ((uint64_t(1) << type.mantissaBits) - 1);
  long double value =
      exponent == most
          ? (mantissa ? std::numeric_limits<long double>::quiet_NaN() : std::numeric_limits<long double>::infinity())
      : exponent
          ? std::ldexp((long double)(mantissa | uint64_t(1) << type.mantissaBits), exponent - bias - type.mantissaBits)
          : std::ldexp((long double)mantissa, 1 - bias - type.mantissaBits);
  return bits >> (width - 1) ? -value : value;
}

long double roundWhole(long double value, char direction) {
  if (direction == 'z')
    return std::trunc(value);
  if (direction == 'm')
    return std::floor(value);
  return direction == 'p' ? std::ceil(value) : std::nearbyint(value);
}

/// A finite value in a floating-point type; overflow by the direction.
uint64_t encodeFloat(const NumberType &type, long double value, char direction) {
  unsigned width = type.bytes * 8;
  uint64_t sign = std::signbit(value) ? uint64_t(1) << (width - 1) : 0;
  long double magnitude = std::fabs(value);
  if (sign && (direction == 'm' || direction == 'p'))
    direction = direction == 'm' ? 'p' : 'm';
  int bias = (1 << (type.exponentBits - 1)) - 1;
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // In units of the last place of the result: a whole number after rounding; it may carry into the next exponent.
  uint64_t places = uint64_t(roundWhole(std::ldexp(magnitude, type.mantissaBits - exponent), direction));
  uint64_t bits = places + (uint64_t(exponent + bias - 1) << type.mantissaBits);
  uint64_t infinity = ((uint64_t(1) << type.exponentBits) - 1) << type.mantissaBits;
  if (bits >= infinity)
    bits = direction == 'z' || direction == 'm' ? infinity - 1 : infinity;
  return bits | sign;
}

bool isBfloat(const NumberType &type) { return type.kind == 'f' && type.bytes == 2 && type.exponentBits == 8; }

uint64_t convertOracle(const NumberType &to, const NumberType &from, uint64_t bits, char direction, bool toWhole) {
  long double value = valueOf(from, bits);
  unsigned width = to.bytes * 8;
  if (to.kind != 'f') {
    if (from.kind != 'f') {
      long double whole = valueOf(to, from.kind == 's' ? uint64_t(int64_t(value)) : uint64_t(value));
      return to.kind == 's' ? uint64_t(int64_t(whole)) : uint64_t(whole);
    }
    if (value != value)
      return from.bytes < 8 && to.bytes < 8 ? 0
             : to.kind == 's'               ? ~uint64_t(0) << (width - 1)
                                            : uint64_t(1) << (width - 1);
    long double low = to.kind == 's' ? -std::ldexp(1.0L, int(width) - 1) : 0,
                high = std::ldexp(1.0L, int(width) - (to.kind == 's')) - 1;
    value = std::isinf(value) ? value : roundWhole(value, direction);
    value = std::min(std::max(value, low), high);
    return to.kind == 's' ? uint64_t(int64_t(value)) : uint64_t(value);
  }
  uint64_t infinity = ((uint64_t(1) << to.exponentBits) - 1) << to.mantissaBits;
  if (value != value) {
    if (to.bytes != 8 && from.bytes != 8 && !(isBfloat(from) && to.bytes == 4))
      return maskOf(to.bytes) >> 1;
    if (isBfloat(from) && to.bytes == 4)
      return bits << 16 & 0xffffffff;
    // Sign and upper payload stay.
    uint64_t payload = (bits & ((uint64_t(1) << from.mantissaBits) - 1)) | uint64_t(1) << (from.mantissaBits - 1);
    int up = to.mantissaBits - from.mantissaBits;
    payload = up >= 0 ? payload << up : payload >> -up;
    return (bits >> (from.bytes * 8 - 1) & 1) << (width - 1) | infinity | payload;
  }
  if (std::isinf(value))
    return infinity | (value < 0 ? uint64_t(1) << (width - 1) : 0);
  if (toWhole)
    value = std::copysign(roundWhole(value, direction), value);
  return encodeFloat(to, value, toWhole ? 'n' : direction);
}

/// Operands of a type in the low bits, with noise above them when the register is wider.
Lanes operandsOf(const NumberType &type, unsigned registerBytes) {
  Lanes lanes;
  if (type.kind == 'f') {
    lanes = floatOperands(type.bytes, type.exponentBits == 8 && type.bytes == 2, 1, 192)[0];
    for (int i = 0; i < 128; ++i) { // numbers around the ends of the integers, whole and half
      long double value = std::ldexp((i % 2 ? -1.0L : 1.0L) * (1 + (i % 8) / 8.0L), i / 2) + (i % 3) / 2.0L;
      lanes.push_back(encodeFloat(type, value, 'n'));
    }
  } else {
    for (unsigned shift = 0; shift < type.bytes * 8; ++shift)
      for (uint64_t near : {uint64_t(0), uint64_t(1), ~uint64_t(0)})
        lanes.push_back(((uint64_t(1) << shift) + near));
    for (int i = 0; lanes.size() < 448; ++i)
      lanes.push_back(uint64_t(i + 1) * 0x9e3779b97f4a7c15 >> (i % 3 * 8));
  }
  while (lanes.size() % 64)
    lanes.push_back(lanes[lanes.size() % 7]);
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i] &= maskOf(type.bytes);
    if (registerBytes > type.bytes)
      lanes[i] |= (i * 0xbf58476d1ce4e5b9 | 1) << (type.bytes * 8) & maskOf(registerBytes);
  }
  return lanes;
}

unsigned registerBytes(const NumberType &type) { return std::max(type.bytes, 2u); }

void check(const NumberType &to, const NumberType &from, const std::string &modifiers, char direction, bool toWhole,
           unsigned wider) {
  unsigned in = std::max(registerBytes(from), wider), out = std::max(registerBytes(to), wider);
  std::string body = "cvt" + modifiers + "." + to.word + "." + from.word + " %d, %a;";
  Lanes operands = operandsOf(from, in);
  Lanes results = runLanes({body, {in}, {out}}, {operands})[0];
  for (size_t i = 0; i < operands.size(); ++i) {
    uint64_t expected = convertOracle(to, from, operands[i], direction, toWhole);
    ASSERT_EQ(results[i], expected & maskOf(to.kind == 's' ? out : to.bytes))
        << body << std::hex << " of 0x" << operands[i];
  }
}

} // namespace

TEST(ConvertInstruction, EveryPairOfTypes) {
  for (const NumberType &to : kTypes)
    for (const NumberType &from : kTypes) {
      bool isExact = to.kind == 'f' && from.kind == 'f' && to.mantissaBits >= from.mantissaBits &&
                     to.exponentBits >= from.exponentBits;
      if ((isBfloat(to) && from.bytes == 1) || (isBfloat(from) && to.bytes == 1))
        continue;
      if (to.kind != 'f' && from.kind != 'f') {
        check(to, from, "", 'n', false, 0);
        check(to, from, "", 'n', false, 8);
      } else if (isExact && &to != &from) {
        check(to, from, "", 'n', false, 0);
      } else if (!isExact) {
        for (char direction : {'n', 'z', 'm', 'p'})
          check(to, from, std::string(".r") + direction + (to.kind == 'f' ? "" : "i"), direction, false, 0);
      } else if (to.exponentBits != 8 || to.bytes != 2) {
        for (char direction : {'n', 'z', 'm', 'p'})
          check(to, from, std::string(".r") + direction + "i", direction, true, 0);
      }
      if (HasFatalFailure())
        return;
    }
}

TEST(ConvertInstruction, IntegersSaturate) {
  for (const NumberType &to : kTypes)
    for (const NumberType &from : kTypes) {
      bool holdsAll = to.kind == from.kind ? to.bytes >= from.bytes : to.kind == 's' && to.bytes > from.bytes;
      if (to.kind == 'f' || from.kind == 'f' || holdsAll)
        continue;
      std::string body = std::string("cvt.sat.") + to.word + "." + from.word + " %d, %a;";
      Lanes operands = operandsOf(from, registerBytes(from));
      Lanes results = runLanes({body, {registerBytes(from)}, {registerBytes(to)}}, {operands})[0];
      int width = int(to.bytes) * 8;
      __int128 low = to.kind == 's' ? -(__int128(1) << (width - 1)) : 0,
               high = (__int128(1) << (width - (to.kind == 's'))) - 1;
      for (size_t i = 0; i < operands.size(); ++i) {
        __int128 value = __int128(valueOf(from, operands[i]));
        ASSERT_EQ(results[i], uint64_t(std::min(std::max(value, low), high)) &
                                  maskOf(to.kind == 's' ? registerBytes(to) : to.bytes))
            << body;
      }
    }
}

namespace {

const NumberType &typeNamed(const std::string &word) {
  for (const NumberType &type : kTypes)
    if (word == type.word)
      return type;
  return kTypes[0];
}

/// The narrow conversions of f32: any format, saturating or not.
uint64_t narrow(const NumberType &to, uint64_t bits, char direction, bool isFinite, bool isRelu) {
  long double value = valueOf(typeNamed("f32"), bits);
  if (value != value)
    return maskOf(to.bytes) >> 1;
  if (isRelu && !(value > 0))
    value = 0;
  uint64_t infinity = ((uint64_t(1) << to.exponentBits) - 1) << to.mantissaBits, sign = uint64_t(1)
                                                                                        << (to.bytes * 8 - 1);
  uint64_t result = std::isinf(value) ? infinity | (value < 0 ? sign : 0) : encodeFloat(to, value, direction);
  return isFinite && (result & ~sign) == infinity ? (result & sign) | (infinity - 1) : result;
}

} // namespace

TEST(ConvertInstruction, NarrowWithModifiers) {
  Lanes a = operandsOf(typeNamed("f32"), 4), b(a.rbegin(), a.rend());
  for (const char *word : {"f16", "bf16"})
    for (char direction : {'n', 'z'})
      for (bool isRelu : {false, true})
        for (bool isFinite : {false, true}) {
          const NumberType &to = typeNamed(word);
          std::string modifiers =
              std::string(".r") + direction + (isRelu ? ".relu" : "") + (isFinite ? ".satfinite." : ".");
          const char *version = isFinite ? "8.1" : "8.0";
          Lanes single = runLanes({"cvt" + modifiers + word + ".f32 %d, %a;", {4}, {2}, version}, {a})[0];
          Lanes pair = runLanes({"cvt" + modifiers + word + "x2.f32 %d, %a, %b;", {4, 4}, {4}, version}, {a, b})[0];
          for (size_t i = 0; i < a.size(); ++i) {
            uint64_t high = narrow(to, a[i], direction, isFinite, isRelu),
                     low = narrow(to, b[i], direction, isFinite, isRelu);
            ASSERT_EQ(single[i], high) << modifiers << word << std::hex << " of 0x" << a[i];
            ASSERT_EQ(pair[i], high << 16 | low) << modifiers << word;
          }
        }
}

TEST(ConvertInstruction, Tf32) {
  Lanes a = operandsOf(typeNamed("f32"), 4);
  for (std::string mode : {"rna", "rn", "rz", "rn.relu", "rz.relu", "rna.satfinite"}) {
    bool isAway = mode[2] == 'a', isRelu = mode.find("relu") != std::string::npos,
         isFinite = mode.find("sat") != std::string::npos;
    Lanes out = runLanes({"cvt." + mode + ".tf32.f32 %d, %a;", {4}, {4}, isFinite ? "8.1" : "8.0"}, {a})[0];
    for (size_t i = 0; i < a.size(); ++i) {
      uint64_t magnitude = a[i] & 0x7fffffff, sign = a[i] & 0x80000000;
      uint64_t expected = magnitude <= 0x7f800000 ? 0
                          : isAway                ? (a[i] & 0xffffe000) - (isFinite ? 0x2000 : 0)
                                                  : 0x7fffe000;
      if (magnitude <= 0x7f800000) {
        // A tf32 is an f32 without 13 bits: rounding is an addition to its bits.
        uint64_t up = isAway ? 0x1000 : mode[1] == 'z' ? 0 : 0xfff + (magnitude >> 13 & 1);
        uint64_t rounded = magnitude == 0x7f800000 ? magnitude : (magnitude + up) & ~uint64_t(0x1fff);
        if (isFinite && rounded >= 0x7f800000)
          rounded = 0x7f7fe000;
        expected = isRelu && sign ? 0 : rounded | sign;
      }
      ASSERT_EQ(out[i], expected) << mode << std::hex << " of 0x" << a[i];
    }
  }
}

namespace {

/// e4m3 and e5m2 by the list of their values.
struct Fp8 {
  const char *word;
  int exponentBits, mantissaBits;
  uint32_t largest;
  std::vector<double> magnitudes;
  Fp8(const char *word, int exponentBits, int mantissaBits, uint32_t largest)
      : word(word), exponentBits(exponentBits), mantissaBits(mantissaBits), largest(largest) {
    for (uint32_t bits = 0; bits <= largest; ++bits) {
      int exponent = int(bits >> mantissaBits), bias = (1 << (exponentBits - 1)) - 1;
      int mantissa = int(bits & ((1u << mantissaBits) - 1));
      magnitudes.push_back(exponent ? std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits)
                                    : std::ldexp(mantissa, 1 - bias - mantissaBits));
    }
  }
  uint64_t nearest(long double value, bool isRelu) const {
    if (value != value)
      return 0x7f;
    if (isRelu && !(value > 0))
      return 0;
    uint64_t sign = std::signbit(value) ? 0x80 : 0;
    long double magnitude = std::fabs(value);
    if (magnitude >= magnitudes.back())
      return largest | sign;
    uint64_t best = 0;
    for (uint64_t i = 1; i < magnitudes.size(); ++i) {
      long double now = std::fabs(magnitude - magnitudes[i]), before = std::fabs(magnitude - magnitudes[best]);
      if (now < before || (now == before && i % 2 == 0))
        best = i;
    }
    return best | sign;
  }
};

} // namespace

TEST(ConvertInstruction, Fp8) {
  const Fp8 types[] = {Fp8("e4m3", 4, 3, 0x7e), Fp8("e5m2", 5, 2, 0x7b)};
  const NumberType &f32 = typeNamed("f32"), &f16 = typeNamed("f16");
  Lanes a = operandsOf(f32, 4);
  for (int i = 0; i < 1024; ++i) // around the values of both types and the middles between them
    a.push_back(
        encodeFloat(f32,
                    types[i % 2].magnitudes[i / 8 % types[i % 2].magnitudes.size()] * (1 + ((i / 2) % 4 - 1) * 0.0625L),
                    'n') |
        (i & 1024 ? 0x80000000 : 0));
  Lanes b(a.rbegin(), a.rend());
  for (const Fp8 &type : types)
    for (bool isRelu : {false, true}) {
      std::string head = std::string("cvt.rn.satfinite") + (isRelu ? ".relu." : ".") + type.word + "x2";
      Lanes out = runLanes({head + ".f32 %d, %a, %b;", {4, 4}, {2}}, {a, b})[0];
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(out[i], type.nearest(valueOf(f32, a[i]), isRelu) << 8 | type.nearest(valueOf(f32, b[i]), isRelu))
            << head << std::hex << " of 0x" << a[i] << " 0x" << b[i];
      Lanes halves;
      for (uint64_t bits = 0; bits < 0x10000; bits += 1) // every half
        halves.push_back(bits | (bits * 40503 & 0xffff) << 16);
      out = runLanes({head + ".f16x2 %d, %a;", {4}, {2}}, {halves})[0];
      for (size_t i = 0; i < halves.size(); ++i)
        ASSERT_EQ(out[i], type.nearest(valueOf(f16, halves[i] >> 16), isRelu) << 8 |
                              type.nearest(valueOf(f16, halves[i] & 0xffff), isRelu))
            << head << " of " << std::hex << halves[i];
      Lanes all;
      for (uint64_t bits = 0; bits < 0x10000; ++bits)
        all.push_back(bits);
      std::string back = std::string("cvt.rn") + (isRelu ? ".relu" : "") + ".f16x2." + type.word + "x2 %d, %a;";
      out = runLanes({back, {2}, {4}}, {all})[0];
      auto half = [&](uint64_t bits) -> uint64_t {
        uint64_t magnitude = bits & 0x7f, infinity = uint64_t(type.largest) + 1;
        bool isInfinite = type.exponentBits == 5 && magnitude == infinity;
        if (magnitude > type.largest && !isInfinite)
          return 0x7fff;
        if (isRelu && bits & 0x80)
          return 0;
        return (isInfinite ? 0x7c00 : encodeFloat(f16, type.magnitudes[magnitude], 'n')) | (bits & 0x80) << 8;
      };
      for (size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(out[i], half(all[i] >> 8) << 16 | half(all[i] & 0xff)) << back << std::hex << " of 0x" << all[i];
    }
}

TEST(ConvertInstruction, FlushAndSaturate) {
  const NumberType &f32 = typeNamed("f32");
  Lanes a = operandsOf(f32, 4);
  auto clamp = [](float value) { return !(value > 0) ? 0.0f : value > 1 ? 1.0f : value; };
  struct Form {
    const char *body;
    unsigned out;
  };
  for (const Form &form : {Form{"cvt.ftz.f32.f32 %d, %a;", 4}, Form{"cvt.sat.f32.f32 %d, %a;", 4},
                           Form{"cvt.ftz.sat.f32.f32 %d, %a;", 4}, Form{"cvt.rn.ftz.f16.f32 %d, %a;", 2},
                           Form{"cvt.rpi.ftz.s32.f32 %d, %a;", 4}, Form{"cvt.ftz.f64.f32 %d, %a;", 8}}) {
    std::string body = form.body;
    Lanes out = runLanes({body, {4}, {form.out}}, {a})[0];
    bool flushes = body.find("ftz") != std::string::npos, saturates = body.find("sat") != std::string::npos;
    for (size_t i = 0; i < a.size(); ++i) {
      float value = asFloat(a[i]);
      if (flushes)
        value = flushed(value);
      if (saturates)
        value = clamp(value);
      uint64_t expected = body.find("f16") != std::string::npos
                              ? narrow(typeNamed("f16"), bitsOf(value), 'n', false, false)
                          : body.find("s32") != std::string::npos
                              ? convertOracle(typeNamed("s32"), f32, bitsOf(value), 'p', false) & 0xffffffff
                          : form.out == 8 ? (std::isnan(value) ? 0x7fffffffe0000000 : bitsOf(double(value)))
                                          : bitsOf(value);
      ASSERT_EQ(out[i], expected) << body << std::hex << " of 0x" << a[i];
    }
  }
  Lanes doubles = floatOperands(8, false, 1)[0];
  for (int i = 0; i < 64; ++i)
    doubles.push_back(bitsOf(std::ldexp(1.0 + i / 64.0, -126 - i / 8)));
  Lanes out = runLanes({"cvt.rn.ftz.f32.f64 %d, %a;", {8}, {4}}, {doubles})[0];
  for (size_t i = 0; i < doubles.size(); ++i)
    ASSERT_EQ(out[i], std::isnan(asDouble(doubles[i])) ? (doubles[i] >> 32 & 0x80000000) | 0x7fc00000
                                                       : bitsOf(flushed(float(asDouble(doubles[i])))))
        << std::hex << doubles[i];
}

TEST(ConvertInstruction, Pack) {
  Lanes a, b, c;
  for (uint64_t i = 0; i < 256; ++i) {
    a.push_back(uint32_t((int64_t(i) - 128) * (i % 3 ? 1 : 300)));
    b.push_back(uint32_t((97 - int64_t(i)) * (i % 5 ? 1 : 70000)));
    c.push_back(uint32_t(i * 0x9e3779b9));
  }
  struct Form {
    const char *word;
    int bits;
    bool isSigned;
  };
  for (const Form &form : {Form{"u16", 16, false}, Form{"s16", 16, true}, Form{"u8", 8, false}, Form{"s8", 8, true},
                           Form{"u4", 4, false}, Form{"s4", 4, true}}) {
    bool hasThird = form.bits < 16;
    std::string body =
        std::string("cvt.pack.sat.") + form.word + (hasThird ? ".s32.b32 %d, %a, %b, %c;" : ".s32 %d, %a, %b;");
    std::vector<Lanes> operands = {a, b};
    if (hasThird)
      operands.push_back(c);
    Lanes out = runLanes({body, std::vector<unsigned>(operands.size(), 4), {4}}, operands)[0];
    int64_t low = form.isSigned ? -(int64_t(1) << (form.bits - 1)) : 0,
            high = (int64_t(1) << (form.bits - form.isSigned)) - 1;
    auto part = [&](uint64_t value) {
      return uint64_t(std::min(std::max(int64_t(int32_t(value)), low), high)) & ((uint64_t(1) << form.bits) - 1);
    };
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(out[i], ((hasThird ? c[i] << (2 * form.bits) : 0) | part(a[i]) << form.bits | part(b[i])) & 0xffffffff)
          << body;
  }
}

TEST(ConvertInstruction, Refusals) {
  for (auto [body, words] : {std::pair("cvt.rn.satfinite.e2m1x2.f32 %d, %a, %b;", "sm_100"),
                             std::pair("cvt.f16.f32 %d, %a;", ".rn"), std::pair("cvt.rn.u32.f32 %d, %a;", ".rni"),
                             std::pair("cvt.u32.f32 %d, %a;", ".rni"), std::pair("cvt.rn.f32.f16 %d, %a;", "exact")}) {
    LaneKernel kernel = {body, {4, 4}, {4}};
    EXPECT_NE(refusalOf(kernel).find(words), std::string::npos) << body << ": " << refusalOf(kernel);
  }
}
