// Reads lowered kernels as parts of launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/LaunchPart.h"
#include "weft/Emit/Ptx.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/RowBlocks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::emit {

static int64_t readInteger(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

/// What a thread holds: the sums of its share of a product's tile, and what it works with.
static int64_t estimateRegisters(ModuleOp module) {
  constexpr int64_t ofMaps = 64, ofProducts = 96;
  auto schedule = module->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
  if (!schedule || schedule.getEngine() == tg::Engine::Simt)
    return ofMaps;
  int64_t elements = 1;
  for (int64_t extent : schedule.getTile())
    elements *= extent;
  return ofProducts + elements / std::max<int64_t>(schedule.getWarps() * kWarpThreads, 1);
}

/// Whether an op of the kernel is called so or, as inline assembly, holds the word.
static bool uses(LLVM::LLVMFuncOp function, StringRef word) {
  WalkResult result = function.walk([&](Operation *op) {
    auto text = dyn_cast<LLVM::InlineAsmOp>(op);
    bool isFound = text ? text.getAsmString().contains(word) : op->getName().getStringRef().contains(word);
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static RowBlocks readRows(ModuleOp module, int64_t grid) {
  RowBlocks rows;
  auto attribute = module->getAttrOfType<DictionaryAttr>(gpu::rowBlocksAttr);
  auto ctas = attribute ? attribute.getAs<IntegerAttr>("ctas") : IntegerAttr();
  auto blocks = attribute ? attribute.getAs<IntegerAttr>("blocks") : IntegerAttr();
  auto writes = attribute ? attribute.getAs<DenseI64ArrayAttr>("writes") : DenseI64ArrayAttr();
  auto reads = attribute ? attribute.getAs<ArrayAttr>("reads") : ArrayAttr();
  if (!ctas || !blocks || !writes || !reads || ctas.getInt() * blocks.getInt() != grid)
    return rows;
  rows.ctas = ctas.getInt();
  rows.blocks = blocks.getInt();
  llvm::append_range(rows.writes, writes.asArrayRef());
  for (Attribute read : reads) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(read);
    rows.reads.emplace_back();
    if (numbers && numbers.size() == 3)
      llvm::append_range(rows.reads.back(), numbers.asArrayRef());
  }
  return rows;
}

Need findNeed(ArrayRef<Part> parts, const Wire &wire) {
  const RowBlocks &reader = parts[wire.reader].rows, &writer = parts[wire.writer].rows;
  bool isKnown = reader.ctas && writer.ctas && wire.input < reader.reads.size() &&
                 reader.reads[wire.input].size() == 3 && wire.result < writer.writes.size() &&
                 writer.writes[wire.result] > 0;
  if (!isKnown || writer.blocks == 1)
    return {};
  const std::vector<int64_t> &read = reader.reads[wire.input];
  if (read[0] == 0) // Every block reads the same.
    return {};
  return {read[0], read[1], read[2], writer.writes[wire.result]};
}

int64_t countShared(const RowBlocks &rows) { return std::max<int64_t>(llvm::divideCeil(rows.blocks, kMostBlocks), 1); }

std::optional<Interleaving> findInterleaving(ArrayRef<Part> parts, ArrayRef<Wire> wires, int64_t height,
                                             std::string &reason) {
  if (parts.size() != 2 || wires.empty()) {
    reason = "expected two kernels, the second of which reads the first, got " + std::to_string(parts.size());
    return std::nullopt;
  }
  const RowBlocks &writer = parts[0].rows, &reader = parts[1].rows;
  Interleaving result;
  for (const Wire &wire : wires) {
    Need need = findNeed(parts, wire);
    bool isInStep = need.written && need.step > 0 && need.first >= 0 && need.last < need.step &&
                    height * need.written % need.step == 0;
    int64_t readers = isInStep ? height * need.written / need.step * reader.ctas : 0;
    if (!isInStep || (result.readers && result.readers != readers)) {
      reason =
          "rows of the second kernel do not go in step with " + std::to_string(height) + " of the first one's blocks";
      return std::nullopt;
    }
    result.readers = readers;
  }
  result.writers = height * writer.ctas;
  result.groups = llvm::divideCeil(writer.blocks, height);
  if (height % countShared(writer) || (result.groups - 1) * result.readers >= parts[1].grid) {
    reason = "blocks of rows do not make groups of " + std::to_string(height);
    return std::nullopt;
  }
  return result;
}

/// Whether its CTAs meet in variables of their own: neighbours by their numbers in the launch.
static bool hasVariables(ModuleOp module) {
  constexpr unsigned globalMemory = 1;
  return llvm::any_of(module.getOps<LLVM::GlobalOp>(), [](LLVM::GlobalOp variable) {
    return variable.getAddrSpace() == globalMemory && !variable.getConstant();
  });
}

/// Inputs that no kernel writes, in whole bulk copies.
static std::vector<std::pair<unsigned, int64_t>> findSteady(ModuleOp module, tg::DispatchOp dispatch) {
  constexpr int64_t unit = 16;
  std::vector<std::pair<unsigned, int64_t>> found;
  auto steady = module->getAttrOfType<DenseI64ArrayAttr>(gpu::steadyOperandsAttr);
  for (int64_t number : steady ? steady.asArrayRef() : ArrayRef<int64_t>())
    if (number >= 0 && size_t(number) < dispatch.getOperands_().size())
      if (std::optional<int64_t> bytes = tg::getByteSize(dispatch.getOperands_()[number].getType());
          bytes && *bytes >= unit)
        found.push_back({unsigned(number), *bytes / unit * unit});
  return found;
}

std::optional<Part> readPart(tg::DispatchOp dispatch, ModuleOp module) {
  Part part;
  part.module = module;
  part.function = getKernelFunction(module);
  auto grid = module->getAttrOfType<AffineMapAttr>(gpu::gridAttr);
  if (!part.function || !grid || grid.getValue().getNumSymbols() || readInteger(module, gpu::clusterAttr) > 1 ||
      hasVariables(module))
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
  part.registers = estimateRegisters(module);
  part.rows = readRows(module, part.grid);
  part.hasBulk = uses(part.function, "cp.async.bulk.tensor");
  part.waitsForGrids = uses(part.function, "griddepcontrol.wait");
  auto schedule = module->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
  part.isMap = schedule && schedule.getEngine() == tg::Engine::Simt;
  part.inputs = dispatch.getOperands_().size();
  part.steady = findSteady(module, dispatch);
  for (Type type : llvm::concat<const Type>(dispatch.getOperandTypes(), dispatch.getResultTypes()))
    part.bytes += double(tg::getByteSize(type).value_or(0));
  bool isPart = part.grid > 0 && part.warps > 0 && part.inputs <= part.buffers;
  return isPart ? std::optional(part) : std::nullopt;
}

std::string findLimit(ArrayRef<Part> parts, const Device &device) {
  if (parts.size() > kMostParts)
    return "a launch has at most " + std::to_string(kMostParts) + " parts";
  int64_t warps = 0;
  size_t parameters = 0, maps = 0;
  for (const Part &each : parts) {
    warps = std::max(warps, each.warps);
    parameters += each.parameterBytes();
    maps += each.maps;
  }
  if (parameters > kMostParameterBytes || maps > kMostTensorMaps)
    return "more parameters than a launch takes";
  int64_t limit = int64_t(device.registersPerSm) / (warps * kWarpThreads);
  for (const Part &each : parts)
    if (each.warps != warps && each.registers > limit)
      return llvm::formatv("{0} registers a thread beside {1} warps", each.registers, warps);
  return "";
}

//===--- Launches ---===//

static Value getStorage(Value value) {
  while (auto reshape = value.getDefiningOp<tg::ReshapeOp>())
    value = reshape->getOperand(0);
  return value;
}

SmallVector<Wire> findWires(const Launch &launch) {
  SmallVector<Wire> wires;
  for (auto [reader, dispatch] : llvm::enumerate(launch.dispatches))
    for (auto [input, operand] : llvm::enumerate(tg::DispatchOp(dispatch).getOperands_())) {
      auto result = dyn_cast<OpResult>(getStorage(operand));
      const auto *writer = result ? llvm::find(launch.dispatches, result.getOwner()) : launch.dispatches.end();
      if (writer != launch.dispatches.end())
        wires.push_back({unsigned(reader), unsigned(input), unsigned(writer - launch.dispatches.begin()),
                         result.getResultNumber()});
    }
  return wires;
}

bool canShareLaunches(func::FuncOp main) {
  return llvm::none_of(main.getBody().front(), llvm::IsaPred<tg::BindSymbolsOp, tg::LoopOp, tg::IfOp>);
}

std::string nameLaunch(const Launch &launch, ArrayRef<Wire> wires) {
  std::string name;
  for (const Part &part : launch.parts)
    name += (part.getName() + "+").str();
  for (const Wire &wire : wires)
    name += llvm::formatv(" {0}.{1}={2}.{3}", wire.reader, wire.input, wire.writer, wire.result);
  return name;
}

} // namespace weft::emit
