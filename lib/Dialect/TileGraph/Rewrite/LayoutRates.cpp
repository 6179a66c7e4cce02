// What LayoutRates.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/LayoutRates.h"
#include "ShardAccess.h"
#include "ShardProgram.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace mlir;

namespace weft::tg {

LayoutRates LayoutRates::get(const Device *device, double linkRate, double linkLatency) {
  const GroupRates &cpu = cpuGroupRates;
  LayoutRates rates = {cpu.bytes, cpu.operations, cpu.products, cpu.products, cpu.launch, /*capacity=*/0, cpuLinkRates};
  constexpr double weightsOfMemory = 0.8; // The rest is for what is computed, and caches.
  if (device)
    rates = {device->memoryBandwidth,
             device->groups.operations,
             device->perSecond(device->f32PerClock),
             device->perSecond(device->matrix.f16),
             device->kernelSeconds(),
             double(device->memoryBytes) * weightsOfMemory,
             device->links};
  constexpr double giga = 1e9, micro = 1e-6;
  if (linkRate > 0)
    rates.links.bytes = linkRate * giga;
  if (linkLatency >= 0)
    rates.links.seconds = linkLatency * micro;
  return rates;
}

double estimateCollective(Operation *op, const LayoutRates &rates) {
  auto bytesOf = [](Value value) { return estimateBytes(value.getType()); };
  auto ranksOf = [](Value parts) { return double(estimateExtent(getDim(parts.getType(), 0))); };
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    double bytes = bytesOf(reduce.getResult()), ranks = double(reduce.getRanks());
    return rates.exchange(2 * bytes * (ranks - 1) / ranks, 2 * bytes);
  }
  bool isGather = isa<AllGatherOp>(op);
  if (!isGather && !isa<ReduceScatterOp, AllToAllOp>(op))
    return 0;
  Value parts = isGather ? op->getResult(0) : op->getOperand(0);
  double bytes = bytesOf(parts), ranks = ranksOf(parts);
  return rates.exchange(bytes * (ranks - 1) / ranks, bytesOf(op->getOperand(0)) + bytesOf(op->getResult(0)));
}

double estimateArithmetic(Operation *op, const LayoutRates &rates) {
  std::optional<ShardAccess> access =
      op->getNumResults() == 1 && !op->getNumRegions() ? ShardAccess::get(op) : std::nullopt;
  if (!access)
    return 0;
  double operations = access->countPoints() * double(cast<TileOpInterface>(op).getFlopsPerPoint());
  bool isNarrow = getElementBits(cast<RankedTensorType>(op->getResult(0).getType()).getElementType()) < 32;
  return operations / (!isa<ContractOp>(op) ? rates.operations : isNarrow ? rates.narrowProducts : rates.wideProducts);
}

} // namespace weft::tg
