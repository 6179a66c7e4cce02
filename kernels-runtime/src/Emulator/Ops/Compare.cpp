// Integer comparison, and selection of any type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// setp, set, selp, slct. There are two comparisons per type, equal and less: the others swap operands or complement
// the result. What follows the comparison (a boolean operation with a predicate, a second result) is in
// Step::immediate. Floating-point comparisons are in FloatSelect.cpp.
#include "Emulator/Exec/Binder.h"
#include "Emulator/Ops/Lanes.h"

using namespace weft;
using namespace weft::emu;

namespace {

constexpr TypeSet kBitTypes = {Type::B16, Type::B32, Type::B64};
constexpr TypeSet kUnsigned = {Type::U16, Type::U32, Type::U64};
constexpr TypeSet kSigned = {Type::S16, Type::S32, Type::S64};
constexpr TypeSet kComparable = kBitTypes | kUnsigned | kSigned;

struct Equal {
  template <typename T> static bool apply(T a, T b) { return a == b; }
};
struct Less {
  template <typename T> static bool apply(T a, T b) { return a < b; }
};

/// Lanes in which `Op` holds between slots 2 and 3.
using CompareFunction = LaneMask (*)(const Warp &, const Step &);
template <typename T, typename Op> LaneMask compareLanes(const Warp &warp, const Step &step) {
  const T *a = warp.lanes<T>(step.slots[2]), *b = warp.lanes<T>(step.slots[3]);
  alignas(64) int32_t flags[32];
  WEFT_LANE_LOOP
  for (unsigned i = 0; i < 32; ++i)
    flags[i] = -int32_t(Op::apply(a[i], b[i]));
  return packLanes(flags);
}

/// Step::immediate of setp and set.
constexpr uint64_t kComplement = 1; ///< The comparison's result is inverted.
constexpr uint64_t kNegatedC = 2;
constexpr uint64_t kBoolShift = 2, kBoolMask = 3 << kBoolShift; ///< 0: none, 1: and, 2: or, 3: xor.
constexpr uint64_t kFloatResult = 16;                           ///< set: 1.0f in place of all ones.

LaneMask combine(uint64_t flags, LaneMask a, LaneMask c) {
  switch ((flags & kBoolMask) >> kBoolShift) {
  case 0:
    return a;
  case 1:
    return a & c;
  case 2:
    return a | c;
  default:
    return a ^ c;
  }
}

LaneMask thirdOperand(const Warp &warp, const Step &step) {
  if (!(step.immediate & kBoolMask))
    return 0;
  LaneMask c = warp.predicate(step.slots[4]);
  return step.immediate & kNegatedC ? ~c : c;
}

/// Slots: p, q (or none), a, b, c (with a boolean operation).
template <typename T, typename Op> Outcome runSetp(Warp &warp, const Step &step, LaneMask mask) {
  LaneMask holds = compareLanes<T, Op>(warp, step);
  if (step.immediate == 0 && step.slots[1] == kNoSlot && step.slots[0] != kNoSlot) {
    warp.setPredicate(step.slots[0], mask, holds);
    return Outcome::Next;
  }
  if (step.immediate & kComplement)
    holds = ~holds;
  LaneMask c = thirdOperand(warp, step);
  if (step.slots[0] != kNoSlot)
    warp.setPredicate(step.slots[0], mask, combine(step.immediate, holds, c));
  if (step.slots[1] != kNoSlot)
    warp.setPredicate(step.slots[1], mask, combine(step.immediate, ~holds, c));
  return Outcome::Next;
}

/// Slots: d, none, a, b, c.
template <typename T, typename Op> Outcome runSet(Warp &warp, const Step &step, LaneMask mask) {
  LaneMask holds = compareLanes<T, Op>(warp, step);
  if (step.immediate & kComplement)
    holds = ~holds;
  holds = combine(step.immediate, holds, thirdOperand(warp, step));
  uint32_t yes = step.immediate & kFloatResult ? 0x3f800000 : ~0u; // 1.0f
  return assignLanes(warp.lanes<uint32_t>(step.slots[0]), mask,
                     [=](unsigned i) { return holds >> i & 1 ? yes : uint32_t(0); });
}

struct RunPair {
  RunFunction setp, set;
};
template <typename T, typename Op> constexpr RunPair kRuns = {runSetp<T, Op>, runSet<T, Op>};

/// A comparison in terms of equal and less.
struct Comparison {
  bool isLess = false;
  bool isSwapped = false;
  bool isComplement = false;
  bool isUnsigned = false; ///< lo, ls, hi, hs: unsigned, whatever the type says.
};

Comparison bindComparison(Binder &b, bool &hasBool, uint64_t &flags) {
  unsigned op = b.expectOneOf({"eq", "ne", "lt", "ge", "gt", "le", "lo", "hs", "hi", "ls"});
  Comparison comparison;
  comparison.isLess = op >= 2;
  comparison.isUnsigned = op >= 6;
  unsigned order = comparison.isLess ? (op - 2) & 3 : 0;
  comparison.isSwapped = order >= 2;
  comparison.isComplement = op == 1 || (comparison.isLess && (order & 1));
  int boolOp = b.acceptOneOf({"and", "or", "xor"});
  hasBool = boolOp >= 0;
  flags = (comparison.isComplement ? kComplement : 0) | (hasBool ? uint64_t(boolOp + 1) << kBoolShift : 0);
  return comparison;
}

/// The type must have an order if the comparison asks for one.
void checkOrder(Binder &b, const Comparison &comparison, Type type) {
  if (comparison.isLess && kBitTypes.has(type))
    b.fail("types of bits compare with .eq and .ne only");
  if (comparison.isUnsigned && !kUnsigned.has(type))
    b.fail(".lo, .ls, .hi and .hs compare unsigned types");
}

RunPair runsFor(const Comparison &comparison, Type type) {
  unsigned bits = ptx::bitWidth(type);
  if (!comparison.isLess)
    return bits == 16 ? kRuns<uint16_t, Equal> : bits == 32 ? kRuns<uint32_t, Equal> : kRuns<uint64_t, Equal>;
  if (ptx::isSigned(type))
    return bits == 16 ? kRuns<int16_t, Less> : bits == 32 ? kRuns<int32_t, Less> : kRuns<int64_t, Less>;
  return bits == 16 ? kRuns<uint16_t, Less> : bits == 32 ? kRuns<uint32_t, Less> : kRuns<uint64_t, Less>;
}

/// Operands 1 to 3: a, b and the predicate of the boolean operation.
void bindCompared(Binder &b, const Comparison &comparison, Type type, bool hasBool, uint64_t flags) {
  checkOrder(b, comparison, type);
  b.use(comparison.isSwapped ? 2 : 1, type), b.use(comparison.isSwapped ? 1 : 2, type);
  bool isNegated = false;
  if (hasBool)
    b.usePredicate(b.operand(3), isNegated);
  b.immediate(flags | (isNegated ? kNegatedC : 0));
}

void bindSetp(Binder &b) {
  bool hasBool;
  uint64_t flags;
  Comparison comparison = bindComparison(b, hasBool, flags);
  Type type = b.type(kComparable);
  b.operands(hasBool ? 4 : 3);
  const ptx::Operand *p, *q;
  b.pair(0, p, q);
  b.defOrSink(*p, Type::Pred);
  if (q)
    b.defOrSink(*q, Type::Pred);
  else
    b.addSlot(ptx::kNone, Role::Def, 0);
  bindCompared(b, comparison, type, hasBool, flags);
  b.run(runsFor(comparison, type).setp);
}

void bindSet(Binder &b) {
  bool hasBool;
  uint64_t flags;
  Comparison comparison = bindComparison(b, hasBool, flags);
  Type result = b.type({Type::U32, Type::S32, Type::F32});
  Type type = b.type(kComparable);
  b.operands(hasBool ? 4 : 3);
  b.def(0, result);
  b.addSlot(ptx::kNone, Role::Def, 0);
  bindCompared(b, comparison, type, hasBool, flags | (result == Type::F32 ? kFloatResult : 0));
  b.run(runsFor(comparison, type).set);
}

/// Bit i of the mask, as a word that can be ANDed in a vectorised loop.
constexpr struct LaneBits {
  uint32_t bits[32];
  constexpr LaneBits() : bits() {
    for (unsigned i = 0; i < 32; ++i)
      bits[i] = 1u << i;
  }
} kLaneBits;

template <typename T> Outcome runSelp(Warp &warp, const Step &step, LaneMask mask) {
  const T *a = warp.lanes<T>(step.slots[1]), *b = warp.lanes<T>(step.slots[2]);
  LaneMask c = warp.predicate(step.slots[3]);
  return assignLanes(warp.lanes<T>(step.slots[0]), mask,
                     [=](unsigned i) { return c & kLaneBits.bits[i] ? a[i] : b[i]; });
}

void bindSelp(Binder &b) {
  Type type = b.type(kComparable | TypeSet{Type::F32, Type::F64});
  b.operands(4);
  b.def(0, type), b.use(1, type), b.use(2, type), b.use(3, Type::Pred);
  unsigned bits = ptx::bitWidth(type);
  b.run(bits == 16 ? runSelp<uint16_t> : bits == 32 ? runSelp<uint32_t> : runSelp<uint64_t>);
}

struct SelectBySign {
  template <typename T> static T apply(T a, T b, int32_t c) { return c >= 0 ? a : b; }
};

void bindSlct(Binder &b) {
  Type type = b.type(kComparable | TypeSet{Type::F32, Type::F64});
  b.type({Type::S32});
  b.operands(4);
  b.def(0, type), b.use(1, type), b.use(2, type), b.use(3, Type::S32);
  unsigned bits = ptx::bitWidth(type);
  b.run(bits == 16   ? runTernary<uint16_t, uint16_t, uint16_t, int32_t, SelectBySign>
        : bits == 32 ? runTernary<uint32_t, uint32_t, uint32_t, int32_t, SelectBySign>
                     : runTernary<uint64_t, uint64_t, uint64_t, int32_t, SelectBySign>);
}

const FamilyRow kRows[] = {
    {"selp", {}, bindSelp},
    {"set", kComparable, bindSet},
    {"setp", kComparable, bindSetp},
    {"slct", {Type::S32}, bindSlct},
};

} // namespace

namespace weft::emu {
extern const Family kCompareFamily;
}
const Family emu::kCompareFamily = {"integer comparison", kRows, sizeof kRows / sizeof *kRows};
