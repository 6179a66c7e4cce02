// Group formation: ops merge with their immediate post-dominator when everything between is legal together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the data-flow graph of a block (host ops and the world outside are its exit), the immediate post-dominator of an
// op is the first op through which all its results' uses pass. Merging an op with everything up to there keeps rule R1
// by construction, also for diamonds such as softmax's x - max(x). (The same idea orders fusion in TVM's FuseOps;
// legality here is our own.) Greedy from producers to consumers: a contraction takes its epilogue first, then rows form
// around reductions.
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Constraints.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::plan {
namespace {

/// Post-dominators over the ops of a block that are not host ops.
class PostDominators {
public:
  explicit PostDominators(ArrayRef<Operation *> ops) {
    for (auto [i, op] : llvm::enumerate(ops))
      order[op] = i;
    // Users come after producers, so one sweep from the end computes the tree.
    for (Operation *op : llvm::reverse(ops)) {
      Operation *common = nullptr;
      bool first = true;
      for (Operation *each : op->getUsers()) {
        Operation *user = userInBlock(op, each), *place = order.count(user) ? user : nullptr;
        common = first ? place : meet(common, place);
        first = false;
      }
      parent[op] = common;
    }
  }

  /// Null: the results leave the block or reach a host op on some path.
  Operation *get(Operation *op) const { return parent.lookup(op); }

private:
  Operation *meet(Operation *a, Operation *b) const {
    while (a && b && a != b) {
      Operation *&earlier = order.lookup(a) < order.lookup(b) ? a : b;
      earlier = parent.lookup(earlier);
    }
    return a && b ? a : nullptr;
  }

  llvm::DenseMap<Operation *, unsigned> order;
  llvm::DenseMap<Operation *, Operation *> parent;
};

/// Groups as equivalence classes of ops.
class Partition {
public:
  explicit Partition(ArrayRef<Operation *> ops) {
    for (auto [i, op] : llvm::enumerate(ops)) {
      order[op] = i;
      classes.insert(op);
    }
  }

  /// Merges the groups of `ops` if the union is legal; else returns the violation.
  std::string tryMerge(ArrayRef<Operation *> ops, const GroupOptions &options) {
    llvm::SmallVector<Operation *> members;
    llvm::SmallPtrSet<Operation *, 8> leaders;
    for (Operation *op : ops)
      if (leaders.insert(classes.getLeaderValue(op)).second)
        for (Operation *member : classes.members(op))
          members.push_back(member);
    llvm::sort(members, [&](Operation *a, Operation *b) { return order[a] < order[b]; });
    std::string violation = findViolation(Group(members.begin(), members.end()), options);
    if (violation.empty())
      for (Operation *op : ops)
        classes.unionSets(ops.front(), op);
    return violation;
  }

  bool areTogether(Operation *a, Operation *b) const { return classes.isEquivalent(a, b); }

  /// Whether nothing outside lies on a path from the groups of `a` and `b` back to them: such a group could not run at
  /// once. Goes from group to group.
  bool isConvex(Operation *a, Operation *b) {
    Operation *first = classes.getLeaderValue(a), *second = classes.getLeaderValue(b);
    unsigned last = 0;
    for (Operation *leader : {first, second})
      for (Operation *member : classes.members(leader))
        last = std::max(last, order[member]);
    llvm::SmallPtrSet<Operation *, 16> seen;
    llvm::SmallVector<Operation *> work{first, second};
    while (!work.empty()) {
      Operation *leader = work.pop_back_val();
      bool isInside = leader == first || leader == second;
      for (Operation *member : classes.members(leader))
        for (Operation *each : member->getUsers()) {
          Operation *user = userInBlock(member, each);
          if (!order.count(user))
            continue; // Constants, checks and the end of the block.
          Operation *next = classes.getLeaderValue(user);
          if (next == leader || (isInside && (next == first || next == second)))
            continue;
          if (next == first || next == second)
            return false;
          if (order[user] < last && seen.insert(next).second)
            work.push_back(next);
        }
    }
    return true;
  }

  llvm::SmallVector<Group> take(ArrayRef<Operation *> ops) {
    llvm::DenseMap<Operation *, Group> byLeader;
    llvm::DenseMap<Operation *, Operation *> last;
    for (Operation *op : ops) {
      Operation *leader = classes.getLeaderValue(op);
      byLeader[leader].insert(op);
      last[leader] = op;
    }
    llvm::SmallVector<Group> groups;
    for (Operation *op : ops)
      if (Operation *leader = classes.getLeaderValue(op); last[leader] == op)
        groups.push_back(std::move(byLeader[leader]));
    return groups;
  }

private:
  llvm::EquivalenceClasses<Operation *> classes;
  llvm::DenseMap<Operation *, unsigned> order;
};

} // namespace

/// All ops on paths from `from` to its post-dominator `to`, both included; none if there are more than `limit`.
static std::optional<llvm::SmallVector<Operation *>> opsBetween(Operation *from, Operation *to, size_t limit) {
  llvm::SetVector<Operation *> found;
  found.insert(to);
  llvm::SmallVector<Operation *> work{from};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!found.insert(op))
      continue;
    if (found.size() > limit)
      return std::nullopt;
    for (Operation *user : op->getUsers())
      work.push_back(userInBlock(op, user));
  }
  return found.takeVector();
}

/// Producers join their readers where both then have results: the value is not read again from memory.
static void joinReaders(ArrayRef<Operation *> ops, Partition &partition, const GroupOptions &options,
                        const RefusalSink &refused) {
  llvm::SmallPtrSet<Operation *, 16> inBlock(ops.begin(), ops.end());
  for (Operation *reader : ops)
    for (Value operand : usedValues(reader)) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || !inBlock.contains(producer) || partition.areTogether(producer, reader))
        continue;
      if (!partition.isConvex(producer, reader)) {
        refused(producer, reader, "another kernel must run between them");
        continue;
      }
      Operation *pair[] = {producer, reader};
      if (std::string violation = partition.tryMerge(pair, options); !violation.empty())
        refused(producer, reader, violation);
    }
}

/// Contractions with an operand in common join where none needs the other: its tiles are loaded once, and a launch is
/// saved.
static void joinSiblings(ArrayRef<Operation *> ops, Partition &partition, const GroupOptions &options,
                         const RefusalSink &refused) {
  llvm::MapVector<Value, SmallVector<Operation *>> readers;
  for (Operation *op : ops)
    if (auto contract = dyn_cast<tg::ContractOp>(op))
      for (unsigned i : {0u, 1u})
        readers[contract->getOperand(i)].push_back(op);
  for (auto &[value, contracts] : readers)
    for (size_t i = 0; i < contracts.size(); ++i)
      for (size_t j = i + 1; j < contracts.size(); ++j) {
        Operation *pair[] = {contracts[i], contracts[j]};
        if (partition.areTogether(pair[0], pair[1]))
          continue;
        if (!partition.isConvex(pair[0], pair[1])) {
          refused(pair[0], pair[1], "another kernel must run between them");
          continue;
        }
        if (std::string violation = partition.tryMerge(pair, options); !violation.empty())
          refused(pair[0], pair[1], violation);
      }
}

/// The ops of `demand` together, if they may be.
static void meetDemand(const FusionDemand &demand, Partition &partition, const GroupOptions &options,
                       const RefusalSink &refused) {
  SmallVector<Operation *> ops = llvm::filter_to_vector(
      demand.ops, [&](Operation *op) { return !isHostOp(op) || (options.gpu && isRenaming(op)); });
  if (ops.size() < 2)
    return;
  if (std::string violation = partition.tryMerge(ops, options); !violation.empty())
    refused(ops.front(), ops.back(), violation);
}

/// A group without the renamings at its edges: what only renames what comes in, or the one result. Empty if nothing is
/// left.
static Group trimRenamings(Group group) {
  bool changed = true;
  while (changed && !group.empty()) {
    changed = false;
    for (Operation *op : llvm::to_vector(group)) {
      if (!isRenaming(op))
        continue;
      bool isFirst = !group.contains(op->getOperand(0).getDefiningOp());
      bool isLast =
          llvm::none_of(op->getUsers(), [&](Operation *user) { return group.contains(userInBlock(op, user)); });
      // The operand of the last one becomes the result: it must not be one already, in other extents.
      if (isFirst || (isLast && findSinks(group).size() == 1)) {
        group.remove(op);
        changed = true;
      }
    }
  }
  return group;
}

llvm::SmallVector<Group> formGroups(Block &block, const GroupOptions &options, const RefusalSink &refused) {
  llvm::SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (!isHostOp(&op) || (options.gpu && isRenaming(&op)))
      ops.push_back(&op);
  Partition partition(ops);
  if (options.constraints)
    for (const FusionDemand &demand : options.constraints->getDemands())
      meetDemand(demand, partition, options, refused);
  if (options.fuse) {
    constexpr size_t pathLimit = 32;
    PostDominators postDominators(ops);
    for (Operation *op : ops) {
      Operation *target = postDominators.get(op);
      if (!target)
        continue;
      std::optional<llvm::SmallVector<Operation *>> between = opsBetween(op, target, pathLimit);
      std::string violation = between ? partition.tryMerge(*between, options) : "more than 32 ops between them";
      if (!violation.empty())
        refused(op, target, violation);
    }
    if (options.gpu) {
      joinReaders(ops, partition, options, refused);
      joinSiblings(ops, partition, options, refused);
    }
  }
  llvm::SmallVector<Group> groups = partition.take(ops);
  if (options.gpu) {
    for (Group &group : groups)
      group = trimRenamings(std::move(group));
    llvm::erase_if(groups, [](const Group &group) { return group.empty(); });
  }
  return groups;
}

} // namespace weft::plan
