// Extended-precision integer arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per width for sums and one for products; what they do with the carry is in Step::immediate.
#include "Emulator/Ops/IntegerCarry.h"

#include "Emulator/Exec/Warp.h"

using namespace weft;
using namespace weft::emu;

namespace {

constexpr TypeSet kTypes = {Type::U32, Type::S32, Type::U64, Type::S64};

/// a + b + carry, or a - b - carry. Replaces `carry`.
template <typename T> T addWithCarry(T a, T b, bool isSubtraction, bool &carry) {
  T sum, result;
  bool first, second;
  if (isSubtraction) {
    first = __builtin_sub_overflow(a, b, &sum);
    second = __builtin_sub_overflow(sum, T(carry), &result);
  } else {
    first = __builtin_add_overflow(a, b, &sum);
    second = __builtin_add_overflow(sum, T(carry), &result);
  }
  carry = first || second;
  return result;
}

/// Adds lane by lane; value(lane) and addend(lane) are of an unsigned type T.
template <typename T, typename Value>
Outcome addLanes(Warp &warp, const Step &step, LaneMask mask, const T *addend, Value value) {
  T *d = warp.lanes<T>(step.slots[0]);
  LaneMask carries = 0, in = step.immediate & carry_flag::In ? warp.carry : 0;
  bool isSubtraction = step.immediate & carry_flag::Subtract;
  forLanes(mask, [&](unsigned lane) {
    bool carry = in >> lane & 1;
    d[lane] = addWithCarry<T>(value(lane), addend[lane], isSubtraction, carry);
    carries |= LaneMask(carry) << lane;
  });
  if (step.immediate & carry_flag::Out)
    warp.carry = (warp.carry & ~mask) | carries;
  return Outcome::Next;
}

template <typename T> Outcome runAdd(Warp &warp, const Step &step, LaneMask mask) {
  const T *a = warp.lanes<T>(step.slots[1]);
  return addLanes<T>(warp, step, mask, warp.lanes<T>(step.slots[2]), [=](unsigned lane) { return a[lane]; });
}

/// S: T with the sign of the instruction; W: twice as wide.
template <typename T, typename S, typename W> Outcome runMad(Warp &warp, const Step &step, LaneMask mask) {
  const S *a = warp.lanes<S>(step.slots[1]), *b = warp.lanes<S>(step.slots[2]);
  unsigned shift = step.immediate & carry_flag::High ? 8 * sizeof(T) : 0;
  return addLanes<T>(warp, step, mask, warp.lanes<T>(step.slots[3]),
                     [=](unsigned lane) { return T(W(a[lane]) * W(b[lane]) >> shift); });
}

} // namespace

void emu::bindCarryAdd(Binder &b, uint64_t flags) {
  Type type = b.type(kTypes);
  b.operands(3);
  b.def(0, type), b.use(1, type), b.use(2, type);
  b.immediate(flags);
  b.run(ptx::bitWidth(type) == 32 ? runAdd<uint32_t> : runAdd<uint64_t>);
}

void emu::bindCarryMad(Binder &b, uint64_t flags) {
  static constexpr RunFunction runs[] = {runMad<uint32_t, uint32_t, uint64_t>, runMad<uint32_t, int32_t, int64_t>,
                                         runMad<uint64_t, uint64_t, unsigned __int128>,
                                         runMad<uint64_t, int64_t, __int128>};
  Type type = b.type(kTypes);
  b.operands(4);
  b.def(0, type), b.use(1, type), b.use(2, type), b.use(3, type);
  b.immediate(flags);
  b.run(runs[(ptx::bitWidth(type) == 64 ? 2 : 0) + ptx::isSigned(type)]);
}

void emu::bindAddc(Binder &b) { bindCarryAdd(b, carry_flag::In | (b.accept("cc") ? carry_flag::Out : 0)); }

void emu::bindSubc(Binder &b) {
  bindCarryAdd(b, carry_flag::In | carry_flag::Subtract | (b.accept("cc") ? carry_flag::Out : 0));
}

void emu::bindMadc(Binder &b) {
  uint64_t flags = carry_flag::In | (b.expectOneOf({"lo", "hi"}) ? carry_flag::High : 0);
  bindCarryMad(b, flags | (b.accept("cc") ? carry_flag::Out : 0));
}
