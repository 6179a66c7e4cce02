// Seconds of memory-bound kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/ReadTime.h"
#include "Windows.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/Facts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

static constexpr double transactionBytes = 32;
/// Of the lesser of memory's and arithmetic's time, what is hidden.
static constexpr double overlap = 0.95;
/// Instructions that all lanes of an SM start in a clock.
static constexpr double lanes = 128;

double readSeconds(double net, double total, double ctas, const Device &device) {
  double first = std::min(net, total), again = total - first;
  double dram = dramEfficiency * device.memoryBandwidth, most = ctas * device.clock * transactionBytes;
  double rest = dram;
  if (net <= double(device.effectiveL2Bytes))
    rest = device.l2BytesPerSecond();
  if (net <= double(device.l1PerSm - device.sharedPerSm) + double(device.l1PerSm) / 2)
    rest = device.l1BytesPerClock * device.clock * device.sms;
  return first / std::min(dram, most) + again / std::min(rest, most);
}

double writeSeconds(double bytes, const Device &device) { return bytes / (dramEfficiency * device.memoryBandwidth); }

double moveSeconds(double bytes, MemoryLevel level, const Device &device) {
  return level == MemoryLevel::L2 ? bytes / device.l2BytesPerSecond() : writeSeconds(bytes, device);
}

double kernelSeconds(double memory, double arithmetic, const Device &device) {
  return memory + arithmetic - overlap * std::min(memory, arithmetic) + device.kernelSeconds();
}

double countInstructions(Operation &op) {
  if (isa<tg::ContractOp>(op))
    return estimateFlops(&op) / 2 * 3;
  if (isa<tg::ReduceOp>(op))
    return estimateElements(op.getOperand(0));
  if (!isa<tg::PointwiseOpInterface>(op))
    return 0;
  bool isFunction =
      isa<tg::ExpOp, tg::LogOp, tg::ErfOp, tg::SigmoidOp, tg::TanhOp, tg::PowOp, tg::SinOp, tg::CosOp>(op);
  bool isSpecial = isa<tg::DivOp, tg::SqrtOp, tg::RsqrtOp, tg::ReciprocalOp>(op);
  return estimateElements(op.getResult(0)) * (isFunction ? 16 : isSpecial ? 4 : 1);
}

/// Of the kernel's window sum, if it has one that chooseWindows schedules.
static std::optional<double> windowSeconds(const KernelToSchedule &kernel, tg::ScheduleAttr schedule,
                                           const Device &device) {
  func::FuncOp func = kernel.func;
  tg::ContractOp contract = tg::findAnchor(func.getBody().front());
  return contract ? estimateWindows(kernel, contract, schedule, device) : std::nullopt;
}

/// A step that goes along whole windows: what their terms have in common a CTA reads once, then its L1 cache has it.
static tg::ScheduleAttr alongWindows(const KernelToSchedule &kernel, tg::ScheduleAttr schedule) {
  ScheduleChoice choice = readSchedule(schedule);
  for (size_t i = 0; i < choice.stream.size() && kernel.access.resultRank + i < kernel.extents.size(); ++i)
    choice.stream[i] = kernel.extents[kernel.access.resultRank + i];
  return choice.getAttr(schedule.getContext());
}

namespace {
/// CTAs that hold what they reduce.
struct HeldRows {
  double padding = 1;  ///< Of a CTA's elements, by those that are there: all of them are computed.
  double seconds = 0;  ///< What an SM's CTAs take one after the other, beside memory.
  double unhidden = 0; ///< Of the lesser of that and memory's time, what comes on top of the greater.
};
} // namespace

/// How often rows of the result are read that no tile has as a whole: by each reduction, and for what is stored.
static double countPasses(const KernelToSchedule &kernel, tg::ScheduleAttr schedule) {
  double reductions = 0;
  func::FuncOp func = kernel.func;
  for (auto reduce : func.getBody().front().getOps<tg::ReduceOp>())
    for (auto [d, dim] : llvm::enumerate(kernel.access.dims))
      if (dim.reducer == reduce && dim.along < kernel.access.resultRank && dim.along < schedule.getTile().size() &&
          schedule.getTile()[dim.along] < kernel.extents[dim.along]) {
        ++reductions;
        break;
      }
  return 1 + reductions;
}

/// A CTA that holds a row waits for all of it, sums up over its warps, twice or more, and stores: other CTAs of its SM
/// work meanwhile, if its registers leave them room. None where steps follow each other, or sums are few beside what
/// uses them. (Softmax of 512 x 9,736 on an H100: 19.9 us with 32 warps, one CTA an SM; 14.9 with 16, two.)
static std::optional<HeldRows> findHeldRows(const KernelToSchedule &kernel, tg::ScheduleAttr schedule,
                                            const KernelLevels &levels, double arithmetic, const Device &device) {
  constexpr double warpThreads = 32, ownRegisters = 24, few = 8;
  double largest = 0, reduced = 0;
  func::FuncOp func = kernel.func;
  for (Value argument : func.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      largest = std::max(largest, estimateElements(argument));
  for (auto reduce : func.getBody().front().getOps<tg::ReduceOp>())
    reduced = std::max(reduced, estimateElements(reduce.getInput()));
  if (reduced * few < largest || reduced == 0 || levels.steps > 1 || countPasses(kernel, schedule) > 1)
    return std::nullopt;
  double threads = double(schedule.getWarps()) * warpThreads, elements = 1;
  for (int64_t size : schedule.getTile())
    elements *= double(size);
  for (int64_t size : schedule.getStream())
    elements *= double(size);
  double registers = std::min(ownRegisters + elements / threads, double(device.registersPerThread));
  double ctas = std::max(std::min({std::floor(device.registersPerSm / (std::ceil(registers / 8) * 8 * threads)),
                                   std::floor(device.threadsPerSm / threads), double(device.ctasPerSm)}),
                         1.0);
  double perSm = std::ceil(levels.tiles / device.sms), rounds = std::ceil(perSm / ctas);
  HeldRows rows;
  rows.padding = std::max(elements * levels.tiles / reduced, 1.0);
  double wait = device.alone.rowWait * (1 + device.alone.rowWarp * double(schedule.getWarps()));
  double issued = device.alone.rowIssued * arithmetic * rows.padding * perSm * device.sms / levels.tiles;
  rows.seconds = std::max(rounds * wait + issued - device.tailSeconds, 0.0); // One round's end is every kernel's.
  rows.unhidden = device.alone.rowUnhidden / ctas;
  return rows;
}

MemoryTime estimateMemoryBound(const KernelToSchedule &kernel, tg::ScheduleAttr schedule, const Device &device) {
  std::optional<double> windows = windowSeconds(kernel, schedule, device);
  KernelLevels levels = analyseLevels(kernel, windows ? alongWindows(kernel, schedule) : schedule);
  MemoryTime time;
  double memory = 0, passes = countPasses(kernel, schedule);
  for (const ValueLevel &each : levels.values) {
    if (!isa<BlockArgument>(each.value))
      continue;
    double bytes = double(tg::getElementBits(cast<RankedTensorType>(each.value.getType()).getElementType())) / 8;
    double net = std::min(estimateElements(each.value) * bytes, each.moved), moved = each.moved * passes;
    memory += readSeconds(net, moved, levels.tiles, device);
    time.first += net;
    time.again += moved - net;
  }
  time.written = levels.written;
  memory += writeSeconds(levels.written, device);
  func::FuncOp func = kernel.func;
  for (Operation &op : func.getBody().front().without_terminator())
    if (!windows || !isa<tg::ContractOp>(op))
      time.arithmetic += countInstructions(op) / (lanes * device.clock * device.sms);
  time.arithmetic += windows.value_or(0);
  time.seconds = kernelSeconds(memory, time.arithmetic, device);
  if (auto rows = findHeldRows(kernel, schedule, levels, time.arithmetic, device); rows && !windows)
    time.seconds =
        std::max(time.seconds, std::max(memory, rows->seconds) + rows->unhidden * std::min(memory, rows->seconds) +
                                   device.kernelSeconds());
  return time;
}

} // namespace weft::plan
