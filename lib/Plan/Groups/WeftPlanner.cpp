// The planner "weft": ops merge with their immediate post-dominator when everything between is legal together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the data-flow graph of a block, the immediate post-dominator of an op is the first op through which all its
// results' uses pass. Merging an op with everything up to there keeps rule R1 by construction, also for diamonds such
// as softmax's x - max(x). (The same idea orders fusion in TVM's FuseOps; legality here is our own.) Greedy from
// producers to consumers: a contraction takes its epilogue first, then rows form around reductions. On a GPU, readers
// and contractions that share an operand follow, in turns until nothing joins any more; contractions that only a
// movement of their results keeps apart leave it to who reads them.
#include "Planners.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
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

/// A group without what moves its results behind their last arithmetic; each movement with an op that reads it.
struct Unmoved {
  Group rest;
  llvm::MapVector<Operation *, Operation *> readers;
};

/// None where a movement would need a kernel of its own, having several readers or one that nothing computes.
static std::optional<Unmoved> takeMovements(const Partition &partition, Operation *member) {
  Unmoved found{partition.getGroup(member), {}};
  auto isMovement = [](Operation *op) { return isa<tg::TransposeOp, tg::ReshapeOp>(op); };
  auto findNext = [&]() -> Operation * {
    SmallVector<Operation *> sinks = findSinks(found.rest);
    auto next = llvm::find_if(sinks, isMovement);
    return next == sinks.end() || found.rest.size() == 1 ? nullptr : *next;
  };
  while (Operation *op = findNext()) {
    Operation *reader = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *next = userInBlock(op, user);
      if (auto known = found.readers.find(next); known != found.readers.end())
        next = known->second;
      bool isComputed = next && partition.contains(next) && !trimRenamings(partition.getGroup(next)).empty();
      if (!isComputed || (reader && !partition.areTogether(next, reader)))
        return std::nullopt;
      reader = next;
    }
    found.rest.remove(op);
    found.readers[op] = reader;
  }
  return found;
}

/// Products whose results differ only in how they are moved behind them become one where the readers take the
/// movements: as maps of what they load, those cost nothing there.
static void joinBeforeMovements(const Planning &planning, Operation *first, Operation *second) {
  Partition &partition = planning.partition;
  auto a = takeMovements(partition, first), b = takeMovements(partition, second);
  if (!a || !b || (a->readers.empty() && b->readers.empty()) || !partition.isConvex(first, second))
    return;
  SmallVector<Operation *> products = llvm::to_vector(a->rest);
  llvm::append_range(products, b->rest);
  llvm::MapVector<unsigned, SmallVector<Operation *>> lists;
  for (const Unmoved &side : {*a, *b})
    for (auto [op, reader] : side.readers) {
      SmallVector<Operation *> &list = lists[partition.groupOf(reader)];
      if (list.empty())
        llvm::append_range(list, partition.getGroup(reader));
      list.push_back(op);
    }
  SmallVector<Group> parts;
  auto add = [&](SmallVectorImpl<Operation *> &list) {
    llvm::sort(list, [&](Operation *x, Operation *y) { return partition.numberOf(x) < partition.numberOf(y); });
    parts.emplace_back().insert(list.begin(), list.end());
  };
  add(products);
  for (auto &[number, list] : lists)
    add(list);
  if (llvm::all_of(parts, [&](const Group &part) { return findViolation(part, planning.options).empty(); }))
    partition.assign(parts);
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
        if (!planning.partition.areTogether(contracts[i], contracts[j]) &&
            !planning.mergePair(contracts[i], contracts[j]))
          joinBeforeMovements(planning, contracts[i], contracts[j]);
}

/// Reductions of parts of what products make (tg::findTileParts) join them, with all that is between: one after the
/// other a shape or a part's mean alone would have no position there.
static void joinParts(const Planning &planning) {
  constexpr size_t mostOps = 24;
  for (Operation *op : planning.ops) {
    auto reduce = dyn_cast<tg::ReduceOp>(op);
    std::optional<tg::TileParts> parts = reduce ? tg::findTileParts(reduce) : std::nullopt;
    std::optional<tg::ProductOf> made = parts ? tg::findProductOf(parts->whole) : std::nullopt;
    if (!made || !planning.partition.contains(made->product))
      continue;
    llvm::SetVector<Operation *> between;
    between.insert(made->product);
    between.insert(op);
    for (size_t i = 1; i < between.size() && between.size() <= mostOps; ++i)
      for (Value operand : usedValues(between[i]))
        if (Operation *next = operand.getDefiningOp();
            next && planning.partition.contains(next) && !planning.partition.areTogether(next, made->product))
          between.insert(next);
    if (between.size() <= mostOps && !planning.partition.areTogether(op, made->product))
      planning.merge(between.getArrayRef(), made->product, op);
  }
}

void planByPostDominators(const Planning &planning) {
  joinPostDominators(planning);
  if (!planning.options.gpu)
    return;
  // What siblings have become may have room for what is in front of them, and the other way round.
  constexpr unsigned mostRounds = 4;
  releaseRenamings(planning);
  joinParts(planning);
  for (unsigned round = 0, count = 0; round < mostRounds && planning.partition.count() != count; ++round) {
    count = planning.partition.count();
    joinReaders(planning);
    releaseRenamings(planning);
    joinSiblings(planning);
  }
}

} // namespace weft::plan
