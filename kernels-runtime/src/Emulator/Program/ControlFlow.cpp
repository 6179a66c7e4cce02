// Basic blocks and their priorities.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks begin at labels that are branched to and after steps that branch or end a thread. A call does not end a block:
// control comes back to the next step.
#include "Emulator/Program/ControlFlow.h"

namespace weft::emu {

using ptx::kNone;

namespace {

class Builder {
public:
  Builder(const BoundCode &code, const std::vector<uint32_t> &labels, ControlFlow &result)
      : code(code), labels(labels), result(result) {}
  void run() {
    makeBlocks();
    connect();
    prioritise();
  }

private:
  template <typename Visit> void forTargets(const BoundStep &step, Visit visit) const;
  void makeBlocks();
  void connect();
  void prioritise();

  const BoundCode &code;
  const std::vector<uint32_t> &labels;
  ControlFlow &result;
};

/// Visits the steps that a branch may go to, other than the next.
template <typename Visit> void Builder::forTargets(const BoundStep &bound, Visit visit) const {
  if (!(bound.step.flags & step_flag::Branch))
    return;
  if (!(bound.step.flags & step_flag::Indexed)) {
    visit(labels[bound.step.target]);
    return;
  }
  for (uint64_t i = 0; i < bound.step.immediate; ++i)
    visit(labels[code.targets[bound.step.target + i]]);
}

void Builder::makeBlocks() {
  uint32_t count = uint32_t(code.steps.size());
  std::vector<bool> isStart(count + 1, false);
  isStart[0] = true;
  for (uint32_t i = 0; i < count; ++i) {
    if (code.steps[i].step.flags & (step_flag::Branch | step_flag::End))
      isStart[i + 1] = true;
    forTargets(code.steps[i], [&](uint32_t target) { isStart[target] = true; });
  }
  result.starts.assign(count + 1, kNone);
  for (uint32_t i = 0; i < count; ++i) {
    if (isStart[i]) {
      result.starts[i] = uint32_t(result.blocks.size());
      result.blocks.push_back({i, 0, 0, false, false, false});
    }
    ++result.blocks.back().count;
  }
  if (count == 0) { // an empty body still has a position to begin
    result.starts[0] = 0;
    result.blocks.push_back({0, 0, 0, false, true, true});
  }
}

void Builder::connect() {
  for (uint32_t number = 0; number < result.blocks.size(); ++number) {
    Block &block = result.blocks[number];
    if (block.count > 0) {
      const BoundStep &last = code.steps[block.first + block.count - 1];
      bool ends = last.step.flags & (step_flag::Branch | step_flag::End);
      block.goesOn =
          !ends || last.guard.reg != kNone || last.guard.constant != kNoSlot || (last.step.flags & step_flag::Indexed);
      if (block.goesOn && number + 1 < result.blocks.size())
        result.graph.add(number + 1);
      else
        block.fallsOff = block.goesOn;
      forTargets(last, [&](uint32_t target) {
        if (target == code.steps.size())
          block.fallsOff = true;
        else
          result.graph.add(result.starts[target]);
      });
    }
    result.graph.close();
  }
}

void Builder::prioritise() {
  LoopOrder loops(result.graph);
  uint32_t count = uint32_t(result.blocks.size());
  for (uint32_t block = 0; block < count; ++block) {
    result.blocks[block].priority = loops.position[block];
    result.blocks[block].isReachable = loops.isReachable(block);
  }
  result.loopBegin.resize(count);
  result.loopEnd.resize(count);
  // Members follow their header in the order, so the outermost loop of a parent is known before that of its members.
  for (uint32_t place = 0; place < count; ++place) {
    uint32_t parent = loops.parent[loops.order[place]];
    result.loopBegin[place] = parent == kNone ? place : result.loopBegin[loops.position[parent]];
  }
  for (uint32_t place = count; place-- > 0;) {
    bool isLast = place + 1 == count || result.loopBegin[place + 1] != result.loopBegin[place];
    result.loopEnd[place] = isLast ? place + 1 : result.loopEnd[place + 1];
  }
  result.order = std::move(loops.order);
}

} // namespace

ControlFlow buildControlFlow(const BoundCode &code, const std::vector<uint32_t> &labels) {
  ControlFlow result;
  Builder(code, labels, result).run();
  return result;
}

} // namespace weft::emu
