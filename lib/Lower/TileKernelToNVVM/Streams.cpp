// Which reads stream through the L2 cache.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel often starts with an L2 full of what the one before has written. Lines that it reads once drive that out to
// DRAM, in between its own reads: 512x4096x14336 on an H100 takes 87.8 us, 84.1 with weights that leave first, 81.3
// with an L2 that holds nothing new. Half of the L2: less may still be there when the next kernel reads it. Loads into
// registers gain nothing (rows of 8192x4096, one row by a matrix: -1 to +2 %).
#include "Streams.h"
#include "EarlyCopies.h"
#include "Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"
#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

/// Tiles at the edge read beyond the tensor.
static constexpr double countedPart = 1.25;

/// The block arguments that the values are computed from.
static llvm::SmallPtrSet<Value, 8> findRoots(ValueRange values) {
  llvm::SmallPtrSet<Value, 8> roots;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> left(values.begin(), values.end());
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      roots.insert(value);
    else if (seen.insert(op).second)
      left.append(op->operand_begin(), op->operand_end());
  }
  return roots;
}

static std::optional<double> countTrips(scf::ForOp loop) {
  std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound()),
                         to = getConstantIntValue(loop.getUpperBound()), step = getConstantIntValue(loop.getStep());
  if (!from || !to || !step || *step < 1)
    return std::nullopt;
  return double(std::max<int64_t>(llvm::divideCeilSigned(*to - *from, *step), 0));
}

/// Elements that all executions of the access read in sum, each tile of which counts once for all CTAs that need it;
/// none if that is not known, or if CTAs that need it do not run together.
static std::optional<double> countReads(Operation *op, ValueRange symbols, int64_t elements, int64_t cluster,
                                        int64_t sms) {
  llvm::SmallPtrSet<Value, 8> roots = findRoots(symbols);
  double reads = double(elements);
  for (Operation *parent = op->getParentOp(); parent && !isa<func::FuncOp>(parent); parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      std::optional<double> trips = countTrips(loop);
      if (!trips)
        return std::nullopt;
      reads *= *trips;
    } else if (auto tiles = dyn_cast<tk::ForTilesOp>(parent)) {
      double all = double(cluster);
      bool isShared = false;
      for (auto [extent, tile] : llvm::zip_equal(tiles.getExtents().getResults(), tiles.getBody().getArguments())) {
        auto constant = dyn_cast<AffineConstantExpr>(extent);
        if (!constant)
          return std::nullopt;
        all *= double(constant.getValue());
        isShared |= constant.getValue() > 1 && !roots.contains(tile);
        reads *= roots.contains(tile) ? double(constant.getValue()) : 1;
      }
      if (isShared && all > double(sms))
        return std::nullopt;
    } else if (!isa<scf::IfOp, tk::RolesOp>(parent)) {
      return std::nullopt;
    }
  }
  return reads;
}

/// Elements that `op` reads of `tensor`, if it is a copy by TMA.
static std::optional<double> countReads(Operation *op, Value tensor, int64_t cluster, int64_t sms) {
  auto copy = dyn_cast<tk::CopyOp>(op);
  if (!copy || copy.getSource() != tensor || copy.getEngine() != tk::CopyEngine::Tma)
    return std::nullopt;
  int64_t elements = ShapedType::getNumElements(copy.getTarget().getType().getShape());
  return countReads(op, copy.getSymbols(), elements, cluster, sms);
}

DenseSet<Operation *> weft::gpu::findStreams(func::FuncOp kernel, StringRef target) {
  DenseSet<Operation *> streams;
  const Device *device = findDevice(target);
  if (!device)
    return streams;
  auto attr = kernel->getAttrOfType<IntegerAttr>(clusterAttr);
  int64_t cluster = attr ? attr.getInt() : 1;
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<tk::GlobalType>(argument.getType());
    std::optional<int64_t> bytes = type ? tg::getByteSize(type.getTensor()) : std::nullopt;
    if (!bytes || uint64_t(*bytes) < device->l2Bytes / 2)
      continue;
    double reads = 0;
    for (Operation *user : argument.getUsers())
      reads += user->hasAttr(aheadAttr) // Its loop counts.
                   ? 0
                   : countReads(user, argument, cluster, device->sms).value_or(HUGE_VAL);
    if (reads <= countedPart * double(type.getTensor().getNumElements()))
      streams.insert(argument.user_begin(), argument.user_end());
  }
  return streams;
}

Value weft::gpu::emitStreamPolicy(OpBuilder &builder, Location loc) {
  return emitAsm(builder, loc, builder.getI64Type(), {}, "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;", "=l",
                 /*hasSideEffects=*/false)
      .front();
}
