// Steps in the order of their blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last stage of a function: blocks in the order of their priorities, slots in place of virtual registers.
#include "Emulator/Program/Build.h"
#include "Emulator/Program/Slots.h"

#include <algorithm>

namespace weft::emu {

using namespace ptx;

namespace {

/// Puts the blocks into their order, with jumps where the text fell through.
class Emitter {
public:
  Emitter(const BoundCode &bound, const std::vector<uint32_t> &labels, const SlotMap &slots, const ControlFlow &flow,
          const SyntheticSteps &synthetic, FunctionCode &code)
      : bound(bound), labels(labels), slots(slots), flow(flow), synthetic(synthetic), code(code) {}
  void run();

private:
  void placeBlocks();
  void emitBlock(uint32_t place);
  void emitStep(const BoundStep &step);
  uint32_t indexOf(uint32_t boundStep) const;
  uint32_t indexOfLabel(uint32_t label) const { return indexOf(labels[label]); }
  Slot slotOf(const SlotRef &ref) const { return ref.reg == kNone ? ref.constant : slots.slots[ref.reg]; }

  const BoundCode &bound;
  const std::vector<uint32_t> &labels;
  const SlotMap &slots;
  const ControlFlow &flow;
  const SyntheticSteps &synthetic;
  FunctionCode &code;
  std::vector<uint32_t> starts; ///< By block: index of its first step; kNone when it cannot be reached.
  std::vector<bool> needsJump;  ///< By block.
  uint32_t end = 0;             ///< Index of the step at the end of the body.
  bool hasEnd = false;
};

/// The block behind `block` in the order is the one behind it in the text, or the end of both.
void Emitter::placeBlocks() {
  starts.assign(flow.blocks.size(), kNone);
  needsJump.assign(flow.blocks.size(), false);
  for (size_t place = 0; place < flow.order.size(); ++place) {
    uint32_t number = flow.order[place];
    const Block &block = flow.blocks[number];
    if (!block.isReachable)
      break;
    uint32_t next = place + 1 < flow.order.size() ? flow.order[place + 1] : kNone;
    bool isLast = next == kNone || !flow.blocks[next].isReachable;
    bool isAtEnd = number + 1 == flow.blocks.size();
    starts[number] = end;
    needsJump[number] = block.goesOn && (isAtEnd ? !isLast : isLast || next != number + 1);
    hasEnd = hasEnd || block.fallsOff;
    end += block.count + needsJump[number];
  }
}

uint32_t Emitter::indexOf(uint32_t boundStep) const {
  if (boundStep == bound.steps.size())
    return end;
  uint32_t block = flow.starts[boundStep];
  return block == kNone ? kNone : starts[block];
}

void Emitter::emitStep(const BoundStep &boundStep) {
  Step step = boundStep.step;
  step.guard = slotOf(boundStep.guard);
  step.slots = code.slots.data() + code.slots.size();
  step.slotCount = uint8_t(std::min(boundStep.slotCount, 255u));
  for (uint32_t i = boundStep.firstSlot; i < boundStep.firstSlot + boundStep.slotCount; ++i) {
    code.slots.push_back(slotOf(bound.slots[i]));
    code.roles.push_back(bound.slots[i].role);
    code.widths.push_back(bound.slots[i].width);
  }
  if ((step.flags & step_flag::Branch) && !(step.flags & step_flag::Indexed))
    step.target = indexOfLabel(step.target);
  code.steps.push_back(step);
}

void Emitter::emitBlock(uint32_t number) {
  const Block &block = flow.blocks[number];
  for (uint32_t i = 0; i < block.count; ++i)
    emitStep(bound.steps[block.first + i]);
  if (!needsJump[number])
    return;
  Step jump;
  jump.run = synthetic.jump;
  jump.flags = step_flag::Branch | step_flag::Synthetic;
  jump.target = number + 1 == flow.blocks.size() ? end : starts[number + 1];
  if (!code.steps.empty()) {
    jump.line = code.steps.back().line;
    jump.column = code.steps.back().column;
  }
  code.steps.push_back(jump);
}

void Emitter::run() {
  placeBlocks();
  code.steps.reserve(end + 1);
  code.slots.reserve(bound.slots.size()); // steps point into it
  for (uint32_t number : flow.order)
    if (starts[number] != kNone)
      emitBlock(number);
  if (hasEnd) {
    Step step;
    step.run = synthetic.end;
    step.flags = step_flag::End | step_flag::Synthetic;
    if (!code.steps.empty())
      step.line = code.steps.back().line;
    code.steps.push_back(step);
  }
  for (uint32_t label : bound.targets)
    code.targets.push_back(indexOfLabel(label));
}

} // namespace

void emitCode(const BoundCode &bound, const std::vector<uint32_t> &labels, const Function &function,
              const SyntheticSteps &synthetic, FunctionCode &code) {
  Boundary boundary;
  for (const Variable &parameter : function.parameters)
    if (parameter.reg != kNone)
      boundary.parameters.push_back(parameter.reg);
  for (const Variable &returned : function.returns)
    if (returned.reg != kNone)
      boundary.results.push_back(returned.reg);
  ControlFlow flow = buildControlFlow(bound, labels);
  Liveness liveness = analyseLiveness(bound, flow, boundary);
  SlotMap slots = assignSlots(bound.registerWidths, liveness);
  code.frameBytes = slots.bytes;
  code.registersPerThread = liveness.peakRegisters;
  for (const Variable &parameter : function.parameters)
    code.parameterSlots.push_back(parameter.reg == kNone ? kNoSlot : slots.slots[parameter.reg]);
  for (const Variable &returned : function.returns)
    code.returnSlots.push_back(returned.reg == kNone ? kNoSlot : slots.slots[returned.reg]);
  Emitter(bound, labels, slots, flow, synthetic, code).run();
}

} // namespace weft::emu
