// A GPU that executes PTX on the CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, memory and the checks of a launch before it begins.
#include "Emulator/Emulator.h"
#include "Emulator/Async/WgmmaFence.h"
#include "Emulator/Counters/LaunchCounters.h"
#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/SpecialRegister.h"
#include "Emulator/Ops/Control.h"
#include "Emulator/Program/Build.h"
#include "Emulator/Ptx/Parser.h"
#include "Emulator/Sanitizer/Sanitizer.h"

#include <algorithm>
#include <cstring>

using namespace weft;
using namespace weft::emu;
using bundle::ErrorCode;
using bundle::makeError;
using bundle::quote;

namespace {
struct LoadedModule {
  ptx::Module tree;
  ModuleCode code;
  std::vector<Placement> globals;
  std::vector<uint64_t> allocations;
};
} // namespace

struct emu::EmulatorState {
  explicit EmulatorState(const Card &card) : card(card), memory(card.memoryBytes) {}
  const Card &card;
  GlobalMemory memory;
  std::vector<std::unique_ptr<LoadedModule>> modules; ///< By id - 1.

  LoadedModule *module(uint32_t id) const { return id && id <= modules.size() ? modules[id - 1].get() : nullptr; }
};

Emulator::Emulator(std::unique_ptr<EmulatorState> state) : state(std::move(state)) {}
Emulator::~Emulator() = default;
const Card &Emulator::card() const { return state->card; }

Error Emulator::create(std::string_view word, std::unique_ptr<Emulator> &emulator) {
  const Card *card = findCard(word);
  if (!card) {
    std::string list;
    for (const Card &known : kCards)
      list.append(list.empty() ? "" : ", ").append(known.name).append(" (").append(known.architecture).append(")");
    return makeError(ErrorCode::Device, "no emulated GPU is called %s, expected one of %s", quote(word).c_str(),
                     list.c_str());
  }
  emulator.reset(new Emulator(std::make_unique<EmulatorState>(*card)));
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Modules
//===--------------------------------------------------------------------------------------------------------------===//

/// "sm_90a" code runs on exactly that; other code on its version and later ones.
static Error checkTarget(const Card &card, const ptx::Module &tree) {
  bool isGood = tree.targetSuffix == 'a' ? card.hasArchFeatures && card.smVersion == tree.smVersion
                : tree.targetSuffix == 'f'
                    ? card.smVersion / 10 == tree.smVersion / 10 && card.smVersion >= tree.smVersion
                    : card.smVersion >= tree.smVersion;
  if (!isGood)
    return makeError(ErrorCode::Device, "the module is for .target %s, GPU %s is %s", tree.target.c_str(),
                     std::string(card.name).c_str(), std::string(card.architecture).c_str());
  if (tree.addressSize != 64)
    return makeError(ErrorCode::Unsupported, "expected .address_size 64, got %u", tree.addressSize);
  return {};
}

static Error placeVariables(EmulatorState &state, LoadedModule &loaded) {
  const ptx::Module &tree = loaded.tree;
  loaded.globals.resize(tree.variables.size());
  for (size_t i = 0; i < tree.variables.size(); ++i) {
    const ptx::Variable &variable = tree.variables[i];
    if (variable.space != ptx::Space::Global && variable.space != ptx::Space::Const)
      continue;
    std::string name(tree.names[variable.name]);
    if (variable.linkage == ptx::Linkage::Extern)
      return makeError(ErrorCode::Unsupported, "%u:%u: variable %s is declared only: modules are not linked",
                       variable.location.line, variable.location.column, quote(name).c_str());
    if (variable.size == 0)
      continue;
    uint64_t address = 0;
    if (Error error = state.memory.allocate(variable.size, variable.alignment, address))
      return std::move(error).within(quote(name));
    loaded.allocations.push_back(address);
    loaded.globals[i] = {address, variable.size};
    Allocation &allocation = *state.memory.find(address, variable.size);
    allocation.name = name;
    allocation.isConst = variable.space == ptx::Space::Const;
    // Variables without an initial value are zero.
    std::memset(allocation.bytes, 0, size_t(variable.size));
    std::memset(allocation.initialised, 1, size_t(variable.size));
    if (!variable.bytes.empty()) // memcpy from null is undefined, even of no bytes
      std::memcpy(allocation.bytes, variable.bytes.data(), std::min<size_t>(variable.bytes.size(), variable.size));
  }
  return {};
}

static Error relocate(EmulatorState &state, const LoadedModule &loaded) {
  for (size_t i = 0; i < loaded.tree.variables.size(); ++i) {
    const ptx::Variable &variable = loaded.tree.variables[i];
    for (const ptx::Relocation &relocation : variable.relocations) {
      uint64_t value = 0;
      if (relocation.symbol == ptx::SymbolKind::Function) {
        value = addressOfFunction(loaded.tree.resolve(relocation.index));
      } else if (relocation.symbol == ptx::SymbolKind::Variable) {
        value = loaded.globals[relocation.index].offset;
        if (relocation.isGeneric && loaded.tree.variables[relocation.index].space == ptx::Space::Shared)
          return makeError(ErrorCode::Unsupported, "%u:%u: the generic address of a .shared variable is no constant",
                           variable.location.line, variable.location.column);
      }
      value += uint64_t(relocation.addend);
      unsigned size = relocation.size;
      if (relocation.byte != ptx::Relocation::kAllBytes) {
        value >>= 8 * (relocation.byte & 7);
        size = 1;
      }
      Allocation *allocation = state.memory.find(loaded.globals[i].offset, variable.size);
      if (!allocation || size > 8 || relocation.offset + size > variable.size)
        return makeError(ErrorCode::Input, "%u:%u: an address outside of the variable that it initialises",
                         variable.location.line, variable.location.column);
      std::memcpy(allocation->bytes + relocation.offset, &value, size);
    }
  }
  return {};
}

Error Emulator::load(std::string_view ptx, std::string_view name, uint32_t &module) {
  auto loaded = std::make_unique<LoadedModule>();
  std::string prefix(name);
  Error error = ptx::parse(ptx, loaded->tree);
  if (!error)
    error = checkTarget(state->card, loaded->tree);
  if (!error)
    error = placeVariables(*state, *loaded);
  if (!error) {
    loaded->code.name = prefix;
    loaded->code.smVersion = loaded->tree.smVersion;
    loaded->code.targetSuffix = loaded->tree.targetSuffix;
    loaded->code.versionMajor = loaded->tree.versionMajor;
    loaded->code.versionMinor = loaded->tree.versionMinor;
    error = buildModule(loaded->tree, loaded->globals, {runJump, runReturn}, loaded->code);
    for (FunctionCode &code : loaded->code.functions)
      for (const Step &step : code.steps)
        code.waitsForGrids |= loaded->code.opcodes[step.opcode] == "griddepcontrol.wait";
  }
  if (!error)
    error = relocate(*state, *loaded);
  if (error) {
    for (uint64_t address : loaded->allocations)
      (void)bool(state->memory.free(address));
    return Error(error.getCode(), prefix + ":" + error.getMessage());
  }
  state->modules.push_back(std::move(loaded));
  module = uint32_t(state->modules.size());
  return {};
}

static EntryInfo describe(const FunctionCode &code) {
  EntryInfo info;
  info.name = code.name;
  info.parameterBytes = code.parameterBytes;
  info.staticSharedBytes = code.staticSharedBytes;
  info.registersPerThread = code.registersPerThread;
  const ptx::Directives &directives = code.directives;
  const uint32_t *most = directives.requiredThreads[0] ? directives.requiredThreads : directives.maxThreads;
  info.maxThreads = 1024;
  info.waitsForGrids = code.waitsForGrids;
  if (most[0])
    info.maxThreads =
        uint32_t(std::min<uint64_t>(1024, uint64_t(most[0]) * std::max(most[1], 1u) * std::max(most[2], 1u)));
  const uint32_t *cluster = directives.clusterSize;
  if (cluster[0])
    info.requiredCluster = {cluster[0], std::max(cluster[1], 1u), std::max(cluster[2], 1u)};
  return info;
}

Error Emulator::entries(uint32_t module, std::vector<EntryInfo> &entries) const {
  const LoadedModule *loaded = state->module(module);
  if (!loaded)
    return makeError(ErrorCode::Usage, "no module has the number %u", module);
  entries.clear();
  for (const FunctionCode &code : loaded->code.functions)
    if (code.isEntry)
      entries.push_back(describe(code));
  return {};
}

Error Emulator::symbol(uint32_t module, std::string_view name, uint64_t &address, uint64_t &bytes) const {
  const LoadedModule *loaded = state->module(module);
  uint32_t index = loaded ? loaded->tree.findVariable(name) : ptx::kNone;
  if (index == ptx::kNone || loaded->globals[index].offset < kGlobalBase)
    return makeError(ErrorCode::Usage, "the module has no .global or .const variable %s", quote(name).c_str());
  address = loaded->globals[index].offset;
  bytes = loaded->globals[index].size;
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Memory
//===--------------------------------------------------------------------------------------------------------------===//

Error Emulator::allocate(uint64_t bytes, uint64_t &address) { return state->memory.allocate(bytes, 256, address); }
Error Emulator::free(uint64_t address) { return state->memory.free(address); }

static Error outside(const GlobalMemory &memory, uint64_t address, uint64_t bytes) {
  return makeError(ErrorCode::Usage, "%llu bytes at 0x%llx are in no allocation: %s", (unsigned long long)bytes,
                   (unsigned long long)address, memory.describe(address).c_str());
}

Error Emulator::write(uint64_t address, const void *source, uint64_t bytes) {
  Allocation *found = state->memory.find(address, bytes);
  if (!found)
    return outside(state->memory, address, bytes);
  if (bytes) {
    std::memcpy(found->bytes + (address - found->address), source, size_t(bytes));
    std::memset(found->initialised + (address - found->address), 1, size_t(bytes));
  }
  return {};
}

Error Emulator::read(uint64_t address, void *target, uint64_t bytes) const {
  const Allocation *found = state->memory.find(address, bytes);
  if (!found)
    return outside(state->memory, address, bytes);
  if (bytes)
    std::memcpy(target, found->bytes + (address - found->address), size_t(bytes));
  return {};
}

Error Emulator::poison(uint64_t address, uint64_t bytes) {
  Allocation *found = state->memory.find(address, bytes);
  if (!found)
    return outside(state->memory, address, bytes);
  std::memset(found->bytes + (address - found->address), 0xcb, size_t(bytes));
  std::memset(found->initialised + (address - found->address), 0, size_t(bytes));
  return {};
}

Error Emulator::markInitialised(uint64_t address, uint64_t bytes) {
  Allocation *found = state->memory.find(address, bytes);
  if (!found)
    return outside(state->memory, address, bytes);
  std::memset(found->initialised + (address - found->address), 1, size_t(bytes));
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Launches
//===--------------------------------------------------------------------------------------------------------------===//

static Error checkShape(const Card &card, const EntryInfo &entry, const LaunchSpec &spec, bool isRequired) {
  Dim3 grid = spec.grid, block = spec.block, cluster = spec.cluster;
  if (grid.count() == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return makeError(ErrorCode::Usage, "expected a grid of 1 to (2147483647,65535,65535) ctas, got (%u,%u,%u)", grid.x,
                     grid.y, grid.z);
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() == 0 || block.count() > entry.maxThreads)
    return makeError(ErrorCode::Usage, "expected a block of 1 to %u threads, got (%u,%u,%u)", entry.maxThreads, block.x,
                     block.y, block.z);
  if (isRequired && block.count() != entry.maxThreads)
    return makeError(ErrorCode::Usage, "expected a block of exactly %u threads (.reqntid), got %llu", entry.maxThreads,
                     (unsigned long long)block.count());
  uint32_t most = std::max(card.maxClusterNonPortable, 1u);
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || cluster.x > most || cluster.y > most || cluster.z > most ||
      cluster.count() > most)
    return makeError(ErrorCode::Usage, "expected a cluster of 1 to %u ctas on GPU %s, got (%u,%u,%u)", most,
                     std::string(card.name).c_str(), cluster.x, cluster.y, cluster.z);
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    return makeError(ErrorCode::Usage, "a grid of (%u,%u,%u) ctas is no multiple of clusters of (%u,%u,%u)", grid.x,
                     grid.y, grid.z, cluster.x, cluster.y, cluster.z);
  Dim3 wanted = entry.requiredCluster;
  if (wanted.x && (wanted.x != cluster.x || wanted.y != cluster.y || wanted.z != cluster.z))
    return makeError(ErrorCode::Usage, "the kernel demands clusters of (%u,%u,%u) ctas, got (%u,%u,%u)", wanted.x,
                     wanted.y, wanted.z, cluster.x, cluster.y, cluster.z);
  return {};
}

static Error checkSizes(const Card &card, const FunctionCode &code, const LaunchSpec &spec) {
  if (spec.parameterBytes != code.parameterBytes)
    return makeError(ErrorCode::Usage, "expected %u bytes of parameters, got %zu", code.parameterBytes,
                     spec.parameterBytes);
  uint64_t shared = uint64_t(code.dynamicSharedOffset) + spec.dynamicSharedBytes;
  if (shared > card.sharedPerCta)
    return makeError(ErrorCode::Resource, "%llu bytes of shared memory per cta, GPU %s has %u",
                     (unsigned long long)shared, std::string(card.name).c_str(), card.sharedPerCta);
  return {};
}

namespace {
/// A launch with those who look at it.
class RunningLaunch final : public EarlyLaunch {
public:
  RunningLaunch(const Card &card, GlobalMemory &memory, const ModuleCode &module, const FunctionCode &entry,
                const LaunchSpec &wanted)
      : spec(wanted), machine(card, memory, module, entry, spec, result) {
    spec.entry = entry.name;
    if (spec.options.isSanitized) {
      machine.add(fences);
      machine.add(sanitizer);
    }
    if (spec.options.isCounted)
      machine.add(counters);
  }

  Error begin() override {
    machine.hasGridsInFront = true;
    return machine.run();
  }
  Error finish() override {
    machine.hasGridsInFront = false;
    return machine.run();
  }

private:
  LaunchSpec spec;
  WgmmaFenceObserver fences;
  Sanitizer sanitizer;
  LaunchCounters counters;
  Machine machine;
};
} // namespace

Error Emulator::launch(const LaunchSpec &spec, LaunchResult &result) {
  result = LaunchResult();
  std::unique_ptr<EarlyLaunch> launch;
  if (Error error = prepare(spec, launch))
    return error;
  Error error = launch->finish();
  result = std::move(launch->result);
  return error;
}

Error Emulator::prepare(const LaunchSpec &spec, std::unique_ptr<EarlyLaunch> &launch) {
  LoadedModule *loaded = state->module(spec.module);
  if (!loaded)
    return makeError(ErrorCode::Usage, "no module has the number %u", spec.module);
  const FunctionCode *entry = nullptr;
  for (const FunctionCode &code : loaded->code.functions)
    if (code.isEntry && code.name == spec.entry)
      entry = &code;
  if (!entry)
    return makeError(ErrorCode::Usage, "the module has no entry %s", quote(spec.entry).c_str());
  std::string context = "kernel " + entry->name;
  if (Error error = checkShape(state->card, describe(*entry), spec, entry->directives.requiredThreads[0] != 0))
    return std::move(error).within(context);
  if (Error error = checkSizes(state->card, *entry, spec))
    return std::move(error).within(context);
  launch = std::make_unique<RunningLaunch>(state->card, state->memory, loaded->code, *entry, spec);
  return {};
}
