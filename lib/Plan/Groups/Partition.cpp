// Partitions of ops into groups: merging, convexity, post-dominators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Partition.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace weft::plan {

//===--- Post-dominators ---===//

PostDominators::PostDominators(ArrayRef<Operation *> ops) {
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

Operation *PostDominators::meet(Operation *a, Operation *b) const {
  while (a && b && a != b) {
    Operation *&earlier = order.lookup(a) < order.lookup(b) ? a : b;
    earlier = parent.lookup(earlier);
  }
  return a && b ? a : nullptr;
}

std::optional<SmallVector<Operation *>> opsBetween(Operation *from, Operation *to, size_t limit) {
  llvm::SetVector<Operation *> found;
  found.insert(to);
  SmallVector<Operation *> work{from};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!found.insert(op))
      continue;
    if (found.size() > limit)
      return std::nullopt;
    for (Operation *user : op->getUsers())
      work.push_back(userInBlock(op, user));
  }
  return SmallVector<Operation *>(found.begin(), found.end());
}

//===--- Partition ---===//

Partition::Partition(ArrayRef<Operation *> list) : users(list.size()), usersBehind(list.size()), ops(list) {
  for (auto [i, op] : llvm::enumerate(ops)) {
    order[op] = i;
    groups.push_back(i);
    members.push_back({unsigned(i)});
    reach.push_back(i);
  }
  if (!ops.empty())
    findUsers(*ops.front()->getBlock());
}

void Partition::findUsers(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<unsigned, 4>> reached; ///< From ops outside, such as an update in place.
  for (Operation &op : llvm::reverse(block)) {
    auto planned = order.find(&op);
    bool isOutside = planned == order.end();
    SmallVector<unsigned, 4> &far = isOutside ? reached[&op] : usersBehind[planned->second];
    SmallVector<unsigned, 4> &near = isOutside ? far : users[planned->second];
    llvm::SmallSet<unsigned, 8> seenNear, seenFar;
    for (Operation *each : op.getUsers()) {
      Operation *user = userInBlock(&op, each);
      if (auto next = order.find(user); next != order.end()) {
        if ((isOutside ? seenFar : seenNear).insert(next->second).second)
          near.push_back(next->second);
        continue;
      }
      for (unsigned next : reached.lookup(user))
        if (seenFar.insert(next).second)
          far.push_back(next);
    }
  }
}

Group Partition::getGroup(Operation *op) const { return getUnion(op); }

Group Partition::getUnion(ArrayRef<Operation *> list) const {
  llvm::SmallSet<unsigned, 8> seen;
  SmallVector<unsigned> numbers;
  for (Operation *op : list)
    if (unsigned group = groupOf(op); seen.insert(group).second)
      llvm::append_range(numbers, members[group]);
  llvm::sort(numbers);
  Group result;
  for (unsigned number : numbers)
    result.insert(ops[number]);
  return result;
}

std::string Partition::tryMerge(ArrayRef<Operation *> list, const GroupOptions &options) {
  Group merged = getUnion(list);
  std::string violation = findViolation(merged, options);
  if (violation.empty())
    assign(merged);
  return violation;
}

void Partition::assign(ArrayRef<Group> parts) {
  for (const Group &part : parts)
    for (Operation *op : part)
      members[groupOf(op)].clear();
  for (const Group &part : parts) {
    // The number of an op of its own is free: each op's number is that of its group at most once.
    unsigned number = order.lookup(part.front());
    for (Operation *op : part) {
      groups[order.lookup(op)] = number;
      members[number].push_back(order.lookup(op));
    }
    llvm::sort(members[number]);
    for (unsigned i = number, last = members[number].back(); reach[i] < last; ++i)
      reach[i] = last;
  }
}

unsigned Partition::boundOf(unsigned last) const {
  while (reach[last] > last)
    last = reach[last];
  return last;
}

bool Partition::isConvex(Operation *a, Operation *b) const {
  unsigned first = groupOf(a), second = groupOf(b);
  unsigned bound = boundOf(std::max(members[first].back(), members[second].back()));
  llvm::SmallSet<unsigned, 16> seen;
  SmallVector<unsigned> work{first, second};
  while (!work.empty()) {
    unsigned group = work.pop_back_val();
    bool isInside = group == first || group == second;
    for (unsigned member : members[group]) {
      for (unsigned user : users[member]) {
        unsigned next = groups[user];
        if (next == group || (isInside && (next == first || next == second)))
          continue;
        if (next == first || next == second)
          return false;
        if (user <= bound && seen.insert(next).second)
          work.push_back(next);
      }
      for (unsigned user : usersBehind[member]) {
        unsigned next = groups[user];
        if (next == first || next == second)
          return false;
        if (user <= bound && seen.insert(next).second)
          work.push_back(next);
      }
    }
  }
  return true;
}

unsigned Partition::count() const {
  return llvm::count_if(members, [](ArrayRef<unsigned> group) { return !group.empty(); });
}

SmallVector<Group> Partition::take() const {
  SmallVector<Group> result;
  for (auto [i, op] : llvm::enumerate(ops))
    if (members[groups[i]].back() == i)
      result.push_back(getGroup(op));
  return result;
}

} // namespace weft::plan
