// @main as a launch program: extents and grids become registers, values become buffers, dispatches become commands.
//
// A value's buffer: arguments are inputs, weights and constants data; a dispatch result is an output if it is returned,
// else transient memory. Reshapes and bitcasts share their operand's buffer. A returned value that has a buffer of
// another kind is copied at the end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/BundleWriter.h"
#include "Explain.h"
#include "Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Bundle/Builder.h"
#include "weft/Bundle/Hash.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Lower/Cpu/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using bundle::BufferId;
using bundle::EntryBuilder;
using bundle::Reg;

namespace weft::emit {

SmallVector<ModuleOp> getKernels(ModuleOp program) { return llvm::to_vector(program.getOps<ModuleOp>()); }

namespace {

/// Name of argument or result `i`, from its `tg.name`.
std::string nameOf(DictionaryAttr attributes, llvm::StringRef kind, unsigned i) {
  if (attributes)
    if (auto name = attributes.getAs<StringAttr>("tg.name"))
      return name.str();
  return (kind + llvm::Twine(i)).str();
}

class ProgramWriter {
public:
  ProgramWriter(ModuleOp program, const BundleOptions &options)
      : program(program), options(options), builder(options.productVersion), entry(builder.addEntry("main")) {}

  llvm::Expected<BundleStatistics> write(const Target &target, std::vector<uint8_t> elf);

private:
  llvm::Error addSignature(func::FuncOp main);
  llvm::Error addOp(Operation &op);
  llvm::Error addWeight(tg::WeightOp op);
  llvm::Error addConstant(tg::ConstantOp op);
  llvm::Error addDispatch(tg::DispatchOp op);
  void addKernels(func::FuncOp main);
  void addResults(func::FuncOp main);
  void measureMemory(BundleStatistics &statistics) const;

  Reg reg(AffineExpr expr, ArrayRef<Reg> symbolRegs);
  Reg reg(AffineExpr expr) { return reg(expr, symbols); }
  std::vector<Reg> extents(Type type) {
    std::vector<Reg> registers;
    for (AffineExpr expr : tg::getDims(type))
      registers.push_back(reg(expr));
    return registers;
  }
  llvm::Expected<bundle::DType> dtype(Type tensor) {
    if (std::optional<bundle::DType> type = getDType(cast<RankedTensorType>(tensor).getElementType()))
      return *type;
    std::string text;
    llvm::raw_string_ostream(text) << cast<RankedTensorType>(tensor).getElementType();
    return llvm::createStringError("element type %s has no form in a bundle", text.c_str());
  }
  /// The value whose buffer `value` shares.
  static Value storageOf(Value value) {
    while (isa_and_nonnull<tg::ReshapeOp, tg::BitcastOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  }

  ModuleOp program;
  const BundleOptions &options;
  bundle::Builder builder;
  EntryBuilder &entry;
  std::vector<Reg> symbols;
  llvm::DenseMap<Value, BufferId> buffers;  ///< By storage.
  llvm::DenseMap<Value, unsigned> outputOf; ///< Storage that is written as output number N.
  std::vector<BufferId> outputs;
  llvm::StringMap<bundle::KernelId> kernelIds;
  llvm::StringMap<ModuleOp> kernelModules;
  llvm::MapVector<Attribute, bundle::WeightId> weights;
  BundleStatistics statistics;
};

Reg ProgramWriter::reg(AffineExpr expr, ArrayRef<Reg> symbolRegs) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return entry.constant(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbol.getPosition() < symbolRegs.size() ? symbolRegs[symbol.getPosition()] : Reg();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return Reg();
  Reg lhs = reg(binary.getLHS(), symbolRegs), rhs = reg(binary.getRHS(), symbolRegs);
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
  for (const std::string &name : tg::getSymbolNames(program))
    symbols.push_back(entry.symbol(entry.addSymbol(name)));
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
    outputs.push_back(entry.addOutput(nameOf(main.getResultAttrDict(i), "output", i), *type, extents(value.getType())));
    Value storage = storageOf(value);
    if (storage.getDefiningOp<tg::DispatchOp>())
      outputOf.try_emplace(storage, i);
  }
  return llvm::Error::success();
}

/// Kernels in the order of their modules, each with the ONNX nodes of all its dispatches.
void ProgramWriter::addKernels(func::FuncOp main) {
  llvm::StringMap<std::vector<std::string>> origins;
  for (tg::DispatchOp op : main.getOps<tg::DispatchOp>()) {
    ++statistics.dispatches;
    if (auto nodes = op->getAttrOfType<ArrayAttr>("tg.nodes"))
      for (Attribute node : nodes)
        origins[op.getCallee().getRootReference()].push_back(cast<StringAttr>(node).str());
  }
  for (ModuleOp kernel : getKernels(program)) {
    llvm::StringRef name = kernel.getSymName().value_or("kernel");
    kernelIds[name] = builder.addKernel(name.str(), origins[name]);
    kernelModules[name] = kernel;
    ++statistics.kernels;
  }
}

llvm::Error ProgramWriter::addWeight(tg::WeightOp op) {
  tg::DataAttr data = op.getData();
  tg::WeightStore &store = program.getContext()->getLoadedDialect<tg::TileGraphDialect>()->getWeightStore();
  std::optional<llvm::ArrayRef<char>> bytes = store.lookup(data.getSource(), data.getOffset(), data.getSize());
  const tg::WeightStore::Source *source = store.find(data.getSource());
  if (!bytes || !source)
    return llvm::createStringError("weight data of source '%s' is not available", data.getSource().str().c_str());
  llvm::Expected<bundle::DType> type = dtype(op.getResult().getType());
  if (!type)
    return type.takeError();
  auto [it, inserted] = weights.insert({data, {}});
  if (inserted) {
    std::string name = (llvm::Twine(data.getSource()) + "@" + llvm::Twine(data.getOffset())).str();
    llvm::SmallString<256> file(source->path), folder(options.path);
    bool external = options.weights == Weights::External && !source->path.empty();
    if (external) {
      std::error_code code = llvm::sys::fs::make_absolute(file);
      if (!code)
        code = llvm::sys::fs::make_absolute(folder);
      if (code)
        return llvm::createStringError(code, "cannot tell the current folder");
      llvm::sys::path::remove_filename(folder);
      llvm::StringRef relative = file;
      if (!relative.consume_front((folder + "/").str()))
        return llvm::createStringError(
            "expected weights below the bundle's folder '%s', got '%s'; write the bundle beside the model or use "
            "--weights=embed",
            folder.c_str(), file.c_str());
      it->second = builder.addExternalWeight(name, relative.str(), data.getOffset(), data.getSize(),
                                             bundle::hashBytes(bytes->data(), bytes->size()));
    } else {
      it->second = builder.addEmbeddedWeight(name, bytes->data(), bytes->size());
    }
    statistics.weightBytes += bytes->size();
  }
  auto shape = cast<RankedTensorType>(op.getResult().getType()).getShape();
  buffers[op.getResult()] = entry.addWeight(it->second, *type, {shape.begin(), shape.end()});
  return llvm::Error::success();
}

llvm::Error ProgramWriter::addConstant(tg::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return llvm::createStringError("a constant that is not dense has no form in a bundle");
  llvm::Expected<bundle::DType> type = dtype(op.getResult().getType());
  if (!type)
    return type.takeError();
  std::string bytes = getBytes(elements);
  auto shape = cast<RankedTensorType>(op.getResult().getType()).getShape();
  buffers[op.getResult()] =
      entry.addConstant(builder.addConstantData(bytes.data(), bytes.size()), *type, {shape.begin(), shape.end()});
  return llvm::Error::success();
}

llvm::Error ProgramWriter::addDispatch(tg::DispatchOp op) {
  llvm::StringRef name = op.getCallee().getRootReference();
  ModuleOp kernel = kernelModules.lookup(name);
  auto grid = kernel ? kernel->getAttrOfType<AffineMapAttr>(cpu::gridAttr) : AffineMapAttr();
  auto scratch = kernel ? kernel->getAttrOfType<AffineMapAttr>(cpu::scratchAttr) : AffineMapAttr();
  if (!grid || !scratch)
    return llvm::createStringError("kernel %s is not lowered", name.str().c_str());
  EntryBuilder::Dispatch dispatch;
  for (AffineExpr expr : op.getSymbols().getResults())
    dispatch.scalars.push_back(reg(expr));
  dispatch.grid = reg(grid.getValue().getResult(0), dispatch.scalars);
  AffineExpr scratchBytes = scratch.getValue().getResult(0);
  if (tg::getConstant(scratchBytes) != 0)
    dispatch.scratchBytes = reg(scratchBytes, dispatch.scalars);
  for (Value operand : op.getOperands_()) {
    auto it = buffers.find(storageOf(operand));
    if (it == buffers.end())
      return llvm::createStringError("an operand of kernel %s has no buffer", name.str().c_str());
    dispatch.inputs.push_back({it->second});
  }
  for (Value result : op.getResults()) {
    llvm::Expected<bundle::DType> type = dtype(result.getType());
    if (!type)
      return type.takeError();
    auto output = outputOf.find(result);
    BufferId buffer =
        output != outputOf.end() ? outputs[output->second] : entry.addTransient(*type, extents(result.getType()));
    buffers[result] = buffer;
    dispatch.outputs.push_back({buffer});
  }
  entry.dispatch(kernelIds.lookup(name), dispatch);
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
  if (isa<tg::ReshapeOp, tg::BitcastOp, func::ReturnOp>(op))
    return llvm::Error::success();
  return llvm::createStringError("op '%s' is not in a kernel", op.getName().getStringRef().str().c_str());
}

/// Copies what is returned from a buffer that is not its output's.
void ProgramWriter::addResults(func::FuncOp main) {
  for (auto [i, value] : llvm::enumerate(main.front().getTerminator()->getOperands())) {
    BufferId source = buffers.lookup(storageOf(value));
    if (source != outputs[i])
      entry.copy({source}, {outputs[i]}, entry.getSize(outputs[i]));
  }
}

void ProgramWriter::measureMemory(BundleStatistics &result) const {
  std::vector<bundle::PlanRequest> requests;
  bundle::MemoryPlan plan;
  if (!symbols.empty() || !entry.getPlanRequests({}, requests) || !bundle::planMemory(requests, plan))
    return;
  result.arenaBytes = plan.total;
  for (const bundle::PlanRequest &request : requests)
    result.unsharedBytes += request.size;
}

llvm::Expected<BundleStatistics> ProgramWriter::write(const Target &target, std::vector<uint8_t> elf) {
  auto main = program.lookupSymbol<func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock())
    return llvm::createStringError("expected a function @main of one block");
  if (llvm::Error error = addSignature(main))
    return std::move(error);
  addKernels(main);
  for (Operation &op : main.front())
    if (llvm::Error error = addOp(op))
      return std::move(error);
  addResults(main);
  builder.setMetadata("model", options.modelName);
  builder.setMetadata("cpu", target.cpu);
  builder.setExplain(explain(program, options.modelName));
  statistics.codeBytes = elf.size();
  builder.addNativeCode(target.triple, target.features, std::move(elf));
  measureMemory(statistics);
  if (bundle::Error error = builder.writeFile(options.path, &statistics.fileBytes))
    return llvm::createStringError("%s", error.getMessage().c_str());
  return statistics;
}

} // namespace

llvm::Expected<BundleStatistics> writeBundle(ModuleOp program, const Target &target, std::vector<uint8_t> elf,
                                             const BundleOptions &options) {
  return ProgramWriter(program, options).write(target, std::move(elf));
}

} // namespace weft::emit
