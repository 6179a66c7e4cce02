// Bitwise logic, shifts and byte permutation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// and, or, xor, not, cnot, lop3, shl, shr, shf, prmt. Predicates are masks: their logic is one word operation.
#include "Emulator/Exec/Binder.h"
#include "Emulator/Ops/Lanes.h"

#include <algorithm>

using namespace weft;
using namespace weft::emu;

namespace {

constexpr TypeSet kBitTypes = {Type::B16, Type::B32, Type::B64};

struct And {
  template <typename T> static T apply(T a, T b) { return T(a & b); }
};
struct Or {
  template <typename T> static T apply(T a, T b) { return T(a | b); }
};
struct Xor {
  template <typename T> static T apply(T a, T b) { return T(a ^ b); }
};
struct Not {
  template <typename T> static T apply(T a) { return T(~a); }
};
struct LogicalNot {
  template <typename T> static T apply(T a) { return T(a == 0); }
};
/// Amounts of the width and more shift everything out.
struct ShiftLeft {
  template <typename T> static T apply(T a, uint32_t n) { return n < 8 * sizeof(T) ? T(a << n) : T(0); }
};
struct ShiftRight {
  template <typename T> static T apply(T a, uint32_t n) {
    return T(a >> std::min(n, uint32_t(8 * sizeof(T) - 1)) >> (n >= 8 * sizeof(T) ? 1 : 0));
  }
};
/// The upper (left) or lower (right) word of the pair [b, a], shifted.
template <bool isLeft, bool isWrapped> struct Funnel {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t n = isWrapped ? c & 31 : std::min(c, 32u);
    uint64_t pair = uint64_t(b) << 32 | a;
    return isLeft ? uint32_t(pair << n >> 32) : uint32_t(pair >> n);
  }
};

//===--------------------------------------------------------------------------------------------------------------===//
// and, or, xor, not, cnot
//===--------------------------------------------------------------------------------------------------------------===//

template <typename Op> Outcome runPredicates(Warp &warp, const Step &step, LaneMask mask) {
  LaneMask value = Op::apply(warp.predicate(step.slots[1]), warp.predicate(step.slots[2]));
  warp.setPredicate(step.slots[0], mask, value);
  return Outcome::Next;
}

Outcome runNotPredicate(Warp &warp, const Step &step, LaneMask mask) {
  warp.setPredicate(step.slots[0], mask, ~warp.predicate(step.slots[1]));
  return Outcome::Next;
}

template <typename Op> void bindLogic(Binder &b) {
  Type type = b.type(kBitTypes | TypeSet{Type::Pred});
  b.operands(3);
  b.def(0, type), b.use(1, type), b.use(2, type);
  b.run(type == Type::Pred ? runPredicates<Op> : binaryByWidth<Op>(type));
}

void bindNot(Binder &b) {
  Type type = b.type(kBitTypes | TypeSet{Type::Pred});
  b.operands(2);
  b.def(0, type), b.use(1, type);
  b.run(type == Type::Pred ? runNotPredicate : unaryByWidth<Not>(type));
}

void bindCnot(Binder &b) {
  Type type = b.type(kBitTypes);
  b.operands(2);
  b.def(0, type), b.use(1, type);
  b.run(unaryByWidth<LogicalNot>(type));
}

//===--------------------------------------------------------------------------------------------------------------===//
// lop3
//===--------------------------------------------------------------------------------------------------------------===//

/// if (bit) x else y, for every bit.
uint32_t choose(uint32_t bits, uint32_t x, uint32_t y) { return y ^ (bits & (x ^ y)); }

/// The function of three bits whose truth table is `table`: bit 4a + 2b + c of it.
struct Table {
  uint32_t rows[8];
  explicit Table(uint64_t table) {
    for (unsigned i = 0; i < 8; ++i)
      rows[i] = table >> i & 1 ? ~0u : 0;
  }
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    return choose(a, choose(b, choose(c, rows[7], rows[6]), choose(c, rows[5], rows[4])),
                  choose(b, choose(c, rows[3], rows[2]), choose(c, rows[1], rows[0])));
  }
};

Outcome runLop3(Warp &warp, const Step &step, LaneMask mask) {
  const uint32_t *a = warp.lanes<uint32_t>(step.slots[1]), *b = warp.lanes<uint32_t>(step.slots[2]);
  const uint32_t *c = warp.lanes<uint32_t>(step.slots[3]);
  Table table(step.immediate);
  return assignLanes(warp.lanes<uint32_t>(step.slots[0]), mask, [=](unsigned i) { return table(a[i], b[i], c[i]); });
}

/// Bits of Step::immediate above the table.
constexpr uint64_t kLop3And = 256, kLop3Negated = 512;

/// lop3.BoolOp.b32 d|p, a, b, c, table, q: p = (d != 0) BoolOp q. Slots: d, a, b, c, p, q.
Outcome runLop3Predicate(Warp &warp, const Step &step, LaneMask mask) {
  const uint32_t *a = warp.lanes<uint32_t>(step.slots[1]), *b = warp.lanes<uint32_t>(step.slots[2]);
  const uint32_t *c = warp.lanes<uint32_t>(step.slots[3]);
  Table table(step.immediate);
  uint32_t results[32];
  int32_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    results[i] = table(a[i], b[i], c[i]);
    flags[i] = results[i] != 0 ? -1 : 0;
  }
  LaneMask isSet = packLanes(flags), q = warp.predicate(step.slots[5]);
  if (step.immediate & kLop3Negated)
    q = ~q;
  if (step.slots[0] != kNoSlot)
    blendLanes(warp.lanes<uint32_t>(step.slots[0]), results, mask);
  warp.setPredicate(step.slots[4], mask, step.immediate & kLop3And ? isSet & q : isSet | q);
  return Outcome::Next;
}

void bindLop3(Binder &b) {
  int boolOp = b.acceptOneOf({"or", "and"});
  b.type({Type::B32});
  b.operands(boolOp < 0 ? 5 : 6);
  uint64_t table = uint64_t(b.constant(4, 0, 255));
  if (boolOp < 0) {
    b.def(0, Type::B32), b.use(1, Type::B32), b.use(2, Type::B32), b.use(3, Type::B32);
    b.immediate(table);
    return b.run(runLop3);
  }
  b.requireSm(70);
  b.requireVersion(8, 2);
  const ptx::Operand *d, *p;
  b.pair(0, d, p);
  if (!p)
    return b.fail("expected a pair d|p as first operand");
  b.defOrSink(*d, Type::B32), b.use(1, Type::B32), b.use(2, Type::B32), b.use(3, Type::B32);
  b.def(*p, Type::Pred);
  bool isNegated;
  b.usePredicate(b.operand(5), isNegated);
  b.immediate(table | (boolOp == 1 ? kLop3And : 0) | (isNegated ? kLop3Negated : 0));
  b.run(runLop3Predicate);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Shifts
//===--------------------------------------------------------------------------------------------------------------===//

template <typename Op> RunFunction shiftByType(Type type) {
  unsigned bits = ptx::bitWidth(type);
  if (!ptx::isSigned(type))
    return bits == 16   ? runBinary<uint16_t, uint16_t, uint32_t, Op>
           : bits == 32 ? runBinary<uint32_t, uint32_t, uint32_t, Op>
                        : runBinary<uint64_t, uint64_t, uint32_t, Op>;
  return bits == 16   ? runBinary<int16_t, int16_t, uint32_t, Op>
         : bits == 32 ? runBinary<int32_t, int32_t, uint32_t, Op>
                      : runBinary<int64_t, int64_t, uint32_t, Op>;
}

void bindShl(Binder &b) {
  Type type = b.type(kBitTypes);
  b.operands(3);
  b.def(0, type), b.use(1, type), b.use(2, Type::U32);
  b.run(shiftByType<ShiftLeft>(type));
}

void bindShr(Binder &b) {
  Type type = b.type(kBitTypes | TypeSet{Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64});
  b.operands(3);
  b.def(0, type), b.use(1, type), b.use(2, Type::U32);
  b.run(shiftByType<ShiftRight>(type));
}

void bindShf(Binder &b) {
  unsigned isRight = b.expectOneOf({"l", "r"}), isWrapped = b.expectOneOf({"clamp", "wrap"});
  b.type({Type::B32});
  b.operands(4);
  b.def(0, Type::B32), b.use(1, Type::B32), b.use(2, Type::B32), b.use(3, Type::U32);
  static constexpr RunFunction runs[] = {runTernary<uint32_t, uint32_t, uint32_t, uint32_t, Funnel<true, false>>,
                                         runTernary<uint32_t, uint32_t, uint32_t, uint32_t, Funnel<true, true>>,
                                         runTernary<uint32_t, uint32_t, uint32_t, uint32_t, Funnel<false, false>>,
                                         runTernary<uint32_t, uint32_t, uint32_t, uint32_t, Funnel<false, true>>};
  b.run(runs[isRight * 2 + isWrapped]);
}

//===--------------------------------------------------------------------------------------------------------------===//
// prmt
//===--------------------------------------------------------------------------------------------------------------===//

enum PermuteMode : uint64_t { General, Forward4, Backward4, Replicate8, EdgeLeft, EdgeRight, Replicate16 };

/// The selectors (a nibble each, as in the general mode) that mode and c stand for.
uint32_t selectors(uint64_t mode, uint32_t c) {
  uint32_t result = 0, s = c & 3;
  for (uint32_t k = 0; k < 4; ++k) {
    uint32_t pick = mode == Forward4     ? s + k
                    : mode == Backward4  ? (s - k) & 7
                    : mode == Replicate8 ? s
                    : mode == EdgeLeft   ? std::max(s, k)
                    : mode == EdgeRight  ? std::min(s, k)
                                         : (k & 1) + 2 * (s & 1);
    result |= pick << (4 * k);
  }
  return result;
}

/// Picks bytes of [b, a]; a selector with bit 3 set yields eight copies of the picked byte's sign.
uint32_t permute(uint32_t a, uint32_t b, uint32_t picks) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    uint32_t pick = picks >> (4 * k);
    uint32_t byte = uint32_t(bytes >> (8 * (pick & 7))) & 0xff;
    if (pick & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * k);
  }
  return result;
}

Outcome runPrmt(Warp &warp, const Step &step, LaneMask mask) {
  const uint32_t *a = warp.lanes<uint32_t>(step.slots[1]), *b = warp.lanes<uint32_t>(step.slots[2]);
  const uint32_t *c = warp.lanes<uint32_t>(step.slots[3]);
  uint64_t mode = step.immediate;
  return assignLanes(warp.lanes<uint32_t>(step.slots[0]), mask,
                     [=](unsigned i) { return permute(a[i], b[i], mode == General ? c[i] : selectors(mode, c[i])); });
}

void bindPrmt(Binder &b) {
  b.type({Type::B32});
  int mode = b.acceptOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  b.operands(4);
  // An operand of which a constant selector takes no byte is not read: compilers leave it undefined.
  unsigned low = 1, high = 2;
  if (mode < 0 && b.isConstant(b.operand(3))) {
    uint64_t picks = uint64_t(b.constant(3, INT64_MIN, INT64_MAX)) & 0x4444;
    low = picks == 0x4444 ? high : low;
    high = picks == 0 ? low : high;
  }
  b.def(0, Type::B32), b.use(low, Type::B32), b.use(high, Type::B32), b.use(3, Type::B32);
  b.immediate(uint64_t(mode + 1));
  b.run(runPrmt);
}

const FamilyRow kRows[] = {
    {"and", {}, bindLogic<And>}, {"cnot", {}, bindCnot},      {"lop3", {}, bindLop3}, {"not", {}, bindNot},
    {"or", {}, bindLogic<Or>},   {"prmt", {}, bindPrmt},      {"shf", {}, bindShf},   {"shl", {}, bindShl},
    {"shr", {}, bindShr},        {"xor", {}, bindLogic<Xor>},
};

} // namespace

namespace weft::emu {
extern const Family kLogicFamily;
}
const Family emu::kLogicFamily = {"logic", kRows, sizeof kRows / sizeof *kRows};
