// Arithmetic of f16 and bf16 as kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// add, sub, mul and fma of single and packed halves with every modifier. The oracle finds the half nearest to the exact
// result in the sorted list of all halves; it decodes them with ldexp.

#include "FloatOracle.h"
#include "LaneKernel.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft::emu::test;

namespace {

/// A 16-bit format, by its table of magnitudes.
class HalfType {
public:
  HalfType(int exponentBits, int mantissaBits)
      : mantissaBits(mantissaBits), infinity(((1 << exponentBits) - 1) << mantissaBits) {
    int bias = (1 << (exponentBits - 1)) - 1;
    for (uint32_t bits = 0; bits < infinity; ++bits) {
      int exponent = int(bits >> mantissaBits), mantissa = int(bits & ((1u << mantissaBits) - 1));
      magnitudes.push_back(exponent ? std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits)
                                    : std::ldexp(mantissa, 1 - bias - mantissaBits));
    }
  }
  double value(uint64_t bits) const {
    uint32_t magnitude = bits & 0x7fff;
    double value = magnitude > infinity    ? std::numeric_limits<double>::quiet_NaN()
                   : magnitude == infinity ? std::numeric_limits<double>::infinity()
                                           : magnitudes[magnitude];
    return bits & 0x8000 ? -value : value;
  }
  bool isSubnormal(uint64_t bits) const { return (bits & 0x7fff) != 0 && (bits & 0x7fff) >> mantissaBits == 0; }
  uint64_t one() const {
    return uint64_t(std::lower_bound(magnitudes.begin(), magnitudes.end(), 1.0) - magnitudes.begin());
  }
  /// The nearest half of an exact value that is not zero.
  uint64_t nearest(Wide exact) const {
    Wide magnitude = exact < 0 ? -exact : exact;
    size_t above = size_t(std::upper_bound(magnitudes.begin(), magnitudes.end(), magnitude,
                                           [](Wide x, double y) { return x < Wide(y); }) -
                          magnitudes.begin());
    Wide low = magnitudes[above - 1];
    Wide high = above < magnitudes.size() ? Wide(magnitudes[above]) : low + (low - Wide(magnitudes[above - 2]));
    Wide toLow = magnitude - low, toHigh = high - magnitude;
    uint64_t bits = toHigh < toLow || (toHigh == toLow && (above - 1) % 2 == 1) ? above : above - 1;
    return bits | (exact < 0 ? 0x8000 : 0);
  }

private:
  int mantissaBits;
  uint32_t infinity;
  std::vector<double> magnitudes;
};

const HalfType &f16() {
  static const HalfType type(5, 10);
  return type;
}
const HalfType &bf16() {
  static const HalfType type(8, 7);
  return type;
}

struct Modes {
  bool flushes = false, saturates = false, isRelu = false;
};

uint64_t compute(const HalfType &type, char op, Modes modes, uint64_t a, uint64_t b, uint64_t c) {
  if (modes.flushes)
    for (uint64_t *bits : {&a, &b, &c})
      *bits = type.isSubnormal(*bits) ? *bits & 0x8000 : *bits;
  double x = type.value(a), y = type.value(b), z = type.value(c);
  double plain = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : std::fma(x, y, z);
  uint64_t bits;
  if (plain != plain) {
    bits = 0x7fff;
  } else if (std::isinf(plain)) {
    bits = (plain < 0 ? 0x8000 : 0) | type.one() / type.one() * (&type == &f16() ? 0x7c00 : 0x7f80);
  } else {
    // bf16: a term 2^-70 or less of another only says on which side of it the result is.
    Wide product = Wide(x) * Wide(y), other = op == '+'   ? Wide(y)
                                              : op == '-' ? -Wide(y)
                                              : op == '*' ? Wide(0)
                                                          : Wide(z);
    Wide first = op == '+' || op == '-' ? Wide(x) : product;
    Wide big = first * first < other * other ? other : first, small = first * first < other * other ? first : other;
    Wide least = (big < 0 ? -big : big) * Wide(0x1p-60);
    if (small != 0 && (small < 0 ? -small : small) < least)
      small = small < 0 ? -least : least;
    Wide exact = big + small;
    bits = exact == 0 ? (std::signbit(plain) ? 0x8000 : 0) : type.nearest(exact);
  }
  bool isNan = bits == 0x7fff;
  if (modes.flushes && type.isSubnormal(bits))
    bits &= 0x8000;
  if (modes.saturates)
    bits = isNan || bits & 0x8000 ? 0 : std::min(bits, type.one());
  if (modes.isRelu && !isNan && bits & 0x8000)
    bits = 0;
  return bits;
}

void check(const std::string &name, char op, bool isBfloat, Modes modes, const char *modifiers) {
  unsigned sources = op == 'f' ? 3 : 2;
  std::vector<Lanes> operands = floatOperands(2, isBfloat, sources);
  const HalfType &type = isBfloat ? bf16() : f16();
  std::string arguments = sources == 3 ? " %d, %a, %b, %c;" : " %d, %a, %b;";
  std::string word = isBfloat ? ".bf16" : ".f16";
  auto third = [&](size_t i) { return sources == 3 ? operands[2][i] : 0; };
  std::vector<Lanes> single =
      runLanes({name + modifiers + word + arguments, std::vector<unsigned>(sources, 2), {2}}, operands);
  for (size_t i = 0; i < operands[0].size(); ++i)
    ASSERT_EQ(single[0][i], compute(type, op, modes, operands[0][i], operands[1][i], third(i)))
        << name << modifiers << word << std::hex << " of 0x" << operands[0][i] << " 0x" << operands[1][i] << " 0x"
        << third(i);
  // Packed: element i below, element n - 1 - i above.
  size_t n = operands[0].size();
  std::vector<Lanes> packed(sources, Lanes(n));
  for (unsigned k = 0; k < sources; ++k)
    for (size_t i = 0; i < n; ++i)
      packed[k][i] = operands[k][i] | operands[k][n - 1 - i] << 16;
  std::vector<Lanes> both =
      runLanes({name + modifiers + word + "x2" + arguments, std::vector<unsigned>(sources, 4), {4}}, packed);
  for (size_t i = 0; i < n; ++i)
    ASSERT_EQ(both[0][i], single[0][i] | single[0][n - 1 - i] << 16) << name << modifiers << word << "x2";
}

} // namespace

TEST(HalfInstruction, AddSubMul) {
  struct Op {
    const char *name;
    char op;
  };
  for (Op op : {Op{"add", '+'}, Op{"sub", '-'}, Op{"mul", '*'}}) {
    check(op.name, op.op, false, {}, "");
    check(op.name, op.op, false, {}, ".rn");
    check(op.name, op.op, false, {true, false, false}, ".rn.ftz");
    check(op.name, op.op, false, {false, true, false}, ".rn.sat");
    check(op.name, op.op, false, {true, true, false}, ".rn.ftz.sat");
    check(op.name, op.op, true, {}, ".rn");
    if (HasFatalFailure())
      return;
  }
}

TEST(HalfInstruction, FusedMultiplyAdd) {
  check("fma", 'f', false, {}, ".rn");
  check("fma", 'f', false, {true, false, false}, ".rn.ftz");
  check("fma", 'f', false, {false, true, false}, ".rn.sat");
  check("fma", 'f', false, {false, false, true}, ".rn.relu");
  check("fma", 'f', false, {true, false, true}, ".rn.ftz.relu");
  check("fma", 'f', true, {}, ".rn");
  check("fma", 'f', true, {false, false, true}, ".rn.relu");
}

TEST(HalfInstruction, SpecialFunctions) {
  struct Form {
    const char *body;
    bool isBfloat, isPacked;
    double (*exact)(double);
    double relative;
    double units, difference; ///< Of GPU and emulator: the GPU's documented error and one unit.
  };
  // The manual's errors: relative ones of 2^-9.9 and 2^-7 of ex2, absolute ones of 2^-10.987 and 2^-8 of tanh.
  auto ex2 = [](double x) { return std::exp2(x); };
  auto tanh = [](double x) { return std::tanh(x); };
  for (const Form &form : {Form{"ex2.approx.f16", false, false, ex2, 0x1p-9, 3, 0},
                           Form{"ex2.approx.f16x2", false, true, ex2, 0x1p-9, 3, 0},
                           Form{"ex2.approx.ftz.bf16", true, false, ex2, 0x1p-7, 3, 0},
                           Form{"ex2.approx.ftz.bf16x2", true, true, ex2, 0x1p-7, 3, 0},
                           Form{"tanh.approx.f16", false, false, tanh, 0x1p-9, 1, 0x1p-10},
                           Form{"tanh.approx.f16x2", false, true, tanh, 0x1p-9, 1, 0x1p-10},
                           Form{"tanh.approx.bf16", true, false, tanh, 0x1p-7, 1, 0x1p-7},
                           Form{"tanh.approx.bf16x2", true, true, tanh, 0x1p-7, 1, 0x1p-7}}) {
    const HalfType &type = form.isBfloat ? bf16() : f16();
    Lanes in;
    for (int i = 0; i < 128; ++i)
      in.push_back(type.nearest(Wide((i - 64) / 16.0 + 0.03125)));
    Lanes packed = in;
    if (form.isPacked)
      for (int i = 0; i < 128; ++i)
        packed[i] |= in[127 - i] << 16;
    unsigned bytes = form.isPacked ? 4 : 2;
    Lanes out = runLanes({std::string(form.body) + " %d, %a;",
                          {bytes},
                          {bytes},
                          "8.0",
                          {form.isBfloat ? "bf16" : "f16", form.units, form.difference}},
                         {packed})[0];
    for (int i = 0; i < 128; ++i) {
      double low = form.exact(type.value(in[i])), high = form.exact(type.value(in[127 - i]));
      EXPECT_NEAR(type.value(out[i] & 0xffff), low, std::fabs(low) * form.relative) << form.body;
      if (form.isPacked) {
        EXPECT_NEAR(type.value(out[i] >> 16), high, std::fabs(high) * form.relative) << form.body;
      }
    }
  }
}

TEST(HalfInstruction, Refusals) {
  LaneKernel bfloat = {"add.rn.sat.bf16 %d, %a, %b;", {2, 2}, {2}},
             oob = {"fma.rn.oob.f16 %d, %a, %b, %c;", {2, 2, 2}, {2}, "8.1"};
  EXPECT_NE(refusalOf(bfloat).find("bf16"), std::string::npos) << refusalOf(bfloat);
  EXPECT_NE(refusalOf(oob).find(".oob"), std::string::npos) << refusalOf(oob);
}
