// Instructions between the lanes of a warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shfl, vote, match, redux, elect, activemask and bar.warp.sync. A lane waits until every live lane of its member mask
// stands at the instruction; lanes with different masks are groups of their own.
#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"

#include <algorithm>
#include <cstring>

using namespace weft;
using namespace weft::emu;

namespace weft::emu {
extern const Family kWarpSyncFamily;
}

namespace {
/// What a form does for the lanes of `group`, which are all that live of one member mask.
using GroupFunction = void (*)(Warp &warp, const Step &step, LaneMask group);

enum class ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

struct SyncPayload {
  GroupFunction run = nullptr;
  uint8_t members = 0; ///< Index in Step::slots of the member mask; so are the others.
  int8_t result = -1, resultPredicate = -1;
  uint8_t a = 0, b = 0, c = 0;
  uint8_t mode = 0;
  bool isNegated = false;
  bool isWide = false; ///< match.b64
};
} // namespace

static const SyncPayload &payloadOf(const Step &step) { return *static_cast<const SyncPayload *>(step.payload); }

//===--------------------------------------------------------------------------------------------------------------===//
// The rendezvous
//===--------------------------------------------------------------------------------------------------------------===//

static Outcome runSync(Warp &warp, const Step &step, LaneMask mask);

namespace {
/// Lanes that stand at an instruction of a rendezvous, and where their operands are.
struct Participant {
  Split *split;
  const Step *step;
  const FunctionCode *code;
  LaneMask lanes;

  std::byte *operand(unsigned i) const {
    Slot slot = step->slots[i];
    if (slot == kNoSlot)
      return nullptr;
    std::byte *constants = const_cast<ConstantPool &>(code->constants).data();
    return (slot & kConstantSlot ? constants : split->activation->registers) + (slot & ~kConstantSlot);
  }
};
} // namespace

static bool isAlike(const Step &a, const Step &b) {
  const SyncPayload &p = payloadOf(a), &q = payloadOf(b);
  return a.opcode == b.opcode && a.slotCount == b.slotCount && p.members == q.members && p.result == q.result &&
         p.resultPredicate == q.resultPredicate && p.a == q.a && p.b == q.b && p.c == q.c && p.isNegated == q.isNegated;
}

/// Copies operand `i` of the lanes to (or from) `scratch`.
static void transfer(const Participant &who, unsigned i, std::byte *scratch, bool isBack) {
  std::byte *operand = who.operand(i);
  unsigned width = who.code->widthOf(*who.step, i);
  bool isWritten = who.code->roleOf(*who.step, i) != Role::Use;
  if (!operand || (isBack && !isWritten))
    return;
  std::byte *to = isBack ? operand : scratch, *from = isBack ? scratch : operand;
  if (width == 0) {
    LaneMask &target = *reinterpret_cast<LaneMask *>(to);
    target = (target & ~who.lanes) | (*reinterpret_cast<LaneMask *>(from) & who.lanes);
    return;
  }
  forLanes(who.lanes, [&](unsigned lane) { std::memcpy(to + lane * width, from + lane * width, width); });
}

/// Lanes may meet at different instructions of one form, in different branches or calls. True if those of `absent`
/// stand at such ones: then the instruction has been executed for all of `group` and them, and the others have gone on.
static bool meetElsewhere(Warp &warp, const Step &step, LaneMask group, LaneMask absent, LaneMask wanted) {
  constexpr unsigned kMost = 8;
  if (step.slotCount > kMost)
    return false;
  std::vector<Participant> all = {{&warp.split(), &step, warp.activation().code, group}};
  for (Split &other : warp.splits) {
    if (&other == &warp.split() || !(other.lanes & absent))
      continue;
    const FunctionCode &code = *other.activation->code;
    const Step &there = code.steps[other.pc];
    Participant who = {&other, &there, &code, other.lanes};
    if (other.wait.kind != WaitKind::WarpSync || there.run != runSync || !isAlike(step, there))
      return false;
    const auto *members = reinterpret_cast<const uint32_t *>(who.operand(payloadOf(there).members));
    for (LaneMask rest = other.lanes; rest; rest &= rest - 1)
      if (members[__builtin_ctz(rest)] != wanted)
        return false;
    absent &= ~other.lanes;
    all.push_back(who);
  }
  if (absent)
    return false;
  alignas(64) std::byte scratch[kMost][32 * 8] = {};
  Slot slots[kMost];
  LaneMask met = 0;
  for (const Participant &who : all)
    met |= who.lanes;
  for (unsigned i = 0; i < step.slotCount; ++i) {
    slots[i] = Slot(i * sizeof scratch[0]);
    for (const Participant &who : all)
      transfer(who, i, scratch[i], false);
  }
  Step joint = step;
  joint.slots = slots;
  std::byte *registers = warp.bases[0];
  warp.bases[0] = scratch[0];
  if (payloadOf(step).run)
    payloadOf(step).run(warp, joint, met);
  warp.bases[0] = registers;
  for (const Participant &who : all) {
    for (unsigned i = 0; i < step.slotCount; ++i)
      transfer(who, i, scratch[i], true);
    if (who.split == &warp.split())
      continue;
    who.split->pc += 1;
    who.split->state = SplitState::Ready;
    who.split->wait = {};
  }
  warp.machine->observe([&](Observer &observer) { observer.warpSynced(warp, step, met); });
  return true;
}

static Outcome runSync(Warp &warp, const Step &step, LaneMask mask) {
  const SyncPayload &payload = payloadOf(step);
  const uint32_t *members = warp.lanes<uint32_t>(step.slots[payload.members]);
  LaneMask done = 0, missing = 0;
  for (LaneMask rest = mask; rest;) {
    unsigned first = unsigned(__builtin_ctz(rest));
    LaneMask wanted = members[first], group = 0;
    forLanes(rest, [&](unsigned lane) { group |= LaneMask(members[lane] == wanted) << lane; });
    rest &= ~group;
    if (LaneMask outside = group & ~wanted)
      return warp.machine->fault(warp, step, unsigned(__builtin_ctz(outside)),
                                 "the thread is not in its own member mask 0x%08x", wanted);
    if (LaneMask absent = wanted & warp.live & ~group) {
      // A lane of the mask that is here with another mask will not come with this one.
      if (LaneMask other = absent & mask)
        return warp.machine->fault(warp, step, unsigned(__builtin_ctz(other)),
                                   "the thread has member mask 0x%08x, another thread of it has 0x%08x",
                                   members[__builtin_ctz(other)], wanted);
      if (meetElsewhere(warp, step, group, absent, wanted))
        done |= group;
      else
        missing |= absent;
      continue;
    }
    warp.machine->observe([&](Observer &observer) { observer.warpSynced(warp, step, group); });
    if (payload.run)
      payload.run(warp, step, group);
    done |= group;
  }
  if (done == mask)
    return Outcome::Next;
  if (done)
    return warp.advance(done);
  Outcome outcome = Outcome::Next;
  if (warp.converged(step, missing | mask, outcome)) // The guard keeps them away: they may end, or come later.
    return warp.waitFor(WaitKind::WarpSync, missing);
  return outcome;
}

//===--------------------------------------------------------------------------------------------------------------===//
// shfl
//===--------------------------------------------------------------------------------------------------------------===//

static void shuffle(Warp &warp, const Step &step, LaneMask group) {
  const SyncPayload &payload = payloadOf(step);
  const uint32_t *offsets = warp.lanes<uint32_t>(step.slots[payload.b]);
  const uint32_t *clamps = warp.lanes<uint32_t>(step.slots[payload.c]);
  uint32_t values[32];
  std::memcpy(values, warp.lanes<uint32_t>(step.slots[payload.a]), sizeof values);
  uint32_t *target = step.slots[payload.result] == kNoSlot ? nullptr : warp.lanes<uint32_t>(step.slots[payload.result]);
  LaneMask inRange = 0;
  uint32_t sources[32];
  forLanes(group, [&](unsigned lane) {
    uint32_t offset = offsets[lane] & 31, clamp = clamps[lane] & 31, segment = clamps[lane] >> 8 & 31;
    uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int32_t source = int32_t(lane);
    bool isIn = false;
    switch (ShuffleMode(payload.mode)) {
    case ShuffleMode::Up:
      source = int32_t(lane) - int32_t(offset);
      isIn = source >= int32_t(last);
      break;
    case ShuffleMode::Down:
      source = int32_t(lane + offset);
      isIn = source <= int32_t(last);
      break;
    case ShuffleMode::Butterfly:
      source = int32_t(lane ^ offset);
      isIn = source <= int32_t(last);
      break;
    case ShuffleMode::Index:
      source = int32_t(first | (offset & ~segment));
      isIn = source <= int32_t(last);
      break;
    }
    sources[lane] = isIn ? uint32_t(source) & 31 : lane;
    inRange |= LaneMask(isIn) << lane;
  });
  if (target)
    forLanes(group, [&](unsigned lane) { target[lane] = values[sources[lane]]; });
  if (payload.resultPredicate >= 0 && step.slots[payload.resultPredicate] != kNoSlot)
    warp.setPredicate(step.slots[payload.resultPredicate], group, inRange);
}

/// d|p: both optional as sinks.
static void bindResultPair(Binder &b, SyncPayload &payload, Type type, bool needsPair) {
  const ptx::Operand *first = nullptr, *second = nullptr;
  b.pair(0, first, second);
  if (needsPair && !second)
    return b.fail("expected a pair d|p as operand 1");
  payload.result = int8_t(b.defOrSink(*first, type));
  if (second)
    payload.resultPredicate = int8_t(b.defOrSink(*second, Type::Pred));
}

static void expectSync(Binder &b) {
  if (!b.accept("sync"))
    b.fail("expected .sync: the form without it does not exist from sm_70 on");
}

static void bindShfl(Binder &b) {
  expectSync(b);
  auto *payload = b.payload<SyncPayload>();
  payload->mode = uint8_t(b.expectOneOf({"up", "down", "bfly", "idx"}));
  b.expect("b32");
  b.operands(5);
  bindResultPair(b, *payload, Type::B32, false);
  payload->a = uint8_t(b.use(1, Type::B32));
  payload->b = uint8_t(b.use(2, Type::B32));
  payload->c = uint8_t(b.use(3, Type::B32));
  payload->members = uint8_t(b.use(4, Type::B32));
  payload->run = shuffle;
  b.run(runSync);
}

//===--------------------------------------------------------------------------------------------------------------===//
// vote, match, redux
//===--------------------------------------------------------------------------------------------------------------===//

static void vote(Warp &warp, const Step &step, LaneMask group) {
  const SyncPayload &payload = payloadOf(step);
  LaneMask value = warp.predicate(step.slots[payload.a]);
  value = (payload.isNegated ? ~value : value) & group;
  if (payload.mode == 3) {
    uint32_t *target = warp.lanes<uint32_t>(step.slots[payload.result]);
    forLanes(group, [&](unsigned lane) { target[lane] = value; });
    return;
  }
  bool all = value == group, any = value != 0;
  bool result = payload.mode == 0 ? all : payload.mode == 1 ? any : all || !any;
  warp.setPredicate(step.slots[payload.result], group, result ? kAllLanes : 0);
}

static void bindVote(Binder &b) {
  expectSync(b);
  auto *payload = b.payload<SyncPayload>();
  payload->mode = uint8_t(b.expectOneOf({"all", "any", "uni", "ballot"}));
  b.expect(payload->mode == 3 ? "b32" : "pred");
  b.operands(3);
  payload->result = int8_t(b.def(0, payload->mode == 3 ? Type::B32 : Type::Pred));
  payload->a = uint8_t(b.usePredicate(b.operand(1), payload->isNegated));
  payload->members = uint8_t(b.use(2, Type::B32));
  payload->run = vote;
  b.run(runSync);
}

static void match(Warp &warp, const Step &step, LaneMask group) {
  const SyncPayload &payload = payloadOf(step);
  uint64_t values[32];
  forLanes(group, [&](unsigned lane) {
    values[lane] = payload.isWide ? warp.lanes<uint64_t>(step.slots[payload.a])[lane]
                                  : warp.lanes<uint32_t>(step.slots[payload.a])[lane];
  });
  uint32_t result[32];
  bool all = true;
  forLanes(group, [&](unsigned lane) {
    LaneMask same = 0;
    forLanes(group, [&](unsigned other) { same |= LaneMask(values[other] == values[lane]) << other; });
    result[lane] = same;
    all &= same == group;
  });
  bool isAll = payload.mode == 1;
  if (Slot slot = step.slots[payload.result]; slot != kNoSlot) {
    uint32_t *target = warp.lanes<uint32_t>(slot);
    forLanes(group, [&](unsigned lane) { target[lane] = isAll ? (all ? group : 0) : result[lane]; });
  }
  if (payload.resultPredicate >= 0 && step.slots[payload.resultPredicate] != kNoSlot)
    warp.setPredicate(step.slots[payload.resultPredicate], group, all ? kAllLanes : 0);
}

static void bindMatch(Binder &b) {
  auto *payload = b.payload<SyncPayload>();
  payload->mode = uint8_t(b.expectOneOf({"any", "all"}));
  b.expect("sync");
  Type type = b.type({Type::B32, Type::B64});
  payload->isWide = type == Type::B64;
  b.operands(3);
  if (payload->mode == 1)
    bindResultPair(b, *payload, Type::B32, false);
  else
    payload->result = int8_t(b.def(0, Type::B32));
  payload->a = uint8_t(b.use(1, type));
  payload->members = uint8_t(b.use(2, Type::B32));
  payload->run = match;
  b.run(runSync);
}

enum ReduxMode : uint8_t { ReduxAdd, ReduxMin, ReduxMax, ReduxAnd, ReduxOr, ReduxXor, ReduxMinSigned, ReduxMaxSigned };

static uint32_t combine(uint8_t mode, uint32_t a, uint32_t b) {
  switch (mode) {
  case ReduxAdd:
    return a + b;
  case ReduxMin:
    return std::min(a, b);
  case ReduxMax:
    return std::max(a, b);
  case ReduxAnd:
    return a & b;
  case ReduxOr:
    return a | b;
  case ReduxXor:
    return a ^ b;
  case ReduxMinSigned:
    return uint32_t(std::min(int32_t(a), int32_t(b)));
  default:
    return uint32_t(std::max(int32_t(a), int32_t(b)));
  }
}

static void redux(Warp &warp, const Step &step, LaneMask group) {
  const SyncPayload &payload = payloadOf(step);
  const uint32_t *values = warp.lanes<uint32_t>(step.slots[payload.a]);
  uint32_t result = values[__builtin_ctz(group)];
  forLanes(group & (group - 1), [&](unsigned lane) { result = combine(payload.mode, result, values[lane]); });
  uint32_t *target = warp.lanes<uint32_t>(step.slots[payload.result]);
  forLanes(group, [&](unsigned lane) { target[lane] = result; });
}

static void bindRedux(Binder &b) {
  b.requireSm(80);
  b.expect("sync");
  auto *payload = b.payload<SyncPayload>();
  unsigned op = b.expectOneOf({"add", "min", "max", "and", "or", "xor"});
  bool isMinMax = op == ReduxMin || op == ReduxMax;
  if (isMinMax) {
    if (b.peek() == "abs" || b.peek() == "NaN" || b.peek() == "f32")
      return b.fail("requires sm_100a: no GPU that is emulated has redux.sync.f32");
  }
  Type type = b.type(op >= ReduxAnd ? TypeSet{Type::B32} : TypeSet{Type::U32, Type::S32});
  payload->mode = uint8_t(type == Type::S32 && isMinMax ? op - ReduxMin + ReduxMinSigned : op);
  b.operands(3);
  payload->result = int8_t(b.def(0, type));
  payload->a = uint8_t(b.use(1, type));
  payload->members = uint8_t(b.use(2, Type::B32));
  payload->run = redux;
  b.run(runSync);
}

//===--------------------------------------------------------------------------------------------------------------===//
// elect, activemask, bar.warp.sync
//===--------------------------------------------------------------------------------------------------------------===//

/// The lowest lane of the mask leads, as on the hardware (PTX leaves it open, but deterministic).
static void elect(Warp &warp, const Step &step, LaneMask group) {
  const SyncPayload &payload = payloadOf(step);
  uint32_t leader = uint32_t(__builtin_ctz(group));
  if (Slot slot = step.slots[payload.result]; slot != kNoSlot) {
    uint32_t *target = warp.lanes<uint32_t>(slot);
    forLanes(group, [&](unsigned lane) { target[lane] = leader; });
  }
  if (Slot slot = step.slots[payload.resultPredicate]; slot != kNoSlot)
    warp.setPredicate(slot, group, 1u << leader);
}

static void bindElect(Binder &b) {
  b.requireSm(90);
  b.expect("sync");
  b.operands(2);
  auto *payload = b.payload<SyncPayload>();
  bindResultPair(b, *payload, Type::B32, true);
  payload->members = uint8_t(b.use(1, Type::B32));
  payload->run = elect;
  b.run(runSync);
}

static Outcome runActivemask(Warp &warp, const Step &step, LaneMask mask) {
  uint32_t *target = warp.lanes<uint32_t>(step.slots[0]);
  forLanes(mask, [&](unsigned lane) { target[lane] = mask; });
  return Outcome::Next;
}

static void bindActivemask(Binder &b) {
  b.expect("b32");
  b.operands(1);
  b.def(0, Type::B32);
  b.run(runActivemask);
}

static void bindBarWarp(Binder &b) {
  b.expect("sync");
  b.operands(1);
  b.payload<SyncPayload>()->members = uint8_t(b.use(0, Type::B32));
  b.run(runSync);
}

static const FamilyRow kRows[] = {
    {"activemask", {}, bindActivemask},
    {"bar.warp", {}, bindBarWarp},
    {"elect", {}, bindElect},
    {"match", {}, bindMatch},
    {"redux", {}, bindRedux},
    {"shfl", {}, bindShfl},
    {"vote", {}, bindVote},
};
const Family emu::kWarpSyncFamily = {"warp sync", kRows, sizeof kRows / sizeof *kRows};
