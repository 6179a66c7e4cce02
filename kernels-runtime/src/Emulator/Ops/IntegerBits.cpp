// Counting, finding and moving bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// popc, clz, bfind, fns, brev, bfe, bfi, szext, bmsk, dp4a, dp2a.
#include "Emulator/Exec/Binder.h"
#include "Emulator/Ops/Lanes.h"

#include <algorithm>

using namespace weft;
using namespace weft::emu;

namespace {

constexpr TypeSet kWide = {Type::U32, Type::U64, Type::S32, Type::S64};

template <typename T> constexpr unsigned kBits = 8 * sizeof(T);

unsigned leadingZeros(uint32_t a) { return a ? unsigned(__builtin_clz(a)) : 32; }
unsigned leadingZeros(uint64_t a) { return a ? unsigned(__builtin_clzll(a)) : 64; }

struct CountOnes {
  template <typename T> static uint32_t apply(T a) { return uint32_t(__builtin_popcountll(a)); }
};
struct CountLeadingZeros {
  template <typename T> static uint32_t apply(T a) { return leadingZeros(a); }
};
/// The index of the highest bit that differs from the sign; all ones when there is none.
template <bool isShift> struct FindHighest {
  template <typename T> static uint32_t apply(T a) {
    using U = std::make_unsigned_t<T>;
    unsigned zeros = leadingZeros(a < 0 ? U(~U(a)) : U(a));
    return zeros == kBits<T> ? ~0u : isShift ? zeros : kBits<T> - 1 - zeros;
  }
};
struct Reverse {
  static uint32_t apply(uint32_t a) { return __builtin_bitreverse32(a); }
  static uint64_t apply(uint64_t a) { return __builtin_bitreverse64(a); }
};
/// The `offset`th set bit of `mask`, counted from bit `base` upward (from 1) or downward (from -1).
struct FindNth {
  static uint32_t apply(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31)
      return ~0u; // undefined in PTX
    if (offset == 0)
      return mask >> base & 1 ? base : ~0u;
    int64_t left = offset < 0 ? -int64_t(offset) : offset;
    for (int32_t place = int32_t(base); place >= 0 && place < 32; place += offset < 0 ? -1 : 1)
      if ((mask >> place & 1) && --left == 0)
        return uint32_t(place);
    return ~0u;
  }
};
/// `length` bits of a from bit `start`, extended with the sign of the field for signed T. Bits above a's are its sign.
struct Extract {
  template <typename T> static T apply(T a, uint32_t start, uint32_t length) {
    start &= 0xff;
    length &= 0xff;
    if (length == 0)
      return 0;
    T moved = start < kBits<T> ? T(a >> start) : T(a < 0 ? -1 : 0);
    unsigned unused = length < kBits<T> ? kBits<T> - length : 0;
    return T(T(std::make_unsigned_t<T>(moved) << unused) >> unused);
  }
};
/// b with the low `length` bits of a from bit `start` on.
struct Insert {
  template <typename T> static T apply(T a, T b, uint32_t start, uint32_t length) {
    start &= 0xff;
    length &= 0xff;
    if (start >= kBits<T> || length == 0)
      return b;
    T mask = T((length >= kBits<T> ? ~T(0) : T((T(1) << length) - 1)) << start);
    return T((b & ~mask) | (T(a << start) & mask));
  }
};
/// The low `bits` bits of a, extended to 32.
template <bool isClamped> struct Extend {
  template <typename T> static T apply(T a, uint32_t bits) {
    if (isClamped && bits >= 32)
      return a;
    bits &= 31;
    return bits == 0 ? T(0) : T(T(uint32_t(a) << (32 - bits)) >> (32 - bits));
  }
};
/// Ones from bit `start` on, `length` of them.
template <bool isClamped> struct MakeMask {
  static uint32_t apply(uint32_t start, uint32_t length) {
    if (isClamped && start >= 32)
      return 0;
    bool isLong = isClamped && length >= 32;
    start &= 31;
    length &= 31;
    uint32_t from = ~0u << start;
    if (isLong || start + length >= 32)
      return from;
    return from & ~(~0u << (start + length)); // no bits when length is 0
  }
};
/// c + the products of the bytes of a and b.
template <typename A, typename B> struct DotBytes {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 32; i += 8)
      c += uint32_t(int32_t(A(a >> i)) * int32_t(B(b >> i)));
    return c;
  }
};
/// c + the products of the halves of a and two bytes of b, beginning at bit `shift`.
template <typename A, typename B, unsigned shift> struct DotHalves {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 2; ++i)
      c += uint32_t(int32_t(A(a >> (16 * i))) * int32_t(B(b >> (shift + 8 * i))));
    return c;
  }
};

template <typename Op> void bindCount(Binder &b) {
  Type type = b.type({Type::B32, Type::B64});
  b.operands(2);
  b.def(0, Type::U32), b.use(1, type);
  b.run(type == Type::B32 ? runUnary<uint32_t, uint32_t, Op> : runUnary<uint32_t, uint64_t, Op>);
}

template <bool isShift> RunFunction findByType(Type type) {
  using Op = FindHighest<isShift>;
  return type == Type::U32   ? runUnary<uint32_t, uint32_t, Op>
         : type == Type::S32 ? runUnary<uint32_t, int32_t, Op>
         : type == Type::U64 ? runUnary<uint32_t, uint64_t, Op>
                             : runUnary<uint32_t, int64_t, Op>;
}

void bindBfind(Binder &b) {
  bool isShift = b.accept("shiftamt");
  Type type = b.type(kWide);
  b.operands(2);
  b.def(0, Type::U32), b.use(1, type);
  b.run(isShift ? findByType<true>(type) : findByType<false>(type));
}

void bindFns(Binder &b) {
  b.type({Type::B32});
  b.operands(4);
  b.def(0, Type::B32), b.use(1, Type::B32), b.use(2, Type::B32), b.use(3, Type::S32);
  b.run(runTernary<uint32_t, uint32_t, uint32_t, int32_t, FindNth>);
}

void bindBrev(Binder &b) {
  Type type = b.type({Type::B32, Type::B64});
  b.operands(2);
  b.def(0, type), b.use(1, type);
  b.run(type == Type::B32 ? runUnary<uint32_t, uint32_t, Reverse> : runUnary<uint64_t, uint64_t, Reverse>);
}

void bindBfe(Binder &b) {
  Type type = b.type(kWide);
  b.operands(4);
  b.def(0, type), b.use(1, type), b.use(2, Type::U32), b.use(3, Type::U32);
  b.run(type == Type::U32   ? runTernary<uint32_t, uint32_t, uint32_t, uint32_t, Extract>
        : type == Type::S32 ? runTernary<int32_t, int32_t, uint32_t, uint32_t, Extract>
        : type == Type::U64 ? runTernary<uint64_t, uint64_t, uint32_t, uint32_t, Extract>
                            : runTernary<int64_t, int64_t, uint32_t, uint32_t, Extract>);
}

template <typename T> Outcome runInsert(Warp &warp, const Step &step, LaneMask mask) {
  const T *a = warp.lanes<T>(step.slots[1]), *b = warp.lanes<T>(step.slots[2]);
  const uint32_t *start = warp.lanes<uint32_t>(step.slots[3]), *length = warp.lanes<uint32_t>(step.slots[4]);
  return assignLanes(warp.lanes<T>(step.slots[0]), mask,
                     [=](unsigned i) { return Insert::apply(a[i], b[i], start[i], length[i]); });
}

void bindBfi(Binder &b) {
  Type type = b.type({Type::B32, Type::B64});
  b.operands(5);
  b.def(0, type), b.use(1, type), b.use(2, type), b.use(3, Type::U32), b.use(4, Type::U32);
  b.run(type == Type::B32 ? runInsert<uint32_t> : runInsert<uint64_t>);
}

void bindSzext(Binder &b) {
  bool isWrapped = b.expectOneOf({"clamp", "wrap"});
  Type type = b.type({Type::U32, Type::S32});
  b.operands(3);
  b.def(0, type), b.use(1, type), b.use(2, Type::U32);
  static constexpr RunFunction runs[] = {
      runBinary<uint32_t, uint32_t, uint32_t, Extend<true>>, runBinary<int32_t, int32_t, uint32_t, Extend<true>>,
      runBinary<uint32_t, uint32_t, uint32_t, Extend<false>>, runBinary<int32_t, int32_t, uint32_t, Extend<false>>};
  b.run(runs[isWrapped * 2 + (type == Type::S32)]);
}

void bindBmsk(Binder &b) {
  bool isWrapped = b.expectOneOf({"clamp", "wrap"});
  b.type({Type::B32});
  b.operands(3);
  b.def(0, Type::B32), b.use(1, Type::U32), b.use(2, Type::U32);
  b.run(isWrapped ? runBinary<uint32_t, uint32_t, uint32_t, MakeMask<false>>
                  : runBinary<uint32_t, uint32_t, uint32_t, MakeMask<true>>);
}

template <typename Op> constexpr RunFunction kDot = runTernary<uint32_t, uint32_t, uint32_t, uint32_t, Op>;

void bindDot(Binder &b, const RunFunction (&runs)[4]) {
  unsigned isSignedA = b.type({Type::U32, Type::S32}) == Type::S32;
  unsigned isSignedB = b.type({Type::U32, Type::S32}) == Type::S32;
  b.operands(4);
  b.def(0, Type::B32), b.use(1, Type::B32), b.use(2, Type::B32), b.use(3, Type::B32);
  b.run(runs[isSignedA * 2 + isSignedB]);
}

void bindDp4a(Binder &b) {
  static constexpr RunFunction runs[4] = {kDot<DotBytes<uint8_t, uint8_t>>, kDot<DotBytes<uint8_t, int8_t>>,
                                          kDot<DotBytes<int8_t, uint8_t>>, kDot<DotBytes<int8_t, int8_t>>};
  bindDot(b, runs);
}

void bindDp2a(Binder &b) {
  static constexpr RunFunction low[4] = {kDot<DotHalves<uint16_t, uint8_t, 0>>, kDot<DotHalves<uint16_t, int8_t, 0>>,
                                         kDot<DotHalves<int16_t, uint8_t, 0>>, kDot<DotHalves<int16_t, int8_t, 0>>};
  static constexpr RunFunction high[4] = {kDot<DotHalves<uint16_t, uint8_t, 16>>, kDot<DotHalves<uint16_t, int8_t, 16>>,
                                          kDot<DotHalves<int16_t, uint8_t, 16>>, kDot<DotHalves<int16_t, int8_t, 16>>};
  bindDot(b, b.expectOneOf({"lo", "hi"}) ? high : low);
}

const FamilyRow kRows[] = {
    {"bfe", {}, bindBfe},     {"bfi", {}, bindBfi},
    {"bfind", {}, bindBfind}, {"bmsk", {}, bindBmsk},
    {"brev", {}, bindBrev},   {"clz", {}, bindCount<CountLeadingZeros>},
    {"dp2a", {}, bindDp2a},   {"dp4a", {}, bindDp4a},
    {"fns", {}, bindFns},     {"popc", {}, bindCount<CountOnes>},
    {"szext", {}, bindSzext},
};

} // namespace

namespace weft::emu {
extern const Family kIntegerBitsFamily;
}
const Family emu::kIntegerBitsFamily = {"integer bits", kRows, sizeof kRows / sizeof *kRows};
