// The planner "tvm-rules": kinds of operators, and phases over post-dominators, as TVM's FuseOps has them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds, from simple to complex: element-wise, broadcast, injective, reduction, complex with an element-wise tail
// (contractions, folds, pooling), opaque. Each op, in program order, may join its immediate post-dominator with all
// that lies between:
//
//   first phase   complex: where all results are read element-wise, and everything on the way and the target is
//                 element-wise or broadcast.
//                 element-wise and broadcast: where nothing on the edges is more complex than injective, or it is a
//                 reduction; what is on the way is at most injective, and the target anything but opaque.
//   second phase  injective (and what the first phase made so): where everything on the way and the target is at most
//                 injective.
//
// A group has the kind of its target, or of its complex op. Reductions take nothing in after them. An edge into a
// broadcast whose extents do not change is element-wise. Groups must be legal by our rules too.
//
// TVM's operators are coarser than our primitives: what `joinOperators` merges is one from the start. (Softmax, one
// operator there, is several primitives here.)
#include "Planners.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::plan {
namespace {

enum class Kind { Elementwise, Broadcast, Injective, Reduction, Complex, Opaque };

Kind kindOf(Operation *op) {
  if (isa<tg::PointwiseOpInterface>(op))
    return op->getNumOperands() == 1 ? Kind::Elementwise : Kind::Broadcast;
  if (isa<tg::BroadcastOp>(op))
    return Kind::Broadcast;
  if (isa<tg::TransposeOp, tg::ReshapeOp, tg::BitcastOp, tg::SliceOp, tg::PadOp, tg::ConcatOp, tg::GatherOp, tg::IotaOp,
          tg::ExtentsOp>(op))
    return Kind::Injective;
  if (auto reduce = dyn_cast<tg::ReduceOp>(op))
    return reduce.getInput().getDefiningOp<tg::WindowOp>() ? Kind::Complex : Kind::Reduction;
  return isa<tg::ContractOp, tg::FoldOp, tg::WindowOp>(op) ? Kind::Complex : Kind::Opaque;
}

/// Of the edge on which `user` reads `op`.
Kind kindOfEdge(Operation *op, Operation *user) {
  Kind kind = kindOf(user);
  bool keeps = op->getNumResults() == 1 && user->getNumResults() == 1 &&
               tg::getDims(op->getResult(0).getType()) == tg::getDims(user->getResult(0).getType());
  return kind == Kind::Broadcast && keeps ? Kind::Elementwise : kind;
}

class KindPlanner {
public:
  explicit KindPlanner(const Planning &planning) : planning(planning), postDominators(planning.ops) {}

  void run() {
    joinOperators(planning);
    for (Operation *op : planning.ops) {
      Kind &kind = kinds.try_emplace(planning.partition.groupOf(op), Kind::Elementwise).first->second;
      kind = std::max(kind, kindOf(op)); // Of a demand of the user, the most complex.
    }
    for (int phase : {0, 1})
      for (Operation *op : planning.ops)
        visit(op, phase);
  }

private:
  Kind getKind(Operation *op) const { return kinds.lookup(planning.partition.groupOf(op)); }

  void visit(Operation *op, int phase) {
    Operation *target = postDominators.get(op);
    Kind kind = getKind(op);
    if (!target || kind == Kind::Opaque || planning.partition.areTogether(op, target))
      return;
    bool isSimple = kind <= Kind::Broadcast;
    if (phase == 0 ? kind == Kind::Injective : kind != Kind::Injective && !isSimple)
      return;
    std::optional<SmallVector<Operation *>> way = opsBetween(op, target, mostOpsOfGroup);
    if (!way)
      return planning.refused(op, target, "more than 64 ops between them");
    std::string problem =
        kind == Kind::Reduction ? "tvm-rules: nothing joins a reduction" : findProblem(op, target, *way, kind);
    if (!problem.empty())
      return planning.refused(op, target, problem);
    merge(op, target, *way);
  }

  /// Why `op`, of a group of kind `kind`, does not join `target`, or an empty string.
  std::string findProblem(Operation *op, Operation *target, ArrayRef<Operation *> way, Kind kind) const {
    Kind edges = Kind::Elementwise;
    for (Operation *each : way) // What `op` and those between are read by.
      if (each != target)
        for (unsigned user : planning.partition.getUsers(planning.partition.numberOf(each)))
          edges = std::max(edges, kindOfEdge(each, planning.partition.getOp(user)));
    Kind between = Kind::Elementwise;
    for (Operation *each : way)
      if (each != op && each != target)
        between = std::max(between, getKind(each));
    Kind last = getKind(target);
    if (kind == Kind::Complex)
      return edges == Kind::Elementwise && std::max(between, last) <= Kind::Broadcast
                 ? ""
                 : "tvm-rules: after a complex op comes more than element-wise ones";
    if (kind == Kind::Injective)
      return std::max(between, last) <= Kind::Injective ? "" : "tvm-rules: an injective op joins injective ones only";
    if (edges > Kind::Reduction)
      return "tvm-rules: an operand of a complex op is computed before";
    return between <= Kind::Injective && last != Kind::Opaque ? "" : "tvm-rules: a complex op is on the way";
  }

  void merge(Operation *op, Operation *target, ArrayRef<Operation *> way) {
    Kind kind = getKind(target);
    for (Operation *each : way)
      if (getKind(each) == Kind::Complex)
        kind = Kind::Complex;
    if (planning.merge(way, op, target))
      kinds[planning.partition.groupOf(op)] = kind;
  }

  const Planning &planning;
  PostDominators postDominators;
  llvm::DenseMap<unsigned, Kind> kinds; ///< By group.
};

} // namespace

void planByKinds(const Planning &planning) { KindPlanner(planning).run(); }

} // namespace weft::plan
