// A warp, its splits and its registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp is a set of splits: disjoint lane masks, each with a program counter and an activation (call frame). One split
// is current; steps see its registers through lanes().
#ifndef WEFT_EMULATOR_EXEC_WARP_H
#define WEFT_EMULATOR_EXEC_WARP_H

#include "Emulator/Exec/AsyncOp.h"
#include "Emulator/Exec/Launch.h"
#include "Emulator/Exec/Program.h"

#include <array>
#include <memory>
#include <vector>

namespace weft::emu {

class Cta;
class Machine;

/// A call frame, shared by the lanes that made the call together.
struct Activation {
  const FunctionCode *code = nullptr;
  std::byte *registers = nullptr;  ///< code->frameBytes, 64-byte aligned.
  std::byte *parameters = nullptr; ///< 32 blocks of code->parameterBlockBytes.
  Activation *caller = nullptr;
  const Step *call = nullptr; ///< The calling step, in the caller's code.
  uint32_t returnTo = 0;      ///< Step of the caller.
  uint32_t localBase = 0;     ///< Where the function's part of each thread's local memory begins.
  uint32_t depth = 0;
  LaneMask lanes = 0; ///< Those that have not returned or exited.
  std::vector<std::byte> registerStorage, parameterStorage;
};

/// What a split waits for; the words are for the deadlock picture.
enum class WaitKind : uint8_t { None, Barrier, ClusterBarrier, WarpSync, Mbarrier, AsyncGroup, Wgmma, Grid, Other };
struct WaitReason {
  WaitKind kind = WaitKind::None;
  uint64_t object = 0; ///< Barrier number, mbarrier's shared address, member mask, groups left.
  uint64_t detail = 0; ///< Threads expected, parity, ...
};

enum class SplitState : uint8_t {
  Ready,
  Polling, ///< The last step said Wait: repeated at each turn.
  Parked,  ///< Said Wait after Warp::park(): not run before Warp::wake().
};

struct Split {
  LaneMask lanes = 0;
  uint32_t pc = 0;
  SplitState state = SplitState::Ready;
  Activation *activation = nullptr;
  WaitReason wait;
  /// Steps with a rendezvous (.sync): set when the others have arrived and the result has been written for this split.
  bool isReleased = false;
};

class Warp {
public:
  Cta *cta = nullptr;
  Machine *machine = nullptr;
  uint32_t index = 0;   ///< In its CTA.
  uint32_t id = 0;      ///< Unique in the launch, dense from 0 among resident warps: see Machine::warpIds.
  LaneMask present = 0; ///< Lanes that are threads of the CTA.
  LaneMask live = 0;    ///< Present and not exited.
  LaneMask carry = 0;   ///< CC.CF of each thread: carry of add.cc, borrow of sub.cc.
  std::unique_ptr<AsyncState> asyncState;

  /// The 32 lanes of an operand of the current split. Constants must not be written.
  template <typename T> T *lanes(Slot slot) const {
    return reinterpret_cast<T *>(bases[slot >> 31] + (slot & ~kConstantSlot));
  }
  LaneMask predicate(Slot slot) const { return *lanes<LaneMask>(slot); }
  void setPredicate(Slot slot, LaneMask mask, LaneMask value) const {
    LaneMask &lanesOf = *lanes<LaneMask>(slot);
    lanesOf = (lanesOf & ~mask) | (value & mask);
  }

  // ---- The current split.
  LaneMask active() const { return splits[current].lanes; }
  Activation &activation() const { return *splits[current].activation; }
  uint32_t pc() const { return splits[current].pc; }
  Split &split() { return splits[current]; }
  /// The thread of a lane, in the CTA.
  Dim3 threadId(unsigned lane) const;
  uint32_t threadIndex(unsigned lane) const { return index * 32 + lane; }

  /// Records what the current split waits for and returns Outcome::Wait; the step is repeated at the next turn.
  Outcome waitFor(WaitKind kind, uint64_t object, uint64_t detail = 0);
  /// The same, but the step is not repeated before wake(): for waits whose end somebody announces.
  Outcome park(WaitKind kind, uint64_t object, uint64_t detail = 0);
  /// Makes the split with any of `lanes` runnable again. With `isReleased`, its step finds Split::isReleased set.
  void wake(LaneMask lanes, bool isReleased);
  /// The same for the splits that are parked for `object`.
  void release(WaitKind kind, uint64_t object);

  /// Instructions that work on converged lanes only ('.aligned', mma, ldmatrix): true if all live lanes of the warp are
  /// in the current split (or `members`, if fewer). If not, and the others can still arrive, the caller returns
  /// `outcome`: Wait until they do, or Fault with the finding "barrier-divergence" if they stand at another aligned
  /// instruction.
  bool converged(const Step &step, LaneMask members, Outcome &outcome);

  // ---- Control flow of the current split, for steps that return Outcome::Jump; see Ops/Control.cpp.
  /// The lanes of `taken` go to `target`, the others of the split to the next step.
  void branch(LaneMask taken, uint32_t target);
  /// Lane i of `taken` goes to targets[i].
  void branchMany(LaneMask taken, const uint32_t (&targets)[32]);
  /// An activation of `callee` for a call by `mask`; null: the call depth is exceeded, a fault.
  Activation *makeActivation(const FunctionCode &callee, const Step &call, LaneMask mask);
  /// The lanes of `mask` go to the first step of `made`, those of `repeat` execute the step again, the others of the
  /// split go on.
  void enter(Activation &made, LaneMask mask, LaneMask repeat);
  /// The lanes of `mask` go back to the caller.
  void leave(LaneMask mask);

  /// The host address of `bytes` of a thread's local memory, or of a parameter block (kParamBlockBit); null when out of
  /// bounds.
  std::byte *localPointer(unsigned lane, uint64_t address, uint32_t bytes);

  /// The lanes of `done` have executed the step; the others of the split execute it (again). Returns Outcome::Jump.
  Outcome advance(LaneMask done);

  // ---- For the machine: Exec/Warp.cpp.
  void start(Machine &owner, Cta &inCta, uint32_t number, LaneMask threads, const FunctionCode &entry);
  /// Executes steps until the budget is spent, nothing can run, or a step yields. Returns how many did not wait.
  uint32_t turn(uint32_t budget);
  bool isRunnable() const;
  /// Whether a split waits for a thing of this kind.
  bool waitsFor(WaitKind kind) const {
    for (const Split &split : splits)
      if (split.state != SplitState::Ready && split.wait.kind == kind)
        return true;
    return false;
  }
  /// The lanes have ended.
  void exitLanes(LaneMask mask);
  /// Hash of everything that decides what the warp does next but memory and the turns of its splits.
  uint64_t stateHash() const;
  uint32_t starvedSteps() const { return starved; }

  std::vector<Split> splits;
  uint32_t current = 0;
  LaneMask clusterArrived = 0;    ///< Lanes between arrive and wait of the cluster's barrier,
  uint64_t clusterPhase[32] = {}; ///< which arrived at this phase.
  uint64_t seenHash = 0;          ///< For the detection of livelocks: see Scheduler.
  uint32_t seenCount = 0, seenLimit = 1;
  bool isCycling = false;
  std::byte *bases[2] = {nullptr, nullptr}; ///< Registers and constants of the current activation.

private:
  bool select();
  void merge();
  uint32_t mergeLimit() const;
  void makeCurrent(uint32_t index);
  void divide(LaneMask away, uint32_t pc, Activation *activation, SplitState state);
  void moveLanes(LaneMask mask, uint32_t pc, Activation *activation, uint32_t othersPc);
  uint32_t execute(uint32_t budget, uint32_t limit, bool &isDone);
  Activation *newActivation(const FunctionCode &code, LaneMask mask);
  void release(Activation *activation, LaneMask mask);

  std::vector<std::unique_ptr<Activation>> activations, freeActivations;
  std::vector<std::byte> local; ///< 32 parts of localCapacity bytes.
  uint32_t localCapacity = 0;
  uint32_t starved = 0; ///< Steps since the split that has run least last ran.
  bool isStarvedTurn = false;
  void checkSpin();
  std::array<uint64_t, 8> spinHashes = {}; ///< States seen since a split last lost its turn.
  uint32_t spinNext = 0;
};

/// Calls `body(lane)` for every lane of `mask`; the loop over all 32 is one that the compiler can vectorise.
template <typename Body> inline void forLanes(LaneMask mask, Body &&body) {
  if (mask == kAllLanes) {
    for (unsigned lane = 0; lane < 32; ++lane)
      body(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    body(unsigned(__builtin_ctz(mask)));
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_WARP_H
