// Reads lowered kernels as parts, and says what speaks against having them in one launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Part.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/Ptx.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/RowBlocks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::emit {

int64_t readInteger(ModuleOp module, StringRef name) {
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

std::optional<Part> readPart(ModuleOp module) {
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
  return part.grid > 0 && part.warps > 0 ? std::optional(part) : std::nullopt;
}

/// CTAs of an SM with these needs.
static int64_t countResident(int64_t warps, int64_t shared, int64_t registers, const Device &device) {
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

/// What part of its time more a part takes with `ctas` CTAs on an SM, which could fill `needed`. A map loses nothing as
/// long as it has the bytes under way that DRAM's latency asks for (Little's law), twice over, since a CTA asks for
/// what it reads and then writes as much; but no estimate is better than a twentieth.
static double findLostShare(const Part &part, int64_t ctas, int64_t needed, const Device &device) {
  constexpr double latency = 600e-9, margin = 2, uncertainty = 0.05;
  double idle = double(needed) / double(ctas) - 1;
  if (!part.isMap)
    return idle;
  double underWay = double(ctas) * part.bytes / 2 / double(part.grid);
  double wanted = margin * latency * device.memoryBandwidth / double(device.sms);
  return std::min(idle, std::max(wanted / underWay - 1, uncertainty));
}

/// Seconds that few bytes take longer because their CTAs come in more waves, each of which begins, waits for memory and
/// ends (a UNet block on an H100 whose 320 CTAs of a warp started beside one of 32 warps, in three waves instead of
/// one: 37.7 us; apart 36.5). Parts do so side by side.
static double findWaves(const Part &part, int64_t ctas, int64_t needed, const Device &device) {
  constexpr double latency = 600e-9;
  double wave = device.tailSeconds + latency, stream = part.bytes / device.memoryBandwidth;
  auto waves = [&](int64_t resident) { return double(llvm::divideCeil(part.grid, resident * int64_t(device.sms))); };
  return wave * waves(ctas) - std::max(stream, wave * waves(needed));
}

std::string findObstacle(ArrayRef<Part> parts, const Device &device) {
  if (parts.size() > kMostParts)
    return "a launch has at most " + std::to_string(kMostParts) + " parts";
  int64_t warps = 0, shared = 0;
  size_t parameters = 0, maps = 0;
  for (const Part &each : parts) {
    warps = std::max(warps, each.warps);
    shared = std::max(shared, each.shared);
    parameters += each.parameterBytes();
    maps += each.maps;
  }
  if (parameters > kMostParameterBytes || maps > kMostTensorMaps)
    return "more parameters than a launch takes";
  int64_t limit = int64_t(device.registersPerSm) / (warps * kWarpThreads);
  int64_t together = countResident(parts, device);
  double lost = 0;
  for (const Part &each : parts) {
    if (each.warps != warps && each.registers > limit)
      return llvm::formatv("{0} registers a thread beside {1} warps", each.registers, warps);
    int64_t alone = countResident(each.warps, each.shared, each.registers, device);
    int64_t needed = std::min<int64_t>(alone, llvm::divideCeil(each.grid, int64_t(device.sms)));
    if (together >= needed)
      continue;
    lost += each.bytes / device.memoryBandwidth * findLostShare(each, together, needed, device);
    if (!each.isMap || std::max(lost, findWaves(each, together, needed, device)) > device.launchSeconds)
      return llvm::formatv("{0} CTAs an SM instead of {1}: {2} bytes of shared memory, {3} warps", together, needed,
                           shared, warps);
  }
  return "";
}

} // namespace weft::emit
