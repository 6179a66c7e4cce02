// The planner "dnnfusion": seeds and expansion as DNNFusion has them (Niu et al., PLDI'21, listing 1), on our table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   while there are One-to-One ops in no block:
//     seed = that with the smallest result;  block = {seed}
//     expand along the readers of the seed, and theirs; then along its producers, and theirs
//   expanding block by op:  cell = table[first][second], the block's type against the op's in the order of the data
//     red: no.  rules (here: ours, and that no other kernel need run between): no.  yellow: only if the block with the
//     op costs less than both apart.  Then the op is the block's, whose type is the cell's, and its neighbours follow.
//
// What the paper measures for yellow cells, the model of GroupCost.h estimates: a compile measures nothing. An op that
// no block takes is a kernel of its own.
#include "GroupCost.h"
#include "Planners.h"
#include "weft/Dialect/TileGraph/Analysis/Classify.h"
#include "weft/Plan/Explain/Facts.h"

using namespace mlir;

namespace weft::plan {
namespace {

class SeedPlanner {
public:
  explicit SeedPlanner(const Planning &planning) : planning(planning) {}

  void run() {
    for (const Group &group : planning.partition.take()) // Demands of the user are blocks already.
      if (group.size() > 1)
        taken.insert(group.begin(), group.end());
    SmallVector<Operation *> seeds;
    for (Operation *op : planning.ops)
      if (tg::getMappingType(op) == tg::MappingType::OneToOne)
        seeds.push_back(op);
    llvm::sort(seeds, [&](Operation *a, Operation *b) {
      return std::pair(sizeOf(a), planning.partition.numberOf(a)) <
             std::pair(sizeOf(b), planning.partition.numberOf(b));
    });
    for (Operation *seed : seeds) {
      if (!taken.insert(seed).second)
        continue;
      type = tg::MappingClass::OneToOne;
      expand(seed, seed, /*forward=*/true);
      expand(seed, seed, /*forward=*/false);
    }
  }

private:
  /// The intermediate result of an op, in bytes.
  static double sizeOf(Operation *op) {
    double bytes = 0;
    for (Value result : op->getResults())
      bytes += estimateBytes(result);
    return bytes;
  }

  SmallVector<Operation *> neighboursOf(Operation *op, bool forward) const {
    llvm::SmallSetVector<Operation *, 8> found;
    if (forward)
      for (unsigned user : planning.partition.getUsers(planning.partition.numberOf(op)))
        found.insert(planning.partition.getOp(user));
    else
      for (Value value : usedValues(op))
        if (Operation *producer = value.getDefiningOp(); producer && planning.partition.contains(producer))
          found.insert(producer);
    return SmallVector<Operation *>(found.begin(), found.end());
  }

  void expand(Operation *seed, Operation *from, bool forward) {
    SmallVector<std::pair<Operation *, Operation *>> work; // Whose neighbour, and the neighbour.
    auto push = [&](Operation *op) {
      for (Operation *next : llvm::reverse(neighboursOf(op, forward)))
        work.push_back({op, next});
    };
    push(from);
    while (!work.empty()) {
      auto [near, op] = work.pop_back_val();
      if (!taken.contains(op) && take(seed, near, op, forward)) {
        taken.insert(op);
        push(op);
      }
    }
  }

  /// `op`, a neighbour of `near`, joins the block of `seed`, or a remark says why not.
  bool take(Operation *seed, Operation *near, Operation *op, bool forward) {
    std::optional<tg::MappingClass> other = tg::getMappingClass(tg::getMappingType(op));
    Operation *producer = forward ? near : op, *consumer = forward ? op : near;
    auto refuse = [&](const std::string &why) {
      planning.refused(producer, consumer, why);
      return false;
    };
    if (!other)
      return refuse("dnnfusion: an opaque op");
    tg::MappingClass first = forward ? type : *other, second = forward ? *other : type;
    const tg::Combination &cell = tg::combine(first, second);
    std::string pair = (tg::stringifyMappingClass(first) + " -> " + tg::stringifyMappingClass(second)).str();
    if (cell.verdict == tg::Verdict::Refuse)
      return refuse("dnnfusion: the table refuses " + pair);
    if (cell.verdict == tg::Verdict::Profile) {
      Group block = planning.partition.getGroup(seed), both = planning.partition.getUnion({seed, op});
      double apart =
          estimateSeconds(block, planning.options) + estimateSeconds(planning.partition.getGroup(op), planning.options);
      if (findViolation(both, planning.options).empty() && estimateSeconds(both, planning.options) >= apart)
        return refuse("dnnfusion: by the model, " + pair + " does not pay");
    }
    if (!planning.partition.isConvex(seed, op))
      return refuse("another kernel must run between them");
    if (!planning.merge({seed, op}, producer, consumer))
      return false;
    type = cell.result;
    return true;
  }

  const Planning &planning;
  llvm::DenseSet<Operation *> taken;                  ///< Ops in blocks.
  tg::MappingClass type = tg::MappingClass::OneToOne; ///< Of the block that grows.
};

} // namespace

void planBySeeds(const Planning &planning) { SeedPlanner(planning).run(); }

} // namespace weft::plan
