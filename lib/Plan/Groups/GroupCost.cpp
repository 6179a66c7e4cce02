// The model of lib/Plan/Groups/GroupCost.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GroupCost.h"
#include "Planners.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Target/Device.h"

using namespace mlir;

namespace weft::plan {

namespace {

/// Sums up one group.
class Pricer {
public:
  Pricer(const Group &group, const GroupOptions &options)
      : group(group), options(options), rates(options.gpu ? options.device->groups : cpuGroupRates) {}

  double run() {
    bool reduces = llvm::any_of(group, llvm::IsaPred<tg::ReduceOp>);
    double operations = 0, points = 0;
    llvm::SmallSetVector<Value, 8> read;
    for (Operation *op : llvm::reverse(group)) {
      double places = countPlaces(op, reduces);
      placesOf[op] = places;
      if (isa<tg::ContractOp, tg::FoldOp>(op))
        points += estimateFlops(op) / 2;
      else if (isa<tg::PointwiseOpInterface>(op))
        operations += double(countInstructions(op)) * places;
      else
        operations += estimateFlops(op);
      for (Value value : usedValues(op))
        if (!group.contains(value.getDefiningOp()))
          read.insert(value);
      for (Value result : op->getResults())
        if (isUsedOutside(result))
          between += estimateBytes(result);
    }
    for (Value value : read)
      (isMade(value) ? between : given) +=
          takenBytes(value, [&](Operation *user) { return group.contains(find(user)); });
    double arithmetic = std::max(operations / rates.operations, 2 * points / rates.products);
    if (options.gpu)
      return kernelSeconds(memorySeconds(), arithmetic, *options.device) + priceGpuPrologues(group, options);
    return rates.launch + std::max((given + between) / rates.bytes, arithmetic);
  }

private:
  /// What other kernels make or read is in the L2 where all that this one moves fits it.
  double memorySeconds() const {
    MemoryLevel level = levelBetweenKernels(given + between, *options.device);
    return moveSeconds(given, MemoryLevel::Memory, *options.device) + moveSeconds(between, level, *options.device);
  }

  /// Whether another kernel makes `value`: weights, constants and the program's arguments come from memory.
  static bool isMade(Value value) {
    Operation *op = value.getDefiningOp();
    while (op && isRenaming(op))
      op = op->getOperand(0).getDefiningOp();
    return op && op->getNumOperands() > 0;
  }

  /// The op of the block that `user` is, or is in; null at the end of the block's region.
  Operation *find(Operation *user) const { return userInBlock(group.front(), user); }

  bool isUsedOutside(Value result) const {
    return llvm::any_of(result.getUsers(), [&](Operation *user) { return !group.contains(find(user)); });
  }

  /// For how many positions the group computes an element of `op`, whose users have been asked. Elementwise readers of
  /// one value ask for the same positions, views for others; rows that are reduced keep what they read again.
  double countPlaces(Operation *op, bool reduces) const {
    double own = estimateElements(op->getResult(0)), same = 0, moved = 0;
    for (Operation *each : op->getUsers()) {
      Operation *user = find(each);
      bool asks = group.contains(user);
      if (asks && isa<tg::PointwiseOpInterface, tg::BroadcastOp>(user) && !reduces)
        same = std::max(same, placesOf.lookup(user));
      else if (asks && isa<tg::SliceOp, tg::ConcatOp>(user))
        moved += std::min(placesOf.lookup(user), own);
      else
        same = std::max(same, own);
    }
    return std::max(same + moved, op->use_empty() ? own : 0.0);
  }

  const Group &group;
  const GroupOptions &options;
  const GroupRates rates;
  llvm::DenseMap<Operation *, double> placesOf;
  double given = 0, between = 0; ///< Bytes from outside of all kernels; and from or for others.
};

} // namespace

double estimateSeconds(const Group &group, const GroupOptions &options) {
  Group kernel = options.gpu ? trimRenamings(group) : group;
  return kernel.empty() ? 0 : Pricer(kernel, options).run();
}

double estimateSeconds(ArrayRef<Group> groups, const GroupOptions &options) {
  double seconds = 0;
  for (const Group &group : groups)
    seconds += estimateSeconds(group, options);
  return seconds;
}

} // namespace weft::plan
