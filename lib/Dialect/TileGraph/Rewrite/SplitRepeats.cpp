// --weft-split-repeats: contractions read an operand once that was repeated for them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand B'[.., (g, r), ..] = B[.., g, ..] is a reshape of a broadcast. With h = (g, r) divided in the contraction,
// its maps say that B does not depend on r. The division goes on through what is computed of the contraction's result,
// as far as a contraction needs it whose operand is repeated alike: between the two a merge would hide that they belong
// together. What others read is merged again; a reshape moves nothing.
#include "Rules/RuleBuilder.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_SPLITREPEATS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// A dimension that merges parts, outermost first, some of which repeat.
struct Repeat {
  Dims parts;
  SmallVector<bool> repeats;

  bool hasPartsOf(const Repeat &other) const {
    return parts.size() == other.parts.size() && llvm::equal(parts, other.parts, isEqual);
  }
  Dims getKept() const {
    Dims kept;
    for (auto [part, repeated] : llvm::zip(parts, repeats))
      if (!repeated)
        kept.push_back(part);
    return kept;
  }
};

AffineExpr product(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  AffineExpr all = getAffineConstantExpr(1, context);
  for (AffineExpr dim : dims)
    all = all * dim;
  return simplify(all);
}

/// `dims` with dimension `at` as `parts`.
Dims divide(Dims dims, int64_t at, ArrayRef<AffineExpr> parts) {
  dims.erase(dims.begin() + at);
  dims.insert(dims.begin() + at, parts.begin(), parts.end());
  return dims;
}

/// The dimension of `to` that has as many elements in front of it as dimension `at` of `from`, and the same extent.
std::optional<int64_t> carryReshape(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to, int64_t at) {
  MLIRContext *context = from[at].getContext();
  for (size_t place = 0; place < to.size(); ++place)
    if (isEqual(to[place], from[at]) &&
        isEqual(product(to.take_front(place), context), product(from.take_front(at), context)))
      return place;
  return std::nullopt;
}

/// `permutation` where dimension `at` of its operand is `count` dimensions.
SmallVector<int64_t> dividePermutation(ArrayRef<int64_t> permutation, int64_t at, int64_t count) {
  SmallVector<int64_t> divided;
  for (int64_t d : permutation)
    for (int64_t part = 0; part < (d == at ? count : 1); ++part)
      divided.push_back((d > at ? d + count - 1 : d) + part);
  return divided;
}

/// The dimension of an operand of elementwise `op` that is dimension `at` of the result; less than 0 if it has none.
int64_t getPlace(Operation *op, Value operand, int64_t at) {
  return at - int64_t(getDims(op->getResult(0).getType()).size()) + int64_t(getDims(operand.getType()).size());
}

/// Dimensions of a broadcast that `reshape` merges to its dimension `dim`, which some of them repeat.
struct Merge {
  Repeat repeat;
  BroadcastOp broadcast;
  SmallVector<int64_t> members;
};

std::optional<Merge> findMerge(ReshapeOp reshape, int64_t dim) {
  Merge found;
  found.broadcast = reshape.getInput().getDefiningOp<BroadcastOp>();
  if (!found.broadcast)
    return std::nullopt;
  Dims source = getDims(found.broadcast.getInput().getType()), from = getDims(found.broadcast.getType());
  auto groups = findMergedDims(from, getDims(reshape.getType()));
  if (!groups)
    return std::nullopt;
  int64_t lead = from.size() - source.size();
  for (int64_t member : (*groups)[dim]) {
    if (getConstant(from[member]) == 1)
      continue;
    found.members.push_back(member);
    found.repeat.parts.push_back(from[member]);
    found.repeat.repeats.push_back(member < lead || getConstant(source[member - lead]) == 1);
  }
  return llvm::is_contained(found.repeat.repeats, true) ? std::optional(found) : std::nullopt;
}

/// How dimension `dim` of `value` repeats; none if it does not.
std::optional<Repeat> findRepeat(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op))
    return findRepeat(transpose.getInput(), transpose.getPermutation()[dim]);
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op)) {
    if (std::optional<Merge> merge = findMerge(reshape, dim))
      return merge->repeat;
    auto place = carryReshape(getDims(reshape.getType()), getDims(reshape.getInput().getType()), dim);
    return place ? findRepeat(reshape.getInput(), *place) : std::nullopt;
  }
  if (!op || op->getNumResults() != 1 || !op->hasOneUse() || !isOfKind(op, "elementwise"))
    return std::nullopt;
  std::optional<Repeat> all;
  for (Value operand : op->getOperands()) {
    int64_t place = getPlace(op, operand, dim);
    if (place < 0 || getConstant(getDim(operand.getType(), place)) == 1)
      continue;
    std::optional<Repeat> found = findRepeat(operand, place);
    if (!found || (all && !(found->hasPartsOf(*all) && found->repeats == all->repeats)))
      return std::nullopt;
    all = found;
  }
  return all;
}

/// The broadcast of `merge` without the repetition, with the merged dimension as `dims` have it.
Value buildMerged(const Merge &merge, const Dims &dims, OpBuilder &builder) {
  BroadcastOp broadcast = merge.broadcast;
  Dims single = getDims(broadcast.getType()), from = getDims(broadcast.getInput().getType());
  for (auto [member, repeats] : llvm::zip(merge.members, merge.repeat.repeats))
    if (repeats)
      single[member] = builder.getAffineConstantExpr(1);
  Value source = broadcast.getInput();
  if (!isEqual(product(from, builder.getContext()), product(single, builder.getContext())))
    source = BroadcastOp::create(builder, broadcast.getLoc(),
                                 getTensorType(single, getElementTypeOrSelf(broadcast.getType())), source);
  return buildReshape(builder, broadcast.getLoc(), source, dims);
}

/// `value` whose dimension `dim` findRepeat took apart, without the parts that repeat.
Value buildUnrepeated(Value value, int64_t dim, const Dims &kept, OpBuilder &builder) {
  Operation *op = value.getDefiningOp();
  Dims dims = divide(getDims(value.getType()), dim, kept);
  Type type = getTensorType(dims, getElementTypeOrSelf(value.getType()));
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    int64_t place = transpose.getPermutation()[dim];
    return TransposeOp::create(builder, op->getLoc(), type, buildUnrepeated(transpose.getInput(), place, kept, builder),
                               dividePermutation(transpose.getPermutation(), place, kept.size()));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (std::optional<Merge> merge = findMerge(reshape, dim))
      return buildMerged(*merge, dims, builder);
    auto place = carryReshape(getDims(reshape.getType()), getDims(reshape.getInput().getType()), dim);
    return buildReshape(builder, op->getLoc(), buildUnrepeated(reshape.getInput(), *place, kept, builder), dims);
  }
  Operation *copy = op->clone();
  for (OpOperand &operand : copy->getOpOperands()) {
    int64_t place = getPlace(op, operand.get(), dim);
    if (place < 0)
      continue;
    Dims own = getDims(operand.get().getType()), ones(kept.size(), builder.getAffineConstantExpr(1));
    operand.set(getConstant(own[place]) == 1
                    ? buildReshape(builder, op->getLoc(), operand.get(), divide(own, place, ones))
                    : buildUnrepeated(operand.get(), place, kept, builder));
  }
  copy->getResult(0).setType(type);
  return builder.insert(copy)->getResult(0);
}

bool hasPlainMaps(ContractOp op) {
  return llvm::all_of(ArrayRef{0u, 1u, 2u}, [&](unsigned i) { return op.getMap(i).isProjectedPermutation(); });
}

/// Where `map`, a projected permutation, has domain dimension `dim`.
std::optional<int64_t> findPlace(AffineMap map, unsigned dim) {
  std::optional<unsigned> place = map.getResultPosition(getAffineDimExpr(dim, map.getContext()));
  return place ? std::optional<int64_t>(*place) : std::nullopt;
}

/// The parallel dimension of `op` that is dimension `at` of operand `operand`.
std::optional<unsigned> findParallel(ContractOp op, unsigned operand, int64_t at) {
  if (!hasPlainMaps(op))
    return std::nullopt;
  unsigned dim = op.getMap(operand).getDimPosition(at);
  return findPlace(op.getMap(2), dim) ? std::optional(dim) : std::nullopt;
}

/// One dimension of a contraction, divided there and in what depends on it.
class Division {
public:
  Division(ContractOp seed, unsigned dim, const Repeat &repeat) : repeat(repeat) {
    note(seed, *findPlace(seed.getMap(2), dim));
    domainDims[seed] = dim;
    grow(seed.getResult());
    prune(seed, [](Operation *op) { return isa<ContractOp>(op); });
    if (!isConsistent())
      prune(seed, [&](Operation *op) { return op == seed; });
  }

  void apply() {
    SmallVector<Operation *> ops(llvm::map_range(places, [](auto &entry) { return entry.first; }));
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      divided[op->getResult(0)] = rebuild(op, builder);
    }
    for (Operation *op : llvm::reverse(ops)) {
      Value result = op->getResult(0);
      if (!result.use_empty()) {
        OpBuilder builder(op);
        result.replaceAllUsesWith(ReshapeOp::create(builder, op->getLoc(), result.getType(), divided.lookup(result)));
      }
      op->erase();
    }
  }

private:
  void note(Operation *op, int64_t place) { places[op] = place; }

  /// The dimension of `op`'s result that is dimension `at` of operand `use`; none if `op` does not carry it on.
  std::optional<int64_t> carry(OpOperand &use, int64_t at) {
    Operation *op = use.getOwner();
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return llvm::find(transpose.getPermutation(), at) - transpose.getPermutation().begin();
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (llvm::is_contained(reduce.getAxes(), at))
        return std::nullopt;
      return reduce.getKeepDims() ? at : at - llvm::count_if(reduce.getAxes(), [&](int64_t a) { return a < at; });
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return carryReshape(getDims(reshape.getInput().getType()), getDims(reshape.getType()), at);
    if (auto contract = dyn_cast<ContractOp>(op))
      return carryContract(contract, use.getOperandNumber(), at);
    if (op->getNumResults() != 1 || !isOfKind(op, "elementwise"))
      return std::nullopt;
    return at + int64_t(getDims(op->getResult(0).getType()).size() - getDims(use.get().getType()).size());
  }

  /// A contraction whose other operand is repeated alike.
  std::optional<int64_t> carryContract(ContractOp op, unsigned operand, int64_t at) {
    std::optional<unsigned> dim = findParallel(op, operand, at);
    std::optional<int64_t> other = dim ? findPlace(op.getMap(1 - operand), *dim) : std::nullopt;
    std::optional<Repeat> found = other ? findRepeat(op->getOperand(1 - operand), *other) : std::nullopt;
    if (!found || !found->hasPartsOf(repeat))
      return std::nullopt;
    domainDims[op] = *dim;
    return findPlace(op.getMap(2), *dim);
  }

  void grow(Value from) {
    SmallVector<Value> work{from};
    while (!work.empty()) {
      Value value = work.pop_back_val();
      for (OpOperand &use : value.getUses()) {
        Operation *op = use.getOwner();
        if (op->getBlock() != value.getParentBlock() || places.contains(op))
          continue;
        std::optional<int64_t> place = carry(use, places.lookup(value.getDefiningOp()));
        if (!place)
          continue;
        note(op, *place);
        if (!isa<ContractOp>(op)) // What is computed of a second one's result need not be divided.
          work.push_back(op->getResult(0));
      }
    }
  }

  /// Keeps ops from which one of `ends` follows.
  void prune(ContractOp seed, llvm::function_ref<bool(Operation *)> isEnd) {
    SmallVector<Operation *> work;
    llvm::SmallPtrSet<Operation *, 16> needed{seed};
    for (auto &[op, place] : places)
      if (isEnd(op))
        work.push_back(op);
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      needed.insert(op);
      if (op == seed)
        continue;
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && places.contains(maker) && !needed.contains(maker))
          work.push_back(maker);
    }
    places.remove_if([&](auto &entry) { return !needed.contains(entry.first); });
  }

  /// Whether all operands of an op say alike where the dimension is: x + transpose(x) does not.
  bool isConsistent() {
    return llvm::all_of(places, [&](auto &entry) {
      return llvm::all_of(entry.first->getOpOperands(), [&](OpOperand &use) {
        auto maker = places.find(use.get().getDefiningOp());
        return maker == places.end() || carry(use, maker->second) == entry.second;
      });
    });
  }

  /// `value`, of which dimension `at` is divided, or of extent 1; `at` < 0: it has none.
  Value getDivided(Value value, int64_t at, OpBuilder &builder) {
    if (Value known = divided.lookup(value))
      return known;
    Dims dims = getDims(value.getType());
    if (at < 0)
      return value;
    Dims ones(repeat.parts.size(), builder.getAffineConstantExpr(1));
    return buildReshape(builder, value.getLoc(), value,
                        divide(dims, at, getConstant(dims[at]) == 1 ? ones : repeat.parts));
  }

  Value rebuild(Operation *op, OpBuilder &builder) {
    int64_t at = places.lookup(op), more = repeat.parts.size() - 1;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Dims dims = getDims(type);
    Type newType = getTensorType(divide(dims, at, repeat.parts), type.getElementType());
    if (auto contract = dyn_cast<ContractOp>(op))
      return rebuildContract(contract, newType, builder);
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return TransposeOp::create(
          builder, op->getLoc(), newType, divided.lookup(transpose.getInput()),
          dividePermutation(transpose.getPermutation(), transpose.getPermutation()[at], repeat.parts.size()));
    if (isa<ReshapeOp>(op))
      return ReshapeOp::create(builder, op->getLoc(), newType, divided.lookup(op->getOperand(0)));
    Operation *copy = builder.clone(*op);
    if (auto reduce = dyn_cast<ReduceOp>(copy)) {
      int64_t pivot = places.lookup(op->getOperand(0).getDefiningOp());
      reduce.setAxes(
          llvm::map_to_vector(reduce.getAxes(), [&](int64_t axis) { return axis > pivot ? axis + more : axis; }));
      reduce.getInputMutable().assign(divided.lookup(reduce.getInput()));
    } else {
      builder.setInsertionPoint(copy);
      for (OpOperand &operand : copy->getOpOperands()) {
        int64_t lead = int64_t(dims.size()) - int64_t(getDims(operand.get().getType()).size());
        operand.set(getDivided(operand.get(), at - lead, builder));
      }
    }
    copy->getResult(0).setType(newType);
    return copy->getResult(0);
  }

  Value rebuildContract(ContractOp op, Type type, OpBuilder &builder) {
    unsigned dim = domainDims.lookup(op), more = repeat.parts.size() - 1, count = op.getMap(2).getNumDims() + more;
    Value operands[2];
    SmallVector<AffineMap> maps;
    for (unsigned i = 0; i < 3; ++i) {
      std::optional<int64_t> at = findPlace(op.getMap(i), dim);
      std::optional<Repeat> own;
      if (i < 2) {
        Value operand = op->getOperand(i);
        own = at ? findRepeat(operand, *at) : std::nullopt;
        if (own && !own->hasPartsOf(repeat))
          own.reset();
        operands[i] = own ? buildUnrepeated(operand, *at, own->getKept(), builder)
                          : getDivided(operand, at.value_or(-1), builder);
      }
      SmallVector<AffineExpr> places;
      for (unsigned r = 0; r < op.getMap(i).getNumResults(); ++r) {
        unsigned d = op.getMap(i).getDimPosition(r);
        for (unsigned part = 0; part <= (d == dim ? more : 0); ++part)
          if (d != dim || !own || !own->repeats[part])
            places.push_back(builder.getAffineDimExpr((d > dim ? d + more : d) + part));
      }
      maps.push_back(AffineMap::get(count, 0, places, builder.getContext()));
    }
    return ContractOp::create(builder, op.getLoc(), type, operands[0], operands[1],
                              builder.getAffineMapArrayAttr(maps));
  }

  Repeat repeat;
  llvm::MapVector<Operation *, int64_t> places; ///< Ops to divide: which dimension of the result.
  llvm::DenseMap<Operation *, unsigned> domainDims;
  llvm::DenseMap<Value, Value> divided;
};

/// Divides the first dimension of `op` that repeats, if there is one.
bool divideFirst(ContractOp op) {
  for (unsigned operand : {0u, 1u})
    for (unsigned at = 0; at < op.getMap(operand).getNumResults(); ++at) {
      std::optional<Repeat> repeat = findRepeat(op->getOperand(operand), at);
      std::optional<unsigned> dim = repeat ? findParallel(op, operand, at) : std::nullopt;
      if (!dim)
        continue;
      Division(op, *dim, *repeat).apply();
      return true;
    }
  return false;
}

struct SplitRepeats : impl::SplitRepeatsBase<SplitRepeats> {
  void runOnOperation() override {
    bool hasChanged = true;
    while (hasChanged) { // Each division takes a repeated dimension away.
      ContractOp found;
      hasChanged =
          getOperation()
              ->walk([&](ContractOp op) { return divideFirst(op) ? WalkResult::interrupt() : WalkResult::advance(); })
              .wasInterrupted();
    }
  }
};

} // namespace
} // namespace weft::tg
