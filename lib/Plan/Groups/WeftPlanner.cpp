// The planner "weft": ops merge with their immediate post-dominator when everything between is legal together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the data-flow graph of a block, the immediate post-dominator of an op is the first op through which all its
// results' uses pass. Merging an op with everything up to there keeps rule R1 by construction, also for diamonds such
// as softmax's x - max(x). (The same idea orders fusion in TVM's FuseOps; legality here is our own.) Greedy from
// producers to consumers: a contraction takes its epilogue first, then rows form around reductions. On a GPU, readers
// and contractions that share an operand follow, in turns until nothing joins any more.
#include "Planners.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::plan {

static void joinPostDominators(const Planning &planning) {
  constexpr size_t pathLimit = 32;
  PostDominators postDominators(planning.ops);
  for (Operation *op : planning.ops) {
    Operation *target = postDominators.get(op);
    if (!target)
      continue;
    if (std::optional<SmallVector<Operation *>> between = opsBetween(op, target, pathLimit))
      planning.merge(*between, op, target);
    else
      planning.refused(op, target, "more than 32 ops between them");
  }
}

/// Producers join their readers where both then have results: the value is not read again from memory.
static void joinReaders(const Planning &planning) {
  for (Operation *reader : planning.ops)
    for (Value operand : usedValues(reader)) {
      Operation *producer = operand.getDefiningOp();
      if (producer && planning.partition.contains(producer) && !planning.partition.areTogether(producer, reader))
        planning.mergePair(producer, reader);
    }
}

/// Renamings at the edges of groups leave them: they cost nothing outside, and inside they give a group's result other
/// extents than those of the groups that it could join.
static void releaseRenamings(const Planning &planning) {
  for (const Group &group : planning.partition.take()) {
    Group rest = trimRenamings(group);
    if (rest.size() == group.size())
      continue;
    SmallVector<Group> parts;
    if (!rest.empty())
      parts.push_back(rest);
    for (Operation *op : group)
      if (!rest.contains(op))
        parts.emplace_back().insert(op);
    planning.partition.assign(parts);
  }
}

/// Contractions with an operand in common join where none needs the other: its tiles are loaded once, and a launch is
/// saved. Each asks those that follow it: a recurrent network reads one weight in all of its steps, and none may join.
static void joinSiblings(const Planning &planning) {
  constexpr size_t mostFollowers = 16;
  llvm::MapVector<Value, SmallVector<Operation *>> readers;
  for (Operation *op : planning.ops)
    if (auto contract = dyn_cast<tg::ContractOp>(op))
      for (unsigned i : {0u, 1u})
        readers[contract->getOperand(i)].push_back(op);
  for (auto &[value, contracts] : readers)
    for (size_t i = 0; i < contracts.size(); ++i)
      for (size_t j = i + 1; j < std::min(contracts.size(), i + 1 + mostFollowers); ++j)
        if (!planning.partition.areTogether(contracts[i], contracts[j]))
          planning.mergePair(contracts[i], contracts[j]);
}

void planByPostDominators(const Planning &planning) {
  joinPostDominators(planning);
  if (!planning.options.gpu)
    return;
  // What siblings have become may have room for what is in front of them, and the other way round.
  constexpr unsigned mostRounds = 4;
  releaseRenamings(planning);
  for (unsigned round = 0, count = 0; round < mostRounds && planning.partition.count() != count; ++round) {
    count = planning.partition.count();
    joinReaders(planning);
    releaseRenamings(planning);
    joinSiblings(planning);
  }
}

} // namespace weft::plan
