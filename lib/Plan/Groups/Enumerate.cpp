// Group formation: the ops of a block, what the user demands, a planner, and the groups that come of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Planners.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Constraints.h"

using namespace mlir;

namespace weft::plan {

static constexpr std::pair<Planner, llvm::StringLiteral> plannerNames[] = {{Planner::Weft, "weft"},
                                                                           {Planner::DnnFusion, "dnnfusion"},
                                                                           {Planner::TvmRules, "tvm-rules"},
                                                                           {Planner::Exact, "exact"}};

StringRef stringifyPlanner(Planner planner) { return plannerNames[unsigned(planner)].second; }

std::optional<Planner> parsePlanner(StringRef name) {
  for (auto [planner, text] : plannerNames)
    if (text == name)
      return planner;
  return std::nullopt;
}

bool Planning::merge(ArrayRef<Operation *> list, Operation *producer, Operation *consumer) const {
  std::string violation = partition.tryMerge(list, options);
  if (!violation.empty())
    refused(producer, consumer, violation);
  return violation.empty();
}

bool Planning::mergePair(Operation *producer, Operation *consumer) const {
  if (!partition.isConvex(producer, consumer)) {
    refused(producer, consumer, "another kernel must run between them");
    return false;
  }
  return merge({producer, consumer}, producer, consumer);
}

void joinOperators(const Planning &planning) {
  for (Operation *op : llvm::reverse(planning.ops)) { // Windows get their reductions before padding comes to them.
    if (!isa<tg::PadOp, tg::WindowOp>(op) || !op->hasOneUse())
      continue;
    Operation *user = userInBlock(op, *op->getUsers().begin());
    if (planning.partition.contains(user) && isa<tg::ContractOp, tg::ReduceOp, tg::WindowOp>(user))
      (void)planning.partition.tryMerge({op, user}, planning.options);
  }
}

/// The ops of `demand` together, if they may be.
static void meetDemand(const FusionDemand &demand, const Planning &planning) {
  SmallVector<Operation *> ops =
      llvm::filter_to_vector(demand.ops, [&](Operation *op) { return planning.partition.contains(op); });
  if (ops.size() > 1)
    planning.merge(ops, ops.front(), ops.back());
}

Group trimRenamings(Group group) {
  bool changed = true;
  while (changed && !group.empty()) {
    changed = false;
    for (Operation *op : llvm::to_vector(group)) {
      if (!isRenaming(op))
        continue;
      bool isFirst = !group.contains(op->getOperand(0).getDefiningOp());
      bool isLast =
          llvm::none_of(op->getUsers(), [&](Operation *user) { return group.contains(userInBlock(op, user)); });
      // The operand of the last one becomes the result: it must not be one already, in other extents. Parts of a
      // product's result may have any.
      auto isResult = [](Operation *sink) { return !tg::findPartsResult(sink->getResult(0)); };
      if (isFirst || (isLast && isResult(op) && llvm::count_if(findSinks(group), isResult) == 1)) {
        group.remove(op);
        changed = true;
      }
    }
  }
  return group;
}

static void runPlanner(const Planning &planning) {
  switch (planning.options.planner) {
  case Planner::Weft:
    return planByPostDominators(planning);
  case Planner::DnnFusion:
    return planBySeeds(planning);
  case Planner::TvmRules:
    return planByKinds(planning);
  case Planner::Exact: {
    SmallVector<Group> demanded = planning.partition.take();
    planByPostDominators(planning);
    return planExactly(planning, demanded);
  }
  }
}

SmallVector<Group> formGroups(Block &block, const GroupOptions &options, const RefusalSink &refused) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (!isHostOp(&op) || (options.gpu && isRenaming(&op)))
      ops.push_back(&op);
  Partition partition(ops);
  Planning planning{ops, partition, options, refused};
  if (options.constraints)
    for (const FusionDemand &demand : options.constraints->getDemands())
      meetDemand(demand, planning);
  if (options.fuse)
    runPlanner(planning);
  SmallVector<Group> groups = partition.take();
  if (options.gpu) {
    for (Group &group : groups)
      group = trimRenamings(std::move(group));
    llvm::erase_if(groups, [](const Group &group) { return group.empty(); });
  }
  return groups;
}

} // namespace weft::plan
