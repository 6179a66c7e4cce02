// How each op of tg relates the dimensions of its operands and results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DimRelations.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Plan/KernelAccess.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::plan {

static unsigned rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

DimRelations::DimRelations(Block &block, Mode mode) : mode(mode) {
  auto enter = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    for (auto [d, extent] : llvm::enumerate(tg::getDims(type))) {
      unsigned at = node(value, d);
      bool isCandidate = mode == Mode::Drop ? isUnit(extent) : int64_t(d) + 1 < type.getRank();
      if (!isCandidate)
        this->block(at);
    }
  };
  llvm::for_each(block.getArguments(), enter);
  for (Operation &op : block)
    llvm::for_each(op.getResults(), enter);
  for (Operation &op : block.without_terminator())
    relate(&op);
  // All results are stored over one domain: what the first one has.
  ValueRange results = block.getTerminator()->getOperands();
  for (Value other : results.drop_front(results.empty() ? 0 : 1))
    for (unsigned d = 0; d < rankOf(other) && rankOf(other) == rankOf(results.front()); ++d)
      unite(node(other, d), node(results.front(), d));

  classes.grow(numNodes);
  for (auto [a, b] : edges)
    classes.join(a, b);
  classes.compress();
  isBlocked.assign(classes.getNumClasses(), false);
  for (unsigned at : blocked)
    isBlocked[classes[at]] = true;
}

unsigned DimRelations::node(const void *of, unsigned d, unsigned rank) {
  auto [it, inserted] = first.try_emplace(of, numNodes, rank);
  if (inserted)
    numNodes += rank;
  return it->second.first + d;
}
unsigned DimRelations::node(Value value, unsigned d) { return node(value.getAsOpaquePointer(), d, rankOf(value)); }

void DimRelations::blockAll(Value value) {
  for (unsigned d = 0; d < rankOf(value); ++d)
    block(node(value, d));
}

void DimRelations::blockDim(Value value, unsigned d) {
  block(node(value, d));
  if (mode == Mode::Merge && d > 0)
    block(node(value, d - 1));
}

Reassociation DimRelations::collect(const void *of, unsigned rank) const {
  Reassociation groups;
  auto it = first.find(of);
  if (it == first.end()) {
    for (unsigned d = 0; d < rank; ++d)
      groups.push_back({d});
    return groups;
  }
  auto applies = [&](unsigned d) { return !isBlocked[classes[it->second.first + d]]; };
  bool joins = false; // The pair before says that `d` joins its group.
  for (unsigned d = 0; d < it->second.second; ++d) {
    bool here = applies(d);
    if (mode == Mode::Drop) {
      if (!here)
        groups.push_back({d});
      continue;
    }
    if (joins)
      groups.back().push_back(d);
    else
      groups.push_back({d});
    joins = here;
  }
  return groups;
}
Reassociation DimRelations::get(Value value) const { return collect(value.getAsOpaquePointer(), rankOf(value)); }
Reassociation DimRelations::getDomain(Operation *op) const { return collect(op, getMappedDomain(op).size()); }

void DimRelations::relate(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tg::ReshapeOp reshape) { relateReshape(reshape); })
      .Case<tg::BroadcastOp, tg::BitcastOp>([&](Operation *) { relateBroadcast(op->getOperand(0), op->getResult(0)); })
      .Case<tg::PointwiseOpInterface>([&](Operation *) {
        for (Value operand : op->getOperands())
          relateBroadcast(operand, op->getResult(0));
      })
      .Case([&](tg::TransposeOp transpose) { relateTranspose(transpose); })
      .Case([&](tg::SliceOp slice) {
        ArrayRef<int64_t> offsets = slice.getOffsets(), strides = slice.getStrides();
        tg::Dims from = tg::getDims(slice.getInput().getType()), to = tg::getDims(slice.getType());
        relateBox(
            slice.getInput(), slice.getResult(),
            [=](unsigned d) { return offsets[d] == 0 && strides[d] == 1 && tg::isEqual(from[d], to[d]); },
            [=](unsigned d) { return strides[d] == 1; });
      })
      .Case([&](tg::PadOp pad) {
        ArrayRef<int64_t> low = pad.getLow(), high = pad.getHigh(), interior = pad.getInterior();
        relateBox(
            pad.getInput(), pad.getResult(),
            [=](unsigned d) { return low[d] == 0 && high[d] == 0 && interior[d] == 0; },
            [=](unsigned d) { return interior[d] == 0; });
      })
      .Case([&](tg::ConcatOp concat) { relateConcat(concat); })
      .Case([&](tg::WindowOp window) { relateWindow(window); })
      .Case([&](tg::ReduceOp reduce) {
        relateReduction(reduce.getInput(), reduce.getResult(), reduce.getAxes(), reduce.getKeepDims());
      })
      .Case([&](tg::ArgReduceOp reduce) {
        int64_t axis = reduce.getAxis();
        relateReduction(reduce.getInput(), reduce.getResult(), axis, reduce.getKeepDims());
        blockDim(reduce.getInput(), axis); // Its index counts along one dimension.
      })
      .Case([&](tg::ScanOp scan) { relateAlong(scan.getInput(), scan.getResult(), scan.getAxis()); })
      .Case([&](tg::TopKOp topK) {
        for (Value result : topK->getResults())
          relateAlong(topK.getInput(), result, topK.getAxis());
      })
      .Case([&](tg::IotaOp iota) { blockDim(iota.getResult(), iota.getAxis()); })
      .Case([&](tg::ConstantOp constant) {
        if (!isa<DenseElementsAttr>(constant.getValue()))
          blockAll(constant.getResult());
      })
      .Case<tg::ContractOp, tg::GatherOp, tg::ScatterOp>([&](Operation *) { relateMapped(op); })
      .Default([&](Operation *) {
        llvm::SetVector<Value> captured;
        getUsedValuesDefinedAbove(op->getRegions(), captured);
        for (Value value : captured)
          if (isa<RankedTensorType>(value.getType()))
            blockAll(value);
        for (Value value :
             llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
          if (isa<RankedTensorType>(value.getType()))
            blockAll(value);
      });
}

void DimRelations::relateBroadcast(Value operand, Value result) {
  tg::Dims from = tg::getDims(operand.getType()), to = tg::getDims(result.getType());
  unsigned missing = to.size() - from.size();
  auto stretches = [&](unsigned o) { return isUnit(from[o]) && !isUnit(to[o + missing]); };
  if (mode == Mode::Drop) {
    for (unsigned o = 0; o < from.size(); ++o)
      if (stretches(o)) // Its position keeps the others aligned.
        block(node(operand, o));
      else
        unite(node(operand, o), node(result, o + missing));
    return;
  }
  for (unsigned o = 0; o + 1 < from.size(); ++o) {
    unite(node(operand, o), node(result, o + missing));
    if (stretches(o) != stretches(o + 1))
      block(node(operand, o));
  }
  // The operand's first dimension with a missing one: both stretch, or the pair stays.
  if (missing > 0 && !from.empty() && !stretches(0))
    block(node(result, missing - 1));
}

/// Any dimensions of a reshape may go or merge. But where both sides are cut, they stay cut together, so that a reshape
/// does not come to mix what other ops keep apart.
void DimRelations::relateReshape(tg::ReshapeOp op) {
  if (mode == Mode::Drop)
    return;
  tg::Dims from = tg::getDims(op.getInput().getType()), to = tg::getDims(op.getType());
  for (const ReshapeSegment &segment : splitReshape(from, to))
    if (segment.fromBegin > 0 && segment.toBegin > 0)
      unite(node(op.getInput(), segment.fromBegin - 1), node(op.getResult(), segment.toBegin - 1));
}

void DimRelations::relateTranspose(tg::TransposeOp op) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  Value in = op.getInput(), out = op.getResult();
  if (mode == Mode::Drop) {
    for (auto [d, from] : llvm::enumerate(permutation))
      unite(node(out, d), node(in, from));
    return;
  }
  llvm::SmallVector<bool> kept(permutation.size(), false);
  for (unsigned d = 0; d + 1 < permutation.size(); ++d) {
    if (permutation[d + 1] == permutation[d] + 1) {
      unite(node(out, d), node(in, permutation[d]));
      kept[permutation[d]] = true;
    } else {
      block(node(out, d));
    }
  }
  for (unsigned d = 0; d < permutation.size(); ++d)
    if (!kept[d])
      block(node(in, d));
}

void DimRelations::relateBox(Value operand, Value result, llvm::function_ref<bool(unsigned)> isWhole,
                             llvm::function_ref<bool(unsigned)> isPlain) {
  tg::Dims extents = tg::getDims(operand.getType());
  for (unsigned d = 0; d < extents.size(); ++d) {
    unite(node(operand, d), node(result, d));
    if (mode == Mode::Drop) {
      if (!isWhole(d))
        block(node(operand, d));
      continue;
    }
    // An outer part of whole inner dimensions is a part of their product, if offsets stay constants.
    bool merges =
        d + 1 < extents.size() && isWhole(d + 1) && (isWhole(d) || (isPlain(d) && tg::getConstant(extents[d + 1])));
    if (!merges)
      block(node(operand, d));
  }
}

void DimRelations::relateConcat(tg::ConcatOp op) {
  int64_t axis = op.getAxis();
  for (Value input : op.getInputs())
    for (unsigned d = 0; d < rankOf(input); ++d)
      unite(node(input, d), node(op.getResult(), d));
  if (mode == Mode::Drop) {
    block(node(op.getResult(), axis));
    return;
  }
  if (axis > 0) // Parts of an inner dimension are not contiguous; of an outer one they are.
    block(node(op.getResult(), axis - 1));
  // Extents that are only assumed to be equal would count as part of the axis.
  tg::Dims own = tg::getDims(op.getType());
  ArrayRef<AffineExpr> inner = ArrayRef(own).drop_front(axis + 1);
  bool areEqual = llvm::all_of(op.getInputs(), [&](Value input) {
    tg::Dims dims = tg::getDims(input.getType());
    return llvm::equal(ArrayRef(dims).drop_front(axis + 1), inner, tg::isEqual);
  });
  if (!areEqual)
    block(node(op.getResult(), axis));
}

void DimRelations::relateWindow(tg::WindowOp op) {
  unsigned rank = rankOf(op.getInput());
  for (unsigned d = 0; d < rank; ++d)
    unite(node(op.getInput(), d), node(op.getResult(), d));
  for (int64_t d : op.getDims())
    blockDim(op.getResult(), d);
  for (unsigned d = rank; d < rankOf(op.getResult()); ++d)
    blockDim(op.getResult(), d);
  if (mode == Mode::Merge && rank > 0)
    block(node(op.getInput(), rank - 1));
}

void DimRelations::relateReduction(Value operand, Value result, ArrayRef<int64_t> axes, bool keepDims) {
  unsigned rank = rankOf(operand);
  auto isReduced = [&](unsigned d) { return llvm::is_contained(axes, int64_t(d)); };
  SmallVector<int> place(rank, -1); // Of a dimension in the result.
  for (unsigned d = 0, next = 0; d < rank; ++d)
    if (keepDims || !isReduced(d))
      place[d] = next++;
  if (mode == Mode::Drop) {
    for (unsigned d = 0; d < rank; ++d)
      if (isReduced(d))
        block(node(operand, d));
      else
        unite(node(operand, d), node(result, place[d]));
    // Kept dimensions go together: then the op keeps none.
    for (int64_t axis : keepDims ? axes.drop_front() : ArrayRef<int64_t>())
      unite(node(result, place[axes.front()]), node(result, place[axis]));
    return;
  }
  SmallVector<bool> related(rankOf(result), false);
  for (unsigned d = 0; d + 1 < rank; ++d) {
    if (isReduced(d) != isReduced(d + 1)) {
      block(node(operand, d));
      if (keepDims)
        block(node(result, d));
      continue;
    }
    if (place[d] >= 0)
      unite(node(operand, d), node(result, place[d]));
    if (place[d] >= 0)
      related[place[d]] = true;
  }
  for (unsigned d = 0; d < related.size(); ++d)
    if (!related[d])
      block(node(result, d));
}

void DimRelations::relateAlong(Value operand, Value result, int64_t axis) {
  for (unsigned d = 0; d < rankOf(operand); ++d)
    if (mode == Mode::Drop && int64_t(d) == axis)
      block(node(operand, d)), block(node(result, d));
    else
      unite(node(operand, d), node(result, d));
  if (mode == Mode::Merge)
    blockDim(operand, axis);
}

//===-- Ops with indexing maps ------------------------------------------------------------------------------------===//

static SmallVector<AffineMap> mapsOf(ArrayAttr maps) {
  return llvm::map_to_vector(maps, [](Attribute map) { return cast<AffineMapAttr>(map).getValue(); });
}

SmallVector<MappedValue> getMappedValues(Operation *op) {
  MLIRContext *context = op->getContext();
  auto identity = [&](Value value) {
    return SmallVector<AffineMap>{AffineMap::getMultiDimIdentityMap(rankOf(value), context)};
  };
  if (auto contract = dyn_cast<tg::ContractOp>(op))
    return {{contract.getLhs(), {contract.getMap(0)}},
            {contract.getRhs(), {contract.getMap(1)}},
            {contract.getResult(), {contract.getMap(2)}}};
  if (auto gather = dyn_cast<tg::GatherOp>(op))
    return {{gather.getData(), {gather.getDataMap()}},
            {gather.getIndices(), mapsOf(gather.getIndexMaps())},
            {gather.getResult(), identity(gather.getResult())}};
  auto scatter = cast<tg::ScatterOp>(op);
  return {{scatter.getData(), {scatter.getDataMap()}},
          {scatter.getIndices(), mapsOf(scatter.getIndexMaps())},
          {scatter.getUpdates(), identity(scatter.getUpdates())},
          {scatter.getResult(), {scatter.getDataMap()}}};
}

tg::Dims getMappedDomain(Operation *op) { return cast<tg::TileOpInterface>(op).getDomainExtents(); }

void DimRelations::relateMapped(Operation *op) {
  SmallVector<MappedValue> values = getMappedValues(op);
  tg::Dims domain = getMappedDomain(op);
  for (unsigned d = 0; d < domain.size(); ++d)
    node(op, d, domain.size());
  if (mode == Mode::Drop)
    dropMapped(op, values, domain);
  else
    mergeMapped(op, values, domain);
}

void DimRelations::dropMapped(Operation *op, ArrayRef<MappedValue> values, Extents domain) {
  bool reducesSome = false; // A contraction keeps a reduction dimension.
  SmallVector<utils::IteratorType> kinds = cast<tg::TileOpInterface>(op).getDomainIterators();
  auto isReduction = [&](unsigned d) { return isa<tg::ContractOp>(op) && kinds[d] == utils::IteratorType::reduction; };
  for (unsigned d = 0; d < domain.size(); ++d)
    reducesSome |= isReduction(d) && !isUnit(domain[d]);
  SmallVector<AffineExpr> zeroed;
  for (auto [d, extent] : llvm::enumerate(domain)) {
    if (!isUnit(extent) || (isReduction(d) && !reducesSome))
      block(node(op, d, domain.size()));
    zeroed.push_back(isUnit(extent) ? getAffineConstantExpr(0, op->getContext())
                                    : getAffineDimExpr(d, op->getContext()));
  }
  for (const MappedValue &mapped : values)
    for (AffineMap map : mapped.maps)
      for (auto [i, expr] : llvm::enumerate(map.getResults())) {
        // An index that only unit dimensions make is 0; what a symbol (an index from data) makes is not known.
        AffineExpr left = expr.replaceDims(zeroed);
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          unite(node(mapped.value, i), node(op, dim.getPosition(), domain.size()));
        else if (left != getAffineConstantExpr(0, op->getContext()))
          block(node(mapped.value, i));
        // A window that slides nowhere becomes a dimension alone, which has to be all of the tensor's.
        auto alone = dyn_cast<AffineDimExpr>(left);
        if (alone && left != expr && !tg::isEqual(domain[alone.getPosition()], tg::getDim(mapped.value.getType(), i)))
          for (unsigned d = 0; d < domain.size(); ++d)
            if (expr.isFunctionOfDim(d))
              block(node(op, d, domain.size()));
      }
  if (auto scatter = dyn_cast<tg::ScatterOp>(op))
    for (unsigned d = 0; d < rankOf(scatter.getData()); ++d)
      unite(node(scatter.getData(), d), node(scatter.getResult(), d));
}

void DimRelations::mergeMapped(Operation *op, ArrayRef<MappedValue> values, Extents domain) {
  // By domain dimension: the one that follows it wherever it occurs.
  constexpr int none = -1, conflict = -2;
  SmallVector<int> next(domain.size(), none), previous(domain.size(), none);
  auto follow = [](int &known, int now) { known = known == none || known == now ? now : conflict; };
  auto plain = [](AffineMap map, unsigned i) {
    auto dim = dyn_cast_or_null<AffineDimExpr>(i < map.getNumResults() ? map.getResult(i) : AffineExpr());
    return dim ? int(dim.getPosition()) : conflict;
  };
  for (const MappedValue &mapped : values)
    for (AffineMap map : mapped.maps) {
      tg::Dims extents = tg::getDims(mapped.value.getType());
      for (unsigned i = 0; i < map.getNumResults(); ++i) {
        int dim = plain(map, i);
        for (unsigned d = 0; d < domain.size(); ++d)
          if (dim != int(d) && map.getResult(i).isFunctionOfDim(d))
            next[d] = previous[d] = conflict;
        if (dim < 0)
          continue;
        bool isWhole = tg::isEqual(extents[i], domain[dim]);
        follow(next[dim], isWhole ? plain(map, i + 1) : conflict);
        follow(previous[dim], isWhole && i > 0 ? plain(map, i - 1) : conflict);
      }
    }
  auto merges = [&](int d) { return next[d] >= 0 && previous[next[d]] == d; };
  for (const MappedValue &mapped : values)
    for (AffineMap map : mapped.maps)
      for (unsigned i = 0; i < map.getNumResults(); ++i)
        if (int dim = plain(map, i); dim >= 0 && merges(dim))
          unite(node(mapped.value, i), node(op, dim, domain.size()));
        else
          block(node(mapped.value, i));
  // The domain's own order has the two side by side, so that its groups are runs.
  for (unsigned d = 0; d < domain.size(); ++d)
    if (!merges(d) || next[d] != int(d) + 1)
      block(node(op, d, domain.size()));
  if (auto scatter = dyn_cast<tg::ScatterOp>(op))
    for (unsigned d = 0; d < rankOf(scatter.getData()); ++d)
      unite(node(scatter.getData(), d), node(scatter.getResult(), d));
}

} // namespace weft::plan
