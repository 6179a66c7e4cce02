// add, sub, mul, mad, div and their kin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic wraps. Where PTX leaves a result open, it is what GPUs give: division by zero has a quotient of all ones
// and leaves the dividend as remainder. Instructions with a carry are in IntegerCarry.cpp.
#include "Emulator/Exec/Binder.h"
#include "Emulator/Ops/IntegerCarry.h"
#include "Emulator/Ops/Lanes.h"

#include <limits>

using namespace weft;
using namespace weft::emu;

namespace {

constexpr TypeSet kSigned = {Type::S16, Type::S32, Type::S64};
constexpr TypeSet kIntegers = kSigned | TypeSet{Type::U16, Type::U32, Type::U64};
constexpr TypeSet kPacked = {Type::U16x2, Type::S16x2};

/// The type in which products and sums of T do not overflow as C++ sees it: never a signed one.
template <typename T> using Wrapping = std::common_type_t<std::make_unsigned_t<T>, uint32_t>;

template <typename T> struct WiderOf;
template <> struct WiderOf<uint16_t> {
  using type = uint32_t;
};
template <> struct WiderOf<int16_t> {
  using type = int32_t;
};
template <> struct WiderOf<uint32_t> {
  using type = uint64_t;
};
template <> struct WiderOf<int32_t> {
  using type = int64_t;
};
template <> struct WiderOf<uint64_t> {
  using type = unsigned __int128;
};
template <> struct WiderOf<int64_t> {
  using type = __int128;
};
template <typename T> using Wider = typename WiderOf<T>::type;

struct Add {
  template <typename T> static T apply(T a, T b) { return T(Wrapping<T>(a) + Wrapping<T>(b)); }
};
struct Subtract {
  template <typename T> static T apply(T a, T b) { return T(Wrapping<T>(a) - Wrapping<T>(b)); }
};
struct MultiplyLow {
  template <typename T> static T apply(T a, T b) { return T(Wrapping<T>(a) * Wrapping<T>(b)); }
};
struct MultiplyHigh {
  template <typename T> static T apply(T a, T b) { return T(Wider<T>(a) * Wider<T>(b) >> (8 * sizeof(T))); }
};
struct MultiplyWide {
  template <typename T> static Wider<T> apply(T a, T b) { return Wider<T>(a) * Wider<T>(b); }
};
struct MadLow {
  template <typename T> static T apply(T a, T b, T c) { return Add::apply(MultiplyLow::apply(a, b), c); }
};
struct MadHigh {
  template <typename T> static T apply(T a, T b, T c) { return Add::apply(MultiplyHigh::apply(a, b), c); }
};
struct MadWide {
  template <typename T, typename W> static W apply(T a, T b, W c) { return Add::apply(W(Wider<T>(a) * b), c); }
};
struct Divide {
  template <typename T> static T apply(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if (std::is_signed_v<T> && b == T(-1))
      return Subtract::apply(T(0), a);
    return T(a / b);
  }
};
struct Remainder {
  template <typename T> static T apply(T a, T b) {
    if (b == 0)
      return a;
    return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
  }
};
struct Least {
  template <typename T> static T apply(T a, T b) { return a < b ? a : b; }
};
struct Greatest {
  template <typename T> static T apply(T a, T b) { return a < b ? b : a; }
};
/// |a - b| + c
struct AbsoluteDifference {
  template <typename T> static T apply(T a, T b, T c) {
    return Add::apply(a < b ? Subtract::apply(b, a) : Subtract::apply(a, b), c);
  }
};
struct Absolute {
  template <typename T> static T apply(T a) { return a < 0 ? Subtract::apply(T(0), a) : a; }
};
struct Negate {
  template <typename T> static T apply(T a) { return Subtract::apply(T(0), a); }
};

int32_t saturate(int64_t value) {
  constexpr int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  return int32_t(value < low ? low : value > high ? high : value);
}
struct AddSaturated {
  static int32_t apply(int32_t a, int32_t b) { return saturate(int64_t(a) + b); }
};
struct SubtractSaturated {
  static int32_t apply(int32_t a, int32_t b) { return saturate(int64_t(a) - b); }
};
struct MadHighSaturated {
  static int32_t apply(int32_t a, int32_t b, int32_t c) { return saturate((int64_t(a) * b >> 32) + c); }
};
/// .relu: negative results become zero.
template <typename Op> struct Relu {
  template <typename T> static T apply(T a, T b) { return Greatest::apply(Op::apply(a, b), T(0)); }
};

/// Op on both 16-bit halves; T: the type of a half.
template <typename Op, typename T> struct Halves {
  static uint32_t apply(uint32_t a, uint32_t b) {
    uint16_t low = uint16_t(Op::apply(T(a), T(b))), high = uint16_t(Op::apply(T(a >> 16), T(b >> 16)));
    return uint32_t(high) << 16 | low;
  }
};
template <typename Op> RunFunction packedByType(Type type) {
  return type == Type::S16x2 ? runBinary<uint32_t, uint32_t, uint32_t, Halves<Op, int16_t>>
                             : runBinary<uint32_t, uint32_t, uint32_t, Halves<Op, uint16_t>>;
}

/// mul24 and mad24: operands are the low 24 bits, sign extended for s32.
int64_t low24(int32_t a) { return int32_t(uint32_t(a) << 8) >> 8; }
int64_t low24(uint32_t a) { return a & 0xffffff; }
struct Multiply24Low {
  template <typename T> static T apply(T a, T b) { return T(uint64_t(low24(a) * low24(b))); }
};
struct Multiply24High {
  template <typename T> static T apply(T a, T b) { return T(uint64_t(low24(a) * low24(b)) >> 16); }
};
template <typename Op> struct ThenAdd {
  template <typename T> static T apply(T a, T b, T c) { return Add::apply(Op::apply(a, b), c); }
};
struct Mad24HighSaturated {
  static int32_t apply(int32_t a, int32_t b, int32_t c) { return saturate(int64_t(Multiply24High::apply(a, b)) + c); }
};

void bindBinary(Binder &b, Type type, RunFunction run) {
  b.operands(3);
  b.def(0, type), b.use(1, type), b.use(2, type);
  b.run(run);
}

void bindTernary(Binder &b, Type type, RunFunction run) {
  b.operands(4);
  b.def(0, type), b.use(1, type), b.use(2, type), b.use(3, type);
  b.run(run);
}

void bindAdd(Binder &b) {
  if (b.accept("cc"))
    return bindCarryAdd(b, carry_flag::Out);
  if (b.accept("sat"))
    return bindBinary(b, b.type({Type::S32}), runBinary<int32_t, int32_t, int32_t, AddSaturated>);
  Type type = b.type(kIntegers | kPacked);
  if (!kPacked.has(type))
    return bindBinary(b, type, binaryByWidth<Add>(type));
  b.requireSm(90);
  bindBinary(b, type, packedByType<Add>(Type::U16x2));
}

void bindSub(Binder &b) {
  if (b.accept("cc"))
    return bindCarryAdd(b, carry_flag::Out | carry_flag::Subtract);
  if (b.accept("sat"))
    return bindBinary(b, b.type({Type::S32}), runBinary<int32_t, int32_t, int32_t, SubtractSaturated>);
  Type type = b.type(kIntegers);
  bindBinary(b, type, binaryByWidth<Subtract>(type));
}

constexpr TypeSet kWidenable = {Type::U16, Type::U32, Type::S16, Type::S32};

Type wider(Type type) {
  return type == Type::U16 ? Type::U32 : type == Type::S16 ? Type::S32 : type == Type::U32 ? Type::U64 : Type::S64;
}

void bindMulWide(Binder &b) {
  static constexpr RunFunction runs[] = {
      runBinary<uint32_t, uint16_t, uint16_t, MultiplyWide>, runBinary<int32_t, int16_t, int16_t, MultiplyWide>,
      runBinary<uint64_t, uint32_t, uint32_t, MultiplyWide>, runBinary<int64_t, int32_t, int32_t, MultiplyWide>};
  Type type = b.type(kWidenable);
  b.operands(3);
  b.def(0, wider(type)), b.use(1, type), b.use(2, type);
  b.run(runs[(ptx::bitWidth(type) == 32 ? 2 : 0) + ptx::isSigned(type)]);
}

void bindMul(Binder &b) {
  unsigned part = b.expectOneOf({"lo", "hi", "wide"});
  if (part == 2)
    return bindMulWide(b);
  Type type = b.type(kIntegers);
  bindBinary(b, type, part == 0 ? binaryByWidth<MultiplyLow>(type) : binaryByType<MultiplyHigh>(type));
}

void bindMadWide(Binder &b) {
  static constexpr RunFunction runs[] = {runTernary<uint32_t, uint16_t, uint16_t, uint32_t, MadWide>,
                                         runTernary<int32_t, int16_t, int16_t, int32_t, MadWide>,
                                         runTernary<uint64_t, uint32_t, uint32_t, uint64_t, MadWide>,
                                         runTernary<int64_t, int32_t, int32_t, int64_t, MadWide>};
  Type type = b.type(kWidenable);
  b.operands(4);
  b.def(0, wider(type)), b.use(1, type), b.use(2, type), b.use(3, wider(type));
  b.run(runs[(ptx::bitWidth(type) == 32 ? 2 : 0) + ptx::isSigned(type)]);
}

void bindMad(Binder &b) {
  unsigned part = b.expectOneOf({"lo", "hi", "wide"});
  if (part == 2)
    return bindMadWide(b);
  if (b.accept("cc"))
    return bindCarryMad(b, carry_flag::Out | (part == 1 ? carry_flag::High : 0));
  if (part == 1 && b.accept("sat"))
    return bindTernary(b, b.type({Type::S32}), runTernary<int32_t, int32_t, int32_t, int32_t, MadHighSaturated>);
  Type type = b.type(kIntegers);
  bindTernary(b, type, part == 0 ? ternaryByWidth<MadLow>(type) : ternaryByType<MadHigh>(type));
}

void bindMul24(Binder &b) {
  unsigned isHigh = b.expectOneOf({"lo", "hi"});
  Type type = b.type({Type::U32, Type::S32});
  static constexpr RunFunction runs[] = {
      runBinary<uint32_t, uint32_t, uint32_t, Multiply24Low>, runBinary<int32_t, int32_t, int32_t, Multiply24Low>,
      runBinary<uint32_t, uint32_t, uint32_t, Multiply24High>, runBinary<int32_t, int32_t, int32_t, Multiply24High>};
  bindBinary(b, type, runs[isHigh * 2 + ptx::isSigned(type)]);
}

void bindMad24(Binder &b) {
  unsigned isHigh = b.expectOneOf({"lo", "hi"});
  if (isHigh && b.accept("sat"))
    return bindTernary(b, b.type({Type::S32}), runTernary<int32_t, int32_t, int32_t, int32_t, Mad24HighSaturated>);
  Type type = b.type({Type::U32, Type::S32});
  static constexpr RunFunction runs[] = {runTernary<uint32_t, uint32_t, uint32_t, uint32_t, ThenAdd<Multiply24Low>>,
                                         runTernary<int32_t, int32_t, int32_t, int32_t, ThenAdd<Multiply24Low>>,
                                         runTernary<uint32_t, uint32_t, uint32_t, uint32_t, ThenAdd<Multiply24High>>,
                                         runTernary<int32_t, int32_t, int32_t, int32_t, ThenAdd<Multiply24High>>};
  bindTernary(b, type, runs[isHigh * 2 + ptx::isSigned(type)]);
}

void bindSad(Binder &b) {
  Type type = b.type(kIntegers);
  bindTernary(b, type, ternaryByType<AbsoluteDifference>(type));
}

void bindDiv(Binder &b) {
  Type type = b.type(kIntegers);
  bindBinary(b, type, binaryByType<Divide>(type));
}

void bindRem(Binder &b) {
  Type type = b.type(kIntegers);
  bindBinary(b, type, binaryByType<Remainder>(type));
}

void bindAbs(Binder &b) {
  Type type = b.type(kSigned);
  b.operands(2);
  b.def(0, type), b.use(1, type);
  unsigned bits = ptx::bitWidth(type);
  b.run(bits == 16   ? runUnary<int16_t, int16_t, Absolute>
        : bits == 32 ? runUnary<int32_t, int32_t, Absolute>
                     : runUnary<int64_t, int64_t, Absolute>);
}

void bindNeg(Binder &b) {
  Type type = b.type(kSigned);
  b.operands(2);
  b.def(0, type), b.use(1, type);
  b.run(unaryByWidth<Negate>(type));
}

/// min and max. .relu exists for s32 and s16x2.
template <typename Op> void bindMinMax(Binder &b) {
  bool isRelu = b.accept("relu");
  Type type = isRelu ? b.type({Type::S32, Type::S16x2}) : b.type(kIntegers | kPacked);
  if (isRelu || kPacked.has(type))
    b.requireSm(90);
  if (kPacked.has(type))
    return bindBinary(b, type, isRelu ? packedByType<Relu<Op>>(Type::S16x2) : packedByType<Op>(type));
  bindBinary(b, type, isRelu ? runBinary<int32_t, int32_t, int32_t, Relu<Op>> : binaryByType<Op>(type));
}

const FamilyRow kRows[] = {
    {"abs", kSigned, bindAbs},
    {"add", kIntegers | kPacked, bindAdd},
    {"addc", {}, bindAddc},
    {"div", kIntegers, bindDiv},
    {"mad", kIntegers, bindMad},
    {"mad24", {}, bindMad24},
    {"madc", {}, bindMadc},
    {"max", kIntegers | kPacked, bindMinMax<Greatest>},
    {"min", kIntegers | kPacked, bindMinMax<Least>},
    {"mul", kIntegers, bindMul},
    {"mul24", {}, bindMul24},
    {"neg", kSigned, bindNeg},
    {"rem", kIntegers, bindRem},
    {"sad", {}, bindSad},
    {"sub", kIntegers, bindSub},
    {"subc", {}, bindSubc},
};

} // namespace

const Family emu::kIntegerArithmeticFamily = {"integer arithmetic", kRows, sizeof kRows / sizeof *kRows};
