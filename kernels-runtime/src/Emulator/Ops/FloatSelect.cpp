// Signs, minima, classes and comparisons of floating-point numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// abs, neg, copysign, min, max, testp, and setp, set and slct that compare floating-point numbers. All of it works on
// bits: a layout says where a type has sign and exponent, and a number's bits, made monotonic, compare as integers.
// -0 is smaller than +0 to min and max, and equal to it to comparisons.

#include "Emulator/Ops/FloatCommon.h"

using namespace weft::emu;

namespace {

/// Bits of a type in the low end of 64.
struct Layout {
  uint64_t sign;
  uint64_t infinity;
  uint64_t nan;
  uint64_t one;
};

constexpr Layout kLayoutF16 = {0x8000, 0x7c00, 0x7fff, 0x3c00};
constexpr Layout kLayoutBF16 = {0x8000, 0x7f80, 0x7fff, 0x3f80};
constexpr Layout kLayoutF32 = {0x80000000, 0x7f800000, 0x7fffffff, 0x3f800000};
constexpr Layout kLayoutF64 = {uint64_t(1) << 63, uint64_t(0x7ff) << 52, ~uint64_t(0) >> 1, uint64_t(0x3ff) << 52};

struct TypeInfo {
  const Layout *layout;
  unsigned bytes; ///< Of an element.
  unsigned count; ///< Elements in 32 lanes.
};

TypeInfo infoOf(Type type) {
  switch (type) {
  case Type::F16:
    return {&kLayoutF16, 2, 32};
  case Type::F16x2:
    return {&kLayoutF16, 2, 64};
  case Type::BF16:
    return {&kLayoutBF16, 2, 32};
  case Type::BF16x2:
    return {&kLayoutBF16, 2, 64};
  case Type::F64:
    return {&kLayoutF64, 8, 32};
  default:
    return {&kLayoutF32, 4, 32};
  }
}

/// One element-wise instruction.
struct ElementPayload {
  TypeInfo info;
  bool flushes = false;
  bool isMaximum = false;
  bool propagatesNan = false;
  bool isXorSign = false;
};

template <typename T> struct Element {
  Layout layout;
  explicit Element(const Layout &layout) : layout(layout) {}
  T flush(T bits) const { return bits & T(layout.infinity) ? bits : T(bits & T(layout.sign)); }
  T magnitude(T bits) const { return T(bits & T(~layout.sign)); }
  bool isNan(T bits) const { return magnitude(bits) > T(layout.infinity); }
  /// What abs, neg, min and max make of a NaN: the canonical one, or on f64 the operand, quieted.
  T nanOf(T bits) const { return sizeof(T) == 8 ? T(bits | T(uint64_t(1) << 51)) : T(layout.nan); }
  /// Grows with the number's value, from -0 to +0 too.
  T order(T bits) const { return bits & T(layout.sign) ? T(~bits) : T(bits | T(layout.sign)); }
};

} // namespace

/// Calls body.template operator()<T>() with the unsigned type of an element.
template <typename Body> static void withElement(unsigned bytes, Body &&body) {
  if (bytes == 2)
    body(uint16_t());
  else if (bytes == 4)
    body(uint32_t());
  else
    body(uint64_t());
}

static unsigned laneBytes(const TypeInfo &info) { return info.bytes * info.count / 32; }

/// Element-wise body(x, y) into the destination; `y` is 0 without a second operand.
template <typename Body> static Outcome runElements(Warp &warp, const Step &step, LaneMask mask, const Body &body) {
  const auto &payload = *static_cast<const ElementPayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, laneBytes(payload.info), [&](void *result) {
    withElement(payload.info.bytes, [&](auto zero) {
      using T = decltype(zero);
      typedef T Lane __attribute__((may_alias));
      const Lane *a = static_cast<const Lane *>(operandLanes(warp, step, 1));
      const Lane *c = static_cast<const Lane *>(operandLanes(warp, step, 2));
      Lane *target = static_cast<Lane *>(result);
      Element<T> element(*payload.info.layout);
      for (unsigned i = 0; i < payload.info.count; ++i) {
        T x = a[i], y = c ? T(c[i]) : T(0);
        if (payload.flushes)
          x = element.flush(x), y = element.flush(y);
        target[i] = body(payload, element, x, y);
      }
    });
  });
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Signs, minima and maxima
//===--------------------------------------------------------------------------------------------------------------===//

static Outcome runAbs(Warp &warp, const Step &step, LaneMask mask) {
  return runElements(warp, step, mask, [](auto &, auto &element, auto x, auto) {
    return element.isNan(x) ? element.nanOf(x) : element.magnitude(x);
  });
}

static Outcome runNeg(Warp &warp, const Step &step, LaneMask mask) {
  return runElements(warp, step, mask, [](auto &, auto &element, auto x, auto) {
    return element.isNan(x) ? element.nanOf(x) : decltype(x)(x ^ decltype(x)(element.layout.sign));
  });
}

static Outcome runCopysign(Warp &warp, const Step &step, LaneMask mask) {
  return runElements(warp, step, mask, [](auto &, auto &element, auto x, auto y) {
    using T = decltype(x);
    return T((x & T(element.layout.sign)) | element.magnitude(y));
  });
}

static Outcome runMinMax(Warp &warp, const Step &step, LaneMask mask) {
  return runElements(warp, step, mask, [](auto &payload, auto &element, auto x, auto y) {
    using T = decltype(x);
    T sign = T((x ^ y) & T(element.layout.sign));
    bool isNanX = element.isNan(x), isNanY = element.isNan(y);
    if (isNanX || isNanY) {
      if (payload.propagatesNan || (isNanX && isNanY))
        return element.nanOf(y);
      T other = isNanX ? y : x;
      return payload.isXorSign ? T(element.magnitude(other) | sign) : other;
    }
    if (payload.isXorSign)
      x = element.magnitude(x), y = element.magnitude(y);
    bool takesX = payload.isMaximum ? element.order(x) >= element.order(y) : element.order(x) <= element.order(y);
    T chosen = takesX ? x : y;
    return payload.isXorSign ? T(chosen | sign) : chosen;
  });
}

static bool isBfloat(Type type) { return type == Type::BF16 || type == Type::BF16x2; }

static void bindElements(Binder &b, ElementPayload *payload, unsigned sources) {
  Type type = b.type({Type::F16, Type::F16x2, Type::BF16, Type::BF16x2, Type::F32, Type::F64});
  if (payload->flushes && (type == Type::F64 || isBfloat(type)))
    b.fail("there is no .ftz on .%s", std::string(weft::emu::ptx::name(type)).c_str());
  payload->info = infoOf(type);
  bindOperands(b, type, sources);
}

static void bindUnary(Binder &b, RunFunction run) {
  auto *payload = b.payload<ElementPayload>();
  payload->flushes = b.accept("ftz");
  bindElements(b, payload, 1);
  b.run(run);
}

static void bindAbs(Binder &b) { bindUnary(b, runAbs); }
static void bindNeg(Binder &b) { bindUnary(b, runNeg); }

static void bindCopysign(Binder &b) {
  auto *payload = b.payload<ElementPayload>();
  Type type = b.type({Type::F32, Type::F64});
  payload->info = infoOf(type);
  bindOperands(b, type, 2);
  b.run(runCopysign);
}

static void bindMinMax(Binder &b, bool isMaximum) {
  auto *payload = b.payload<ElementPayload>();
  payload->isMaximum = isMaximum;
  payload->flushes = b.accept("ftz");
  payload->propagatesNan = b.accept("NaN");
  payload->isXorSign = b.accept("xorsign");
  if (payload->isXorSign)
    b.expect("abs");
  if (b.operandCount() == 4)
    b.requireSm(100);
  bindElements(b, payload, 2);
  if (payload->info.bytes == 8 && (payload->propagatesNan || payload->isXorSign))
    b.fail("there is no .NaN or .xorsign.abs on .f64");
  b.run(runMinMax);
}

static void bindMin(Binder &b) { bindMinMax(b, false); }
static void bindMax(Binder &b) { bindMinMax(b, true); }

//===--------------------------------------------------------------------------------------------------------------===//
// Classes
//===--------------------------------------------------------------------------------------------------------------===//

namespace {
enum class FloatClass : uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
struct TestPayload {
  TypeInfo info;
  FloatClass kind = FloatClass::Finite;
};
} // namespace

template <typename T> static bool isOfClass(const Element<T> &element, FloatClass kind, T bits) {
  T magnitude = element.magnitude(bits), infinity = T(element.layout.infinity);
  bool hasExponent = magnitude & infinity;
  switch (kind) {
  case FloatClass::Finite:
    return magnitude < infinity;
  case FloatClass::Infinite:
    return magnitude == infinity;
  case FloatClass::Number:
    return magnitude <= infinity;
  case FloatClass::NotANumber:
    return magnitude > infinity;
  case FloatClass::Normal:
    return magnitude == 0 || (hasExponent && magnitude < infinity); // zero counts
  case FloatClass::Subnormal:
    break;
  }
  return !hasExponent && magnitude != 0;
}

static Outcome runTestp(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const TestPayload *>(step.payload);
  LaneMask result = 0;
  withElement(payload.info.bytes, [&](auto zero) {
    using T = decltype(zero);
    typedef T Lane __attribute__((may_alias));
    const Lane *a = static_cast<const Lane *>(operandLanes(warp, step, 1));
    Element<T> element(*payload.info.layout);
    for (unsigned i = 0; i < 32; ++i)
      result |= LaneMask(isOfClass<T>(element, payload.kind, a[i])) << i;
  });
  warp.setPredicate(step.slots[0], mask, result);
  return Outcome::Next;
}

static void bindTestp(Binder &b) {
  auto *payload = b.payload<TestPayload>();
  payload->kind = FloatClass(b.expectOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"}));
  Type type = b.type({Type::F32, Type::F64});
  payload->info = infoOf(type);
  b.operands(2);
  b.def(0, Type::Pred);
  b.use(1, type);
  b.run(runTestp);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Comparisons
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

// How two numbers compare: a comparison operator is the set of the relations that satisfy it.
constexpr uint8_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

enum class BoolOp : uint8_t { None, And, Or, Xor };

struct ComparePayload {
  TypeInfo info;
  uint8_t relations = 0;
  bool flushes = false;
  BoolOp combine = BoolOp::None;
  bool isConditionNegated = false;
  int8_t condition = -1;   ///< Index of the slot of the third source.
  int8_t second = -1;      ///< Index of the slot of q in p|q.
  uint8_t resultBytes = 4; ///< set: of an element of the result.
  uint64_t resultTrue = 0; ///< set: the value for true.
};

} // namespace

static uint8_t bindComparison(Binder &b) {
  constexpr uint8_t any = kLess | kEqual | kGreater;
  constexpr uint8_t sets[] = {kEqual,
                              kLess | kGreater,
                              kLess,
                              kLess | kEqual,
                              kGreater,
                              kGreater | kEqual,
                              kEqual | kUnordered,
                              kLess | kGreater | kUnordered,
                              kLess | kUnordered,
                              kLess | kEqual | kUnordered,
                              kGreater | kUnordered,
                              kGreater | kEqual | kUnordered,
                              any,
                              kUnordered};
  return sets[b.expectOneOf(
      {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"})];
}

/// Bit i: element i of the operands satisfies the comparison.
static uint64_t compare(const Warp &warp, const Step &step, const ComparePayload &payload, unsigned first) {
  uint64_t result = 0;
  withElement(payload.info.bytes, [&](auto zero) {
    using T = decltype(zero);
    typedef T Lane __attribute__((may_alias));
    const Lane *a = static_cast<const Lane *>(operandLanes(warp, step, first));
    const Lane *c = static_cast<const Lane *>(operandLanes(warp, step, first + 1));
    Element<T> element(*payload.info.layout);
    for (unsigned i = 0; i < payload.info.count; ++i) {
      T x = a[i], y = c[i];
      if (payload.flushes)
        x = element.flush(x), y = element.flush(y);
      T left = element.order(x), right = element.order(y);
      bool isEqual = left == right || T(element.magnitude(x) | element.magnitude(y)) == 0;
      uint8_t relation = element.isNan(x) || element.isNan(y) ? kUnordered
                         : isEqual                            ? kEqual
                         : left < right                       ? kLess
                                                              : kGreater;
      result |= uint64_t((payload.relations & relation) != 0) << i;
    }
  });
  return result;
}

/// Of 64 bits the even or the odd ones.
static LaneMask everySecond(uint64_t bits, unsigned first) {
  LaneMask result = 0;
  for (unsigned i = 0; i < 32; ++i)
    result |= LaneMask(bits >> (2 * i + first) & 1) << i;
  return result;
}

static LaneMask combine(const Warp &warp, const Step &step, const ComparePayload &payload, LaneMask value) {
  if (payload.combine == BoolOp::None)
    return value;
  LaneMask condition = warp.predicate(step.slots[payload.condition]);
  if (payload.isConditionNegated)
    condition = ~condition;
  if (payload.combine == BoolOp::And)
    return value & condition;
  return payload.combine == BoolOp::Or ? value | condition : value ^ condition;
}

static Outcome runSetp(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ComparePayload *>(step.payload);
  unsigned first = payload.second < 0 ? 1 : 2;
  uint64_t satisfied = compare(warp, step, payload, first);
  bool isPacked = payload.info.count == 64;
  LaneMask p = isPacked ? everySecond(satisfied, 0) : LaneMask(satisfied);
  LaneMask q = isPacked ? everySecond(satisfied, 1) : ~LaneMask(satisfied);
  p = combine(warp, step, payload, p);
  q = combine(warp, step, payload, q);
  if (step.slots[0] != kNoSlot)
    warp.setPredicate(step.slots[0], mask, p);
  if (payload.second >= 0 && step.slots[payload.second] != kNoSlot)
    warp.setPredicate(step.slots[payload.second], mask, q);
  return Outcome::Next;
}

static Outcome runSet(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ComparePayload *>(step.payload);
  uint64_t satisfied = compare(warp, step, payload, 1);
  bool isPacked = payload.info.count == 64;
  LaneMask low = combine(warp, step, payload, isPacked ? everySecond(satisfied, 0) : LaneMask(satisfied));
  LaneMask high = isPacked ? combine(warp, step, payload, everySecond(satisfied, 1)) : 0;
  unsigned bytes = isPacked ? payload.resultBytes * 2 : payload.resultBytes;
  std::byte *target = warp.lanes<std::byte>(step.slots[0]);
  forLanes(mask, [&](unsigned lane) {
    uint64_t value = low >> lane & 1 ? payload.resultTrue : 0;
    if (isPacked && (high >> lane & 1))
      value |= payload.resultTrue << (8 * payload.resultBytes);
    std::memcpy(target + lane * bytes, &value, bytes);
  });
  return Outcome::Next;
}

static void bindCondition(Binder &b, ComparePayload *payload) {
  if (payload->combine == BoolOp::None)
    return b.operands(3);
  b.operands(4);
  payload->condition = int8_t(b.usePredicate(b.operand(3), payload->isConditionNegated));
}

static constexpr TypeSet kComparable = {Type::F16, Type::F16x2, Type::BF16, Type::BF16x2, Type::F32, Type::F64};

/// Operator, boolean operator and .ftz.
static ComparePayload *bindOperator(Binder &b) {
  auto *payload = b.payload<ComparePayload>();
  payload->relations = bindComparison(b);
  payload->combine = BoolOp(b.acceptOneOf({"and", "or", "xor"}) + 1);
  payload->flushes = b.accept("ftz");
  return payload;
}

static void checkSource(Binder &b, const ComparePayload *payload, Type type) {
  if (isBfloat(type))
    b.requireSm(90);
  if (payload->flushes && (type == Type::F64 || isBfloat(type)))
    b.fail("there is no .ftz on .%s", std::string(weft::emu::ptx::name(type)).c_str());
}

static void bindSetp(Binder &b) {
  ComparePayload *payload = bindOperator(b);
  Type type = b.type(kComparable);
  checkSource(b, payload, type);
  payload->info = infoOf(type);
  const weft::emu::ptx::Operand *p, *q;
  b.pair(0, p, q);
  b.defOrSink(*p, Type::Pred);
  if (q)
    payload->second = int8_t(b.defOrSink(*q, Type::Pred));
  else if (payload->info.count == 64)
    b.fail("expected two destinations p|q for a packed type");
  if (q && payload->info.bytes == 2 && payload->info.count == 32)
    b.fail("there is no second destination for a single half");
  b.use(1, type);
  b.use(2, type);
  bindCondition(b, payload);
  b.run(runSetp);
}

static void bindSet(Binder &b) {
  ComparePayload *payload = bindOperator(b);
  constexpr TypeSet integers = {Type::U16, Type::S16, Type::U32, Type::S32};
  Type target = b.type(integers | TypeSet{Type::F16, Type::BF16, Type::F32, Type::F16x2, Type::BF16x2});
  Type type = b.type(kComparable);
  checkSource(b, payload, type);
  payload->info = infoOf(type);
  bool isPacked = payload->info.count == 64;
  bool isPackedTarget = target == Type::F16x2 || target == Type::BF16x2;
  bool isWordTarget = target == Type::U32 || target == Type::S32;
  if (isPacked ? !isPackedTarget && !isWordTarget : isPackedTarget)
    b.fail("a result of type .%s does not go with .%s", std::string(weft::emu::ptx::name(target)).c_str(),
           std::string(weft::emu::ptx::name(type)).c_str());
  bool isInteger = integers.has(target);
  payload->resultBytes = uint8_t(weft::emu::ptx::bitWidth(target) / (isPacked ? 16 : 8));
  payload->resultTrue = isInteger ? (payload->resultBytes == 2 ? 0xffff : 0xffffffff) : infoOf(target).layout->one;
  b.def(0, target);
  b.use(1, type);
  b.use(2, type);
  bindCondition(b, payload);
  b.run(runSet);
}

//===--------------------------------------------------------------------------------------------------------------===//
// slct
//===--------------------------------------------------------------------------------------------------------------===//

static Outcome runSlct(Warp &warp, const Step &step, LaneMask mask) {
  bool flushes = step.immediate >> 8 & 1;
  unsigned bytes = unsigned(step.immediate & 0xff);
  using Lane = uint32_t __attribute__((may_alias));
  const Lane *c = warp.lanes<Lane>(step.slots[3]);
  std::byte *target = warp.lanes<std::byte>(step.slots[0]);
  const std::byte *sources[2] = {warp.lanes<std::byte>(step.slots[1]), warp.lanes<std::byte>(step.slots[2])};
  Element<uint32_t> element(kLayoutF32);
  forLanes(mask, [&](unsigned lane) {
    uint32_t x = flushes ? element.flush(c[lane]) : c[lane];
    // c >= 0: -0 is, NaN is not.
    bool isFirst = !element.isNan(x) && (!(x & 0x80000000u) || x == 0x80000000u);
    std::memcpy(target + lane * bytes, sources[isFirst ? 0 : 1] + lane * bytes, bytes);
  });
  return Outcome::Next;
}

static void bindSlct(Binder &b) {
  bool flushes = b.accept("ftz");
  Type type = b.type({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64,
                      Type::F32, Type::F64});
  b.type({Type::F32});
  b.operands(4);
  b.def(0, type);
  b.use(1, type);
  b.use(2, type);
  b.use(3, Type::F32);
  b.immediate(weft::emu::ptx::bitWidth(type) / 8 | uint64_t(flushes) << 8);
  b.run(runSlct);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Table
//===--------------------------------------------------------------------------------------------------------------===//

static const FamilyRow kRows[] = {
    {"abs", kComparable, bindAbs},
    {"copysign", {Type::F32, Type::F64}, bindCopysign},
    {"max", kComparable, bindMax},
    {"min", kComparable, bindMin},
    {"neg", kComparable, bindNeg},
    {"set", kComparable, bindSet},
    {"setp", kComparable, bindSetp},
    {"slct", {Type::F32}, bindSlct},
    {"testp", {Type::F32, Type::F64}, bindTestp},
};

namespace weft::emu {
extern const Family kFloatSelectFamily;
const Family kFloatSelectFamily = {"float selection", kRows, sizeof kRows / sizeof *kRows};
} // namespace weft::emu
