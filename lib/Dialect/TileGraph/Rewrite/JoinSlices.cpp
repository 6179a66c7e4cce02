// --weft-join-slices: what is computed alike of the slices of a tensor is computed once, of the tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters unroll a layer that is applied to each step: concat(f(x[0]), f(x[1]), ..) with one f. The parts are stacked
// along a new dimension in front, from the slices on: stack(f(x[0]), f(x[1]), ..) = f(stack(x[0], x[1], ..)), where the
// stack of slices that follow one another is a view of x, and what all parts read is broadcast or, in a contraction,
// does not depend on the new dimension. Each element is computed as before.
#include "GraphBuilder.h"
#include "JoinConcats.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_JOINSLICES
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// One value of each part.
using Parts = SmallVector<Value, 4>;

Parts operandsOf(const Parts &parts, unsigned i) {
  return llvm::map_to_vector<4>(parts, [&](Value part) { return part.getDefiningOp()->getOperand(i); });
}

/// Slices of one tensor, each as far behind the one before it along `dim`.
struct Series {
  SliceOp first;
  size_t dim;
  int64_t stride; ///< Of all that they read along `dim`.
};

std::optional<Series> findSeries(const Parts &parts) {
  auto first = parts[0].getDefiningOp<SliceOp>(), second = parts[1].getDefiningOp<SliceOp>();
  if (!first || !second)
    return std::nullopt;
  ArrayRef<int64_t> offsets = first.getOffsets();
  size_t dim = 0;
  while (dim < offsets.size() && second.getOffsets()[dim] == offsets[dim])
    ++dim;
  if (dim == offsets.size())
    return std::nullopt;
  int64_t step = second.getOffsets()[dim] - offsets[dim];
  for (auto [k, part] : llvm::enumerate(parts)) {
    auto slice = part.getDefiningOp<SliceOp>();
    SmallVector<int64_t> expected(offsets);
    expected[dim] += int64_t(k) * step;
    if (!slice || slice.getInput() != first.getInput() || slice.getStrides() != first.getStrides() ||
        slice.getOffsets() != ArrayRef(expected))
      return std::nullopt;
  }
  std::optional<int64_t> extent = getConstant(getDim(first.getType(), dim));
  if (extent == 1)
    return Series{first, dim, step};
  int64_t stride = first.getStrides()[dim];
  return extent && step == *extent * stride ? std::optional(Series{first, dim, stride}) : std::nullopt;
}

/// Stacks the parts of one concatenation.
class Join {
public:
  explicit Join(ConcatOp concat) : concat(concat), builder(concat), count(concat.getInputs().size()) {}

  /// The concatenation of the parts without them, or null.
  Value run() {
    Parts parts(concat.getInputs());
    if (count < 2 || !collect(parts) || !areOwned())
      return {};
    Value all = stack(parts);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(1, concat.getAxis() + 1));
    order.push_back(0);
    llvm::append_range(order, llvm::seq<int64_t>(concat.getAxis() + 1, GraphBuilder::rankOf(all)));
    GraphBuilder graph{builder, concat.getLoc()};
    return graph.reshape(transpose(all, order), getDims(concat.getType()));
  }

private:
  bool areAlike(const Parts &parts) const;
  bool collect(const Parts &parts, unsigned depth = 0);
  bool areOwned() const;
  Value transpose(Value value, ArrayRef<int64_t> order);
  Value stackSlices(const Series &series);
  Value stackContract(ContractOp op, ArrayRef<Value> operands, ArrayRef<bool> isStacked);
  Value stackOp(const Parts &parts);
  Value stack(const Parts &parts);
  Value operandOf(const Parts &parts, unsigned i, int64_t rank);

  ConcatOp concat;
  OpBuilder builder;
  size_t count;
  llvm::MapVector<Operation *, Parts> chosen; ///< By the first part's op; operands before their readers.
  llvm::DenseMap<Operation *, Value> stacks;  ///< By the first part's op.
};

/// Whether the ops that make `parts` are distinct and differ in their operands only, and each can be stacked.
bool Join::areAlike(const Parts &parts) const {
  Operation *first = parts.front().getDefiningOp();
  if (!first || first->getNumResults() != 1 || !first->getNumOperands() ||
      !isa<PointwiseOpInterface, ReshapeOp, TransposeOp, BroadcastOp, ReduceOp, ContractOp>(first))
    return false;
  if (auto contract = dyn_cast<ContractOp>(first))
    if (!llvm::all_of(contract.getMaps().getAsValueRange<AffineMapAttr>(),
                      [](AffineMap map) { return map.isProjectedPermutation(); }))
      return false;
  llvm::SmallPtrSet<Operation *, 8> seen;
  return llvm::all_of(parts, [&](Value part) {
    Operation *op = part.getDefiningOp();
    return op && seen.insert(op).second && op->getBlock() == concat->getBlock() && op->getName() == first->getName() &&
           op->getPropertiesAsAttribute() == first->getPropertiesAsAttribute() &&
           llvm::equal(op->getOperandTypes(), first->getOperandTypes()) && part.getType() == parts.front().getType();
  });
}

/// Ops alike in all parts, from the slices to `parts`; false where something else is in between.
bool Join::collect(const Parts &parts, unsigned depth) {
  constexpr unsigned mostDeep = 256; // Each level is a call: graphs of any depth come from files.
  if (findSeries(parts))
    return llvm::all_equal(llvm::map_range(parts, [](Value part) { return part.getType(); }));
  if (depth == mostDeep || !areAlike(parts))
    return false;
  Operation *first = parts.front().getDefiningOp();
  if (auto known = chosen.find(first); known != chosen.end())
    return known->second == parts;
  bool isOwn = false; // Equal operands alone make equal parts.
  for (unsigned i = 0; i < first->getNumOperands(); ++i) {
    Parts operands = operandsOf(parts, i);
    if (llvm::all_equal(operands))
      continue;
    isOwn = true;
    if (!collect(operands, depth + 1))
      return false;
  }
  return isOwn && chosen.try_emplace(first, parts).second;
}

/// Whether nothing else reads what is stacked.
bool Join::areOwned() const {
  llvm::DenseMap<Operation *, size_t> partOf;
  for (auto &[first, parts] : chosen)
    for (auto [k, part] : llvm::enumerate(parts))
      partOf[part.getDefiningOp()] = k;
  return llvm::all_of(partOf, [&](auto &entry) {
    return llvm::all_of(entry.first->getUsers(), [&](Operation *user) {
      auto reader = partOf.find(user);
      return user == concat || (reader != partOf.end() && reader->second == entry.second);
    });
  });
}

Value Join::transpose(Value value, ArrayRef<int64_t> order) {
  if (llvm::is_sorted(order))
    return value;
  Dims dims = getDims(value.getType());
  Dims moved = llvm::map_to_vector(order, [&](int64_t d) { return dims[d]; });
  GraphBuilder graph{builder, concat.getLoc()};
  return graph.op<TransposeOp>(getTensorType(moved, GraphBuilder::elementOf(value)), value, order);
}

/// One slice of all that the parts read, divided along the series' dimension.
Value Join::stackSlices(const Series &series) {
  SliceOp first = series.first;
  GraphBuilder graph{builder, first.getLoc()};
  Dims part = getDims(first.getType()), read = part, divided = part, stacked = part;
  AffineExpr parts = builder.getAffineConstantExpr(int64_t(count));
  read[series.dim] = simplify(part[series.dim] * parts);
  divided.insert(divided.begin() + series.dim, parts);
  SmallVector<int64_t> strides(first.getStrides());
  strides[series.dim] = series.stride;
  Value all = graph.op<SliceOp>(getTensorType(read, GraphBuilder::elementOf(first)), first.getInput(),
                                first.getOffsets(), strides);
  SmallVector<int64_t> order = {int64_t(series.dim)};
  for (int64_t d : llvm::seq<int64_t>(0, divided.size()))
    if (d != int64_t(series.dim))
      order.push_back(d);
  return transpose(graph.reshape(all, divided), order);
}

/// The contraction with a new dimension in front, which the result and the stacked operands have.
Value Join::stackContract(ContractOp op, ArrayRef<Value> operands, ArrayRef<bool> isStacked) {
  SmallVector<Attribute> maps;
  for (auto [map, stacked] : llvm::zip_equal(op.getMaps().getAsValueRange<AffineMapAttr>(), isStacked)) {
    AffineMap shifted = map.shiftDims(1);
    SmallVector<AffineExpr> results(shifted.getResults());
    if (stacked)
      results.insert(results.begin(), builder.getAffineDimExpr(0));
    maps.push_back(AffineMapAttr::get(AffineMap::get(shifted.getNumDims(), 0, results, builder.getContext())));
  }
  Dims dims = getDims(op.getType());
  dims.insert(dims.begin(), builder.getAffineConstantExpr(int64_t(count)));
  return ContractOp::create(builder, op.getLoc(), getTensorType(dims, GraphBuilder::elementOf(op)), operands[0],
                            operands[1], builder.getArrayAttr(maps));
}

/// Operand `i` of the stacked op: what all parts read as it is, else the stack, of the rank that the parts' results
/// have and the new dimension.
Value Join::operandOf(const Parts &parts, unsigned i, int64_t rank) {
  Parts operands = operandsOf(parts, i);
  if (llvm::all_equal(operands))
    return operands.front();
  Value all = stack(operands);
  Dims dims = getDims(all.getType());
  if (int64_t missing = rank - int64_t(dims.size()); missing > 0)
    dims.insert(dims.begin() + 1, missing, builder.getAffineConstantExpr(1));
  return GraphBuilder{builder, concat.getLoc()}.reshape(all, dims);
}

Value Join::stackOp(const Parts &parts) {
  Operation *first = parts.front().getDefiningOp();
  Dims dims = getDims(parts.front().getType());
  dims.insert(dims.begin(), builder.getAffineConstantExpr(int64_t(count)));
  Type type = getTensorType(dims, GraphBuilder::elementOf(parts.front()));
  GraphBuilder graph{builder, first->getLoc()};
  if (auto contract = dyn_cast<ContractOp>(first)) {
    auto stacked = [&](unsigned i) { return !llvm::all_equal(operandsOf(parts, i)); };
    return stackContract(contract, {operandOf(parts, 0, 0), operandOf(parts, 1, 0)}, {stacked(0), stacked(1), true});
  }
  auto behind = [](ArrayRef<int64_t> axes) { return llvm::map_to_vector(axes, [](int64_t d) { return d + 1; }); };
  if (auto transposed = dyn_cast<TransposeOp>(first)) {
    SmallVector<int64_t> order = behind(transposed.getPermutation());
    order.insert(order.begin(), 0);
    return graph.op<TransposeOp>(type, operandOf(parts, 0, 0), order);
  }
  if (auto reduce = dyn_cast<ReduceOp>(first))
    return graph.op<ReduceOp>(reduce.getKind(), operandOf(parts, 0, 0), behind(reduce.getAxes()), reduce.getKeepDims());
  if (isa<ReshapeOp>(first))
    return graph.op<ReshapeOp>(type, operandOf(parts, 0, 0));
  SmallVector<Value> operands;
  for (unsigned i = 0; i < first->getNumOperands(); ++i)
    operands.push_back(operandOf(parts, i, int64_t(dims.size())));
  Operation *all = builder.clone(*first);
  all->setOperands(operands);
  all->getResult(0).setType(type);
  return all->getResult(0);
}

/// The parts along a new dimension in front.
Value Join::stack(const Parts &parts) {
  Operation *first = parts.front().getDefiningOp();
  if (Value known = stacks.lookup(first))
    return known;
  std::optional<Series> series = findSeries(parts);
  return stacks[first] = series ? stackSlices(*series) : stackOp(parts);
}

struct JoinSlices : impl::JoinSlicesBase<JoinSlices> {
  void runOnOperation() override {
    auto tell = [](ConcatOp concat) {
      remark::passed(concat.getLoc(), remark::RemarkOpts::name("join-slices").category("fusion"))
          << remark::add("what was computed of {0} slices is computed of their tensor", concat.getInputs().size());
    };
    joinConcats(getOperation(), [](ConcatOp concat) { return Join(concat).run(); }, tell);
  }
};

} // namespace
} // namespace weft::tg
