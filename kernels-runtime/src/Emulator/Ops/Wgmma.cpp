// The warp group's matrix instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma.fence, mma_async, commit_group, wait_group. The n-th mma_async of a warp is one operation with the n-th of the
// other three warps of its group; it is issued when the last of them has come, and complete for all when one of them
// waits.
#include "Emulator/Async/AsyncStates.h"
#include "Emulator/Async/WgmmaOp.h"
#include "Emulator/Exec/Binder.h"
#include "Emulator/Ops/MatrixCommon.h"

#include <algorithm>
#include <cstdlib>

using namespace weft;
using namespace weft::emu;

namespace {

bool isSanitized(const Warp &warp) { return warp.machine->spec.options.isSanitized; }

/// A descriptor or predicate that has to be the same in all lanes. False: fault.
bool uniformDescriptor(Warp &warp, const Step &step, LaneMask mask, unsigned slot, uint64_t &descriptor) {
  const uint64_t *lanes = warp.lanes<uint64_t>(step.slots[slot]);
  descriptor = lanes[__builtin_ctz(mask)];
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    if (lanes[__builtin_ctz(rest)] != descriptor) {
      warp.machine->fault(warp, step, unsigned(__builtin_ctz(rest)),
                          "expected one matrix descriptor in all lanes, got 0x%llx and 0x%llx",
                          (unsigned long long)descriptor, (unsigned long long)lanes[__builtin_ctz(rest)]);
      return false;
    }
  return true;
}

/// This warp's share. False: fault.
bool makePart(Warp &warp, const Step &step, LaneMask mask, WgmmaOp::Part &part) {
  const auto &form = *static_cast<const WgmmaForm *>(step.payload);
  part.warp = &warp;
  part.step = &step;
  part.activation = &warp.activation();
  if (!form.hasRegisterA && !uniformDescriptor(warp, step, mask, form.a, part.a))
    return false;
  if (!uniformDescriptor(warp, step, mask, form.b, part.b))
    return false;
  LaneMask scale = warp.predicate(step.slots[form.scale]) & mask;
  if (scale != 0 && scale != mask) {
    warp.machine->fault(warp, step, 32, "expected one scale-d in all lanes, got the mask 0x%08x", scale);
    return false;
  }
  part.addsToD = (scale != 0) != form.isScaleNegated;
  return true;
}

/// Checks the parts of a complete operation against the first. False: fault.
bool checkParts(Machine &machine, WgmmaOp &op) {
  const WgmmaOp::Part &first = op.parts[0];
  for (const WgmmaOp::Part &part : op.parts) {
    if (part.step != first.step) {
      machine.fault(*part.warp, *part.step, 32,
                    "the warps of the group execute different wgmmas: warp %u is at line %u", first.warp->index,
                    first.step->line);
      return false;
    }
    if (part.b != first.b || part.a != first.a || part.addsToD != first.addsToD)
      machine.find(
          "wgmma-operands", *part.warp, *part.step, 32, 0,
          "the warps of the group have different operands: warp %u has descriptors 0x%llx and 0x%llx, warp %u has "
          "0x%llx and 0x%llx",
          first.warp->index, (unsigned long long)first.a, (unsigned long long)first.b, part.warp->index,
          (unsigned long long)part.a, (unsigned long long)part.b);
  }
  return true;
}

Outcome runMma(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!warp.converged(step, kAllLanes, outcome))
    return outcome;
  Machine &machine = *warp.machine;
  if (mask != kAllLanes || warp.index / 4 * 4 + 4 > warp.cta->warps.size())
    return machine.fault(warp, step, 32, "wgmma needs four warps of 32 threads that have not exited");
  WarpGroup &group = CtaAsync::of(*warp.cta).groupOf(warp);
  WarpGroup::Member &member = group.members[warp.index % 4];
  size_t at = size_t(member.issued - group.first);
  if (at == group.ops.size())
    group.ops.push_back(std::make_shared<WgmmaOp>());
  std::shared_ptr<WgmmaOp> op = group.ops[at];
  WgmmaOp::Part &part = op->parts[warp.index % 4];
  if (!makePart(warp, step, mask, part))
    return Outcome::Fault;
  if (isSanitized(warp))
    WarpAsync::of(warp).wgmma.use(part);
  ++member.issued;
  machine.progress();
  if (++op->partCount < 4)
    return Outcome::Next;
  op->warp = op->parts[0].warp;
  op->cta = warp.cta;
  op->step = op->parts[0].step;
  op->lanes = kAllLanes;
  if (!checkParts(machine, *op))
    return Outcome::Fault;
  op->previous = group.lastIssued && !group.lastIssued->isDone ? group.lastIssued : nullptr;
  group.lastIssued = op;
  return machine.issue(op) ? Outcome::Next : Outcome::Fault;
}

Outcome runFence(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!warp.converged(step, kAllLanes, outcome))
    return outcome;
  if (isSanitized(warp))
    WarpAsync::of(warp).wgmma.fenced(warp);
  FenceEvent event = {&warp, &step, mask, FenceKind::Wgmma, Order::Weak, Scope::None};
  warp.machine->observe([&](Observer &observer) { observer.fenced(event); });
  return Outcome::Next;
}

Outcome runCommit(Warp &warp, const Step &step, LaneMask) {
  Outcome outcome = Outcome::Next;
  if (!warp.converged(step, kAllLanes, outcome))
    return outcome;
  WarpGroup::Member &member = CtaAsync::of(*warp.cta).groupOf(warp).members[warp.index % 4];
  member.groups.push_back(member.issued);
  return Outcome::Next;
}

Outcome runWait(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!warp.converged(step, kAllLanes, outcome))
    return outcome;
  WarpGroup &group = CtaAsync::of(*warp.cta).groupOf(warp);
  WarpGroup::Member &member = group.members[warp.index % 4];
  if (member.groups.size() <= step.immediate)
    return Outcome::Next;
  size_t done = member.groups.size() - size_t(step.immediate);
  uint64_t target = member.groups[done - 1];
  if (target > member.waited && !group.ops[size_t(target - 1 - group.first)]->isIssued())
    return warp.waitFor(WaitKind::Wgmma, warp.index / 4, target);
  for (; member.waited < target; ++member.waited) {
    WgmmaOp &op = *group.ops[size_t(member.waited - group.first)];
    if (!op.isDone && !warp.machine->force(op))
      return Outcome::Fault;
    warp.machine->observe([&](Observer &observer) { observer.asyncWaited(op, warp, mask, false); });
  }
  member.groups.erase(member.groups.begin(), member.groups.begin() + std::ptrdiff_t(done));
  uint64_t least = member.waited;
  for (const WarpGroup::Member &other : group.members)
    least = std::min(least, other.waited);
  group.ops.erase(group.ops.begin(), group.ops.begin() + std::ptrdiff_t(least - group.first));
  group.first = least;
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

/// "m64nNkK": N a multiple of 8 up to 256 (of integers and bits, above 32: of 16).
void bindShape(Binder &b, unsigned &columns, unsigned &depth) {
  std::string word(b.peek());
  char *end = nullptr;
  bool isShape = word.rfind("m64n", 0) == 0;
  columns = isShape ? unsigned(std::strtoul(word.c_str() + 4, &end, 10)) : 0;
  depth = isShape && end && *end == 'k' ? unsigned(std::strtoul(end + 1, &end, 10)) : 0;
  if (!isShape || !end || *end != 0 || columns == 0 || columns > 256 || columns % 8 || depth == 0)
    b.fail("expected a shape m64nNkK with N a multiple of 8 from 8 to 256, got .%s", word.c_str());
  else
    b.expect(word);
}

/// .dtype.atype.btype, checked against one another.
void bindTypes(Binder &b, WgmmaForm &form, unsigned depth, Type &a) {
  form.options.isSaturating = b.accept("satfinite");
  Type d = b.type({Type::F16, Type::F32, Type::S32});
  a = b.type({Type::F16, Type::BF16, Type::TF32, Type::E4M3, Type::E5M2, Type::S8, Type::U8, Type::B1});
  TypeSet second = a == Type::E4M3 || a == Type::E5M2 ? TypeSet{Type::E4M3, Type::E5M2}
                   : a == Type::S8 || a == Type::U8   ? TypeSet{Type::S8, Type::U8}
                                                      : TypeSet{a};
  Type other = b.type(second);
  form.isBits = a == Type::B1;
  bool isInteger = form.isBits || a == Type::S8 || a == Type::U8;
  bool allowsHalf = a == Type::F16 || a == Type::E4M3 || a == Type::E5M2;
  if ((d == Type::S32) != isInteger || (d == Type::F16 && !allowsHalf))
    b.fail("there is no wgmma of .%s on .%s", std::string(ptx::name(d)).c_str(), std::string(ptx::name(a)).c_str());
  if (isInteger && other != a)
    b.requireVersion(8, 4);
  if (form.options.isSaturating && (!isInteger || form.isBits))
    b.fail("unexpected .satfinite");
  unsigned expected = 256 / unsigned(a == Type::TF32 ? 32 : ptx::bitWidth(a));
  if (depth != expected)
    b.fail("expected k%u for .%s, got k%u", expected, std::string(ptx::name(a)).c_str(), depth);
  if (isInteger && form.shape.columns > 32 && form.shape.columns % 16)
    b.fail("expected N of 8, 16, 24, 32 or a multiple of 16 for integers, got %u", form.shape.columns);
  form.shape.a = matrixElementOf(a);
  form.shape.b = matrixElementOf(other);
  form.shape.rows = 64;
  form.shape.depth = depth;
  form.options.isHalfAccumulator = d == Type::F16;
  form.accumulators = uint8_t(form.shape.columns / (d == Type::F16 ? 4 : 2));
  if (form.isBits) {
    b.expect("and");
    b.expect("popc");
  }
}

void bindAccumulators(Binder &b, WgmmaForm &form) {
  ptx::Span<ptx::Operand> list = b.elements(0, form.accumulators);
  for (const ptx::Operand &element : list)
    b.def(element, Type::B32, Role::LateDef);
}

bool immediateSign(Binder &b, unsigned i) {
  int64_t value = b.constant(i, -1, 1);
  if (value == 0)
    b.fail("expected 1 or -1 as operand %u, got 0", i + 1);
  return value < 0;
}

void bindMma(Binder &b) {
  WgmmaForm &form = *b.payload<WgmmaForm>();
  b.expect("sync");
  b.expect("aligned");
  b.requireSm(90, true);
  unsigned depth = 0;
  bindShape(b, form.shape.columns, depth);
  Type a = Type::F16;
  bindTypes(b, form, depth, a);
  if (b.failed())
    return;
  bool isHalfType = a == Type::F16 || a == Type::BF16;
  bool isFloat = isHalfType || a == Type::TF32 || a == Type::E4M3 || a == Type::E5M2;
  form.hasRegisterA = b.isVector(1);
  unsigned transposes = isHalfType ? (form.hasRegisterA ? 1 : 2) : 0;
  b.operands(4 + (isFloat ? 2 : 0) + transposes);
  bindAccumulators(b, form);
  if (form.hasRegisterA) {
    ptx::Span<ptx::Operand> list = b.elements(1, 4);
    for (unsigned i = 0; i < list.size(); ++i) {
      unsigned slot = b.use(list[i], Type::B32, Role::LateUse);
      form.a = uint8_t(i == 0 ? slot : form.a);
    }
  } else {
    form.a = uint8_t(b.use(1, Type::B64));
  }
  form.b = uint8_t(b.use(2, Type::B64));
  form.scale = uint8_t(b.usePredicate(b.operand(3), form.isScaleNegated));
  if (isFloat) {
    form.options.negatesA = immediateSign(b, 4);
    form.options.negatesB = immediateSign(b, 5);
  }
  if (transposes == 2)
    form.isMajorM = b.constant(6, 0, 1) != 0;
  if (transposes)
    form.isMajorN = b.constant(5 + transposes, 0, 1) != 0;
  b.run(runMma);
}

void bindAligned(Binder &b, RunFunction run) {
  b.expect("sync");
  b.expect("aligned");
  b.requireSm(90, true);
  b.run(run);
}
void bindFence(Binder &b) {
  bindAligned(b, runFence);
  b.operands(0);
}
void bindCommit(Binder &b) {
  bindAligned(b, runCommit);
  b.operands(0);
}
void bindWait(Binder &b) {
  bindAligned(b, runWait);
  b.operands(1);
  int64_t pending = b.constant(0, 0, 7);
  b.immediate(uint64_t(pending));
  if (pending == 0)
    b.flag(step_flag::WaitsLate);
}

constexpr FamilyRow kRows[] = {
    {"wgmma.mma_async", {}, bindMma},
    {"wgmma.fence", {}, bindFence},
    {"wgmma.commit_group", {}, bindCommit},
    {"wgmma.wait_group", {}, bindWait},
};

} // namespace

bool emu::isWgmma(const Step &step) { return step.run == runMma; }

namespace weft::emu {
extern const Family kWgmmaFamily;
const Family kWgmmaFamily = {"wgmma", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu
