// A launch's tasks, their operands, and for what they wait.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LaunchBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "weft/Dialect/TileKernel/IR/Launches.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/PlanAttributes.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace weft::schedule {

namespace {

class LaunchBuilder {
public:
  LaunchBuilder(ArrayRef<Part> parts, ArrayRef<Wire> wires, std::optional<Interleaving> turns, const Device &device)
      : parts(parts), wires(wires), turns(turns), device(device), builder(ModuleOp(parts.front().module).getContext()),
        states(parts.size()) {}

  OwningOpRef<ModuleOp> run();

private:
  struct State {
    SmallVector<Value> operands; ///< What the task takes: tensors, then symbols.
    SmallVector<bool> isWired;   ///< Of its inputs: another part writes them.
    unsigned firstSymbol = 0;    ///< Its symbols among all.
    int64_t signal = 0;          ///< CTAs that raise one counter; 0: nobody waits for it.
    int64_t shared = 1;          ///< Blocks of its rows that share a counter.
    SmallVector<Attribute> awaits;
  };

  void findSignals();
  int64_t countSharedBy(unsigned writer) const;
  void findAwaits(unsigned reader);
  void makeKernel();
  void addTask(unsigned number);
  int64_t findResident() const;
  AffineMap shift(AffineMap map, unsigned number) const;
  Type shift(Type type, unsigned number) const;
  void setAttributes();
  DictionaryAttr describePart(unsigned number);

  ArrayRef<Part> parts;
  ArrayRef<Wire> wires;
  std::optional<Interleaving> turns;
  const Device &device;
  OpBuilder builder;
  SmallVector<State> states;
  unsigned symbols = 0;
  OwningOpRef<ModuleOp> module;
  func::FuncOp kernel;
};

} // namespace

/// Of a part whose CTAs are not told apart, one counter for all, however many there are.
static constexpr int64_t kAllCtas = int64_t(1) << 30;

/// Blocks of a writer's rows that share a counter: as many as all readers wait for together. Each of them would be
/// polled by threads of its own, which take turns in the L2 with those that raise it.
int64_t LaunchBuilder::countSharedBy(unsigned writer) const {
  int64_t least = countShared(parts[writer].rows), together = 0;
  for (const Wire &wire : wires) {
    if (wire.writer != writer)
      continue;
    Need need = findNeed(parts, wire);
    if (!need.written)
      continue;
    bool isWhole = need.step % need.written == 0 && need.first == 0 && need.last == need.step - 1;
    if (turns || !isWhole)
      return least;
    together = std::gcd(together, need.step / need.written);
  }
  return std::max(least, together);
}

/// A part has a counter for each block of its rows if some reader knows which it needs, else one.
void LaunchBuilder::findSignals() {
  for (auto [part, state] : llvm::zip_equal(parts, states))
    state.isWired.assign(part.inputs, false);
  for (const Wire &wire : wires) {
    const Part &writer = parts[wire.writer];
    State &state = states[wire.writer];
    states[wire.reader].isWired[wire.input] = true;
    if (findNeed(parts, wire).written) {
      state.shared = countSharedBy(wire.writer);
      state.signal = writer.rows.ctas * state.shared;
    } else if (!state.signal) {
      state.signal = writer.grid ? writer.grid : kAllCtas;
    }
  }
}

/// Of each writer all blocks, or those that hold what the block of a CTA reads.
void LaunchBuilder::findAwaits(unsigned reader) {
  SmallVector<Attribute> &awaits = states[reader].awaits;
  for (const Wire &wire : wires) {
    if (wire.reader != reader)
      continue;
    Need need = findNeed(parts, wire);
    auto all = tk::AwaitAttr::get(builder.getContext(), tk::SignalPolicy::All, wire.writer, 0, 0, 0, 0, 0);
    tk::AwaitAttr await = all;
    if (need.written) {
      int64_t written = need.written * states[wire.writer].shared;
      await = tk::AwaitAttr::get(builder.getContext(), tk::namePolicy(need.step, need.first, need.last, written),
                                 wire.writer, parts[reader].rows.ctas, need.step, need.first, need.last, written);
    }
    if (!llvm::is_contained(awaits, await) && !llvm::is_contained(awaits, all))
      awaits.push_back(await);
  }
}

AffineMap LaunchBuilder::shift(AffineMap map, unsigned number) const {
  map = map.shiftSymbols(states[number].firstSymbol);
  return AffineMap::get(0, symbols, map.getResults(), builder.getContext());
}

Type LaunchBuilder::shift(Type type, unsigned number) const {
  auto global = dyn_cast<tk::GlobalType>(type);
  auto dims = global ? dyn_cast_or_null<tg::DimsAttr>(global.getTensor().getEncoding()) : tg::DimsAttr();
  if (!dims)
    return type;
  RankedTensorType tensor = global.getTensor();
  auto moved = tg::DimsAttr::get(builder.getContext(), shift(dims.getMap(), number));
  return tk::GlobalType::get(builder.getContext(),
                             RankedTensorType::get(tensor.getShape(), tensor.getElementType(), moved));
}

/// Buffers of all parts (inputs first, then results), symbols. A wired input is its writer's result.
void LaunchBuilder::makeKernel() {
  Location loc = ModuleOp(parts.front().module).getLoc();
  SmallVector<Type> types;
  SmallVector<std::pair<unsigned, unsigned>> owners; // Of each argument: part, and which of its operands.
  auto takeAll = [&](auto first, auto end) {
    for (auto [number, part] : llvm::enumerate(parts))
      for (unsigned i = first(part); i < end(part); ++i) {
        if (i < part.inputs && states[number].isWired[i])
          continue;
        owners.push_back({number, i});
        types.push_back(shift(func::FuncOp(part.function).getArgumentTypes()[i], number));
      }
  };
  auto inputs = [](const Part &part) { return part.inputs; };
  auto buffers = [](const Part &part) { return part.buffers; };
  takeAll([](const Part &) { return 0u; }, inputs);
  takeAll(inputs, buffers);
  takeAll(buffers, [](const Part &part) { return part.buffers + part.symbols; });
  builder.setInsertionPointToEnd(module->getBody());
  kernel = func::FuncOp::create(builder, loc, "kernel", builder.getFunctionType(types, {}));
  kernel.addEntryBlock();
  for (auto [number, part] : llvm::enumerate(parts))
    states[number].operands.resize(part.buffers + part.symbols);
  for (auto [i, owner] : llvm::enumerate(owners))
    states[owner.first].operands[owner.second] = kernel.getArgument(i);
  for (const Wire &wire : wires)
    states[wire.reader].operands[wire.input] = states[wire.writer].operands[parts[wire.writer].inputs + wire.result];
}

void LaunchBuilder::addTask(unsigned number) {
  const Part &part = parts[number];
  const State &state = states[number];
  auto function = cast<func::FuncOp>(func::FuncOp(part.function)->clone());
  function.setName(part.getName() == "kernel" ? "task" : part.getName());
  function.setPrivate();
  if (Attribute steady = ModuleOp(part.module)->getAttr(gpu::steadyOperandsAttr))
    function->setAttr(gpu::steadyOperandsAttr, steady);
  StringAttr name = SymbolTable(*module).insert(function);
  tk::TaskOp::create(builder, function.getLoc(), FlatSymbolRefAttr::get(name), state.operands,
                     AffineMapAttr::get(part.ctas),
                     state.signal ? builder.getI64IntegerAttr(state.signal) : IntegerAttr(),
                     state.awaits.empty() ? ArrayAttr() : builder.getArrayAttr(state.awaits));
}

/// As many CTAs as the GPU holds at once, or as there are tasks. Beyond 8 warps a thread's registers are dealt out
/// among roles: an SM has one CTA then.
int64_t LaunchBuilder::findResident() const {
  constexpr int64_t mostWarpsOfSeveral = 8;
  int64_t warps = 0, tasks = 0;
  bool isKnown = true;
  for (const Part &part : parts) {
    warps = std::max(warps, part.warps);
    tasks += part.grid;
    isKnown &= part.grid > 0;
  }
  int64_t onSm = warps > mostWarpsOfSeveral ? 1 : std::max<int64_t>(countResident(parts, device), 1);
  int64_t resident = onSm * int64_t(device.sms);
  return isKnown ? std::min(resident, tasks) : resident;
}

/// What the explanation says of a part.
DictionaryAttr LaunchBuilder::describePart(unsigned number) {
  ModuleOp from = parts[number].module;
  NamedAttrList entries;
  entries.set("name", builder.getStringAttr(parts[number].getName()));
  SmallVector<int64_t> wired;
  for (auto [i, isWired] : llvm::enumerate(states[number].isWired))
    if (isWired)
      wired.push_back(i);
  entries.set("wired", builder.getDenseI64ArrayAttr(wired));
  for (auto [name, attribute] : {std::pair("schedule", plan::scheduleAttr), std::pair("launch", plan::launchAttr),
                                 std::pair("seconds", plan::secondsAttr)})
    if (Attribute value = from->getAttr(attribute))
      entries.set(name, value);
  return entries.getDictionary(builder.getContext());
}

void LaunchBuilder::setAttributes() {
  module.get()->setAttr(gpu::targetAttr, ModuleOp(parts.front().module)->getAttr(gpu::targetAttr));
  int64_t warps = 0, shared = 0;
  SmallVector<Attribute> operands, results, described;
  for (auto [number, part] : llvm::enumerate(parts)) {
    warps = std::max(warps, part.warps);
    shared = std::max(shared, part.shared);
    ModuleOp from = part.module;
    auto shiftAll = [&](ArrayAttr maps, SmallVector<Attribute> &to, bool areInputs) {
      for (auto [i, map] : llvm::enumerate(maps ? maps : ArrayAttr::get(builder.getContext(), {})))
        if (!areInputs || !states[number].isWired[i])
          to.push_back(AffineMapAttr::get(shift(cast<AffineMapAttr>(map).getValue(), number)));
    };
    shiftAll(from->getAttrOfType<ArrayAttr>("tg.operand_dims"), operands, true);
    shiftAll(from->getAttrOfType<ArrayAttr>("tg.result_dims"), results, false);
    described.push_back(describePart(number));
  }
  kernel->setAttr(tk::warpsAttr, builder.getI64IntegerAttr(warps));
  if (shared)
    kernel->setAttr(tk::sharedBytesAttr, builder.getI64IntegerAttr(shared));
  module.get()->setAttr(gpu::partsAttr, builder.getArrayAttr(described));
  module.get()->setAttr("tg.operand_dims", builder.getArrayAttr(operands));
  module.get()->setAttr("tg.result_dims", builder.getArrayAttr(results));
}

OwningOpRef<ModuleOp> LaunchBuilder::run() {
  Location loc = ModuleOp(parts.front().module).getLoc();
  module = ModuleOp::create(loc);
  for (auto [number, part] : llvm::enumerate(parts)) {
    states[number].firstSymbol = symbols;
    symbols += part.symbols;
  }
  findSignals();
  makeKernel();
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  auto launch = tk::LaunchOp::create(
      builder, loc, wires.empty() ? IntegerAttr() : builder.getI64IntegerAttr(findResident()),
      turns ? builder.getDenseI64ArrayAttr({turns->writers, turns->readers, turns->groups}) : DenseI64ArrayAttr());
  func::ReturnOp::create(builder, loc);
  builder.setInsertionPointToStart(&launch.getBody().emplaceBlock());
  for (unsigned number = 0; number < parts.size(); ++number) {
    findAwaits(number);
    addTask(number);
  }
  setAttributes();
  return std::move(module);
}

OwningOpRef<ModuleOp> buildLaunch(ArrayRef<Part> parts, ArrayRef<Wire> wires, std::optional<Interleaving> turns,
                                  const Device &device) {
  return LaunchBuilder(parts, wires, turns, device).run();
}

} // namespace weft::schedule
