// --weft-tk-late-sums: what threads hold of a sum that a loop carries is added up behind the loop.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   for i: s = s * f[i] + reduce(x[i])         f: one factor for each element of the sum
// becomes
//   for i: p = p * f[i] + part of reduce(x[i])
//   s = reduce(p)
//
// A part is what one of the lanes and warps that share an element adds up in its own registers: the tile of parts has
// one dimension more, in which they have coordinates, and takes as many registers as the tile of sums, of which they
// all hold copies. Since the state is linear in the terms, adding up the parts commutes with the loop. Rounding
// differs.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "weft/Schedule/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using weft::layout::LinearLayout;

namespace weft::schedule {

#define GEN_PASS_DEF_TKLATESUMS
#include "weft/Schedule/Passes.h.inc"

namespace {

tk::TileType tileType(Value value) { return cast<tk::TileType>(value.getType()); }

bool isZero(Attribute value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValue().isZero();
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getValue().isZero();
}

/// Whether the reduction adds up one tile.
bool isSum(tk::ReduceOp op) {
  if (op.getInputs().size() != 1)
    return false;
  Block &block = op.getCombiner().front();
  Operation &first = block.front();
  return llvm::hasSingleElement(block.without_terminator()) && isa<arith::AddFOp, arith::AddIOp>(first) &&
         block.getTerminator()->getOperand(0) == first.getResult(0);
}

/// The tile of a reduction's operand with its reduced dimensions in two: what registers go through, and the parts.
struct PartsForm {
  tk::TileType sum;   ///< Of the reduction's result.
  tk::TileType split; ///< The operand's elements, by kept dimensions, registers, parts.
  tk::TileType parts; ///< Without the registers' dimension.
  bool operator==(const PartsForm &other) const { return sum == other.sum && parts == other.parts; }
};

/// Nothing where a thread has whole sums, or where the sums are not held as the parts will be.
std::optional<PartsForm> findForm(tk::ReduceOp op) {
  tk::TileType from = tileType(op.getInputs()[0]), to = tileType(op.getResult(0));
  const LinearLayout &layout = from.getLayout().getValue();
  ArrayRef<int64_t> dims = op.getDims();
  std::optional<LinearLayout> natural = getReducedLayout(layout, dims);
  ReducedBits bits = getReducedBits(layout, dims);
  if (!natural || !(bits.lanes | bits.warps))
    return std::nullopt;
  for (auto [have, want] :
       {std::pair(*natural, to.getLayout().getValue()), std::pair(to.getLayout().getValue(), *natural)}) {
    auto conversion = layout::classifyConversion(have, want);
    if (!conversion || conversion->kind > layout::ConversionKind::withinThread)
      return std::nullopt;
  }
  SmallVector<int64_t> kept, shape(to.getShape());
  layout::Dims outs;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim)) {
      outs.push_back({layout::dimName(kept.size()), layout.outs()[dim].bits});
      kept.push_back(dim);
    }
  unsigned places = layout::countBits(outs), registers = llvm::popcount(bits.registers);
  unsigned parts = llvm::popcount(bits.lanes) + llvm::popcount(bits.warps);
  outs.push_back({layout::dimName(kept.size()), registers});
  outs.push_back({layout::dimName(kept.size() + 1), parts});
  unsigned nextRegister = places, nextPart = places + registers;
  layout::Vectors columns;
  for (const layout::Dim &in : layout.ins()) {
    uint64_t reduced = in.name == "register" ? bits.registers : in.name == "lane" ? bits.lanes : bits.warps;
    for (auto [i, image] : llvm::enumerate(layout.basesOf(in.name))) {
      if (reduced >> i & 1) {
        columns.push_back(uint64_t(1) << (in.name == "register" ? nextRegister++ : nextPart++));
        continue;
      }
      layout::Index place = layout.unflattenOut(image);
      uint64_t flat = 0;
      unsigned shift = 0;
      for (int64_t dim : kept) {
        flat |= place[dim] << shift;
        shift += layout.outs()[dim].bits;
      }
      columns.push_back(flat);
    }
  }
  std::optional<LinearLayout> split = LinearLayout::make(layout.ins(), outs, columns);
  if (!split)
    return std::nullopt;
  int64_t registersDim = kept.size();
  std::optional<LinearLayout> left = getReducedLayout(*split, registersDim);
  if (!left)
    return std::nullopt;
  Type element = from.getElementType();
  shape.push_back(int64_t(1) << parts);
  auto type = tk::TileType::get(shape, element).withLayout(tk::LayoutAttr::get(op.getContext(), *left));
  shape.insert(shape.end() - 1, int64_t(1) << registers);
  auto whole = tk::TileType::get(shape, element).withLayout(tk::LayoutAttr::get(op.getContext(), *split));
  return PartsForm{to, whole, type};
}

/// Whether a scalar of a map's region is linear, without a constant term, in the region's arguments `sums`.
class Linearity {
public:
  explicit Linearity(const llvm::DenseSet<Value> &sums) : sums(sums) {}

  bool isLinear(Value value) const {
    Attribute constant;
    if (sums.contains(value) || (matchPattern(value, m_Constant(&constant)) && isZero(constant)))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(op))
      return isLinear(op->getOperand(0)) && isLinear(op->getOperand(1));
    if (isa<arith::MulFOp, arith::MulIOp>(op))
      return isProduct(op->getOperand(0), op->getOperand(1));
    if (isa<math::FmaOp>(op))
      return isProduct(op->getOperand(0), op->getOperand(1)) && isLinear(op->getOperand(2));
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return isFree(select.getCondition()) && isLinear(select.getTrueValue()) && isLinear(select.getFalseValue());
    return false;
  }

private:
  bool isFree(Value value) const {
    if (sums.contains(value))
      return false;
    Operation *op = value.getDefiningOp();
    return !op || llvm::all_of(op->getOperands(), [&](Value operand) { return isFree(operand); });
  }
  bool isProduct(Value a, Value b) const { return (isLinear(a) && isFree(b)) || (isFree(a) && isLinear(b)); }
  const llvm::DenseSet<Value> &sums;
};

/// What makes a sum in one block: reductions, and maps that are linear in them and in `state`. Each has one use.
class SumChain {
public:
  explicit SumChain(Value state) : state(state) {}

  /// Whether `value` is such a sum.
  bool find(Value value);
  /// The form of the reductions; nothing if there are none, or if they differ.
  std::optional<PartsForm> getForm() const { return agrees ? form : std::nullopt; }
  bool hasSums() const { return bool(reduce); }
  tk::ReduceOp getReduce() const { return reduce; }
  /// The parts of `value`, which `find` accepted; `state` stands for itself.
  Value emit(Value value, const PartsForm &to);
  /// Erases what `emit` has replaced, when nothing uses it any more.
  void eraseOld() {
    for (Operation *op : old) // Users come first.
      op->erase();
  }

private:
  bool findMap(tk::MapOp map);

  Value state;
  std::optional<PartsForm> form;
  tk::ReduceOp reduce; ///< One of them.
  bool agrees = true;
  llvm::DenseSet<Value> sums;
  SmallVector<Operation *> old;
};

bool SumChain::findMap(tk::MapOp map) {
  if (map->getNumResults() != 1)
    return false;
  llvm::DenseSet<Value> arguments;
  for (auto [input, argument] : llvm::zip_equal(map.getInputs(), map.getBody().front().getArguments()))
    if (find(input))
      arguments.insert(argument);
  return !arguments.empty() && Linearity(arguments).isLinear(map.getBody().front().getTerminator()->getOperand(0));
}

bool SumChain::find(Value value) {
  bool isFound = false;
  if (auto constant = value.getDefiningOp<tk::ConstantOp>()) {
    isFound = isZero(constant.getValueAttr());
  } else if (!value.hasOneUse()) {
    return false;
  } else if (value == state) {
    isFound = true;
  } else if (auto sum = value.getDefiningOp<tk::ReduceOp>(); sum && isSum(sum)) {
    std::optional<PartsForm> own = findForm(sum);
    isFound = own.has_value();
    agrees &= !own || !form || *own == *form;
    form = form ? form : own;
    reduce = sum;
  } else if (auto map = value.getDefiningOp<tk::MapOp>()) {
    isFound = findMap(map);
  }
  if (isFound)
    sums.insert(value);
  return isFound;
}

Value makeReduce(OpBuilder &builder, tk::ReduceOp like, Value input, int64_t dim, tk::TileType type) {
  auto op = tk::ReduceOp::create(builder, like.getLoc(), TypeRange(type), ValueRange(input), ArrayRef<int64_t>(dim));
  IRMapping mapping;
  like.getCombiner().cloneInto(&op.getCombiner(), mapping);
  return op.getResult(0);
}

/// `tile`, by elements of the sum, for each of the parts.
Value spread(OpBuilder &builder, Value tile, tk::TileType parts) {
  tk::TileType type =
      tk::TileType::get(parts.getShape(), tileType(tile).getElementType()).withLayout(parts.getLayout());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tileType(tile).getRank()));
  return tk::BroadcastOp::create(builder, tile.getLoc(), type, tile, dims);
}

Value SumChain::emit(Value value, const PartsForm &to) {
  if (value == state)
    return value;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op);
  if (auto constant = dyn_cast<tk::ConstantOp>(op))
    return tk::ConstantOp::create(builder, op->getLoc(), to.parts, constant.getValueAttr());
  old.push_back(op);
  if (auto reduce = dyn_cast<tk::ReduceOp>(op)) {
    Value split = tk::RelabelOp::create(builder, op->getLoc(), findForm(reduce)->split, reduce.getInputs()[0]);
    return makeReduce(builder, reduce, split, to.parts.getRank() - 1, to.parts);
  }
  auto map = cast<tk::MapOp>(op);
  SmallVector<Value> inputs;
  for (Value input : map.getInputs())
    inputs.push_back(sums.contains(input) ? emit(input, to) : spread(builder, input, to.parts));
  auto result = tk::MapOp::create(builder, op->getLoc(), TypeRange(to.parts), inputs);
  result.getBody().takeBody(map.getBody());
  return result.getResult(0);
}

/// What the first part starts with; the others start with zero.
Value startParts(OpBuilder &builder, Value init, tk::TileType parts) {
  Location loc = init.getLoc();
  MLIRContext *context = builder.getContext();
  unsigned rank = parts.getRank();
  auto isFirst = IntegerSet::get(rank, 0, {-getAffineDimExpr(rank - 1, context)}, {false});
  auto masks = tk::TileType::get(parts.getShape(), builder.getI1Type()).withLayout(parts.getLayout());
  Value guard = tk::GuardOp::create(builder, loc, masks, IntegerSetAttr::get(isFirst), ValueRange(), ValueRange());
  auto map = tk::MapOp::create(builder, loc, TypeRange(parts), ValueRange{guard, spread(builder, init, parts)});
  Type element = parts.getElementType();
  Block &block = map.getBody().emplaceBlock();
  block.addArguments({builder.getI1Type(), element}, {loc, loc});
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value zero = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(element));
  Value chosen = arith::SelectOp::create(inner, loc, block.getArgument(0), block.getArgument(1), zero);
  tk::YieldOp::create(inner, loc, chosen);
  return map.getResult(0);
}

/// Behind the loop, and behind waits for copies of its last iterations by threads: the reduction may take the place of
/// what they fill.
Operation *findPlaceBehind(scf::ForOp loop) {
  Operation *place = loop->getNextNode();
  for (Operation *op = place; op && (isPure(op) || isa<tk::WaitOp>(op)); op = op->getNextNode())
    if (auto wait = dyn_cast<tk::WaitOp>(op)) {
      auto channel = wait.getChannel().getDefiningOp<tk::MakeChannelOp>();
      if (channel && channel.getEngine() == tk::CopyEngine::CpAsync)
        place = op->getNextNode();
    }
  return place;
}

/// Makes state `number` of the loop one of parts, if it is a sum; whether it is.
bool delaySum(scf::ForOp loop, unsigned number) {
  BlockArgument state = loop.getRegionIterArg(number);
  OpOperand &yielded = loop.getYieldedValuesMutable()->slice(number, 1)[0];
  auto sumType = dyn_cast<tk::TileType>(state.getType());
  SumChain chain(state);
  if (!sumType || !sumType.getLayout() || isa<BlockArgument>(yielded.get()) || !chain.find(yielded.get()))
    return false;
  std::optional<PartsForm> form = chain.getForm();
  if (!form || tileType(yielded.get()) != sumType || form->sum != sumType)
    return false;
  OpOperand &init = loop.getInitArgsMutable()[number];
  SumChain start({});
  OpBuilder before(loop);
  bool startsAsSum = start.find(init.get()) && (!start.hasSums() || start.getForm() == form);
  init.set(startsAsSum ? start.emit(init.get(), *form) : startParts(before, init.get(), form->parts));
  start.eraseOld();
  state.setType(form->parts);
  yielded.set(chain.emit(yielded.get(), *form));
  Value result = loop.getResult(number);
  result.setType(form->parts);
  OpBuilder after(findPlaceBehind(loop));
  Value sum = makeReduce(after, chain.getReduce(), result, sumType.getRank(), sumType);
  result.replaceAllUsesExcept(sum, sum.getDefiningOp());
  chain.eraseOld();
  return true;
}

struct TkLateSums : impl::TkLateSumsBase<TkLateSums> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
        numSums += delaySum(loop, i);
  }
};

} // namespace
} // namespace weft::schedule
