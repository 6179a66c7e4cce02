// Reads kernels as parts of launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Schedule/LaunchPart.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/RowBlocks.h"
#include "weft/Traversal/GridTail.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::schedule {

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

static RowBlocks readRows(ModuleOp module, int64_t grid) {
  RowBlocks rows;
  auto attribute = module->getAttrOfType<DictionaryAttr>(gpu::rowBlocksAttr);
  auto ctas = attribute ? attribute.getAs<IntegerAttr>("ctas") : IntegerAttr();
  auto blocks = attribute ? attribute.getAs<IntegerAttr>("blocks") : IntegerAttr();
  auto writes = attribute ? attribute.getAs<DenseI64ArrayAttr>("writes") : DenseI64ArrayAttr();
  auto reads = attribute ? attribute.getAs<ArrayAttr>("reads") : ArrayAttr();
  if (!grid || !ctas || !blocks || !writes || !reads || ctas.getInt() * blocks.getInt() != grid)
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

//===--- Kernels ---===//

AffineMap findGrid(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  unsigned symbols = llvm::count_if(kernel.getArgumentTypes(), [](Type type) { return type.isIndex(); });
  auto cluster = kernel->getAttrOfType<IntegerAttr>(gpu::clusterAttr);
  int64_t together = cluster ? cluster.getInt() : 1;
  auto target = kernel->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(gpu::targetAttr);
  const Device *device = target ? findDevice(target.getValue()) : nullptr;
  SmallVector<AffineExpr> results;
  kernel.walk([&](tk::ForTilesOp op) {
    AffineExpr total = getAffineConstantExpr(1, context); // Of clusters.
    for (AffineExpr extent : op.getExtents().getResults())
      total = total * extent;
    plan::GridTail tail;
    std::string error;
    std::string_view order = op.getOrder().value_or("row");
    if (plan::takeGridTail(order, tail, error) && tail.parts > 1)
      total = (total - tail.whole) * tail.parts + tail.whole;
    results = {total * together};
    if (op.getPersistent() && device)
      results.push_back(getAffineConstantExpr(int64_t(device->sms) / together * together, context));
  });
  if (results.empty())
    results.push_back(getAffineConstantExpr(1, context));
  return AffineMap::get(0, symbols, results, context);
}

int64_t findStaticGrid(AffineMap grid) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (AffineExpr expr : grid.getResults()) {
    std::optional<int64_t> count = tg::getConstant(simplifyAffineExpr(expr, 0, grid.getNumSymbols()));
    if (!count)
      return 0;
    least = std::min(least, *count);
  }
  return least;
}

/// Whether its CTAs meet: neighbours by their numbers in the launch.
static bool hasNeighbours(func::FuncOp kernel) {
  if (auto cluster = kernel->getAttrOfType<IntegerAttr>(gpu::clusterAttr); cluster && cluster.getInt() > 1)
    return true;
  return kernel
      .walk([](Operation *op) {
        return isa<tk::ClusterSendOp, tk::PartSendOp, tk::PartSumOp>(op) ? WalkResult::interrupt()
                                                                         : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Copies and stores by TMA have a tensor map each; those of one tensor, buffer and box share it.
static unsigned countTensorMaps(func::FuncOp kernel) {
  llvm::DenseSet<std::tuple<Value, Type, Attribute>> maps;
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<tk::CopyOp>(op); copy && copy.getEngine() == tk::CopyEngine::Tma)
      maps.insert({copy.getSource(), copy.getTarget().getType(), copy.getMapAttr()});
    if (auto store = dyn_cast<tk::StoreBoxOp>(op))
      maps.insert({store.getTarget(), store.getBuffer().getType(), store.getMapAttr()});
  });
  return maps.size();
}

std::optional<Part> readPart(tg::DispatchOp dispatch, ModuleOp module) {
  Part part;
  part.module = module;
  part.function = module.lookupSymbol<func::FuncOp>("kernel");
  auto warps = part.function ? part.function->getAttrOfType<IntegerAttr>(tk::warpsAttr) : IntegerAttr();
  if (!warps || part.function.isExternal() || part.function.getNumResults() || hasNeighbours(part.function))
    return std::nullopt;
  for (Type type : part.function.getArgumentTypes())
    ++(type.isIndex() ? part.symbols : part.buffers);
  part.ctas = findGrid(part.function);
  part.grid = findStaticGrid(part.ctas);
  part.warps = warps.getInt();
  if (auto shared = part.function->getAttrOfType<IntegerAttr>(tk::sharedBytesAttr))
    part.shared = shared.getInt();
  part.maps = countTensorMaps(part.function);
  part.registers = estimateRegisters(module);
  part.rows = readRows(module, part.grid);
  auto schedule = module->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
  part.isMap = schedule && schedule.getEngine() == tg::Engine::Simt;
  part.inputs = dispatch.getOperands_().size();
  for (Type type : llvm::concat<const Type>(dispatch.getOperandTypes(), dispatch.getResultTypes()))
    part.bytes += double(tg::getByteSize(type).value_or(0));
  bool isPart = part.warps > 0 && part.inputs + dispatch->getNumResults() == part.buffers;
  return isPart ? std::optional(part) : std::nullopt;
}

//===--- Limits ---===//

/// CTAs of an SM with these needs.
int64_t countResident(int64_t warps, int64_t shared, int64_t registers, const Device &device) {
  int64_t threads = warps * kWarpThreads;
  registers = std::min<int64_t>(registers, int64_t(device.registersPerSm) / threads);
  return std::min({int64_t(device.registersPerSm) / (registers * threads),
                   int64_t(device.sharedPerSm) / (shared + int64_t(device.sharedReservedPerCta)),
                   int64_t(device.threadsPerSm) / threads, int64_t(device.ctasPerSm)});
}

int64_t countResident(ArrayRef<Part> parts, const Device &device) {
  int64_t warps = 1, shared = 0, registers = 1;
  for (const Part &each : parts) {
    warps = std::max(warps, each.warps);
    shared = std::max(shared, each.shared);
    registers = std::max(registers, each.registers);
  }
  return countResident(warps, shared, registers, device);
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
  return llvm::none_of(main.getBody().front(),
                       [](Operation &op) { return isa<tg::BindSymbolsOp, tg::LoopOp, tg::IfOp>(op); });
}

std::string nameLaunch(const Launch &launch, ArrayRef<Wire> wires) {
  std::string name;
  for (const Part &part : launch.parts)
    name += (part.getName() + "+").str();
  for (const Wire &wire : wires)
    name += llvm::formatv(" {0}.{1}={2}.{3}", wire.reader, wire.input, wire.writer, wire.result);
  return name;
}

} // namespace weft::schedule
