// Finding cascades, and the proof that one is a fold: which states it has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cascade.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {

/// The widest accumulator tile, and the longest operand rows beside it, that a CTA keeps.
static constexpr int64_t maxResident = 256;

static Numerics licenceOf(Operation *op, Numerics otherwise) {
  auto attr = op->getAttrOfType<StringAttr>("tg.numerics");
  if (!attr)
    return otherwise;
  return attr.getValue() == "exact"           ? Numerics::Exact
         : attr.getValue() == "approximating" ? Numerics::Approximating
                                              : Numerics::Reassociating;
}

//===-- The stream ------------------------------------------------------------------------------------------------===//

/// The one reduction dimension of a contraction, and which operand has a cascade behind it.
bool Cascade::findOperandStream(ContractOp contract) {
  SmallVector<utils::IteratorType> iterators = cast<TileOpInterface>(*contract).getDomainIterators();
  unsigned dim = llvm::find(iterators, utils::IteratorType::reduction) - iterators.begin();
  for (unsigned side : {0u, 1u}) {
    AffineMap map = contract.getMap(side);
    if (!map.isProjectedPermutation())
      continue;
    std::optional<unsigned> position = map.getResultPosition(getAffineDimExpr(dim, contract.getContext()));
    Value value = contract->getOperand(side);
    if (!position || !guards.holds(FoldGuard::FloatStream, isa<FloatType>(GraphBuilder::elementOf(value))))
      continue;
    StreamTree candidate(int64_t(*position) - GraphBuilder::rankOf(value), getDim(value.getType(), *position), guards);
    candidate.visit(value);
    if (candidate.getDependencies(value).empty() || candidate.isUniform(value))
      continue;
    operand = side, axis = *position, streamed = value;
    tree.emplace(std::move(candidate));
    return true;
  }
  return false;
}

/// A value that ops between it and a reduction make in another way than element by element, such as an index.
static bool isIndexedByReduction(Value value, unsigned depth = 16) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (auto gather = dyn_cast<GatherOp>(op)) {
    SmallVector<Value> work(gather->getOperands().drop_front());
    for (unsigned i = 0; i < work.size() && i < 64; ++i)
      if (Operation *made = work[i].getDefiningOp()) {
        if (isa<ReduceOp, ArgReduceOp>(made))
          return true;
        llvm::append_range(work, made->getOperands());
      }
  }
  return isa<PointwiseOpInterface, GatherOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value v) { return isIndexedByReduction(v, depth - 1); });
}

std::string Cascade::findStream() {
  if (auto contract = dyn_cast<ContractOp>(root)) {
    auto reduced = llvm::count(cast<TileOpInterface>(root).getDomainIterators(), utils::IteratorType::reduction);
    if (reduced == 0 || !guards.holds(FoldGuard::OneDimension, reduced == 1))
      return "the contraction reduces several dimensions";
    if (findOperandStream(contract))
      return "";
  } else {
    auto reduce = cast<ReduceOp>(root);
    streamed = reduce.getInput();
    if (reduce.getAxes().empty() || !guards.holds(FoldGuard::OneAxis, reduce.getAxes().size() == 1) ||
        !guards.holds(FoldGuard::FloatStream, isa<FloatType>(GraphBuilder::elementOf(streamed))))
      return "a reduction of several dimensions, or of integers";
    axis = reduce.getAxes().front();
    tree.emplace(axis - GraphBuilder::rankOf(streamed), getDim(streamed.getType(), axis), guards);
    tree->visit(streamed);
    if (!tree->getDependencies(streamed).empty() && !tree->isUniform(streamed))
      return "";
  }
  return llvm::any_of(root->getOperands(), [](Value v) { return isIndexedByReduction(v); })
             ? "a reduction feeds an index: what is read depends on it in no known way"
             : "no operand depends on a reduction of the same dimension";
}

//===-- Whether it pays -------------------------------------------------------------------------------------------===//

/// Product of the extents of those dimensions of `op` that satisfy `wanted`; none if it is not constant.
static std::optional<int64_t> extentOf(ContractOp op, llvm::function_ref<bool(unsigned)> wanted) {
  AffineExpr product = getAffineConstantExpr(1, op.getContext());
  for (auto [dim, extent] : llvm::enumerate(cast<TileOpInterface>(*op).getDomainExtents()))
    if (wanted(dim))
      product = product * extent;
  return getConstant(simplify(product));
}

/// Dimensions of the root's result that its streamed operand lacks: the width of an accumulator.
static std::optional<int64_t> columnsOf(ContractOp root, unsigned operand) {
  return extentOf(root, [&](unsigned dim) {
    return root.getMap(2).isFunctionOfDim(dim) && !root.getMap(operand).isFunctionOfDim(dim);
  });
}

/// A fold computes the streamed operand again for every tile of the root's other dimensions, and holds a row of what
/// that operand is made from: it pays if both fit one tile, and if nobody else needs the operand in memory.
std::string Cascade::findLoss() {
  auto contract = dyn_cast<ContractOp>(root);
  if (!contract || tree->getContractions().empty())
    return "the streamed operand is not made by one contraction";
  std::optional<int64_t> columns = columnsOf(contract, operand);
  for (ContractOp inner : tree->getContractions()) {
    for (Operation *user : inner.getResult().getUsers())
      if (user != root && !llvm::any_of(user->getResults(), [&](Value result) { return tree->contains(result); }))
        return "the streamed operand's contraction has other consumers";
    std::optional<int64_t> depth = extentOf(inner, [&](unsigned dim) { return !inner.getMap(2).isFunctionOfDim(dim); });
    if (columns.value_or(maxResident + 1) > maxResident || depth.value_or(maxResident + 1) > maxResident)
      return "expected at most " + std::to_string(maxResident) +
             " columns of the contraction and terms of the one before it, so that one tile holds them";
  }
  return "";
}

/// Several accumulators pay where each comes from a contraction of its own (the difference of two softmaxes) and all
/// fit the registers that one has otherwise.
std::string Cascade::findLossOfStates() {
  size_t sums = llvm::count_if(states, [&](const State &state) { return state.owner == root; });
  bool hasMoments = needsCount || llvm::any_of(states, [](const State &state) { return bool(state.difference); });
  if (hasMoments || sums + owners.size() - 1 != states.size())
    return "a fold of several moments is not known to pay";
  if (sums != tree->getContractions().size())
    return "the streamed operand is not made by one contraction";
  std::optional<int64_t> columns = columnsOf(cast<ContractOp>(root), operand);
  if (sums > 1 && (!columns || *columns * int64_t(sums) > maxResident / 2))
    return "expected at most " + std::to_string(maxResident / 2) + " columns of all accumulators";
  return "";
}

//===-- The proof -------------------------------------------------------------------------------------------------===//

/// Whether dividing by `divisor` (multiplying by it, if `isInverse`) takes the mean along the stream.
bool Cascade::isCount(Value divisor, bool isInverse) const {
  AffineExpr extent = simplify(getDim(streamed.getType(), axis));
  std::optional<int64_t> places = getConstant(extent);
  if (std::optional<double> number = getSplatFloat(withoutCasts(divisor)))
    return places && *places > 0 &&
           (isInverse ? std::abs(*number * double(*places) - 1) < 1e-3 : *number == double(*places));
  Operation *op = divisor.getDefiningOp();
  while (isa_and_nonnull<CastOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto extents = dyn_cast_or_null<ExtentsOp>(op);
  return extents && !isInverse && extents.getMap().getNumResults() == 1 &&
         isEqual(extents.getMap().getResult(0), extent);
}

/// Differences x - u where u is the mean of x.
void Cascade::findMeans(ArrayRef<Term> terms) {
  for (const Term &term : terms) {
    auto difference = term.difference ? term.difference.getDefiningOp<SubOp>() : SubOp();
    if (!difference)
      continue;
    Value mean = withoutCasts(difference.getRhs());
    Operation *op = mean.getDefiningOp();
    if (!isa_and_nonnull<DivOp, MulOp>(op))
      continue;
    auto sum = withoutCasts(op->getOperand(0)).getDefiningOp<ReduceOp>();
    if (sum && llvm::is_contained(tree->getReductions(), sum) &&
        guards.holds(FoldGuard::MeanIsSum, sum.getKind() == Monoid::Add) &&
        tree->getDependencies(sum.getInput()).empty() &&
        guards.holds(FoldGuard::MeanOfSame, withoutCasts(sum.getInput()) == withoutCasts(difference.getLhs())) &&
        guards.holds(FoldGuard::MeanCount, isCount(op->getOperand(1), isa<MulOp>(op))) &&
        !llvm::is_contained(llvm::make_first_range(means), mean))
      means.push_back({mean, sum});
  }
}

std::string Cascade::planExtreme(ReduceOp reduce) {
  Monotone found = findMonotone(*tree, reduce.getInput());
  if (!found.core)
    return found.reason;
  bool isMax = (reduce.getKind() == Monoid::Max) == found.rises;
  owners.push_back({reduce, isMax ? Monoid::Max : Monoid::Min, {}, {}, found.core});
  return "";
}

std::string Cascade::planOwner(Operation *op, Value input) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (reduce && (reduce.getKind() == Monoid::Max || reduce.getKind() == Monoid::Min))
    return planExtreme(reduce);
  if (reduce && !guards.holds(FoldGuard::SumOrExtreme, reduce.getKind() == Monoid::Add))
    return "a reduction that is neither a sum nor a maximum";
  Numerics own = licenceOf(op, licence);
  if (!guards.holds(FoldGuard::OrderLicence, own != Numerics::Exact))
    return "the order of a sum may not change: its licence is exact";
  Separator separator(*tree, own);
  Owner owner{op, Monoid::Add, separator.separate(input), {}, {}};
  if (owner.terms.empty())
    return separator.reason;
  numerics = std::max(numerics, Numerics::Reassociating);
  for (const Term &term : owner.terms)
    for (const Factor &factor : term.factors)
      if (factor.kind == Factor::Quantised)
        numerics = Numerics::Approximating;
  findMeans(owner.terms);
  owners.push_back(std::move(owner));
  return "";
}

Type Cascade::stateTypeOf(const Owner &owner) const {
  if (auto contract = dyn_cast<ContractOp>(owner.op))
    return withElement(contract.getType(), getComputeType(contract.getType().getElementType()));
  Value input = !owner.core ? cast<ReduceOp>(owner.op).getInput() : owner.core;
  Dims dims = getDims(input.getType());
  dims[dims.size() + tree->getAxis()] = getAffineConstantExpr(1, input.getContext());
  Type element = GraphBuilder::elementOf(input);
  return getTensorType(dims, !owner.core ? Type(getComputeType(element)) : element);
}

bool Cascade::isDeviation(Value difference) const {
  auto sub = difference ? difference.getDefiningOp<SubOp>() : SubOp();
  return sub && llvm::is_contained(llvm::make_first_range(means), withoutCasts(sub.getRhs()));
}

bool Cascade::hasGuard(const Owner &owner) const {
  return llvm::any_of(owner.terms, [&](const Term &term) { return term.difference && !isDeviation(term.difference); });
}

/// The state of a term's factors times its difference to the power `power`; -1 if it is always 0.
int Cascade::stateOf(const Owner &owner, const Term &term, unsigned power) {
  bool isReduce = isa<ReduceOp>(owner.op);
  if (isReduce && power == 0 && term.factors.empty())
    return 0; // The number of elements.
  if (isReduce && power == 1 && term.power == 2 && term.factors.empty() && isDeviation(term.difference))
    return -1; // Deviations from the mean so far.
  for (auto [i, state] : llvm::enumerate(states))
    if (state.owner == owner.op && state.factors == term.factors && state.power == power &&
        (power == 0 || state.difference == term.difference))
      return i;
  State state;
  state.owner = owner.op, state.type = stateTypeOf(owner), state.factors = term.factors, state.power = power;
  state.difference = power ? term.difference : Value();
  for (unsigned p = 0; p < power; ++p)
    state.lower.push_back(stateOf(owner, term, p));
  states.push_back(state);
  return states.size() - 1;
}

void Cascade::planStates() {
  for (const Owner &owner : owners)
    for (const Term &term : owner.terms)
      needsCount |= isa<ReduceOp>(owner.op) && term.factors.empty();
  needsCount |= !means.empty();
  if (needsCount) {
    State count;
    Dims ones(GraphBuilder::rankOf(streamed), getAffineConstantExpr(1, root->getContext()));
    count.type = getTensorType(ones, getComputeType(GraphBuilder::elementOf(streamed)));
    states.push_back(count);
  }
  for (Owner &owner : owners) {
    if (owner.core) {
      State state;
      state.owner = owner.op, state.kind = owner.kind, state.whole = owner.core, state.type = stateTypeOf(owner);
      owner.states.push_back(states.size());
      states.push_back(state);
      continue;
    }
    for (const Term &term : owner.terms)
      owner.states.push_back(unsigned(stateOf(owner, term, term.power)));
    // One term without more ado: what is summed is what is written. Quotients so far may be 0 / 0.
    const Term &first = owner.terms.front();
    bool isQuantised = llvm::any_of(first.factors, [](const Factor &f) { return f.kind == Factor::Quantised; });
    if (owner.terms.size() == 1 && first.scales.empty() && !first.isNegative && !first.difference &&
        !first.factors.empty() && !isQuantised)
      states[owner.states.front()].whole =
          isa<ReduceOp>(owner.op) ? cast<ReduceOp>(owner.op).getInput() : owner.op->getOperand(operand);
  }
}

std::string Cascade::derive() {
  for (ReduceOp reduce : tree->getReductions())
    if (std::string reason = planOwner(reduce, reduce.getInput()); !reason.empty())
      return reason;
  if (std::string reason = planOwner(root, streamed); !reason.empty())
    return reason;
  planStates();
  return "";
}

} // namespace weft::tg
