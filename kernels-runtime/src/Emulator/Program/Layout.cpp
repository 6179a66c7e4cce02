// Where the variables of a module lie.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reachability follows every operand that names a function, lists of call targets, and addresses of functions in
// initial values (all of them, wherever they are).
#include "Emulator/Program/Layout.h"

#include <algorithm>

namespace weft::emu {

using namespace ptx;
using bundle::ErrorCode;

namespace {

/// More than any GPU has, and small enough that sums of offsets cannot overflow.
constexpr uint64_t kMaxWindowBytes = 1 << 28;

uint64_t alignTo(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

Error tooLarge(const Module &module, const Variable &variable) {
  return bundle::makeError(
      ErrorCode::Resource, "%u:%u: %s does not fit: variables in space .%s of more than %llu bytes",
      variable.location.line, variable.location.column, bundle::quote(module.names[variable.name]).c_str(),
      std::string(name(variable.space)).c_str(), (unsigned long long)(kMaxWindowBytes));
}

/// A shared variable of a module or function.
struct SharedVariable {
  const Variable *variable;
  Placement *place;
  std::vector<uint32_t> entries; ///< In ModuleLayout::entries: those that reach it.
};

class Builder {
public:
  Builder(const Module &module, std::vector<Placement> &globals, ModuleLayout &result)
      : module(module), globals(globals), result(result) {}
  Error run();

private:
  void findReferences();
  void reach(EntryLayout &entry);
  void collectShared();
  Error placeShared(bool isDynamic);
  Error placeFunction(uint32_t index);
  Error place(Space space, const std::vector<Variable> &list, std::vector<Placement> &places, uint64_t &end,
              bool (*isLeftOut)(const Variable &) = nullptr);
  Error placeCalls(const std::vector<Variable> &list, std::vector<Placement> &places, uint64_t &end);

  const Module &module;
  std::vector<Placement> &globals;
  ModuleLayout &result;
  std::vector<std::vector<uint32_t>> calls;     ///< By function: functions that it names.
  std::vector<std::vector<uint32_t>> variables; ///< By function: module variables that it names.
  std::vector<uint32_t> pointed;                ///< Functions whose address is in an initial value.
  std::vector<SharedVariable> shared;
};

void sortUnique(std::vector<uint32_t> &list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

void Builder::findReferences() {
  calls.resize(module.functions.size());
  variables.resize(module.functions.size());
  for (size_t i = 0; i < module.functions.size(); ++i) {
    const Function &function = module.functions[i];
    for (const Operand &operand : function.operands) {
      if (operand.kind != OperandKind::Symbol)
        continue;
      if (operand.symbol == SymbolKind::Function)
        calls[i].push_back(module.resolve(operand.index));
      if (operand.symbol == SymbolKind::Variable)
        variables[i].push_back(operand.index);
    }
    for (const TargetList &list : function.callTargets)
      for (uint32_t target : list.targets.of(function.targetPool))
        calls[i].push_back(module.resolve(target));
    sortUnique(calls[i]);
    sortUnique(variables[i]);
  }
  for (const Variable &variable : module.variables)
    for (const Relocation &relocation : variable.relocations)
      if (relocation.symbol == SymbolKind::Function)
        pointed.push_back(module.resolve(relocation.index));
  sortUnique(pointed);
}

void Builder::reach(EntryLayout &entry) {
  std::vector<bool> isSeen(module.functions.size(), false);
  auto add = [&](uint32_t function) {
    if (isSeen[function] || !module.functions[function].isDefined)
      return;
    isSeen[function] = true;
    entry.functions.push_back(function);
  };
  add(entry.function);
  for (uint32_t function : pointed)
    if (!module.functions[function].isEntry)
      add(function);
  for (size_t i = 0; i < entry.functions.size(); ++i)
    for (uint32_t function : calls[entry.functions[i]])
      add(function);
}

/// In the order of the text: variables of the module, then of its functions.
void Builder::collectShared() {
  std::vector<uint32_t> indexOf(module.variables.size(), kNone);
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (module.variables[i].space == Space::Shared) {
      indexOf[i] = uint32_t(shared.size());
      shared.push_back({&module.variables[i], &globals[i], {}});
    }
  auto use = [](SharedVariable &variable, uint32_t entry) {
    if (variable.entries.empty() || variable.entries.back() != entry)
      variable.entries.push_back(entry);
  };
  std::vector<uint32_t> firstOf(module.functions.size(), kNone);
  for (uint32_t entry = 0; entry < result.entries.size(); ++entry)
    for (uint32_t function : result.entries[entry].functions) {
      for (uint32_t variable : variables[function])
        if (indexOf[variable] != kNone)
          use(shared[indexOf[variable]], entry);
      const std::vector<Variable> &own = module.functions[function].variables;
      bool isNew = firstOf[function] == kNone;
      uint32_t next = isNew ? uint32_t(shared.size()) : firstOf[function];
      firstOf[function] = next;
      for (size_t i = 0; i < own.size(); ++i) {
        if (own[i].space != Space::Shared)
          continue;
        if (isNew)
          shared.push_back({&own[i], &result.functions[function].locals[i], {}});
        use(shared[next++], entry);
      }
    }
}

/// Sized variables first, then those whose size is given at launch: they share the space behind all others.
Error Builder::placeShared(bool isDynamic) {
  for (SharedVariable &item : shared) {
    if (item.variable->isDynamic != isDynamic || item.entries.empty())
      continue;
    uint64_t offset = 0;
    for (uint32_t entry : item.entries)
      offset = std::max<uint64_t>(offset, isDynamic ? result.entries[entry].dynamicSharedOffset
                                                    : result.entries[entry].staticSharedBytes);
    offset = alignTo(offset, item.variable->alignment);
    uint64_t end = offset + item.variable->size;
    if (end > kMaxWindowBytes)
      return tooLarge(module, *item.variable);
    *item.place = {offset, item.variable->size};
    for (uint32_t entry : item.entries)
      (isDynamic ? result.entries[entry].dynamicSharedOffset : result.entries[entry].staticSharedBytes) = uint32_t(end);
  }
  return Error();
}

/// Places the variables of one space one after another, but those that `isLeftOut`.
Error Builder::place(Space space, const std::vector<Variable> &list, std::vector<Placement> &places, uint64_t &end,
                     bool (*isLeftOut)(const Variable &)) {
  places.resize(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].space != space || (isLeftOut && isLeftOut(list[i])))
      continue;
    uint64_t offset = alignTo(end, list[i].alignment);
    end = offset + list[i].size;
    if (end > kMaxWindowBytes)
      return tooLarge(module, list[i]);
    places[i] = {offset, list[i].size};
  }
  return Error();
}

/// True for variables of inner blocks: arguments and results of one call, as compilers write them.
bool isOfCall(const Variable &variable) { return variable.depth > 1; }

/// Places the .param variables of a body. Those of blocks that are not open at the same time share bytes: a body with
/// many calls would need much memory in every thread otherwise.
Error Builder::placeCalls(const std::vector<Variable> &list, std::vector<Placement> &places, uint64_t &end) {
  struct Open {
    uint32_t closes; ///< The instruction behind the block.
    uint64_t end;    ///< Of its variables and all around them.
  };
  if (Error error = place(Space::Param, list, places, end, isOfCall))
    return error;
  std::vector<Open> open = {{kNone, end}}; // blocks nest: the innermost is last
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].space != Space::Param || !isOfCall(list[i]))
      continue;
    while (open.back().closes <= list[i].scope.first && open.size() > 1)
      open.pop_back();
    uint64_t offset = alignTo(open.back().end, list[i].alignment);
    if (offset + list[i].size > kMaxWindowBytes)
      return tooLarge(module, list[i]);
    open.push_back({list[i].scope.first + list[i].scope.count, offset + list[i].size});
    end = std::max(end, open.back().end);
    places[i] = {offset, list[i].size};
  }
  return Error();
}

Error Builder::placeFunction(uint32_t index) {
  const Function &function = module.functions[index];
  FunctionLayout &layout = result.functions[index];
  uint64_t local = 0, block = 0;
  if (function.isEntry) {
    for (const Variable &parameter : function.parameters)
      layout.parameters.push_back({parameter.offset, parameter.size});
  } else if (Error error = place(Space::Param, function.parameters, layout.parameters, block)) {
    return error;
  }
  if (Error error = place(Space::Param, function.returns, layout.returns, block))
    return error;
  if (Error error = placeCalls(function.variables, layout.locals, block))
    return error;
  if (Error error = place(Space::Local, function.variables, layout.locals, local))
    return error;
  layout.localBytes = uint32_t(alignTo(local, 16));
  layout.parameterBlockBytes = uint32_t(alignTo(block, 16));
  return Error();
}

Error Builder::run() {
  result.functions.resize(module.functions.size());
  globals.resize(module.variables.size());
  for (const Variable &variable : module.variables)
    if (variable.space == Space::Local)
      return bundle::makeError(ErrorCode::Unsupported, "%u:%u: '.local' variables in module scope are not supported",
                               variable.location.line, variable.location.column);
  findReferences();
  for (uint32_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i].isEntry && module.functions[i].isDefined) {
      result.entries.emplace_back();
      result.entries.back().function = i;
      reach(result.entries.back());
      for (uint32_t function : result.entries.back().functions)
        if (result.functions[function].parameters.empty() && result.functions[function].locals.empty())
          if (Error error = placeFunction(function))
            return error;
    }
  collectShared();
  if (Error error = placeShared(false))
    return error;
  for (EntryLayout &entry : result.entries)
    entry.dynamicSharedOffset = entry.staticSharedBytes;
  return placeShared(true);
}

} // namespace

Error layOut(const Module &module, std::vector<Placement> &globals, ModuleLayout &result) {
  result = ModuleLayout();
  return Builder(module, globals, result).run();
}

} // namespace weft::emu
