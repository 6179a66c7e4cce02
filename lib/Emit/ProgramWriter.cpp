// @main as a launch program: extents and grids become registers, values become buffers, dispatches become commands.
//
// A value's buffer: arguments are inputs, weights and constants data; a dispatch result is an output if it is returned,
// else transient memory. Reshapes and bitcasts share their operand's buffer. A returned value that has a buffer of
// another kind is copied at the end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProgramWriter.h"
#include "Types.h"
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Lower/Cpu/Passes.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace weft;
using bundle::BufferId;
using bundle::EntryBuilder;
using bundle::Reg;

namespace weft::emit {

/// The tg.scatter in place that stores a kernel's result, maybe as a view of another shape; null if there is none.
static tg::ScatterOp findUpdate(Value result) {
  while (result.hasOneUse() && isa<tg::ReshapeOp>(*result.user_begin()))
    result = result.user_begin()->getResult(0);
  auto scatter = result.hasOneUse() ? dyn_cast<tg::ScatterOp>(*result.user_begin()) : tg::ScatterOp();
  return scatter && scatter->hasAttr(tg::inPlaceAttr) ? scatter : tg::ScatterOp();
}

bool isStoredByKernel(Value storage) {
  Operation *op = storage.getDefiningOp();
  return op && (isa<tg::DispatchOp>(op) || op->hasAttr(tg::inPlaceAttr));
}

namespace {

/// Name of argument or result `i`, from its `tg.name`.
std::string nameOf(DictionaryAttr attributes, llvm::StringRef kind, unsigned i) {
  if (attributes)
    if (auto name = attributes.getAs<StringAttr>("tg.name"))
      return name.str();
  return (kind + llvm::Twine(i)).str();
}

std::string entryName(llvm::StringRef architecture) {
  return architecture.empty() ? "main" : "main@" + architecture.str();
}

} // namespace

llvm::Expected<bundle::DType> dtype(Type tensor) {
  if (std::optional<bundle::DType> type = getDType(cast<RankedTensorType>(tensor).getElementType()))
    return *type;
  std::string text;
  llvm::raw_string_ostream(text) << cast<RankedTensorType>(tensor).getElementType();
  return llvm::createStringError("element type %s has no form in a bundle", text.c_str());
}

/// The value whose buffer `value` shares.
Value storageOf(Value value) {
  while (isa_and_nonnull<tg::ReshapeOp, tg::BitcastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

ProgramWriter::ProgramWriter(ModuleOp program, llvm::StringRef architecture, bundle::Builder &builder, BundleData &data)
    : program(program), architecture(architecture), builder(builder), data(data),
      entry(builder.addEntry(entryName(architecture))) {}

std::vector<Reg> ProgramWriter::extents(Type type) {
  std::vector<Reg> registers;
  for (AffineExpr expr : tg::getDims(type))
    registers.push_back(reg(expr));
  return registers;
}

Reg ProgramWriter::reg(AffineExpr expr, ArrayRef<Reg> symbolRegs) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return entry.constant(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbol.getPosition() < symbolRegs.size() ? symbolRegs[symbol.getPosition()] : Reg();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return Reg();
  Reg lhs = reg(binary.getLHS(), symbolRegs), rhs = reg(binary.getRHS(), symbolRegs);
  if (!lhs || !rhs)
    return Reg();
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return entry.add(lhs, rhs);
  case AffineExprKind::Mul:
    return entry.mul(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return entry.floorDiv(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return entry.ceilDiv(lhs, rhs);
  default:
    return entry.mod(lhs, rhs);
  }
}

llvm::Error ProgramWriter::addSignature(func::FuncOp main) {
  llvm::SmallSet<int64_t, 8> bound; // By data, when the program reaches that.
  program.walk([&](tg::BindSymbolsOp op) { bound.insert(op.getSymbols().begin(), op.getSymbols().end()); });
  SmallVector<tg::SymbolRange> ranges = tg::getSymbolRanges(program);
  for (auto [i, name] : llvm::enumerate(tg::getSymbolNames(program)))
    symbols.push_back(bound.contains(int64_t(i)) ? Reg()
                                                 : entry.symbol(entry.addSymbol(name, ranges[i].low, ranges[i].high)));
  for (auto [i, argument] : llvm::enumerate(main.getArguments())) {
    llvm::Expected<bundle::DType> type = dtype(argument.getType());
    if (!type)
      return type.takeError();
    buffers[argument] = entry.addInput(nameOf(main.getArgAttrDict(i), "input", i), *type, extents(argument.getType()));
  }
  Operation *terminator = main.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    llvm::Expected<bundle::DType> type = dtype(value.getType());
    if (!type)
      return type.takeError();
    unsigned rank = cast<RankedTensorType>(value.getType()).getRank();
    outputs.push_back(entry.addOutput(nameOf(main.getResultAttrDict(i), "output", i), *type, rank));
    Value storage = storageOf(value);
    // A view may have extents that are bound only behind the kernel.
    bool isLate =
        storage != value && llvm::any_of(tg::getDims(value.getType()), [&](AffineExpr dim) {
          return dim
              .walk([&](AffineExpr expr) {
                auto symbol = dyn_cast<AffineSymbolExpr>(expr);
                return symbol && bound.contains(symbol.getPosition()) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
        });
    if (isStoredByKernel(storage) && !isLate)
      outputOf.try_emplace(storage, i);
  }
  return llvm::Error::success();
}

llvm::Expected<ProgramWriter::Kernel> ProgramWriter::readKernel(ModuleOp module) const {
  Kernel kernel;
  if (!architecture.empty()) {
    llvm::Expected<GpuKernel> gpu = readGpuKernel(module);
    if (!gpu)
      return gpu.takeError();
    kernel.grid = gpu->grid;
    kernel.scalars = gpu->scalars;
    kernel.gpu = std::move(*gpu);
    return kernel;
  }
  auto grid = module->getAttrOfType<AffineMapAttr>(cpu::gridAttr);
  auto scratch = module->getAttrOfType<AffineMapAttr>(cpu::scratchAttr);
  if (!grid || !scratch)
    return llvm::createStringError("kernel %s is not lowered", module.getSymName().value_or("?").str().c_str());
  kernel.grid = grid.getValue();
  AffineExpr scratchBytes = scratch.getValue().getResult(0);
  if (tg::getConstant(scratchBytes) != 0)
    kernel.scratch = scratchBytes;
  return kernel;
}

/// Kernels in the order of their modules, each with the ONNX nodes of all its dispatches.
llvm::Error ProgramWriter::addKernels() {
  llvm::StringMap<std::vector<std::string>> origins;
  for (auto function : program.getOps<func::FuncOp>())
    for (tg::DispatchOp op : function.getOps<tg::DispatchOp>()) {
      ++dispatches;
      if (auto nodes = op->getAttrOfType<ArrayAttr>("tg.nodes"))
        for (Attribute node : nodes)
          origins[op.getCallee().getRootReference()].push_back(cast<StringAttr>(node).str());
    }
  for (ModuleOp module : getKernels(program)) {
    llvm::Expected<Kernel> kernel = readKernel(module);
    if (!kernel)
      return kernel.takeError();
    llvm::StringRef name = module.getSymName().value_or("kernel");
    kernel->id = builder.addKernel(name.str(), origins[name]);
    kernels.insert({StringAttr::get(program.getContext(), name), std::move(*kernel)});
  }
  return llvm::Error::success();
}

llvm::Error ProgramWriter::addWeight(tg::WeightOp op) {
  llvm::Expected<bundle::DType> type = dtype(op.getResult().getType());
  if (!type)
    return type.takeError();
  llvm::Expected<bundle::WeightId> weight = data.addWeight(op);
  if (!weight)
    return weight.takeError();
  auto shape = cast<RankedTensorType>(op.getResult().getType()).getShape();
  buffers[op.getResult()] = entry.addWeight(*weight, *type, {shape.begin(), shape.end()});
  return llvm::Error::success();
}

llvm::Error ProgramWriter::addConstant(tg::ConstantOp op) {
  llvm::Expected<bundle::DType> type = dtype(op.getResult().getType());
  if (!type)
    return type.takeError();
  llvm::Expected<bundle::ConstantId> constant = data.addConstant(op);
  if (!constant)
    return constant.takeError();
  auto shape = cast<RankedTensorType>(op.getResult().getType()).getShape();
  buffers[op.getResult()] = entry.addConstant(*constant, *type, {shape.begin(), shape.end()});
  return llvm::Error::success();
}

/// Whether a GPU kernel has the parameters that `op` passes: native code takes arrays, so only its symbols count there.
llvm::Error ProgramWriter::checkSignature(tg::DispatchOp op, const Kernel &kernel) const {
  std::string name = op.getCallee().getRootReference().str();
  unsigned symbols = op.getSymbols().getNumResults(), buffers = op.getNumOperands() + op.getNumResults();
  for (AffineMap map : {kernel.grid, kernel.scalars})
    if (map && map.getNumSymbols() > symbols)
      return llvm::createStringError("kernel %s: expected %u symbols, the dispatch gives %u", name.c_str(),
                                     map.getNumSymbols(), symbols);
  if (kernel.gpu && kernel.gpu->buffers != buffers)
    return llvm::createStringError("kernel %s: expected %u buffers, the dispatch gives %u", name.c_str(),
                                   kernel.gpu->buffers, buffers);
  return llvm::Error::success();
}

llvm::Expected<BufferId> ProgramWriter::addResult(OpResult result) {
  Value value = result;
  tg::ScatterOp update = findUpdate(value);
  if (update)
    value = update.getResult();
  auto output = outputOf.find(value);
  llvm::Expected<BufferId> buffer =
      output != outputOf.end() ? llvm::Expected<BufferId>(outputs[output->second]) : addTransient(value.getType());
  if (!buffer)
    return buffer;
  buffers[value] = *buffer;
  if (!update)
    return buffer;
  llvm::Expected<BufferId> memory = bufferOf(update.getData());
  if (!memory)
    return memory;
  if (*memory != *buffer) // Nothing, if a run has both in one position. An output has no extents yet.
    entry.copy({*memory}, {*buffer}, entry.getSize(*memory));
  ++updates[buffer->value];
  return buffer;
}

/// Outputs that each body of the program writes as updates of their inputs.
void ProgramWriter::addAliases(func::FuncOp main) {
  for (auto [i, output] : llvm::enumerate(outputs))
    if (auto alias = main.getResultAttrOfType<IntegerAttr>(i, tg::aliasAttr); alias && updates[output.value] == bodies)
      entry.addAlias(buffers[main.getArgument(unsigned(alias.getInt()))], output);
}

llvm::Error ProgramWriter::addDispatch(tg::DispatchOp op) {
  auto *found = kernels.find(op.getCallee().getRootReference());
  if (found == kernels.end())
    return llvm::createStringError("kernel %s does not exist", op.getCallee().getRootReference().str().c_str());
  Kernel &kernel = found->second;
  if (llvm::Error error = checkSignature(op, kernel))
    return error;
  std::vector<Reg> values;
  for (AffineExpr expr : op.getSymbols().getResults())
    values.push_back(reg(expr));
  EntryBuilder::Dispatch dispatch;
  dispatch.grid = reg(kernel.grid.getResult(0), values);
  for (AffineExpr expr : kernel.grid.getResults().drop_front())
    dispatch.grid = entry.min(dispatch.grid, reg(expr, values));
  if (kernel.scratch)
    dispatch.scratchBytes = reg(kernel.scratch, values);
  std::vector<bundle::DType> types;
  for (Value operand : op.getOperands_()) {
    llvm::Expected<BufferId> buffer = bufferOf(operand);
    llvm::Expected<bundle::DType> type = dtype(operand.getType());
    if (!type)
      return type.takeError();
    if (!buffer)
      return buffer.takeError();
    types.push_back(*type);
    dispatch.inputs.push_back({*buffer});
  }
  for (OpResult result : op->getResults()) {
    llvm::Expected<bundle::DType> type = dtype(result.getType());
    llvm::Expected<BufferId> buffer = addResult(result);
    if (!type)
      return type.takeError();
    if (!buffer)
      return buffer.takeError();
    types.push_back(*type);
    dispatch.outputs.push_back({*buffer});
  }
  if (kernel.scalars)
    for (AffineExpr expr : kernel.scalars.getResults())
      dispatch.scalars.push_back(reg(expr, values));
  else
    dispatch.scalars = values;
  if (kernel.bufferTypes.empty())
    kernel.bufferTypes = types;
  entry.dispatch(kernel.id, dispatch);
  return llvm::Error::success();
}

llvm::Error ProgramWriter::addBlock(Block &block) {
  for (Operation *op : tg::Stages(block, /*withCollectives=*/false).order()) {
    awaitOperands(*op);
    if (llvm::Error error = addOp(*op))
      return error;
  }
  awaitCollectives(started);
  return llvm::Error::success();
}

llvm::Error ProgramWriter::addOp(Operation &op) {
  if (auto weight = dyn_cast<tg::WeightOp>(op))
    return addWeight(weight);
  if (auto constant = dyn_cast<tg::ConstantOp>(op))
    return addConstant(constant);
  if (auto dispatch = dyn_cast<tg::DispatchOp>(op))
    return addDispatch(dispatch);
  if (auto check = dyn_cast<tg::AssumeEqualOp>(op)) {
    ArrayRef<AffineExpr> exprs = check.getMap().getResults();
    for (AffineExpr expr : exprs.drop_front())
      entry.assertEqual(reg(exprs.front()), reg(expr), check.getMessage().str());
    return llvm::Error::success();
  }
  if (auto check = dyn_cast<tg::AssumeAtMostOp>(op)) {
    ArrayRef<AffineExpr> exprs = check.getMap().getResults();
    Reg lowest = entry.constant(INT64_MIN);
    for (auto [low, high] : llvm::zip(exprs, exprs.drop_front()))
      entry.assertRange(reg(low), lowest, reg(high), check.getMessage().str());
    return llvm::Error::success();
  }
  if (auto bind = dyn_cast<tg::BindSymbolsOp>(op))
    return addBind(bind);
  if (auto loop = dyn_cast<tg::LoopOp>(op))
    return addLoop(loop);
  if (tg::isCollective(&op))
    return addCollective(op);
  if (auto variants = dyn_cast<tg::VariantsOp>(op))
    return addVariants(variants);
  if (auto branch = dyn_cast<tg::IfOp>(op))
    return addIf(branch);
  if (auto concat = dyn_cast<tg::ConcatOp>(op); concat && concat->hasAttr(tg::joinedAttr))
    return checkJoined(concat);
  if (isa<tg::ReshapeOp, tg::BitcastOp, func::ReturnOp>(op) || op.hasAttr(tg::inPlaceAttr))
    return llvm::Error::success();
  return llvm::createStringError("op '%s' is not in a kernel", op.getName().getStringRef().str().c_str());
}

/// Copies what is returned from a buffer that is not its output's.
llvm::Error ProgramWriter::addResults(func::FuncOp main) {
  for (auto [i, value] : llvm::enumerate(main.front().getTerminator()->getOperands())) {
    entry.setExtents(outputs[i], extents(value.getType()));
    llvm::Expected<BufferId> source = bufferOf(value);
    if (!source)
      return source.takeError();
    copyWhole(*source, outputs[i]);
  }
  return llvm::Error::success();
}

static bundle::TensorMapRecord makeRecord(const GpuTensorMap &map, bundle::DType type) {
  bundle::TensorMapRecord record = {};
  record.argument = map.argument;
  record.dtype = uint8_t(type);
  record.rank = uint8_t(map.box.size());
  record.swizzle = map.swizzle == 128 ? 3 : map.swizzle == 64 ? 2 : map.swizzle == 32 ? 1 : 0;
  llvm::fill(record.extents, bundle::kNone);
  llvm::fill(record.strides, bundle::kNone);
  for (auto [i, elements] : llvm::enumerate(map.box))
    record.box[i] = {uint16_t(elements), uint16_t(map.steps[i] - 1)};
  llvm::copy(map.extents, record.extents);
  llvm::copy(map.strides, record.strides);
  return record;
}

std::vector<bundle::Builder::GpuKernel> ProgramWriter::getGpuKernels(ArrayRef<unsigned> registers) const {
  std::vector<bundle::Builder::GpuKernel> result;
  for (auto [i, item] : llvm::enumerate(kernels)) {
    const Kernel &kernel = item.second;
    if (!kernel.gpu || kernel.bufferTypes.empty())
      continue;
    bundle::Builder::GpuKernel gpu;
    gpu.kernel = kernel.id;
    gpu.threads = kernel.gpu->threads;
    gpu.clusterSize = kernel.gpu->cluster;
    gpu.residentCtas = kernel.gpu->resident;
    gpu.sharedBytes = kernel.gpu->sharedBytes;
    gpu.registers = i < registers.size() ? registers[i] : 0;
    for (const GpuTensorMap &map : kernel.gpu->tensorMaps)
      gpu.tensorMaps.push_back(makeRecord(map, kernel.bufferTypes[map.argument]));
    result.push_back(std::move(gpu));
  }
  return result;
}

ProgramStatistics ProgramWriter::measure() const {
  ProgramStatistics result;
  result.target = architecture.empty() ? "cpu" : architecture;
  result.dispatches = dispatches;
  result.kernels = kernels.size();
  std::vector<bundle::PlanRequest> requests;
  bundle::MemoryPlan plan;
  if (!symbols.empty() || !entry.getPlanRequests({}, requests) || !bundle::planMemory(requests, plan))
    return result;
  result.arenaBytes = plan.total;
  for (const bundle::PlanRequest &request : requests)
    result.unsharedBytes += request.size;
  return result;
}

llvm::Error ProgramWriter::write() {
  auto main = program.lookupSymbol<func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock())
    return llvm::createStringError("expected a function @main of one block");
  if (llvm::Error error = addSignature(main))
    return error;
  if (llvm::Error error = addKernels())
    return error;
  if (llvm::Error error = addBlock(main.front()))
    return error;
  if (llvm::Error error = addResults(main))
    return error;
  addAliases(main);
  return llvm::Error::success();
}

} // namespace weft::emit
