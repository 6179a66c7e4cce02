// The planner "exact": regions of at most 25 ops, made of groups next to each other, get their cheapest plans.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the graph that has no more ops than that is one region, and its plan the best there is by the model of
// GroupCost.h. A larger one is covered by regions that overlap: around each op that no region had with all its
// neighbours. A region's plan is never more expensive than what it had; so the sum is not either. Each region gets a
// remark `exact` of category `plan` with the numbers.
#include "ExactSearch.h"
#include "Planners.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;

namespace weft::plan {
namespace {

class RegionPlanner {
public:
  RegionPlanner(const Planning &planning, ArrayRef<Group> demanded)
      : planning(planning), partition(planning.partition) {
    for (const Group &group : demanded)
      if (group.size() > 1)
        fixed.insert(group.begin(), group.end());
    for (Operation *op : planning.ops)
      if (excludeEachOther(op, op, planning.options))
        fixed.insert(op);
    llvm::DenseMap<Value, SmallVector<Operation *>> readers;
    for (Operation *op : planning.ops)
      if (isa<tg::ContractOp>(op))
        for (Value value : op->getOperands())
          readers[value].push_back(op);
    for (Operation *op : planning.ops) {
      for (unsigned user : partition.getUsers(partition.numberOf(op))) {
        near[op].insert(partition.getOp(user));
        near[partition.getOp(user)].insert(op);
      }
      if (isa<tg::ContractOp>(op))
        for (Value value : op->getOperands())
          for (Operation *other : readers[value])
            if (other != op)
              near[op].insert(other);
    }
  }

  void run() {
    for (Operation *op : planning.ops)
      if (!fixed.contains(op) && !settled.contains(op))
        plan(findRegion(op));
  }

private:
  bool isFree(Operation *op) const { return !fixed.contains(op); }

  /// The groups around that of `op`, nearest first, as many as there is room for; none if it is too large by itself.
  SmallVector<Group> findRegion(Operation *op) const {
    SmallVector<Group> region;
    llvm::SetVector<Operation *> queue;
    llvm::SmallDenseSet<unsigned, 16> seen;
    queue.insert(op);
    size_t count = 0;
    for (size_t i = 0; i < queue.size(); ++i) {
      if (!seen.insert(partition.groupOf(queue[i])).second)
        continue;
      Group group = partition.getGroup(queue[i]);
      if (count + group.size() > mostRegionOps)
        continue;
      count += group.size();
      for (Operation *member : group)
        if (auto found = near.find(member); found != near.end())
          for (Operation *next : found->second)
            if (isFree(next))
              queue.insert(next);
      region.push_back(std::move(group));
    }
    return region;
  }

  void plan(ArrayRef<Group> region) {
    llvm::DenseSet<Operation *> inside;
    std::set<unsigned> numbers;
    for (const Group &group : region)
      for (Operation *op : group) {
        inside.insert(op);
        numbers.insert(partition.numberOf(op));
      }
    for (Operation *op : inside)
      if (llvm::all_of(near[op], [&](Operation *next) { return !isFree(next) || inside.contains(next); }))
        settled.insert(op);
    if (region.size() < 2 || !known.insert(numbers).second)
      return;
    SearchResult result = searchRegion(partition, region, planning.options);
    emit(region, result, inside.size());
    if (!result.groups.empty())
      partition.assign(result.groups);
  }

  void emit(ArrayRef<Group> region, const SearchResult &result, size_t ops) const {
    auto first = llvm::min_element(region, [&](const Group &a, const Group &b) {
      return partition.numberOf(a.front()) < partition.numberOf(b.front());
    });
    Location loc = first->front()->getLoc();
    auto options = remark::RemarkOpts::name("exact").category("plan");
    auto microseconds = [](double seconds) { return llvm::formatv("{0:f3}", seconds * 1e6).str(); };
    auto kernels = [&](ArrayRef<Group> groups) { // Those of renamings alone are none.
      return llvm::count_if(groups,
                            [&](const Group &group) { return !planning.options.gpu || !trimRenamings(group).empty(); });
    };
    if (result.groups.empty()) {
      remark::missed(loc, options) << remark::add("{0}", "more sets or states than the search may visit")
                                   << remark::metric("ops", ops) << remark::metric("groups", kernels(region))
                                   << remark::metric("sets", result.sets) << remark::metric("states", result.states);
      return;
    }
    remark::analysis(loc, options) << remark::metric("ops", ops) << remark::metric("groups", kernels(region))
                                   << remark::metric("exact-groups", kernels(result.groups))
                                   << remark::metric("us", microseconds(result.before))
                                   << remark::metric("exact-us", microseconds(result.after))
                                   << remark::metric("sets", result.sets) << remark::metric("states", result.states);
  }

  const Planning &planning;
  Partition &partition;
  llvm::DenseSet<Operation *> fixed;   ///< In groups that the user demands, or that share a kernel with nothing.
  llvm::DenseSet<Operation *> settled; ///< Were in a region with all their neighbours.
  std::set<std::set<unsigned>> known;  ///< Regions that were searched.
  llvm::DenseMap<Operation *, llvm::SmallSetVector<Operation *, 4>> near;
};

} // namespace

void planExactly(const Planning &planning, ArrayRef<Group> demanded) { RegionPlanner(planning, demanded).run(); }

} // namespace weft::plan
