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

MemoryTime estimateMemoryBound(const KernelToSchedule &kernel, tg::ScheduleAttr schedule, const Device &device) {
  std::optional<double> windows = windowSeconds(kernel, schedule, device);
  KernelLevels levels = analyseLevels(kernel, windows ? alongWindows(kernel, schedule) : schedule);
  MemoryTime time;
  double memory = 0;
  for (const ValueLevel &each : levels.values) {
    if (!isa<BlockArgument>(each.value))
      continue;
    double bytes = double(tg::getElementBits(cast<RankedTensorType>(each.value.getType()).getElementType())) / 8;
    double net = std::min(estimateElements(each.value) * bytes, each.moved);
    memory += readSeconds(net, each.moved, levels.tiles, device);
    time.first += net;
    time.again += each.moved - net;
  }
  time.written = levels.written;
  memory += writeSeconds(levels.written, device);
  func::FuncOp func = kernel.func;
  for (Operation &op : func.getBody().front().without_terminator())
    if (!windows || !isa<tg::ContractOp>(op))
      time.arithmetic += countInstructions(op) / (lanes * device.clock * device.sms);
  time.arithmetic += windows.value_or(0);
  time.seconds = kernelSeconds(memory, time.arithmetic, device);
  return time;
}

} // namespace weft::plan
