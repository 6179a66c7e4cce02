// Who knows what: the state behind happens-before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMULATOR_SANITIZER_ORDER_H
#define WEFT_EMULATOR_SANITIZER_ORDER_H

#include "Emulator/Exec/Machine.h"
#include "Emulator/Sanitizer/AsyncRegisters.h"
#include "Emulator/Sanitizer/SharedShadow.h"

#include <unordered_map>

namespace weft::emu {

/// Steps by small numbers, as Party::site.
class Sites {
public:
  uint32_t of(const Step &step);
  const Step &operator[](uint32_t site) const { return *steps[site]; }

private:
  std::vector<const Step *> steps;
  std::unordered_map<const Step *, uint32_t> numbers;
  const Step *last = nullptr;
  uint32_t lastNumber = 0;
};

/// Which lanes ran together, newest last: what orders the lanes of a warp.
class SplitHistory {
public:
  uint32_t turn() const { return count; }
  /// `lanes` run, or are synchronised.
  void push(uint32_t lanes) { masks[++count % kKept] = lanes; }
  uint32_t current() const { return masks[count % kKept]; }
  /// Whether the two lanes were together at `since` or later. What is forgotten is taken for ordered.
  bool wereTogether(uint32_t since, unsigned lane, unsigned other) const;

private:
  static constexpr uint32_t kKept = 64;
  uint32_t masks[kKept] = {};
  uint32_t count = 0;
};

struct ClusterOrder;
struct CtaOrder;

struct WarpOrder {
  Warp *warp = nullptr;
  ClusterOrder *cluster = nullptr;
  uint16_t agent = 0;
  Knowledge knows;          ///< knows.seen[agent] is its own clock.
  Knowledge atFence;        ///< What it knew at its last fence: what a relaxed store after it releases.
  Knowledge pendingAcquire; ///< What relaxed loads have read, for a fence after them.
  /// The last strong load of global memory: who polls does nothing new until some word has carried something.
  struct Poll {
    const Step *step = nullptr;
    uint64_t releases = 0; ///< Sanitizer::releases then.
    LaneMask mask = 0;
    uint64_t addresses[32];
  } poll;
  std::shared_ptr<const ClusterClocks> lastFlag; ///< What the last word of global memory carried that it has acquired.
  /// mbarriers that it has initialised, not yet made visible to asynchronous operations.
  std::vector<std::pair<CtaOrder *, uint32_t>> pendingInits;
  uint16_t copyAgent = 0, wgmmaAgent = 0; ///< 0: none yet.
  SplitHistory history;
  AsyncRegisters registers;
  std::vector<Knowledge> atWgmma; ///< When it arrived at each wgmma that its group has not issued yet, oldest first.
  std::vector<uint8_t> localInitialised[32];
  LaneMask gridsWaited = 0; ///< Lanes that have waited for the grids in front.

  uint32_t clock() const { return knows.seen[agent]; }
  void tick() { knows.seen.set(agent, clock() + 1); }
  void release(Knowledge &to) {
    to.join(knows);
    tick();
  }
};

/// The moment of an asynchronous operation.
struct OpOrder {
  Knowledge knows;
  uint16_t agent = 0;
  uint32_t clock = 0;
  uint16_t copyAgent = 0; ///< The issuer's cp.async agent and its newest operation: cp.async.mbarrier.arrive.
  uint32_t copyClock = 0;
  uint64_t issuedAt = 0;     ///< Sanitizer::events then.
  bool isOfMbarrier = false; ///< Nobody will wait for it otherwise.
  bool isEarly = false;      ///< Who issued it had not waited for the grids in front.
};

struct BarrierOrder {
  uint64_t phase[2] = {~uint64_t(0), ~uint64_t(0)};
  Knowledge released[2]; ///< By phase & 1.
  Knowledge &of(uint64_t number) {
    if (phase[number & 1] != number) {
      phase[number & 1] = number;
      released[number & 1].clear();
    }
    return released[number & 1];
  }
};

struct MbarrierOrder {
  uint16_t initAgent = 0;
  uint32_t initClock = 0;
  uint64_t fencedAt = ~uint64_t(0); ///< Sanitizer::events when asynchronous operations could see it.
  Knowledge pending;                ///< Released to the phase in progress.
  Knowledge done;                   ///< Released to completed phases.
};

struct CtaOrder {
  Cta *cta = nullptr;
  SharedShadow shadow;
  BarrierOrder barriers[16];
  std::unordered_map<uint32_t, MbarrierOrder> mbarriers; ///< By offset.
  std::unordered_map<uint32_t, Knowledge> flags;         ///< Released to words by strong stores and atomics.
  explicit CtaOrder(Cta &cta) : cta(&cta), shadow(cta.sharedBytes) {}
};

struct ClusterOrder {
  struct Agent {
    Warp *warp = nullptr; ///< Who is it, or issued it.
    bool isAsync = false;
  };
  static constexpr uint16_t kBulkAgents = 64;

  std::vector<Agent> agents = std::vector<Agent>(1); ///< 0 is nobody.
  std::vector<uint32_t> asyncClocks;                 ///< By agent.
  uint16_t firstBulk = 0;
  uint32_t nextBulk = 0;
  BarrierOrder barrier;
  std::vector<std::unique_ptr<CtaOrder>> ctas; ///< By rank.
  std::unordered_map<uint64_t, OpOrder> ops;   ///< By AsyncOp::id.
  uint32_t liveCtas = 0;
  uint32_t number = 0; ///< In the launch, from 1 on.

  uint16_t addAgent(Warp *warp, bool isAsync);
  /// The agent of the operation and its clock.
  void place(AsyncOp &op, WarpOrder &issuer, OpOrder &order);
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_ORDER_H
