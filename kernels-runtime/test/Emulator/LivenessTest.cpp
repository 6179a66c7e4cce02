// Live ranges and slots against brute force.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random bound functions, with guards, branches, indexed branches and ends. A plain fix point over single steps says
// which registers are live where; two registers that are live (or written) at the same step must not share a slot, and
// the peak must be the exact one.
#include "Emulator/Program/Build.h"
#include "Emulator/Program/Slots.h"

#include <chrono>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace weft::emu;
using ptx::kNone;

namespace {

/// A random function and where its labels are.
struct Sample {
  BoundCode code;
  std::vector<uint32_t> labels;
  Boundary boundary;
};

constexpr uint8_t kWidths[] = {0, 1, 2, 4, 8, 16};

Sample makeSample(std::mt19937 &random) {
  Sample sample;
  uint32_t steps = random() % 24, registers = 1 + random() % 8;
  for (uint32_t i = 0; i < registers; ++i)
    sample.code.registerWidths.push_back(kWidths[random() % 6]);
  for (uint32_t i = 0; i < 4; ++i)
    sample.labels.push_back(random() % (steps + 1));
  for (uint32_t i = 0; i < steps; ++i) {
    BoundStep step;
    step.firstSlot = uint32_t(sample.code.slots.size());
    step.slotCount = random() % 4;
    for (uint32_t k = 0; k < step.slotCount; ++k) {
      SlotRef slot;
      slot.reg = random() % registers;
      slot.role = k == 0 ? (random() % 4 ? Role::Def : Role::DefUse) : Role::Use;
      slot.width = sample.code.registerWidths[slot.reg];
      sample.code.slots.push_back(slot);
    }
    if (random() % 4 == 0)
      step.guard.reg = random() % registers;
    switch (random() % 12) {
    case 0:
    case 1:
      step.step.flags = step_flag::Branch;
      step.step.target = random() % 4;
      break;
    case 2:
      step.step.flags = step_flag::End;
      break;
    case 3:
      step.step.flags = step_flag::Branch | step_flag::Indexed;
      step.step.target = uint32_t(sample.code.targets.size());
      step.step.immediate = 1 + random() % 3;
      for (uint64_t k = 0; k < step.step.immediate; ++k)
        sample.code.targets.push_back(random() % 4);
      break;
    default:
      break;
    }
    sample.code.steps.push_back(step);
  }
  if (random() % 2)
    sample.boundary.results.push_back(random() % registers);
  if (random() % 2)
    sample.boundary.parameters.push_back(random() % registers);
  return sample;
}

/// Liveness of single steps; `steps` (one past the last) stands for the end of the body.
struct BruteForce {
  std::vector<std::vector<uint32_t>> next;
  std::vector<std::set<uint32_t>> reads, writes, kills, before, after;

  explicit BruteForce(const Sample &sample) {
    const BoundCode &code = sample.code;
    size_t count = code.steps.size();
    for (auto *list : {&reads, &writes, &kills, &before, &after})
      list->resize(count + 1);
    next.resize(count + 1);
    reads[count].insert(sample.boundary.results.begin(), sample.boundary.results.end());
    for (size_t i = 0; i < count; ++i)
      addStep(sample, i);
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (size_t i = 0; i <= count; ++i) {
        std::set<uint32_t> out, in = reads[i];
        for (uint32_t target : next[i])
          out.insert(before[target].begin(), before[target].end());
        for (uint32_t reg : out)
          if (!kills[i].count(reg))
            in.insert(reg);
        hasChanged = hasChanged || in != before[i] || out != after[i];
        before[i] = in;
        after[i] = out;
      }
    }
  }

  void addStep(const Sample &sample, size_t i) {
    const BoundStep &bound = sample.code.steps[i];
    uint32_t count = uint32_t(sample.code.steps.size());
    bool isGuarded = bound.guard.reg != kNone, isBranch = bound.step.flags & step_flag::Branch;
    bool isIndexed = bound.step.flags & step_flag::Indexed, ends = bound.step.flags & step_flag::End;
    if (isGuarded)
      reads[i].insert(bound.guard.reg);
    for (uint32_t k = 0; k < bound.slotCount; ++k) {
      const SlotRef &slot = sample.code.slots[bound.firstSlot + k];
      if (slot.role != Role::Def)
        reads[i].insert(slot.reg);
      if (slot.role != Role::Use)
        writes[i].insert(slot.reg);
      if (slot.role != Role::Use && !isGuarded)
        kills[i].insert(slot.reg);
    }
    if (isIndexed)
      for (uint64_t k = 0; k < bound.step.immediate; ++k)
        next[i].push_back(sample.labels[sample.code.targets[bound.step.target + k]]);
    else if (isBranch)
      next[i].push_back(sample.labels[bound.step.target]);
    if (ends)
      next[i].push_back(count);
    if (isGuarded || isIndexed || !(isBranch || ends))
      next[i].push_back(uint32_t(i + 1));
  }
};

uint32_t weight(uint8_t width) { return width == 0 ? 0 : (width + 3u) / 4; }

/// Bytes of the file that a register's slot covers.
std::pair<uint32_t, uint32_t> extent(const SlotMap &slots, const BoundCode &code, uint32_t reg) {
  uint32_t width = code.registerWidths[reg];
  return {slots.slots[reg], slots.slots[reg] + (width == 0 ? 4 : width * 32)};
}

void checkSlots(const Sample &sample, const BruteForce &oracle, const SlotMap &slots) {
  const BoundCode &code = sample.code;
  auto checkTogether = [&](const std::set<uint32_t> &together) {
    for (uint32_t a : together)
      for (uint32_t b : together) {
        auto [beginA, endA] = extent(slots, code, a);
        auto [beginB, endB] = extent(slots, code, b);
        EXPECT_TRUE(a == b || endA <= beginB || endB <= beginA) << "registers " << a << " and " << b;
        EXPECT_LE(endA, slots.bytes);
      }
  };
  for (size_t i = 0; i < code.steps.size(); ++i) {
    std::set<uint32_t> together = oracle.before[i];
    for (const auto *more : {&oracle.after[i], &oracle.writes[i], &oracle.reads[i]})
      together.insert(more->begin(), more->end());
    checkTogether(together);
  }
  std::set<uint32_t> atStart(sample.boundary.parameters.begin(), sample.boundary.parameters.end());
  atStart.insert(oracle.before[0].begin(), oracle.before[0].end());
  checkTogether(atStart);
}

uint32_t peakOf(const Sample &sample, const BruteForce &oracle) {
  uint32_t peak = 0;
  auto sum = [&](const std::set<uint32_t> &live) {
    uint32_t total = 0;
    for (uint32_t reg : live)
      total += weight(sample.code.registerWidths[reg]);
    peak = std::max(peak, total);
  };
  for (size_t i = 0; i < sample.code.steps.size(); ++i) {
    sum(oracle.before[i]);
    std::set<uint32_t> behind = oracle.after[i];
    behind.insert(oracle.writes[i].begin(), oracle.writes[i].end());
    sum(behind);
  }
  return peak;
}

TEST(Liveness, RandomFunctions) {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 20000; ++round) {
    Sample sample = makeSample(random);
    ControlFlow flow = buildControlFlow(sample.code, sample.labels);
    Liveness liveness = analyseLiveness(sample.code, flow, sample.boundary);
    SlotMap slots = assignSlots(sample.code.registerWidths, liveness);
    BruteForce oracle(sample);
    checkSlots(sample, oracle, slots);
    EXPECT_EQ(liveness.peakRegisters, peakOf(sample, oracle));
    if (HasFailure())
      FAIL() << "round " << round;
  }
}

/// A step that reads `uses` and writes `def`.
void addStep(BoundCode &code, uint32_t def, std::initializer_list<uint32_t> uses, uint8_t flags = 0) {
  BoundStep step;
  step.firstSlot = uint32_t(code.slots.size());
  step.step.flags = flags;
  if (def != kNone)
    code.slots.push_back({def, kNoSlot, Role::Def, 4});
  for (uint32_t use : uses)
    code.slots.push_back({use, kNoSlot, Role::Use, 4});
  step.slotCount = uint32_t(code.slots.size()) - step.firstSlot;
  code.steps.push_back(step);
}

TEST(Liveness, LongBlockTakesLinearTime) {
  constexpr uint32_t count = 40000;
  BoundCode code;
  code.registerWidths.assign(count + 1, 4);
  for (uint32_t i = 0; i < count; ++i)
    addStep(code, i + 1, {i});
  auto start = std::chrono::steady_clock::now();
  ControlFlow flow = buildControlFlow(code, {});
  Liveness liveness = analyseLiveness(code, flow, {});
  SlotMap slots = assignSlots(code.registerWidths, liveness);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0);
  EXPECT_EQ(liveness.peakRegisters, 1u);
  EXPECT_EQ(slots.bytes, 2u * 128); // a destination and its source
}

TEST(Liveness, ManyRegistersThroughManyBlocks) {
  constexpr uint32_t count = 10000;
  BoundCode code;
  std::vector<uint32_t> labels;
  code.registerWidths.assign(count, 4);
  for (uint32_t i = 0; i < count; ++i)
    addStep(code, i, {});
  for (uint32_t i = 0; i < count; ++i) { // each read is a block of its own, and each may go back to the first
    labels.push_back(uint32_t(code.steps.size()));
    addStep(code, kNone, {i}, step_flag::Branch);
    code.steps.back().guard.reg = i;
    code.steps.back().step.target = 0;
  }
  auto start = std::chrono::steady_clock::now();
  ControlFlow flow = buildControlFlow(code, labels);
  Liveness liveness = analyseLiveness(code, flow, {});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 10.0);
  EXPECT_EQ(liveness.peakRegisters, count);
}

/// The steps of emitted code, as positions: what a step was bound from is kept in `immediate`.
TEST(Emit, BlocksFollowPriorityWithJumpsWhereTheTextFellThrough) {
  // 0: @p bra L1 (step 2); 1: bra L0 (step 3); 2: falls into 3, which is the join. Then nothing: the body falls off.
  BoundCode code;
  code.registerWidths = {0};
  addStep(code, kNone, {}, step_flag::Branch);
  code.steps[0].guard.reg = 0;
  code.steps[0].step.target = 1;
  addStep(code, kNone, {}, step_flag::Branch);
  code.steps[1].step.target = 0;
  addStep(code, kNone, {});
  addStep(code, kNone, {});
  FunctionCode result;
  SyntheticSteps synthetic;
  synthetic.jump = [](Warp &, const Step &, LaneMask) { return Outcome::Jump; };
  synthetic.end = [](Warp &, const Step &, LaneMask) { return Outcome::Exit; };
  emitCode(code, {3, 2}, ptx::Function(), synthetic, result);
  ASSERT_EQ(result.steps.size(), 5u);
  EXPECT_EQ(result.steps[0].target, 2u);
  EXPECT_EQ(result.steps[1].target, 3u);
  EXPECT_EQ(result.steps[4].run, synthetic.end);
  EXPECT_EQ(result.steps[4].flags, step_flag::End | step_flag::Synthetic);
}

/// Walks emitted code and the bound code side by side: whatever way a lane takes, the same steps follow.
TEST(Emit, RandomFunctionsKeepTheirPaths) {
  std::mt19937 random(5);
  SyntheticSteps synthetic;
  synthetic.jump = [](Warp &, const Step &, LaneMask) { return Outcome::Jump; };
  synthetic.end = [](Warp &, const Step &, LaneMask) { return Outcome::Exit; };
  for (unsigned round = 0; round < 5000; ++round) {
    Sample sample = makeSample(random);
    for (size_t i = 0; i < sample.code.steps.size(); ++i)
      sample.code.steps[i].step.line = uint32_t(i + 1);
    FunctionCode code;
    emitCode(sample.code, sample.labels, ptx::Function(), synthetic, code);
    uint32_t at = 0, pc = 0, steps = uint32_t(sample.code.steps.size());
    for (unsigned walk = 0; walk < 200; ++walk) {
      while (code.steps[pc].run == synthetic.jump)
        pc = code.steps[pc].target;
      if (at == steps) {
        ASSERT_EQ(code.steps[pc].run, synthetic.end) << "round " << round;
        break;
      }
      ASSERT_EQ(code.steps[pc].line, at + 1) << "round " << round;
      const BoundStep &bound = sample.code.steps[at];
      bool isGuarded = bound.guard.reg != kNone, isIndexed = bound.step.flags & step_flag::Indexed;
      bool isTaken = !isGuarded || random() % 2;
      uint64_t index = isIndexed ? random() % (bound.step.immediate + 1) : 0;
      if (isTaken && (bound.step.flags & step_flag::End))
        break;
      if (isTaken && isIndexed && index < bound.step.immediate) {
        at = sample.labels[sample.code.targets[bound.step.target + index]];
        pc = code.targets[code.steps[pc].target + index];
      } else if (isTaken && !isIndexed && (bound.step.flags & step_flag::Branch)) {
        at = sample.labels[bound.step.target];
        pc = code.steps[pc].target;
      } else {
        ++at;
        ++pc;
      }
      ASSERT_LT(pc, code.steps.size());
    }
  }
}

} // namespace
