// Enumeration of closed sets, and the dynamic programme over downsets (ExactSearch.h).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ExactSearch.h"
#include "GroupCost.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/bit.h"
#include <limits>

using namespace mlir;

namespace weft::plan {
namespace {

using Mask = uint32_t; ///< Of ops of the region; bit 31 is never set, which keeps masks apart from DenseMap's own keys.
constexpr size_t mostSets = 40'000, mostStates = 200'000;

Mask bit(unsigned i) { return Mask(1) << i; }

template <typename Body> void forEachBit(Mask mask, Body body) {
  for (; mask; mask &= mask - 1)
    body(unsigned(llvm::countr_zero(mask)));
}

class Search {
public:
  Search(const Partition &partition, ArrayRef<Group> groups, const GroupOptions &options)
      : partition(partition), options(options) {
    for (const Group &group : groups)
      for (Operation *op : group)
        ops.push_back(op);
    llvm::sort(ops, [&](Operation *a, Operation *b) { return partition.numberOf(a) < partition.numberOf(b); });
    for (auto [i, op] : llvm::enumerate(ops))
      indexOf[partition.numberOf(op)] = i;
    readEdges();
    readOuterPaths();
    closeOrder();
    for (unsigned i = 0; i < ops.size(); ++i)
      for (unsigned j = 0; j < ops.size(); ++j)
        if (excludeEachOther(ops[i], ops[j], options) || (areDependentProducts(i, j)))
          excluded[i] |= bit(j);
  }

  SearchResult run(ArrayRef<Group> groups) {
    SearchResult result;
    for (const Group &group : groups) {
      Mask mask = 0;
      for (Operation *op : group)
        mask |= bit(indexOf.lookup(partition.numberOf(op)));
      double price = estimateSeconds(group, options);
      result.before += price;
      sets.insert({mask, price});
      work.push_back(mask);
    }
    result.after = result.before;
    bool isComplete = enumerate();
    result.sets = sets.size();
    if (!isComplete)
      return result;
    for (auto [mask, price] : sets)
      if (price < unpriced)
        candidates[llvm::countr_zero(mask)].push_back({mask, price});
    for (std::vector<std::pair<Mask, double>> &list : candidates) // One result, whatever the table's order.
      llvm::sort(list);
    double best = solve(0);
    result.states = plans.size();
    if (plans.size() > mostStates)
      return result;
    // Sums in another order differ in their last bits.
    bool isBetter = best < result.before * (1 - 1e-9);
    result.after = isBetter ? best : result.before;
    for (Mask done = 0; isBetter && done != all();) {
      Mask next = plans.lookup(done).second;
      result.groups.push_back(toGroup(next));
      done |= next;
    }
    if (!isBetter)
      result.groups.assign(groups.begin(), groups.end());
    return result;
  }

private:
  static constexpr double unpriced = std::numeric_limits<double>::infinity();

  Mask all() const { return bit(ops.size()) - 1; }
  Group toGroup(Mask mask) const {
    Group group;
    forEachBit(mask, [&](unsigned i) { group.insert(ops[i]); });
    return group;
  }

  void readEdges() {
    for (unsigned i = 0; i < ops.size(); ++i) {
      for (unsigned user : partition.getUsers(partition.numberOf(ops[i])))
        if (auto found = indexOf.find(user); found != indexOf.end()) {
          before[found->second] |= bit(i);
          near[i] |= bit(found->second);
          near[found->second] |= bit(i);
        }
      for (unsigned j = 0; j < i; ++j) // Contractions that share an operand are next to each other.
        if (isa<tg::ContractOp>(ops[i]) && isa<tg::ContractOp>(ops[j]) &&
            llvm::any_of(ops[i]->getOperands(),
                         [&](Value v) { return llvm::is_contained(ops[j]->getOperands(), v); })) {
          near[i] |= bit(j);
          near[j] |= bit(i);
        }
    }
  }

  /// Ops of the region that others need through groups outside of it.
  void readOuterPaths() {
    unsigned bound = partition.boundOf(partition.numberOf(ops.back()));
    for (unsigned i = 0; i < ops.size(); ++i) {
      llvm::DenseSet<unsigned> seen;
      SmallVector<unsigned> open;
      auto followTo = [&](ArrayRef<unsigned> users, bool isOutside) {
        for (unsigned user : users) {
          auto inside = indexOf.find(user);
          if (inside != indexOf.end() && isOutside)
            apart[inside->second] |= bit(i);
          if (inside == indexOf.end() && user <= bound && seen.insert(partition.getMembers(user).front()).second)
            open.push_back(user);
        }
      };
      auto follow = [&](unsigned number, bool isOutside) {
        followTo(partition.getUsers(number), isOutside);
        followTo(partition.getUsersBehind(number), true);
      };
      follow(partition.numberOf(ops[i]), false);
      while (!open.empty())
        for (unsigned member : partition.getMembers(open.pop_back_val()))
          follow(member, true);
    }
  }

  /// All that an op needs, and all that needs it. An outer path may go against program order, from group to group.
  void closeOrder() {
    for (unsigned i = 0; i < ops.size(); ++i)
      needs[i] = before[i] | apart[i];
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned i = 0; i < ops.size(); ++i) {
        Mask grown = needs[i];
        forEachBit(needs[i], [&](unsigned j) { grown |= needs[j]; });
        changed |= std::exchange(needs[i], grown) != grown;
      }
    }
    for (unsigned i = 0; i < ops.size(); ++i)
      forEachBit(needs[i], [&](unsigned j) { neededBy[j] |= bit(i); });
  }

  /// A product of another one's result, in whatever group, breaks R2 and G2.
  bool areDependentProducts(unsigned i, unsigned j) const {
    return isa<tg::ContractOp, tg::FoldOp>(ops[i]) && isa<tg::ContractOp, tg::FoldOp>(ops[j]) &&
           ((needs[i] & bit(j)) || (needs[j] & bit(i)));
  }

  /// `mask` with what lies between its ops; 0 if it, and all sets that hold it, are no group.
  Mask close(Mask mask) const {
    Mask up = 0, down = 0;
    forEachBit(mask, [&](unsigned i) {
      up |= needs[i];
      down |= neededBy[i];
    });
    mask |= up & down;
    bool isLegal = true;
    if (llvm::popcount(mask) > 1)
      forEachBit(mask, [&](unsigned i) { isLegal &= !(mask & (excluded[i] | apart[i])); });
    return isLegal ? mask : 0;
  }

  void visit(Mask mask) {
    if (!mask || sets.count(mask))
      return;
    Group group = toGroup(mask);
    sets.insert({mask, findViolation(group, options).empty() ? estimateSeconds(group, options) : unpriced});
    work.push_back(mask);
  }

  /// Whether all sets were found.
  bool enumerate() {
    for (unsigned i = 0; i < ops.size(); ++i)
      visit(bit(i));
    while (!work.empty() && sets.size() <= mostSets) {
      Mask mask = work.pop_back_val(), around = 0;
      forEachBit(mask, [&](unsigned i) { around |= near[i]; });
      forEachBit(around & ~mask, [&](unsigned i) { visit(close(mask | bit(i))); });
    }
    return sets.size() <= mostSets;
  }

  /// Of all that is not in `done`.
  double solve(Mask done) {
    if (done == all())
      return 0;
    if (auto known = plans.find(done); known != plans.end())
      return known->second.first;
    plans[done] = {unpriced, 0};
    std::pair<double, Mask> best{unpriced, 0};
    for (unsigned first = 0; first < ops.size() && plans.size() <= mostStates; ++first) {
      if ((done & bit(first)) || (needs[first] & ~done)) // The first op of a set needs nothing else of it.
        continue;
      for (auto [mask, price] : candidates[first]) {
        if ((mask & done) || !isReady(mask, done))
          continue;
        double cost = price + solve(done | mask);
        if (cost < best.first)
          best = {cost, mask};
      }
    }
    plans[done] = best;
    return best.first;
  }

  bool isReady(Mask mask, Mask done) const {
    bool ready = true;
    forEachBit(mask, [&](unsigned i) { ready &= !(before[i] & ~(done | mask)) && !(apart[i] & ~done); });
    return ready;
  }

  const Partition &partition;
  const GroupOptions &options;
  SmallVector<Operation *> ops; ///< In program order.
  llvm::DenseMap<unsigned, unsigned> indexOf;
  std::array<Mask, mostRegionOps> before{}; ///< By op: whose results it reads.
  std::array<Mask, mostRegionOps> apart{};  ///< What it needs through ops outside: never in its group.
  std::array<Mask, mostRegionOps> needs{}, neededBy{}, near{}, excluded{};
  llvm::DenseMap<Mask, double> sets; ///< Closed sets, with their prices.
  SmallVector<Mask> work;
  std::array<std::vector<std::pair<Mask, double>>, mostRegionOps> candidates; ///< By first op.
  llvm::DenseMap<Mask, std::pair<double, Mask>> plans; ///< By downset: the rest's cost, and the next group.
};

} // namespace

SearchResult searchRegion(const Partition &partition, ArrayRef<Group> groups, const GroupOptions &options) {
  return Search(partition, groups, options).run(groups);
}

} // namespace weft::plan
