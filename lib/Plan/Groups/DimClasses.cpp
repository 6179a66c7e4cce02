// Classes of dimensions by the maps of ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/DimClasses.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Plan/KernelAccess.h"
#include <map>

using namespace mlir;

namespace weft::plan {

static unsigned rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

DimClasses::DimClasses(Block &block) {
  block.walk([&](Operation *op) { relate(op); });
  relateProducts(block);
  relateReshapes(block);
}

unsigned DimClasses::node(const void *of, unsigned d, unsigned rank) {
  auto [it, inserted] = first.try_emplace(of, numNodes);
  if (inserted)
    numNodes += rank;
  return it->second + d;
}
unsigned DimClasses::node(Value value, unsigned d) { return node(value.getAsOpaquePointer(), d, rankOf(value)); }

/// The dimensions of `a`, and those of `b` without the first `dropped` ones.
void DimClasses::unite(Value a, Value b, unsigned dropped) {
  if (rankOf(a) + dropped != rankOf(b))
    return;
  for (unsigned d = 0; d < rankOf(a); ++d)
    ties.emplace_back(node(a, d), node(b, d + dropped));
}

void DimClasses::relate(Operation *op) {
  for (Value operand : op->getOperands())
    (void)node(operand, 0);
  for (Value result : op->getResults())
    (void)node(result, 0);
  if (auto fold = dyn_cast<tg::FoldOp>(op)) {
    Block &update = fold.getUpdate().front(), &finish = fold.getFinish().front();
    for (auto [i, yielded] : llvm::enumerate(update.getTerminator()->getOperands())) {
      unite(update.getArgument(i), yielded);
      unite(finish.getArgument(i), yielded);
    }
    for (auto [finished, result] : llvm::zip_equal(finish.getTerminator()->getOperands(), fold->getResults()))
      unite(finished, result, fold.getNumPartDims());
    return;
  }
  auto tiled = dyn_cast<tg::TileOpInterface>(op);
  if (!tiled || isa<tg::ReshapeOp>(op))
    return;
  tg::Dims domain = tiled.getDomainExtents();
  auto tie = [&](Value value, std::optional<AffineMap> map) {
    tg::Dims extents = tg::getDims(value.getType());
    for (unsigned i = 0; map && i < map->getNumResults(); ++i)
      if (auto dim = dyn_cast<AffineDimExpr>(map->getResult(i)))
        if (tg::isEqual(extents[i], domain[dim.getPosition()])) // All of it, not its first part.
          ties.emplace_back(node(value, i), node(op, dim.getPosition(), domain.size()));
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    tie(operand, tiled.getOperandMap(i));
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    tie(result, tiled.getResultMap(i));
}

void DimClasses::relateProducts(Block &block) {
  auto isBeside = [](tg::ContractOp a, tg::ContractOp b) {
    auto hasCommon = [&](unsigned i) { return a->getOperand(i) == b->getOperand(i) && a.getMap(i) == b.getMap(i); };
    return (hasCommon(0) || hasCommon(1)) && a.getMap(2) == b.getMap(2) &&
           llvm::all_of(llvm::zip_equal(a.getDomainExtents(), b.getDomainExtents()),
                        [](auto pair) { return tg::isEqual(std::get<0>(pair), std::get<1>(pair)); });
  };
  block.walk([&](tg::ContractOp op) {
    for (Value operand : op->getOperands())
      for (Operation *user : operand.getUsers())
        if (auto other = dyn_cast<tg::ContractOp>(user); other && other != op && isBeside(op, other))
          for (unsigned d = 0; d < op.getMap(2).getNumDims(); ++d)
            ties.emplace_back(node(op, d, op.getMap(2).getNumDims()), node(other, d, op.getMap(2).getNumDims()));
  });
}

void DimClasses::relateReshapes(Block &block) {
  // By reshape: one dimension, and those whose product it is, with their extents.
  struct Product {
    unsigned whole;
    SmallVector<unsigned> factors;
    tg::Dims extents;
  };
  SmallVector<Product> products;
  block.walk([&](tg::ReshapeOp op) {
    auto nodesOf = [&](Value value, unsigned begin, unsigned end) {
      return llvm::map_to_vector(llvm::seq(begin, end), [&](unsigned d) { return node(value, d); });
    };
    for (const ReshapeSegment &segment :
         splitReshape(tg::getDims(op.getInput().getType()), tg::getDims(op.getType()))) {
      auto from = nodesOf(op.getInput(), segment.fromBegin, segment.fromEnd),
           to = nodesOf(op.getResult(), segment.toBegin, segment.toEnd);
      tg::Dims before = tg::getDims(op.getInput().getType()), behind = tg::getDims(op.getType());
      if (from.size() == 1)
        products.push_back({from.front(), to, {behind.begin() + segment.toBegin, behind.begin() + segment.toEnd}});
      else if (to.size() == 1)
        products.push_back({to.front(), from, {before.begin() + segment.fromBegin, before.begin() + segment.fromEnd}});
    }
  });
  for (bool changed = true; changed;) {
    classes = llvm::IntEqClasses(numNodes);
    for (auto [a, b] : ties)
      classes.join(a, b);
    classes.compress();
    changed = false;
    auto tie = [&](unsigned a, unsigned b) {
      if (classes[a] == classes[b])
        return;
      ties.emplace_back(a, b);
      changed = true;
    };
    // Products of the same factors, and the same dimension cut into as many elements.
    std::map<std::vector<unsigned>, unsigned> wholes;
    std::map<std::vector<const void *>, const Product *> cuts;
    for (const Product &product : products) {
      if (product.factors.size() == 1) {
        tie(product.whole, product.factors.front());
        continue;
      }
      std::vector<unsigned> factors;
      for (unsigned factor : product.factors)
        factors.push_back(classes[factor]);
      tie(wholes.try_emplace(std::move(factors), product.whole).first->second, product.whole);
      std::vector<const void *> cut{reinterpret_cast<const void *>(uintptr_t(classes[product.whole]))};
      for (AffineExpr extent : product.extents)
        cut.push_back(extent.getAsOpaquePointer());
      const Product *same = cuts.try_emplace(std::move(cut), &product).first->second;
      for (auto [a, b] : llvm::zip_equal(same->factors, product.factors))
        tie(a, b);
    }
  }
}

bool DimClasses::isSame(Value a, unsigned i, Value b, unsigned j) const {
  if (tg::getConstant(tg::getDim(a.getType(), i)) == 1 || tg::getConstant(tg::getDim(b.getType(), j)) == 1)
    return tg::getDim(a.getType(), i) == tg::getDim(b.getType(), j);
  auto x = first.find(a.getAsOpaquePointer()), y = first.find(b.getAsOpaquePointer());
  return x != first.end() && y != first.end() && classes[x->second + i] == classes[y->second + j];
}

bool DimClasses::areSame(Value a, Value b) const {
  return rankOf(a) == rankOf(b) && llvm::all_of(llvm::seq(rankOf(a)), [&](unsigned d) { return isSame(a, d, b, d); });
}

bool DimClasses::fitInto(Value a, Value b) const {
  return rankOf(a) == rankOf(b) && llvm::all_of(llvm::seq(rankOf(a)), [&](unsigned d) {
           return tg::getConstant(tg::getDim(a.getType(), d)) == 1 || isSame(a, d, b, d);
         });
}

bool DimClasses::areInStep(tg::ContractOp a, tg::ContractOp b) const {
  auto x = first.find(a.getOperation()), y = first.find(b.getOperation());
  return a.getMap(2) == b.getMap(2) && x != first.end() && y != first.end() &&
         llvm::all_of(llvm::seq(a.getMap(2).getNumDims()),
                      [&](unsigned d) { return classes[x->second + d] == classes[y->second + d]; });
}

bool DimClasses::isOfRows(Value value, tg::ReduceOp reduce) const {
  Value rows = reduce.getInput();
  if (areSame(value, rows))
    return true;
  auto isReduced = [&](unsigned d) { return llvm::is_contained(reduce.getAxes(), int64_t(d)); };
  bool isKept = rankOf(value) == rankOf(rows);
  if (!isKept && rankOf(value) + reduce.getAxes().size() != rankOf(rows))
    return false;
  for (unsigned d = 0, at = 0; d < rankOf(rows); ++d) {
    if (isReduced(d) && isKept && tg::getConstant(tg::getDim(value.getType(), at++)) != 1)
      return false;
    if (!isReduced(d) && !isSame(value, at++, rows, d))
      return false;
  }
  return true;
}

} // namespace weft::plan
