// From a module of the syntax tree to executable functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions are bound once each, whatever number of entries reaches them. What depends on the entry (shared memory,
// registers and barriers of all that it reaches) is summed up at the end.
#include "Emulator/Program/Build.h"

#include "Emulator/Program/Layout.h"

#include <algorithm>

namespace weft::emu {

using namespace ptx;

namespace {

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

Error buildModule(const Module &module, std::vector<Placement> &globals, const SyntheticSteps &synthetic,
                  ModuleCode &result) {
  return ModuleBuilder(module, globals, synthetic, result).run();
}

} // namespace weft::emu
