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
#include "weft/Plan/Facts.h"

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
    joinOperators(planning);
    SmallVector<Operation *> seeds;
    for (Operation *op : planning.ops)
      if (typeOf(op) == tg::MappingClass::OneToOne)
        seeds.push_back(op);
    llvm::sort(seeds, [&](Operation *a, Operation *b) {
      return std::pair(sizeOf(a), planning.partition.numberOf(a)) <
             std::pair(sizeOf(b), planning.partition.numberOf(b));
    });
    for (Operation *seed : seeds) {
      if (!taken.insert(seed).second)
        continue;
      type = tg::MappingClass::OneToOne;
      expand(seed, /*forward=*/true);
      expand(seed, /*forward=*/false);
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

  /// Of a primitive. Parameters of arithmetic (weights, constants) are not among its inputs: so batch normalisation, a
  /// clip, and a bias are One-to-One, as the paper lists them.
  static tg::MappingType typeOfPrimitive(Operation *op) {
    if (!isa<tg::PointwiseOpInterface>(op))
      return tg::getMappingType(op);
    tg::MappingType most = tg::MappingType::OneToOne;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (isa_and_nonnull<tg::ConstantOp, tg::WeightOp>(operand.getDefiningOp()))
        continue;
      tg::MappingType type = cast<tg::TileOpInterface>(op).getMappingType(i);
      if (tg::getComplexity(type) > tg::getComplexity(most))
        most = type;
    }
    return most;
  }

  /// The most complex type in the group of `op`, which is an operator; none for an opaque one.
  std::optional<tg::MappingClass> typeOf(Operation *op) const {
    tg::MappingType most = tg::MappingType::OneToOne;
    for (Operation *member : planning.partition.getGroup(op))
      if (tg::MappingType type = typeOfPrimitive(member); tg::getComplexity(type) > tg::getComplexity(most))
        most = type;
    return tg::getMappingClass(most);
  }

  using Edge = std::pair<Operation *, Operation *>; ///< Of an operator, and a neighbour.

  void pushNeighbours(const Group &ops, bool forward, SmallVectorImpl<Edge> &work) const {
    llvm::SmallSetVector<Edge, 8> found;
    for (Operation *op : ops) {
      if (forward) {
        for (unsigned user : planning.partition.getUsers(planning.partition.numberOf(op)))
          found.insert({op, planning.partition.getOp(user)});
        continue;
      }
      for (Value value : usedValues(op))
        if (Operation *producer = value.getDefiningOp(); producer && planning.partition.contains(producer))
          found.insert({op, producer});
    }
    work.append(found.rbegin(), found.rend());
  }

  /// Along readers or producers of `seed`, depth first.
  void expand(Operation *seed, bool forward) {
    SmallVector<Edge> work;
    Group from;
    from.insert(seed);
    pushNeighbours(from, forward, work);
    while (!work.empty()) {
      auto [near, op] = work.pop_back_val();
      if (taken.contains(op))
        continue;
      Group ops = planning.partition.getGroup(op);
      if (!take(seed, near, op, forward))
        continue;
      taken.insert(ops.begin(), ops.end());
      pushNeighbours(ops, forward, work);
    }
  }

  /// `op`, a neighbour of `near`, joins the block of `seed`, or a remark says why not.
  bool take(Operation *seed, Operation *near, Operation *op, bool forward) {
    std::optional<tg::MappingClass> other = typeOf(op);
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
