// The pass --weft-gpu-merge-launches: kernels that do not need each other start as one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A merged kernel has the CTAs of its parts one part after the other, and each CTA runs the part that its number lies
// in; a part never sees that there are others. Parts are of one level of the program (the longest chain of kernels in
// front of them), so none needs another, and no other kernel must run between them. Threads that a part has not leave
// at once, and its barriers count its own threads.
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/Passes.h"
#include "weft/Emit/Ptx.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::emit {

#define GEN_PASS_DEF_GPUMERGELAUNCHES
#include "weft/Emit/Passes.h.inc"

namespace {

constexpr int64_t kWarpThreads = 32;
/// Of one launch: parts, parameters in bytes (the driver takes 4 KB), tensor maps (the bundle takes 16).
constexpr size_t kMostParts = 6, kMostParameterBytes = 3072, kMostTensorMaps = 16;

/// A lowered kernel that can be a part.
struct Part {
  ModuleOp module;
  LLVM::LLVMFuncOp function;
  unsigned buffers = 0, scalars = 0, maps = 0; ///< Parameters, in this order.
  unsigned inputs = 0;                         ///< Of the buffers, the first ones.
  int64_t grid = 0, warps = 0, shared = 0;
  int64_t registers = 0; ///< Of a thread, about.

  size_t parameterBytes() const { return 8 * (buffers + scalars) + 128 * maps; }
};

/// Dispatches that start as one kernel.
struct Launch {
  SmallVector<tg::DispatchOp> dispatches;
  SmallVector<Part> parts;
};

int64_t readInteger(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

/// What a thread holds: the sums of its share of a product's tile, and what it works with.
int64_t estimateRegisters(ModuleOp module, int64_t warps) {
  constexpr int64_t ofMaps = 64, ofProducts = 96;
  auto schedule = module->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
  if (!schedule || schedule.getEngine() == tg::Engine::Simt)
    return ofMaps;
  int64_t elements = 1;
  for (int64_t extent : schedule.getTile())
    elements *= extent;
  return ofProducts + elements / std::max<int64_t>(schedule.getWarps() * kWarpThreads, 1);
}

/// Whether the kernel waits for the grids before it, or lets those behind it start.
bool waitsForGrids(LLVM::LLVMFuncOp function) {
  WalkResult result = function.walk([](LLVM::InlineAsmOp op) {
    return op.getAsmString().contains("griddepcontrol") ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

std::optional<Part> readPart(ModuleOp module) {
  Part part;
  part.module = module;
  part.function = getKernelFunction(module);
  auto grid = module->getAttrOfType<AffineMapAttr>(gpu::gridAttr);
  if (!part.function || !grid || grid.getValue().getNumSymbols() || readInteger(module, gpu::clusterAttr) > 1 ||
      waitsForGrids(part.function))
    return std::nullopt;
  for (AffineExpr expr : grid.getValue().getResults()) {
    std::optional<int64_t> count = tg::getConstant(expr);
    if (!count)
      return std::nullopt;
    part.grid = part.grid ? std::min(part.grid, *count) : *count;
  }
  for (auto [i, type] : llvm::enumerate(part.function.getArgumentTypes())) {
    bool isMap = bool(part.function.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()));
    ++(isMap ? part.maps : type.isInteger(64) ? part.scalars : part.buffers);
  }
  part.warps = readInteger(module, gpu::warpsAttr);
  part.shared = readInteger(module, gpu::sharedBytesAttr);
  part.registers = estimateRegisters(module, part.warps);
  return part.grid > 0 && part.warps > 0 ? std::optional(part) : std::nullopt;
}

/// CTAs of an SM with these needs.
int64_t countResident(int64_t warps, int64_t shared, int64_t registers, const Device &device) {
  int64_t threads = warps * kWarpThreads;
  registers = std::min<int64_t>(registers, int64_t(device.registersPerSm) / threads);
  return std::min({int64_t(device.registersPerSm) / (registers * threads),
                   int64_t(device.sharedPerSm) / (shared + int64_t(device.sharedReservedPerCta)),
                   int64_t(device.threadsPerSm) / threads, int64_t(device.ctasPerSm)});
}

/// Why `part` is better off in a launch of its own than behind the parts of `launch`; empty if it is not.
std::string findObstacle(const Launch &launch, const Part &part, const Device &device) {
  if (launch.parts.size() == kMostParts)
    return "a launch has at most " + std::to_string(kMostParts) + " parts";
  SmallVector<Part> parts(launch.parts);
  parts.push_back(part);
  int64_t warps = 0, shared = 0, registers = 0;
  size_t parameters = 0, maps = 0;
  for (const Part &each : parts) {
    warps = std::max(warps, each.warps);
    shared = std::max(shared, each.shared);
    registers = std::max(registers, each.registers);
    parameters += each.parameterBytes();
    maps += each.maps;
  }
  if (parameters > kMostParameterBytes || maps > kMostTensorMaps)
    return "more parameters than a launch takes";
  int64_t limit = int64_t(device.registersPerSm) / (warps * kWarpThreads);
  int64_t together = countResident(warps, shared, registers, device);
  for (const Part &each : parts) {
    if (each.warps != warps && each.registers > limit)
      return llvm::formatv("{0} registers a thread beside {1} warps", each.registers, warps);
    int64_t alone = countResident(each.warps, each.shared, each.registers, device);
    int64_t needed = std::min<int64_t>(alone, llvm::divideCeil(each.grid, int64_t(device.sms)));
    if (together < needed)
      return llvm::formatv("{0} CTAs an SM instead of {1}: {2} bytes of shared memory, {3} warps", together, needed,
                           shared, warps);
  }
  return "";
}

/// Puts the bodies of several kernels into one.
class Merger {
public:
  explicit Merger(MutableArrayRef<Part> parts) : parts(parts), builder(parts.front().module.getContext()) {}

  OwningOpRef<ModuleOp> run() {
    Location loc = parts.front().module.getLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    for (Part &part : parts)
      cloneGlobals(part.module);
    makeFunction(loc);
    OpBuilder::InsertionGuard restore(builder);
    int64_t first = 0;
    for (auto [number, part] : llvm::enumerate(parts)) {
      addPart(number, first);
      first += part.grid;
    }
    setAttributes(*module, first);
    return module;
  }

private:
  /// What a body names: its dynamic shared memory, constants.
  void cloneGlobals(ModuleOp module) {
    for (Operation &op : module.getBody()->getOperations()) {
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (symbol && !isa<LLVM::LLVMFuncOp>(op) && names.insert(symbol.getNameAttr()).second)
        builder.clone(op);
      if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
          function && function.isExternal() && names.insert(function.getNameAttr()).second)
        builder.clone(op);
    }
  }

  /// Buffers of all parts (inputs first, then results), scalars, tensor maps; `places` says where a part's are.
  void makeFunction(Location loc) {
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    places.resize(parts.size());
    auto take = [&](size_t number, unsigned argument) {
      LLVM::LLVMFuncOp function = parts[number].function;
      places[number].push_back({argument, unsigned(types.size())});
      types.push_back(function.getArgumentTypes()[argument]);
      attributes.push_back(function.getArgAttrDict(argument));
    };
    auto takeAll = [&](auto first, auto count) {
      for (auto [number, part] : llvm::enumerate(parts))
        for (unsigned i = 0, end = count(part); i < end; ++i)
          take(number, first(part) + i);
    };
    auto inputs = [](const Part &part) { return part.inputs; };
    takeAll([](const Part &) { return 0u; }, inputs);
    takeAll(inputs, [](const Part &part) { return part.buffers - part.inputs; });
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

  Value makeInt(Location loc, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(int32_t(value)));
  }

  /// From the end of `entry` to the body of part `number`, whose CTAs begin at `first`; `entry` is then the block for
  /// the parts behind it.
  void addPart(size_t number, int64_t first) {
    Part &part = parts[number];
    Location loc = part.function.getLoc();
    builder.setInsertionPointToEnd(entry);
    Value cta = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
    if (first)
      cta = LLVM::SubOp::create(builder, loc, cta, makeInt(loc, first));
    IRMapping mapping;
    for (auto [from, to] : places[number])
      mapping.map(part.function.getArgument(from), function.getArgument(to));
    // The body's entry block has no arguments of its own here.
    Region &body = function.getBody();
    Block *start = builder.createBlock(&body, body.end());
    for (Block &block : llvm::drop_begin(part.function.getBody())) {
      Block *copy = builder.createBlock(&body, body.end(), block.getArgumentTypes(),
                                        SmallVector<Location>(block.getNumArguments(), loc));
      mapping.map(&block, copy);
      for (auto [from, to] : llvm::zip_equal(block.getArguments(), copy->getArguments()))
        mapping.map(from, to);
    }
    for (Block &block : part.function.getBody()) {
      builder.setInsertionPointToEnd(&block == &part.function.getBody().front() ? start : mapping.lookup(&block));
      for (Operation &op : block)
        cloneOp(op, mapping, cta, part);
    }
    builder.setInsertionPointToEnd(entry);
    Block *target = start;
    if (part.warps < warps)
      target = addThreadCheck(loc, start, part.warps);
    builder.setInsertionPointToEnd(entry);
    if (number + 1 == parts.size()) {
      LLVM::BrOp::create(builder, loc, target);
      return;
    }
    Block *rest = builder.createBlock(&body, body.end());
    builder.setInsertionPointToEnd(entry);
    Value isMine = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, cta, makeInt(loc, part.grid));
    LLVM::CondBrOp::create(builder, loc, isMine, target, rest);
    entry = rest;
  }

  /// A block in front of `start` in which threads beyond the part's return.
  Block *addThreadCheck(Location loc, Block *start, int64_t partWarps) {
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

  void cloneOp(Operation &op, IRMapping &mapping, Value cta, const Part &part) {
    Location loc = op.getLoc();
    if (isa<NVVM::BlockIdXOp>(op)) {
      mapping.map(op.getResult(0), cta);
    } else if (isa<NVVM::GridDimXOp>(op)) {
      mapping.map(op.getResult(0), makeInt(loc, part.grid));
    } else if (isa<NVVM::Barrier0Op>(op) && part.warps < warps) {
      NVVM::BarrierOp::create(builder, loc, TypeRange(), makeInt(loc, 0), makeInt(loc, part.warps * kWarpThreads),
                              NVVM::BarrierReductionAttr(), Value());
    } else {
      builder.clone(op, mapping);
    }
  }

  void setAttributes(ModuleOp module, int64_t grid) {
    MLIRContext *context = builder.getContext();
    module->setAttr(gpu::targetAttr, parts.front().module->getAttr(gpu::targetAttr));
    module->setAttr(gpu::warpsAttr, builder.getI64IntegerAttr(warps));
    module->setAttr(gpu::gridAttr, AffineMapAttr::get(AffineMap::getConstantMap(grid, context)));
    int64_t shared = 0, version = 0;
    SmallVector<Attribute> maps, operands, results;
    SmallVector<AffineExpr> scalars;
    for (auto [number, part] : llvm::enumerate(parts)) {
      shared = std::max(shared, part.shared);
      version = std::max(version, readInteger(part.module, gpu::ptxVersionAttr));
      appendAll(part.module->getAttrOfType<ArrayAttr>("tg.operand_dims"), operands);
      appendAll(part.module->getAttrOfType<ArrayAttr>("tg.result_dims"), results);
      if (auto map = part.module->getAttrOfType<AffineMapAttr>(gpu::scalarsAttr))
        llvm::append_range(scalars, map.getValue().getResults());
      if (auto array = part.module->getAttrOfType<ArrayAttr>(gpu::tensorMapsAttr))
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
    module->setAttr("tg.operand_dims", builder.getArrayAttr(operands));
    module->setAttr("tg.result_dims", builder.getArrayAttr(results));
  }

  static void appendAll(ArrayAttr array, SmallVectorImpl<Attribute> &to) {
    if (array)
      llvm::append_range(to, array);
  }

  /// A tensor map's buffer has another number.
  DictionaryAttr moveMap(DictionaryAttr map, size_t number) {
    NamedAttrList entries(map);
    unsigned before = unsigned(cast<IntegerAttr>(map.get("argument")).getInt());
    for (auto [from, to] : places[number])
      if (from == before)
        entries.set("argument", builder.getI64IntegerAttr(to));
    return entries.getDictionary(builder.getContext());
  }

  MutableArrayRef<Part> parts;
  OpBuilder builder;
  llvm::DenseSet<StringAttr> names;
  LLVM::LLVMFuncOp function;
  Block *entry = nullptr;
  int64_t warps = 0;
  SmallVector<SmallVector<std::pair<unsigned, unsigned>>> places; ///< Of each part: its argument, the merged one's.
};

struct GpuMergeLaunches : impl::GpuMergeLaunchesBase<GpuMergeLaunches> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp program = getOperation();
    auto main = program.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return;
    SymbolTable symbols(program);
    llvm::StringMap<StringAttr> known;
    for (Launch &launch : chooseLaunches(main, symbols))
      if (launch.parts.size() > 1)
        merge(launch, symbols, known);
    sortTopologically(&main.getBody().front());
    eraseUnused(program, main);
  }

  /// Dispatches of one level share a launch where nothing speaks against it.
  SmallVector<Launch> chooseLaunches(func::FuncOp main, SymbolTable &symbols) {
    llvm::DenseMap<Operation *, unsigned> levels;
    llvm::MapVector<unsigned, SmallVector<Launch>> launches;
    for (Operation &op : main.getBody().front()) {
      unsigned level = 0;
      for (Value operand : op.getOperands())
        if (Operation *before = operand.getDefiningOp())
          level = std::max(level, levels.lookup(before));
      auto dispatch = dyn_cast<tg::DispatchOp>(op);
      levels[&op] = level + bool(dispatch);
      if (dispatch)
        place(dispatch, symbols, launches[level]);
    }
    SmallVector<Launch> all;
    for (auto &[level, ofLevel] : launches)
      llvm::append_range(all, ofLevel);
    return all;
  }

  void place(tg::DispatchOp dispatch, SymbolTable &symbols, SmallVector<Launch> &launches) {
    auto module = symbols.lookup<ModuleOp>(dispatch.getCallee().getRootReference());
    std::optional<Part> part = module ? readPart(module) : std::nullopt;
    auto target = module ? module->getAttrOfType<StringAttr>(gpu::targetAttr) : StringAttr();
    const Device *device = findDevice(deviceName.empty() && target ? target.getValue() : StringRef(deviceName));
    if (!part || !device || dispatch.getOperands_().size() > part->buffers)
      return;
    part->inputs = dispatch.getOperands_().size();
    for (Launch &launch : launches) {
      std::string obstacle = findObstacle(launch, *part, *device);
      if (obstacle.empty()) {
        launch.dispatches.push_back(dispatch);
        launch.parts.push_back(*part);
        return;
      }
      remark::missed(dispatch.getLoc(), remark::RemarkOpts::name("not-merged").category("fusion").function("main"))
          << remark::add("launch of its own: {0}", obstacle) << remark::metric("kernel", nameOf(*part))
          << remark::metric("beside", nameOf(launch.parts.front()));
    }
    launches.push_back({{dispatch}, {*part}});
  }

  static StringRef nameOf(const Part &part) { return ModuleOp(part.module).getSymName().value_or("kernel"); }

  void merge(Launch &launch, SymbolTable &symbols, llvm::StringMap<StringAttr> &known) {
    std::string key;
    for (const Part &part : launch.parts)
      key += (nameOf(part) + "+").str();
    StringAttr &name = known[key];
    if (!name) {
      OwningOpRef<ModuleOp> merged = Merger(launch.parts).run();
      merged->setSymName(("launch_" + nameOf(launch.parts.front())).str());
      name = symbols.insert(merged.release());
    }
    SmallVector<Value> operands;
    SmallVector<Type> types;
    SmallVector<Attribute> nodes;
    SmallVector<Location> locations;
    for (tg::DispatchOp dispatch : launch.dispatches) {
      llvm::append_range(operands, dispatch.getOperands_());
      llvm::append_range(types, dispatch.getResultTypes());
      locations.push_back(dispatch.getLoc());
      if (auto names = dispatch->getAttrOfType<ArrayAttr>("tg.nodes"))
        llvm::append_range(nodes, names);
    }
    OpBuilder builder(launch.dispatches.back());
    auto callee = SymbolRefAttr::get(name, FlatSymbolRefAttr::get(builder.getContext(), "kernel"));
    auto merged = tg::DispatchOp::create(builder, builder.getFusedLoc(locations), types, callee, operands,
                                         AffineMap::get(0, 0, ArrayRef<AffineExpr>(), builder.getContext()));
    if (!nodes.empty())
      merged->setAttr("tg.nodes", builder.getArrayAttr(nodes));
    remark::passed(merged.getLoc(), remark::RemarkOpts::name("merged").category("fusion").function("main"))
        << remark::add("{0} kernels that do not need each other start as one", std::to_string(launch.dispatches.size()))
        << remark::metric("kernel", name.getValue());
    size_t next = 0;
    for (tg::DispatchOp dispatch : launch.dispatches) {
      for (Value result : dispatch->getResults())
        result.replaceAllUsesWith(merged->getResult(next++));
      dispatch.erase();
    }
    ++numMerged;
  }

  /// Modules that are parts now and nothing else.
  static void eraseUnused(ModuleOp program, func::FuncOp main) {
    llvm::DenseSet<StringAttr> used;
    for (auto dispatch : main.getOps<tg::DispatchOp>())
      used.insert(dispatch.getCallee().getRootReference());
    for (ModuleOp module : llvm::make_early_inc_range(program.getOps<ModuleOp>()))
      if (getKernelFunction(module) && !used.contains(module.getSymNameAttr()))
        module.erase();
  }
};

} // namespace
} // namespace weft::emit
