// Splits, their order, and the step loop.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See docs/emulator.md, "Warps, divergence and progress". Of the splits that can run, the one whose position in the
// program comes first runs, up to the position of the next one, where they merge.
#include "Emulator/Exec/Warp.h"
#include "Emulator/Exec/Machine.h"

#include <algorithm>
#include <cstring>

using namespace weft;
using namespace weft::emu;

/// Calls deeper than this are taken for endless recursion.
static constexpr uint32_t kMaxDepth = 1024;
/// Bytes of local memory of a thread that the hardware has at most.
static constexpr uint32_t kMaxLocalBytes = 512 << 10;
/// A split that could run but has not for so many steps of its warp runs next, for up to kStarvedTurn of them.
static constexpr uint32_t kStarvedSteps = 4096;
static constexpr uint32_t kStarvedTurn = 512;
/// From so many steps on the warp is looked at every kSpinSlice steps: if it comes back to a state, the split that runs
/// spins on something that the others may have to do, and they have their turn at once.
static constexpr uint32_t kSpinSteps = 128, kSpinSlice = 61;

Dim3 Warp::threadId(unsigned lane) const {
  const Dim3 &block = machine->spec.block;
  uint32_t index = threadIndex(lane);
  return {index % block.x, index / block.x % block.y, index / block.x / block.y};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Activations
//===--------------------------------------------------------------------------------------------------------------===//

Activation *Warp::newActivation(const FunctionCode &code, LaneMask mask) {
  std::unique_ptr<Activation> made;
  if (freeActivations.empty()) {
    made = std::make_unique<Activation>();
  } else {
    made = std::move(freeActivations.back());
    freeActivations.pop_back();
  }
  // Undefined registers read as zero, so that a launch depends on nothing else.
  made->registerStorage.assign(size_t(code.frameBytes) + 64, std::byte(0));
  made->registers = made->registerStorage.data();
  made->registers += (64 - reinterpret_cast<uintptr_t>(made->registers) % 64) % 64;
  made->parameterStorage.assign(size_t(code.parameterBlockBytes) * 32 + 16, std::byte(0));
  made->parameters = made->parameterStorage.data();
  made->parameters += (16 - reinterpret_cast<uintptr_t>(made->parameters) % 16) % 16;
  made->code = &code;
  made->caller = nullptr;
  made->call = nullptr;
  made->returnTo = made->localBase = made->depth = 0;
  made->lanes = mask;
  activations.push_back(std::move(made));
  return activations.back().get();
}

void Warp::release(Activation *activation, LaneMask mask) {
  activation->lanes &= ~mask;
  if (activation->lanes)
    return;
  for (auto &held : activations) {
    if (held.get() != activation)
      continue;
    freeActivations.push_back(std::move(held));
    held = std::move(activations.back());
    activations.pop_back();
    return;
  }
}

Activation *Warp::makeActivation(const FunctionCode &callee, const Step &call, LaneMask mask) {
  Activation &caller = activation();
  uint32_t localBase = caller.localBase + caller.code->localBytes;
  if (caller.depth + 1 >= kMaxDepth || localBase + callee.localBytes > kMaxLocalBytes) {
    machine->fault(*this, call, unsigned(__builtin_ctz(mask)),
                   "the stack overflows: %u calls deep, %u bytes of local "
                   "memory",
                   caller.depth + 1, localBase + callee.localBytes);
    return nullptr;
  }
  Activation *made = newActivation(callee, mask);
  made->caller = &caller;
  made->call = &call;
  made->returnTo = pc() + 1;
  made->depth = caller.depth + 1;
  made->localBase = localBase;
  return made;
}

/// In the parameter block of an activation: see kParamBlockBit.
static std::byte *parameterPointer(const Activation *frame, unsigned lane, uint64_t address, uint32_t bytes) {
  uint32_t depth = uint32_t(address & ~uint64_t(kParamBlockBit)) >> kParamDepthShift;
  uint64_t offset = address & ((1u << kParamDepthShift) - 1);
  while (depth && frame && frame->depth + 1 != depth)
    frame = frame->caller;
  if (!frame || address >> 32 || offset + bytes > frame->code->parameterBlockBytes)
    return nullptr;
  return frame->parameters + size_t(lane) * frame->code->parameterBlockBytes + offset;
}

std::byte *Warp::localPointer(unsigned lane, uint64_t address, uint32_t bytes) {
  const Activation &frame = activation();
  if (address & kParamBlockBit)
    return parameterPointer(&frame, lane, address, bytes);
  uint64_t end = uint64_t(frame.localBase) + frame.code->localBytes;
  if (address + bytes > end || address + bytes < address)
    return nullptr;
  if (end > localCapacity) {
    uint32_t capacity = std::max<uint32_t>(uint32_t(end), localCapacity * 2);
    std::vector<std::byte> grown(size_t(capacity) * 32, std::byte(0xcb));
    for (size_t i = 0; i < 32 && localCapacity; ++i)
      std::memcpy(grown.data() + i * capacity, local.data() + i * localCapacity, localCapacity);
    local.swap(grown);
    localCapacity = capacity;
  }
  return local.data() + size_t(lane) * localCapacity + address;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Splits
//===--------------------------------------------------------------------------------------------------------------===//

void Warp::start(Machine &owner, Cta &inCta, uint32_t number, LaneMask threads, const FunctionCode &entry) {
  machine = &owner;
  cta = &inCta;
  index = number;
  present = live = threads;
  splits.reserve(8);
  Split first;
  first.lanes = threads;
  first.activation = newActivation(entry, threads);
  splits.push_back(first);
  makeCurrent(0);
}

void Warp::makeCurrent(uint32_t number) {
  current = number;
  Activation &frame = *splits[number].activation;
  bases[0] = frame.registers;
  bases[1] = const_cast<ConstantPool &>(frame.code->constants).data();
}

bool Warp::isRunnable() const {
  for (const Split &split : splits)
    if (split.state != SplitState::Parked)
      return true;
  return false;
}

/// Negative if `a` comes before `b` in the program: compared at the innermost call that both are in.
static int64_t comparePlaces(const Split &a, const Split &b) {
  const Activation *frameA = a.activation, *frameB = b.activation;
  int64_t placeA = int64_t(a.pc) * 2, placeB = int64_t(b.pc) * 2;
  auto lift = [](const Activation *&frame, int64_t &place) {
    place = (int64_t(frame->returnTo) - 1) * 2 - 1; // Inside the call: before another split that stands at it.
    frame = frame->caller;
  };
  while (frameA != frameB) {
    bool liftA = frameA->depth >= frameB->depth, liftB = frameB->depth >= frameA->depth;
    if (liftA)
      lift(frameA, placeA);
    if (liftB)
      lift(frameB, placeB);
  }
  return placeA - placeB;
}

bool Warp::select() {
  uint32_t best = ~0u, last = ~0u, ready = 0;
  for (uint32_t i = 0; i < splits.size(); ++i) {
    if (splits[i].state != SplitState::Ready)
      continue;
    ++ready;
    if (best == ~0u || comparePlaces(splits[i], splits[best]) < 0)
      best = i;
    if (last == ~0u || comparePlaces(splits[i], splits[last]) >= 0)
      last = i;
  }
  if (best == ~0u)
    return false;
  isStarvedTurn = false;
  if (ready < 2) {
    starved = 0;
  } else if (starved >= kStarvedSteps) {
    // Independent thread scheduling: any split that can run does so in the end.
    uint32_t choice = machine->random.below(ready - 1);
    for (uint32_t i = 0; i < splits.size(); ++i)
      if (splits[i].state == SplitState::Ready && i != best && choice-- == 0)
        last = i;
    best = last;
    starved = 0;
    spinHashes.fill(0);
    isStarvedTurn = true;
  }
  makeCurrent(best);
  return true;
}

/// Splits at one position become one; those whose arrival somewhere has been counted (parked) stay apart.
void Warp::merge() {
  for (uint32_t i = 0; i + 1 < splits.size(); ++i) {
    Split &into = splits[i];
    if (into.state == SplitState::Parked)
      continue;
    for (uint32_t j = i + 1; j < splits.size();) {
      Split &other = splits[j];
      if (other.state == SplitState::Parked || other.pc != into.pc || other.activation != into.activation ||
          other.isReleased != into.isReleased) {
        ++j;
        continue;
      }
      into.lanes |= other.lanes;
      into.state = SplitState::Ready;
      splits.erase(splits.begin() + j);
    }
  }
}

/// The first position in the current activation where another split stands.
uint32_t Warp::mergeLimit() const {
  if (isStarvedTurn)
    return ~0u;
  uint32_t limit = ~0u;
  const Split &mine = splits[current];
  for (const Split &other : splits)
    if (&other != &mine && other.activation == mine.activation && other.pc > mine.pc)
      limit = std::min(limit, other.pc);
  return limit;
}

void Warp::divide(LaneMask away, uint32_t pc, Activation *activation, SplitState state) {
  Split made;
  made.lanes = away;
  made.pc = pc;
  made.activation = activation;
  made.state = state;
  splits[current].lanes &= ~away;
  splits.push_back(made);
}

/// The lanes of `mask` of the current split go to (activation, pc), the others to `othersPc`.
void Warp::moveLanes(LaneMask mask, uint32_t pc, Activation *activation, uint32_t othersPc) {
  Split &mine = splits[current];
  LaneMask others = mine.lanes & ~mask;
  Activation *frame = mine.activation;
  mine.lanes = mask;
  mine.pc = pc;
  mine.activation = activation;
  if (others) {
    Split made;
    made.lanes = others;
    made.pc = othersPc;
    made.activation = frame;
    splits.push_back(made);
  }
}

void Warp::branch(LaneMask taken, uint32_t target) {
  moveLanes(taken, target, splits[current].activation, splits[current].pc + 1);
}

Outcome Warp::advance(LaneMask done) {
  uint32_t here = splits[current].pc;
  moveLanes(done, here + 1, splits[current].activation, here);
  return Outcome::Jump;
}

void Warp::branchMany(LaneMask taken, const uint32_t (&targets)[32]) {
  Activation *frame = splits[current].activation;
  uint32_t next = splits[current].pc + 1;
  LaneMask all = splits[current].lanes;
  bool isFirst = true;
  for (LaneMask rest = taken; rest;) {
    uint32_t target = targets[__builtin_ctz(rest)];
    LaneMask same = 0;
    forLanes(rest, [&](unsigned lane) { same |= LaneMask(targets[lane] == target) << lane; });
    rest &= ~same;
    if (isFirst) {
      splits[current].lanes = same;
      splits[current].pc = target;
      isFirst = false;
    } else {
      splits.push_back({same, target, SplitState::Ready, frame, {}, false});
    }
  }
  if (LaneMask others = all & ~taken)
    splits.push_back({others, next, SplitState::Ready, frame, {}, false});
}

void Warp::enter(Activation &made, LaneMask mask, LaneMask repeat) {
  Split &mine = splits[current];
  Activation *frame = mine.activation;
  uint32_t here = mine.pc;
  LaneMask others = mine.lanes & ~mask & ~repeat;
  mine.lanes = mask;
  mine.pc = 0;
  mine.activation = &made;
  if (repeat)
    splits.push_back({repeat, here, SplitState::Ready, frame, {}, false});
  if (others)
    splits.push_back({others, here + 1, SplitState::Ready, frame, {}, false});
}

void Warp::leave(LaneMask mask) {
  Activation *frame = splits[current].activation;
  moveLanes(mask, frame->returnTo, frame->caller, splits[current].pc + 1);
  release(frame, mask);
}

void Warp::exitLanes(LaneMask mask) {
  Split &mine = splits[current];
  live &= ~mask;
  for (Activation *frame = mine.activation; frame;) {
    Activation *caller = frame->caller;
    release(frame, mask);
    frame = caller;
  }
  mine.lanes &= ~mask;
  mine.pc += 1;
  if (!mine.lanes)
    splits.erase(splits.begin() + current);
  // Others may wait for the lanes that are gone.
  machine->lanesExited(*this, mask);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Waiting
//===--------------------------------------------------------------------------------------------------------------===//

Outcome Warp::waitFor(WaitKind kind, uint64_t object, uint64_t detail) {
  Split &mine = splits[current];
  mine.state = SplitState::Polling;
  mine.wait = {kind, object, detail};
  return Outcome::Wait;
}

Outcome Warp::park(WaitKind kind, uint64_t object, uint64_t detail) {
  waitFor(kind, object, detail);
  splits[current].state = SplitState::Parked;
  return Outcome::Wait;
}

void Warp::wake(LaneMask lanes, bool isReleased) {
  for (Split &split : splits) {
    if (!(split.lanes & lanes))
      continue;
    split.state = SplitState::Ready;
    split.isReleased = isReleased;
    split.wait = {};
  }
}

void Warp::release(WaitKind kind, uint64_t object) {
  for (Split &split : splits) {
    if (split.state != SplitState::Parked || split.wait.kind != kind || split.wait.object != object)
      continue;
    split.state = SplitState::Ready;
    split.isReleased = true;
  }
}

bool Warp::converged(const Step &step, LaneMask members, Outcome &outcome) {
  LaneMask wanted = members & live;
  if ((active() & wanted) == wanted)
    return true;
  bool canArrive = false;
  for (const Split &other : splits) {
    if (&other == &splits[current] || !(other.lanes & wanted))
      continue;
    bool isStuck = other.state != SplitState::Ready && other.wait.kind == WaitKind::WarpSync &&
                   (other.wait.object & active()) && other.activation == splits[current].activation && other.pc != pc();
    canArrive |= !isStuck;
  }
  if (canArrive || splits.size() == 1) {
    outcome = waitFor(WaitKind::WarpSync, wanted);
    return false;
  }
  unsigned lane = unsigned(__builtin_ctz(active()));
  const Split *other = nullptr;
  for (const Split &split : splits)
    if (&split != &splits[current] && (split.lanes & wanted))
      other = &split;
  const Step &there = other->activation->code->steps[other->pc];
  machine->find("barrier-divergence", *this, step, lane, 0,
                "lanes 0x%08x of the warp are at %s, lanes 0x%08x at %u:%u %s: neither can go on without the other",
                active(), machine->opcodeOf(step).c_str(), other->lanes, there.line, there.column,
                machine->opcodeOf(there).c_str());
  outcome = machine->fault(*this, step, lane, "barrier divergence: other lanes of the warp wait at %u:%u %s",
                           there.line, there.column, machine->opcodeOf(there).c_str());
  return false;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Turns
//===--------------------------------------------------------------------------------------------------------------===//

uint64_t Warp::stateHash() const {
  uint64_t hash = 0xcbf29ce484222325ull;
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  };
  for (const Split &split : splits) {
    mix(split.lanes);
    mix(uint64_t(split.pc) << 8 | uint64_t(split.isReleased));
    for (const Activation *frame = split.activation; frame; frame = frame->caller) {
      mix(frame->returnTo);
      for (uint32_t i = 0; i + 8 <= frame->code->frameBytes; i += 8) {
        uint64_t word;
        std::memcpy(&word, frame->registers + i, 8);
        mix(word);
      }
    }
  }
  return hash;
}

/// Runs the current split until another position in the warp's order is reached. Returns the steps that did not wait.
uint32_t Warp::execute(uint32_t budget, uint32_t limit, bool &isDone) {
  const Step *steps = splits[current].activation->code->steps.data();
  LaneMask lanesOf = splits[current].lanes;
  uint32_t pc = splits[current].pc, count = 0, synthetic = 0;
  uint64_t threads = 0;
  const bool isObserved = !machine->observers.empty();
  Outcome outcome = Outcome::Next;
  while (count < budget) {
    const Step &step = steps[pc];
    LaneMask mask = lanesOf;
    if (step.guard != kNoSlot && !(step.flags & step_flag::Unguarded)) {
      LaneMask guard = predicate(step.guard);
      mask &= step.flags & step_flag::NegatedGuard ? ~guard : guard;
    }
    ++machine->time;
    if (isObserved) {
      // Only the first step of a run can be one that waited: the reason to wait stays set until the run ends.
      bool isRepeated = count == 0 && (splits[current].wait.kind != WaitKind::None || splits[current].isReleased);
      machine->observe([&](Observer &observer) { observer.stepBegins(*this, step, mask, isRepeated); });
    }
    outcome = mask ? step.run(*this, step, mask) : Outcome::Next;
    ++count;
    if (step.flags & step_flag::Synthetic)
      ++synthetic;
    else
      threads += unsigned(__builtin_popcount(mask));
    if (outcome == Outcome::Next) {
      splits[current].pc = ++pc;
      if (pc >= limit)
        break;
      continue;
    }
    if (outcome == Outcome::Jump) {
      if (splits.size() > 1 || splits[current].activation->code->steps.data() != steps)
        break;
      pc = splits[current].pc;
      continue;
    }
    if (outcome == Outcome::Wait) {
      --count;
      if (!(step.flags & step_flag::Synthetic))
        threads -= unsigned(__builtin_popcount(mask));
      if (LaneMask others = lanesOf & ~mask) // The guard lets them pass.
        divide(others, pc + 1, splits[current].activation, SplitState::Ready);
    } else if (outcome == Outcome::Yield) {
      splits[current].pc = pc + 1;
      isDone = true;
    } else if (outcome == Outcome::Exit) {
      exitLanes(mask);
    } else {
      isDone = true;
    }
    break;
  }
  if (outcome == Outcome::Next || outcome == Outcome::Jump || outcome == Outcome::Yield)
    splits[current].wait = {};
  machine->result.warpInstructions += count - synthetic;
  machine->result.threadInstructions += threads;
  return count;
}

uint32_t Warp::turn(uint32_t budget) {
  for (Split &split : splits)
    if (split.state == SplitState::Polling)
      split.state = SplitState::Ready;
  uint32_t total = 0;
  bool isDone = false;
  while (!isDone && total < budget && live) {
    if (splits.size() > 1)
      merge();
    if (!select())
      break;
    uint32_t share = budget - total;
    if (isStarvedTurn)
      share = std::min(share, kStarvedTurn);
    bool isWatched = starved >= kSpinSteps && !isStarvedTurn;
    if (isWatched)
      share = std::min(share, kSpinSlice);
    uint32_t count = execute(share, splits.size() > 1 ? mergeLimit() : ~0u, isDone);
    total += count;
    if (splits.size() > 1) {
      starved += count;
      if (isWatched && count == share)
        checkSpin();
    }
  }
  return total;
}

void Warp::checkSpin() {
  uint64_t hash = stateHash();
  for (uint64_t seen : spinHashes)
    if (seen == hash)
      starved = kStarvedSteps;
  spinHashes[spinNext++ % spinHashes.size()] = hash;
}
