//===- Build.cpp - From a module of the syntax tree to executable functions ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Functions are bound once each, whatever number of entries reaches them. What depends on the entry (shared memory,
// registers and barriers of all that it reaches) is summed up at the end.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Emulator/Program/Build.h"

#include "Emulator/Program/Layout.h"
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

class ModuleBuilder {
public:
  ModuleBuilder(const Module &module, std::vector<Placement> &globals, const SyntheticSteps &synthetic,
                ModuleCode &result)
      : module(module), globals(globals), synthetic(synthetic), result(result) {}
  Error run();

private:
  Error bindFunction(uint32_t index, FunctionCode &code);
  void finishEntry(const EntryLayout &entry);

  const Module &module;
  std::vector<Placement> &globals;
  const SyntheticSteps &synthetic;
  ModuleCode &result;
  ModuleLayout layout;
};

Error ModuleBuilder::bindFunction(uint32_t index, FunctionCode &code) {
  const Function &function = module.functions[index];
  const FunctionLayout &places = layout.functions[index];
  code.name = std::string(module.names[function.name]);
  code.isEntry = function.isEntry;
  code.directives = function.directives;
  code.parameters = places.parameters;
  code.returns = places.returns;
  code.localBytes = places.localBytes;
  code.parameterBlockBytes = places.parameterBlockBytes;
  code.parameterBytes = uint32_t(function.parameterBytes);
  BoundCode bound;
  for (const Register &reg : function.registers)
    bound.registerWidths.push_back(reg.type == Type::Pred ? 0 : uint8_t(bitWidth(reg.type) / 8));
  std::vector<uint32_t> called, starts;
  BindContext context;
  context.module = &module;
  context.function = &function;
  context.functionIndex = index;
  context.moduleCode = &result;
  context.code = &code;
  context.bound = &bound;
  context.globals = &globals;
  context.locals = &places.locals;
  context.parameters = &places.parameters;
  context.returns = &places.returns;
  context.called = &called;
  for (const Instruction &instruction : function.instructions) {
    starts.push_back(uint32_t(bound.steps.size()));
    if (Error error = bind(context, instruction))
      return error;
  }
  starts.push_back(uint32_t(bound.steps.size()));
  std::vector<uint32_t> labels;
  for (const Label &label : function.labels)
    labels.push_back(starts[label.instruction]);
  code.barriersUsed = bound.barriersUsed;
  emitCode(bound, labels, function, synthetic, code);
  return Error();
}

/// The most registers that ptxas may use: .maxnreg, or what lets the demanded number of CTAs share an SM's 65,536.
uint32_t registerLimit(const Directives &directives) {
  uint64_t threads = 1;
  const uint32_t (&given)[3] = directives.requiredThreads[0] ? directives.requiredThreads : directives.maxThreads;
  for (uint32_t extent : given)
    threads = std::min<uint64_t>(threads * extent, 1 << 20);
  uint64_t limit = directives.maxRegisters ? std::min(directives.maxRegisters, 255u) : 255;
  if (threads > 0) {
    uint64_t warps = (threads + 31) / 32 * std::max(directives.minCtasPerSm, 1u);
    limit = std::min(limit, 65536 / (warps * 32) / 8 * 8);
  }
  return uint32_t(std::max<uint64_t>(limit, 16));
}

void ModuleBuilder::finishEntry(const EntryLayout &entry) {
  FunctionCode &code = result.functions[result.functionIds[entry.function]];
  code.staticSharedBytes = entry.staticSharedBytes;
  code.dynamicSharedOffset = entry.dynamicSharedOffset;
  for (uint32_t index : entry.functions) {
    const FunctionCode &reached = result.functions[result.functionIds[index]];
    code.barriersUsed = std::max(code.barriersUsed, reached.barriersUsed);
    code.registersPerThread = std::max(code.registersPerThread, reached.registersPerThread);
  }
  code.registersPerThread = std::min(code.registersPerThread, registerLimit(code.directives));
}

Error ModuleBuilder::run() {
  if (Error error = layOut(module, globals, layout))
    return error;
  result.smVersion = module.smVersion;
  result.targetSuffix = module.targetSuffix;
  result.versionMajor = module.versionMajor;
  result.versionMinor = module.versionMinor;
  result.functionIds.assign(module.functions.size(), kNone);
  std::vector<uint32_t> reached; // numbers first: a call names its callee by number before that is bound
  for (const EntryLayout &entry : layout.entries)
    for (uint32_t index : entry.functions)
      if (result.functionIds[index] == kNone) {
        result.functionIds[index] = uint32_t(reached.size());
        reached.push_back(index);
      }
  for (uint32_t i = 0; i < module.functions.size(); ++i) // aliases are found under either name
    if (module.functions[i].aliasOf != kNone)
      result.functionIds[i] = result.functionIds[module.functions[i].aliasOf];
  result.functions.clear();
  result.functions.resize(reached.size());
  for (size_t i = 0; i < reached.size(); ++i)
    if (Error error = bindFunction(reached[i], result.functions[i]))
      return error;
  for (const EntryLayout &entry : layout.entries)
    finishEntry(entry);
  return Error();
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

Error buildModule(const Module &module, std::vector<Placement> &globals, const SyntheticSteps &synthetic,
                  ModuleCode &result) {
  return ModuleBuilder(module, globals, synthetic, result).run();
}

} // namespace weft::emu
