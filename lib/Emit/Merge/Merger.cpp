// One kernel from several: CTAs, parameters, bodies, and what binds parts that read each other's results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Merger.h"
#include "Flags.h"
#include "mlir/IR/IRMapping.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/ChainOrder.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/PlanAttributes.h"
#include "llvm/ADT/DenseSet.h"
#include <array>
#include <numeric>
#include <set>

using namespace mlir;

namespace weft::emit {

namespace {

class Merger {
public:
  Merger(ArrayRef<Part> parts, ArrayRef<Wire> wires, std::optional<Interleaving> turns)
      : parts(parts), wires(wires), turns(turns), builder(ModuleOp(parts.front().module).getContext()),
        states(parts.size()) {}

  OwningOpRef<ModuleOp> run();

private:
  /// What a part waits for, and where its parameters went.
  struct State {
    SmallVector<std::pair<unsigned, unsigned>> places; ///< The part's parameter, the merged kernel's.
    SmallVector<bool> isWritten;                       ///< Parameters that another part writes.
    Counters counters;                                 ///< That the part raises; none: nobody waits for it.
    int64_t shared = 1;                                ///< Blocks of its rows that share a counter.
    bool isReader = false;                             ///< It waits.
  };

  int64_t readWires();
  int64_t countSharedBy(unsigned writer) const;
  void cloneGlobals(ModuleOp module);
  void makeFunction(Location loc);
  Value makeInt(Location loc, int64_t value);
  void addPart(size_t number, int64_t first);
  void addWait(size_t number, Value cta);
  SmallVector<Awaited> findAwaited(size_t number, Value cta);
  void takeTurns(Location loc);
  Block *addThreadCheck(Location loc, Block *start, int64_t partWarps);
  void cloneBody(size_t number, Block *start, Value cta);
  void cloneOp(Operation &op, IRMapping &mapping, Value cta, size_t number);
  void setAttributes(ModuleOp module, int64_t grid);
  DictionaryAttr describePart(size_t number);
  DictionaryAttr moveMap(DictionaryAttr map, size_t number);

  ArrayRef<Part> parts;
  ArrayRef<Wire> wires;
  std::optional<Interleaving> turns;
  OpBuilder builder;
  SmallVector<State> states;
  llvm::DenseSet<StringAttr> names;
  LLVM::LLVMFuncOp function;
  Block *entry = nullptr;
  int64_t warps = 0;
  bool canPrefetch = false;
  SmallVector<Value> numbers; ///< Of the CTA in each part, and whether it is one of the first, where parts take turns.
  Value isWriter;
  std::optional<Flags> flags;
};

} // namespace

/// Blocks of a writer's rows that share a counter: as many as all readers wait for together. Each of them would be
/// polled by threads of its own, which take turns in the L2 with those that raise it.
int64_t Merger::countSharedBy(unsigned writer) const {
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
int64_t Merger::readWires() {
  for (auto [part, state] : llvm::zip_equal(parts, states))
    state.isWritten.assign(LLVM::LLVMFuncOp(part.function).getNumArguments(), false);
  for (const Wire &wire : wires) {
    const Part &writer = parts[wire.writer];
    Counters &counters = states[wire.writer].counters;
    states[wire.reader].isWritten[wire.input] = states[wire.reader].isReader = true;
    if (findNeed(parts, wire).written) {
      states[wire.writer].shared = countSharedBy(wire.writer);
      counters.ctas = writer.rows.ctas * states[wire.writer].shared;
      counters.blocks = llvm::divideCeil(writer.grid, counters.ctas);
    } else if (!counters.blocks) {
      counters.ctas = writer.grid;
      counters.blocks = 1;
    }
    counters.grid = writer.grid;
  }
  int64_t next = 0;
  for (State &state : states) {
    state.counters.first = next;
    next += state.counters.blocks;
  }
  return next;
}

OwningOpRef<ModuleOp> Merger::run() {
  ModuleOp front = parts.front().module;
  Location loc = front.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  int64_t counters = readWires();
  for (const Part &part : parts)
    cloneGlobals(part.module);
  makeFunction(loc);
  OpBuilder::InsertionGuard restore(builder);
  int64_t grid = 0, first = 0;
  for (const Part &part : parts)
    grid += part.grid;
  auto target = front->getAttrOfType<StringAttr>(gpu::targetAttr);
  const Device *device = target ? findDevice(target.getValue()) : nullptr;
  canPrefetch = device && device->computeVersion >= 90;
  if (!wires.empty())
    flags.emplace(builder, *module, counters, grid);
  if (turns)
    takeTurns(loc);
  for (auto [number, part] : llvm::enumerate(parts)) {
    addPart(number, first);
    first += part.grid;
  }
  setAttributes(*module, grid);
  return module;
}

/// What a body names: its dynamic shared memory, constants.
void Merger::cloneGlobals(ModuleOp module) {
  for (Operation &op : module.getBody()->getOperations()) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (symbol && !isa<LLVM::LLVMFuncOp>(op) && names.insert(symbol.getNameAttr()).second)
      builder.clone(op);
    if (auto external = dyn_cast<LLVM::LLVMFuncOp>(op);
        external && external.isExternal() && names.insert(external.getNameAttr()).second)
      builder.clone(op);
  }
}

/// Buffers of all parts (inputs first, then results), scalars, tensor maps; `places` says where a part's are. A wired
/// input is its writer's result.
void Merger::makeFunction(Location loc) {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  auto takeAll = [&](auto first, auto count) {
    for (auto [number, part] : llvm::enumerate(parts))
      for (unsigned i = first(part), end = first(part) + count(part); i < end; ++i) {
        LLVM::LLVMFuncOp from = part.function;
        if (states[number].isWritten[i])
          continue;
        states[number].places.push_back({i, unsigned(types.size())});
        types.push_back(from.getArgumentTypes()[i]);
        attributes.push_back(from.getArgAttrDict(i));
      }
  };
  auto inputs = [](const Part &part) { return part.inputs; };
  takeAll([](const Part &) { return 0u; }, inputs);
  takeAll(inputs, [](const Part &part) { return part.buffers - part.inputs; });
  for (const Wire &wire : wires)
    for (auto [from, to] : states[wire.writer].places)
      if (from == parts[wire.writer].inputs + wire.result)
        states[wire.reader].places.push_back({wire.input, to});
  takeAll([](const Part &part) { return part.buffers; }, [](const Part &part) { return part.scalars; });
  takeAll([](const Part &part) { return part.buffers + part.scalars; }, [](const Part &part) { return part.maps; });
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), types);
  function = LLVM::LLVMFuncOp::create(builder, loc, "kernel", type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  for (const Part &part : parts)
    warps = std::max(warps, part.warps);
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr({int32_t(warps * kWarpThreads)}));
  for (auto [i, dictionary] : llvm::enumerate(attributes))
    if (dictionary)
      function.setArgAttrs(i, dictionary);
  entry = function.addEntryBlock(builder);
}

Value Merger::makeInt(Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(int32_t(value)));
}

/// From the end of `entry` to the body of part `number`, whose CTAs begin at `first`; `entry` is then the block for
/// the parts behind it.
void Merger::addPart(size_t number, int64_t first) {
  const Part &part = parts[number];
  State &state = states[number];
  Location loc = LLVM::LLVMFuncOp(part.function).getLoc();
  builder.setInsertionPointToEnd(entry);
  Value mine = turns ? numbers[number] : NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  if (first && !turns)
    mine = LLVM::SubOp::create(builder, loc, mine, makeInt(loc, first));
  Region &body = function.getBody();
  Block *target = builder.createBlock(&body, body.end()), *start = target;
  if (state.isReader) {
    addWait(number, mine);
    start = builder.getInsertionBlock();
  }
  cloneBody(number, start, mine);
  if (part.warps < warps)
    target = addThreadCheck(loc, target, part.warps);
  builder.setInsertionPointToEnd(entry);
  if (number + 1 == parts.size()) {
    LLVM::BrOp::create(builder, loc, target);
    return;
  }
  Block *rest = builder.createBlock(&body, body.end());
  builder.setInsertionPointToEnd(entry);
  Value isMine =
      turns ? isWriter : LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, mine, makeInt(loc, part.grid));
  LLVM::CondBrOp::create(builder, loc, isMine, target, rest);
  entry = rest;
}

/// Ahead of a part's body: its weights come to L2 while the parts that it reads still run.
void Merger::addWait(size_t number, Value cta) {
  const Part &part = parts[number];
  State &state = states[number];
  Location loc = LLVM::LLVMFuncOp(part.function).getLoc();
  for (auto [argument, bytes] : part.steady)
    for (auto [from, to] : state.places)
      if (from == argument && canPrefetch)
        flags->prefetch(loc, function.getArgument(to), bytes, part.grid, cta);
  if (part.waitsForGrids)
    flags->waitForGrids(loc);
  flags->wait(loc, findAwaited(number, cta), part.warps * kWarpThreads, part.hasBulk);
}

/// Of each writer all blocks, or those that hold what the block of CTA `cta` reads.
SmallVector<Awaited> Merger::findAwaited(size_t number, Value cta) {
  const Part &part = parts[number];
  Location loc = LLVM::LLVMFuncOp(part.function).getLoc();
  SmallVector<Awaited> awaited;
  std::set<std::array<int64_t, 4>> known;
  for (const Wire &wire : wires) {
    if (wire.reader != number)
      continue;
    Need need = findNeed(parts, wire);
    const Counters &of = states[wire.writer].counters;
    if (!known.insert({wire.writer, need.step, need.first, need.last}).second)
      continue;
    Value last = makeInt(loc, of.blocks - 1);
    if (!need.written) {
      awaited.push_back({of, makeInt(loc, 0), last});
      continue;
    }
    int64_t elements = need.written * states[wire.writer].shared;
    Value block = LLVM::UDivOp::create(builder, loc, cta, makeInt(loc, part.rows.ctas));
    auto find = [&](int64_t offset) -> Value { // The counter of element step b + offset.
      auto wide = [&](int64_t value) -> Value {
        return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
      };
      Value place = LLVM::MulOp::create(builder, loc, LLVM::ZExtOp::create(builder, loc, builder.getI64Type(), block),
                                        wide(need.step));
      place = LLVM::AddOp::create(builder, loc, place, wide(offset));
      place = LLVM::SMaxOp::create(builder, loc, place, wide(0));
      place = LLVM::UDivOp::create(builder, loc, place, wide(elements));
      return LLVM::SMinOp::create(builder, loc, LLVM::TruncOp::create(builder, loc, builder.getI32Type(), place), last);
    };
    Value from = find(need.first);
    awaited.push_back({of, from, find(need.last)});
  }
  return awaited;
}

/// Groups of CTAs of the first part, each followed by the second part's; what is left over goes to the last group.
void Merger::takeTurns(Location loc) {
  auto make = [&](auto op, Value lhs, Value rhs) -> Value { return decltype(op)::create(builder, loc, lhs, rhs); };
  builder.setInsertionPointToEnd(entry);
  Value cta = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  Value period = makeInt(loc, turns->writers + turns->readers), writers = makeInt(loc, turns->writers);
  Value group = make(LLVM::UDivOp(), cta, period);
  group = make(LLVM::SMinOp(), group, makeInt(loc, turns->groups - 1));
  Value place = make(LLVM::SubOp(), cta, make(LLVM::MulOp(), group, period));
  Value before = make(LLVM::MulOp(), group, writers);
  Value mine = make(LLVM::SMinOp(), writers, make(LLVM::SubOp(), makeInt(loc, parts[0].grid), before));
  isWriter = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, place, mine);
  numbers = {
      make(LLVM::AddOp(), before, place),
      make(LLVM::AddOp(), make(LLVM::MulOp(), group, makeInt(loc, turns->readers)), make(LLVM::SubOp(), place, mine))};
}

/// A block in front of `start` in which threads beyond the part's return.
Block *Merger::addThreadCheck(Location loc, Block *start, int64_t partWarps) {
  Region &body = function.getBody();
  Block *check = builder.createBlock(&body, body.end());
  Block *leave = builder.createBlock(&body, body.end());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPointToEnd(check);
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value isMine =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, thread, makeInt(loc, partWarps * kWarpThreads));
  LLVM::CondBrOp::create(builder, loc, isMine, start, leave);
  return check;
}

/// The part's blocks; its entry block, which has no arguments of its own here, goes to the end of `start`.
void Merger::cloneBody(size_t number, Block *start, Value cta) {
  LLVM::LLVMFuncOp from = parts[number].function;
  Location loc = from.getLoc();
  IRMapping mapping;
  for (auto [argument, to] : states[number].places)
    mapping.map(from.getArgument(argument), function.getArgument(to));
  Region &body = function.getBody();
  for (Block &block : llvm::drop_begin(from.getBody())) {
    Block *copy = builder.createBlock(&body, body.end(), block.getArgumentTypes(),
                                      SmallVector<Location>(block.getNumArguments(), loc));
    mapping.map(&block, copy);
    for (auto [old, argument] : llvm::zip_equal(block.getArguments(), copy->getArguments()))
      mapping.map(old, argument);
  }
  for (Block &block : from.getBody()) {
    builder.setInsertionPointToEnd(&block == &from.getBody().front() ? start : mapping.lookup(&block));
    for (Operation &op : block)
      cloneOp(op, mapping, cta, number);
  }
}

void Merger::cloneOp(Operation &op, IRMapping &mapping, Value cta, size_t number) {
  Location loc = op.getLoc();
  const Part &part = parts[number];
  const State &state = states[number];
  if (isa<NVVM::BlockIdXOp>(op)) {
    mapping.map(op.getResult(0), cta);
  } else if (isa<NVVM::GridDimXOp>(op)) {
    mapping.map(op.getResult(0), makeInt(loc, part.grid));
  } else if (isa<NVVM::Barrier0Op>(op) && part.warps < warps) {
    NVVM::BarrierOp::create(builder, loc, TypeRange(), makeInt(loc, 0), makeInt(loc, part.warps * kWarpThreads),
                            NVVM::BarrierReductionAttr(), Value());
  } else if (isStaleLoad(&op, state.isWritten)) {
    makeCoherent(builder.clone(op, mapping));
  } else {
    if (isa<LLVM::ReturnOp>(op) && state.counters.blocks)
      flags->raise(loc, state.counters, cta, part.warps * kWarpThreads, part.hasBulk, part.waitsForGrids);
    builder.clone(op, mapping);
  }
}

static void appendAll(ArrayAttr array, SmallVectorImpl<Attribute> &to) {
  if (array)
    llvm::append_range(to, array);
}

/// What the explanation says of a part.
DictionaryAttr Merger::describePart(size_t number) {
  ModuleOp from = parts[number].module;
  NamedAttrList entries;
  entries.set("name", builder.getStringAttr(parts[number].getName()));
  SmallVector<int64_t> wired;
  for (unsigned i = 0; i < parts[number].inputs; ++i)
    if (states[number].isWritten[i])
      wired.push_back(i);
  entries.set("wired", builder.getDenseI64ArrayAttr(wired));
  for (auto [name, attribute] : {std::pair("schedule", plan::scheduleAttr), std::pair("launch", plan::launchAttr),
                                 std::pair("seconds", plan::secondsAttr)})
    if (Attribute value = from->getAttr(attribute))
      entries.set(name, value);
  return entries.getDictionary(builder.getContext());
}

static int64_t getPtxVersion(ModuleOp module) {
  auto version = module->getAttrOfType<IntegerAttr>(gpu::ptxVersionAttr);
  return version ? version.getInt() : 0;
}

void Merger::setAttributes(ModuleOp module, int64_t grid) {
  MLIRContext *context = builder.getContext();
  module->setAttr(gpu::targetAttr, ModuleOp(parts.front().module)->getAttr(gpu::targetAttr));
  module->setAttr(gpu::warpsAttr, builder.getI64IntegerAttr(warps));
  module->setAttr(gpu::gridAttr, AffineMapAttr::get(AffineMap::getConstantMap(grid, context)));
  int64_t shared = 0, version = 0;
  SmallVector<Attribute> maps, operands, results;
  SmallVector<AffineExpr> scalars;
  for (auto [number, part] : llvm::enumerate(parts)) {
    ModuleOp from = part.module;
    shared = std::max(shared, part.shared);
    version = std::max(version, getPtxVersion(from));
    if (auto dims = from->getAttrOfType<ArrayAttr>("tg.operand_dims"))
      for (auto [i, map] : llvm::enumerate(dims))
        if (!states[number].isWritten[i])
          operands.push_back(map);
    appendAll(from->getAttrOfType<ArrayAttr>("tg.result_dims"), results);
    if (auto map = from->getAttrOfType<AffineMapAttr>(gpu::scalarsAttr))
      llvm::append_range(scalars, map.getValue().getResults());
    if (auto array = from->getAttrOfType<ArrayAttr>(gpu::tensorMapsAttr))
      for (Attribute map : array)
        maps.push_back(moveMap(cast<DictionaryAttr>(map), number));
  }
  if (shared)
    module->setAttr(gpu::sharedBytesAttr, builder.getI64IntegerAttr(shared));
  if (version)
    module->setAttr(gpu::ptxVersionAttr, builder.getI64IntegerAttr(version));
  if (!maps.empty())
    module->setAttr(gpu::tensorMapsAttr, builder.getArrayAttr(maps));
  if (!scalars.empty())
    module->setAttr(gpu::scalarsAttr, AffineMapAttr::get(AffineMap::get(0, 0, scalars, context)));
  SmallVector<Attribute> described;
  for (size_t number = 0; number < parts.size(); ++number)
    described.push_back(describePart(number));
  module->setAttr(partsAttr, builder.getArrayAttr(described));
  module->setAttr("tg.operand_dims", builder.getArrayAttr(operands));
  module->setAttr("tg.result_dims", builder.getArrayAttr(results));
}

/// A tensor map's buffer has another number.
DictionaryAttr Merger::moveMap(DictionaryAttr map, size_t number) {
  NamedAttrList entries(map);
  unsigned before = unsigned(cast<IntegerAttr>(map.get("argument")).getInt());
  for (auto [from, to] : states[number].places)
    if (from == before)
      entries.set("argument", builder.getI64IntegerAttr(to));
  return entries.getDictionary(builder.getContext());
}

OwningOpRef<ModuleOp> mergeParts(ArrayRef<Part> parts, ArrayRef<Wire> wires, std::optional<Interleaving> turns) {
  return Merger(parts, wires, turns).run();
}

} // namespace weft::emit
