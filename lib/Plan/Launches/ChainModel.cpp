// What a wait costs and what it saves; the turns of two kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch less saves what lies between two kernels of a graph (Device::launchSeconds). A wait costs a fence behind the
// last stores, a flag's way to L2 and back, and a barrier on both sides; what a kernel does ahead of its first read
// comes behind it.
#include "ChainModel.h"
#include "Obstacles.h"
#include "weft/Plan/Cost/ChainOrder.h"
#include "weft/Plan/Cost/Configuration.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Support/InputFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace weft::plan {

using schedule::Need;
using schedule::Part;
using schedule::Wire;

std::string findLoss(const Device &device) {
  constexpr double micro = 1e6;
  if (device.waitSeconds < device.launchSeconds)
    return "";
  return llvm::formatv("a wait costs {0:f1} us, a launch {1:f1} us", micro * device.waitSeconds,
                       micro * device.launchSeconds);
}

//===--- Turns ---===//

/// The launch that the plan wrote on a part's module; false if it has none that can be read.
static bool readLaunch(const Part &part, ChainPart &side, const Device &device) {
  auto text = mlir::ModuleOp(part.module)->getAttrOfType<mlir::StringAttr>(launchAttr);
  std::string error;
  std::optional<llvm::json::Value> value = parseJson(text ? text.getValue() : llvm::StringRef("0"), error);
  llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object)
    return false;
  object->erase("bytes");
  Configuration configuration;
  if (!readConfiguration(*value, configuration, error) || configuration.launch.stages.size() != 1)
    return false;
  const TileGrid &grid = configuration.launch.stages[0].grid;
  // A step's share of an SM that holds several CTAs takes that many times as long.
  bool isWgmma = configuration.engine == MatrixEngine::Wgmma, isMma = configuration.engine == MatrixEngine::Mma;
  const MatrixRates &rates = isWgmma ? device.matrix : device.mmaSync;
  double perSm = device.perSecond(isWgmma || isMma ? rates.f16 : device.f32PerClock) / double(device.sms);
  const StageModel &stage = configuration.launch.stages[0];
  side.stepSeconds = stage.operations / (double(part.grid) * double(stage.steps)) / perSm;
  side.launch = configuration.launch;
  side.ctas = part.rows.ctas;
  return grid.rows * grid.cols == part.grid;
}

/// Blocks of the first part that make a unit with `seconds` of the second: the rows in step, whole counters.
static bool findUnit(llvm::ArrayRef<Part> parts, llvm::ArrayRef<Wire> wires, int64_t &firsts, int64_t &seconds) {
  Need need = findNeed(parts, wires.front());
  if (need.written <= 0 || need.step <= 0)
    return false;
  int64_t common = std::gcd(need.written, need.step), shared = countShared(parts[0].rows);
  firsts = need.step / common;
  seconds = need.written / common;
  int64_t times = shared / std::gcd(firsts, shared);
  return !llvm::MulOverflow(firsts, times, firsts) && !llvm::MulOverflow(seconds, times, seconds) &&
         firsts <= parts[0].rows.blocks && seconds <= parts[1].rows.blocks;
}

static std::string describe(const ChainChoice &choice, int64_t firsts) {
  constexpr double mega = 1e6;
  std::string text;
  for (const ChainCandidate &each : choice.candidates)
    text += llvm::formatv("{0} {1:f1} MB {2:f1} us (L2 {3:f0} %)",
                          text.empty() ? std::string("one after the other")
                                       : llvm::formatv(", chain<{0}>", each.units * firsts).str(),
                          each.bytes / mega, mega * each.seconds, 100 * each.hitRate);
  return text;
}

Turns chooseTurns(llvm::ArrayRef<Part> parts, llvm::ArrayRef<Wire> wires, const Device &device) {
  Turns turns;
  ChainProblem problem;
  int64_t firsts = 0, seconds = 0;
  if (parts.size() != 2 || wires.empty() || !findUnit(parts, wires, firsts, seconds)) {
    turns.reason = "expected two kernels, the second of which reads rows of the first";
    return turns;
  }
  if (!findInterleaving(parts, wires, firsts, turns.reason))
    return turns;
  if (!readLaunch(parts[0], problem.first, device) || !readLaunch(parts[1], problem.second, device)) {
    turns.reason = "a kernel whose reads are not known";
    return turns;
  }
  problem.first.blocks = firsts;
  problem.second.blocks = seconds;
  problem.units = int64_t(llvm::divideCeil(parts[0].rows.blocks, firsts));
  for (const Wire &wire : wires)
    problem.links.push_back({"out" + std::to_string(wire.result), "in" + std::to_string(wire.input)});
  MachineModel machine = makeMachine(device);
  machine.blocksPerSm = std::max<int64_t>(schedule::countResident(parts, device), 1);
  problem.first.stepSeconds *= double(machine.blocksPerSm);
  problem.second.stepSeconds *= double(machine.blocksPerSm);
  ChainChoice choice = chooseChain(problem, machine, device.memoryBandwidth);
  if (choice.candidates.empty()) {
    turns.reason = "too many tiles to simulate, or accesses that do not go by rows";
    return turns;
  }
  turns.height = choice.units * firsts;
  turns.numbers = describe(choice, firsts);
  return turns;
}

} // namespace weft::plan
