// --weft-join-rows: norms of parts that are concatenated become the norm of the concatenation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// concat(f(a1, w1), f(a2, w2)) = f(concat(a1, a2), concat(w1, w2)) for elementwise f, for reductions over other axes,
// and for what is made of both. Each row is computed as before. What stays in front of the concatenation is what the
// reductions read, in the type that it has in memory: an epilogue of a product stays its epilogue.
#include "GraphBuilder.h"
#include "JoinConcats.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_JOINROWS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// The same op of each part.
using Ops = SmallVector<Operation *, 2>;
using Values = SmallVector<Value, 2>;

bool areEqual(const Values &values) {
  return llvm::all_of(values, [&](Value value) { return value == values.front(); });
}

/// Joins the rows of one concatenation.
class Join {
public:
  explicit Join(ConcatOp concat)
      : concat(concat), parts(concat.getInputs()),
        behindAxis(GraphBuilder::rankOf(concat) - 1 - int64_t(concat.getAxis())) {}

  /// The joined rows, or null.
  Value run() {
    collect(parts);
    return chooseOps() && findChosen(parts) && areOwned() ? join(parts) : Value();
  }

private:
  /// The dimension of `value` that is concatenated; negative where it has none (it is read by all elements).
  int64_t axisOf(Value value) const { return GraphBuilder::rankOf(value) - 1 - behindAxis; }
  bool hasAxis(Value value, Value part) const {
    int64_t at = axisOf(value);
    return at >= 0 && isEqual(getDim(value.getType(), at), getDim(part.getType(), axisOf(part)));
  }
  static Values operandsOf(const Ops &ops, unsigned i) {
    return llvm::map_to_vector<2>(ops, [&](Operation *op) { return op->getOperand(i); });
  }
  /// The chosen ops that make `values`, or null.
  const Ops *findChosen(const Values &values) const {
    auto tuple = tuples.find(values.front().getDefiningOp());
    bool isOne = tuple != tuples.end() && chosen.contains(tuple->first) &&
                 llvm::equal(tuple->second, values, [](Operation *op, Value v) { return op == v.getDefiningOp(); });
    return isOne ? &tuple->second : nullptr;
  }
  /// Whether all parts read the same, which does not go along the axis.
  bool isShared(const Values &values) const {
    return areEqual(values) &&
           (axisOf(values.front()) < 0 || getConstant(getDim(values.front().getType(), axisOf(values.front()))) == 1);
  }

  bool fitTogether(const Values &values) const;
  bool areAlike(const Ops &ops) const;
  void collect(const Values &values);
  bool chooseOps();
  bool areOwned() const;
  Value join(const Values &values);
  Value joinLeaf(const Values &values);

  ConcatOp concat;
  Values parts;
  int64_t behindAxis;
  llvm::MapVector<Operation *, Ops> tuples; ///< By the first part's op; operands before their readers.
  llvm::SmallPtrSet<Operation *, 16> chosen;
  std::map<SmallVector<const void *, 2>, Value> joined; ///< By the parts' values.
};

/// Whether the values have equal dimensions but for the axis.
bool Join::fitTogether(const Values &values) const {
  Dims dims = getDims(values.front().getType());
  return llvm::all_of(values, [&](Value value) {
    Dims own = getDims(value.getType());
    return own.size() == dims.size() && llvm::all_of(llvm::seq<int64_t>(0, dims.size()), [&](int64_t d) {
             return d == axisOf(value) || isEqual(own[d], dims[d]);
           });
  });
}

/// Whether `ops` compute the same of each part, row by row.
bool Join::areAlike(const Ops &ops) const {
  Operation *first = ops.front();
  auto reduce = dyn_cast_or_null<ReduceOp>(first);
  if (llvm::is_contained(ops, nullptr) || first->getNumResults() != 1 || !(reduce || isa<PointwiseOpInterface>(first)))
    return false;
  int64_t axis = axisOf(first->getResult(0));
  if (axis < 0 || (reduce && (!reduce.getKeepDims() || llvm::is_contained(reduce.getAxes(), axis))))
    return false;
  for (auto [op, part] : llvm::zip_equal(ops, parts))
    if (llvm::count(ops, op) > 1 || op->getName() != first->getName() ||
        op->getPropertiesAsAttribute() != first->getPropertiesAsAttribute() ||
        op->getNumOperands() != first->getNumOperands() ||
        GraphBuilder::elementOf(op->getResult(0)) != GraphBuilder::elementOf(first->getResult(0)) ||
        !hasAxis(op->getResult(0), part))
      return false;
  Values results = llvm::map_to_vector<2>(ops, [](Operation *op) -> Value { return op->getResult(0); });
  return fitTogether(results) &&
         llvm::all_of(llvm::seq(first->getNumOperands()), [&](unsigned i) { return fitTogether(operandsOf(ops, i)); });
}

/// Ops alike in all parts, from `values` upward.
void Join::collect(const Values &values) {
  Ops ops = llvm::map_to_vector<2>(values, [](Value value) { return value.getDefiningOp(); });
  if (!ops.front() || tuples.contains(ops.front()) || areEqual(values) || !areAlike(ops))
    return;
  for (unsigned i = 0; i < ops.front()->getNumOperands(); ++i)
    if (Values operands = operandsOf(ops, i); !isShared(operands))
      collect(operands);
  tuples.try_emplace(ops.front(), ops);
}

/// Chooses what needs a reduction, the reductions, and in front of them what makes nothing else of values that are
/// concatenated in any case, or widens them. False where nothing is reduced.
bool Join::chooseOps() {
  for (auto &[op, ops] : tuples)
    if (isa<ReduceOp>(op) ||
        llvm::any_of(op->getOperands(), [&](Value v) { return chosen.contains(v.getDefiningOp()); }))
      chosen.insert(op);
  if (chosen.empty())
    return false;
  for (bool grows = true; grows;) {
    grows = false;
    llvm::DenseSet<Value> leaves;
    for (auto &[op, ops] : tuples)
      if (chosen.contains(op))
        for (Value operand : op->getOperands())
          if (!chosen.contains(operand.getDefiningOp()))
            leaves.insert(operand);
    for (auto &[op, ops] : tuples) {
      if (chosen.contains(op))
        continue;
      auto bits = [](Value value) { return getElementBits(GraphBuilder::elementOf(value)); };
      bool widens = isa<CastOp>(op) && bits(op->getOperand(0)) < bits(op->getResult(0));
      bool isBeside = leaves.contains(op->getResult(0)) && llvm::all_of(op->getOperands(), [&](Value operand) {
                        return leaves.contains(operand) || GraphBuilder::rankOf(operand) == 0;
                      });
      if (widens ? leaves.contains(op->getResult(0)) : isBeside)
        grows |= chosen.insert(op).second;
    }
  }
  return true;
}

/// Whether nothing else reads what is chosen.
bool Join::areOwned() const {
  for (auto &[op, ops] : tuples)
    if (chosen.contains(op))
      for (auto [i, each] : llvm::enumerate(ops))
        for (Operation *user : each->getUsers()) {
          bool isOwn = user == concat || llvm::any_of(tuples, [&, i = i](auto &tuple) {
                         return chosen.contains(tuple.first) && tuple.second[i] == user;
                       });
          if (!isOwn)
            return false;
        }
  return true;
}

/// The concatenation of what is read of the parts.
Value Join::joinLeaf(const Values &values) {
  OpBuilder builder(concat);
  Values whole;
  for (auto [value, part] : llvm::zip_equal(values, parts)) {
    if (hasAxis(value, part)) {
      whole.push_back(value);
      continue;
    }
    Dims dims = getDims(value.getType()); // The same for all elements of the part.
    if (int64_t missing = behindAxis + 1 - int64_t(dims.size()); missing > 0)
      dims.insert(dims.begin(), missing, builder.getAffineConstantExpr(1));
    dims[int64_t(dims.size()) - 1 - behindAxis] = getDim(part.getType(), axisOf(part));
    whole.push_back(
        BroadcastOp::create(builder, value.getLoc(), getTensorType(dims, GraphBuilder::elementOf(value)), value));
  }
  return ConcatOp::create(builder, concat.getLoc(), whole, axisOf(whole.front()));
}

Value Join::join(const Values &values) {
  const Ops &ops = *findChosen(values);
  Operation *first = ops.front();
  SmallVector<Value> wide;
  for (unsigned i = 0; i < first->getNumOperands(); ++i) {
    Values operands = operandsOf(ops, i);
    if (isShared(operands)) {
      wide.push_back(operands.front());
      continue;
    }
    SmallVector<const void *, 2> key;
    for (Value operand : operands)
      key.push_back(operand.getAsOpaquePointer());
    auto done = joined.find(key);
    if (done == joined.end())
      done = joined.emplace(key, findChosen(operands) ? join(operands) : joinLeaf(operands)).first;
    wide.push_back(done->second);
  }
  OpBuilder builder(concat);
  Operation *whole = builder.clone(*first);
  whole->setOperands(wide);
  Dims dims = getDims(values.front().getType());
  dims[axisOf(values.front())] = getDim(concat.getType(), concat.getAxis());
  whole->getResult(0).setType(getTensorType(dims, GraphBuilder::elementOf(values.front())));
  return whole->getResult(0);
}

struct JoinRows : impl::JoinRowsBase<JoinRows> {
  void runOnOperation() override {
    auto tell = [](ConcatOp concat) {
      remark::passed(concat.getLoc(), remark::RemarkOpts::name("join-rows").category("plan"))
          << remark::add("the rows of {0} parts are reduced together", concat.getInputs().size());
    };
    joinConcats(getOperation(), [](ConcatOp concat) { return Join(concat).run(); }, tell);
  }
};

} // namespace
} // namespace weft::tg
