// The recursion over a kernel's values, with coordinates in place of tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/ReshapePlaces.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace weft::tg {
namespace {

constexpr size_t requestLimit = 4096;

/// A sum of coefficient * part (and a constant), each part in [0, most].
struct Sum {
  struct Term {
    AffineExpr part;
    int64_t coefficient, most;
  };
  SmallVector<Term> terms;

  int64_t getMost() const {
    int64_t most = 0;
    for (const Term &term : terms) {
      int64_t part;
      if (llvm::MulOverflow(term.coefficient, term.most, part) || llvm::AddOverflow(most, part, most))
        return INT64_MAX;
    }
    return most;
  }
  AffineExpr getExpr(MLIRContext *context) const {
    AffineExpr sum = getAffineConstantExpr(0, context);
    for (const Term &term : terms)
      sum = sum + term.part * term.coefficient;
    return sum;
  }
};

/// The sum's quotient and remainder by `divisor` without parts that cannot reach it: (h * 2048 + s) / 8192 with
/// s < 2048 is h / 4, remainder (h mod 4) * 2048 + s.
std::pair<Sum, Sum> divide(Sum sum, int64_t divisor) {
  llvm::sort(sum.terms, [](const Sum::Term &a, const Sum::Term &b) { return a.coefficient > b.coefficient; });
  // The fewest high terms such that the low ones stay below what divides the high ones and the divisor.
  for (size_t high = 0; high <= sum.terms.size(); ++high) {
    int64_t unit = divisor;
    for (const Sum::Term &term : ArrayRef(sum.terms).take_front(high))
      unit = std::gcd(unit, term.coefficient);
    Sum low{{sum.terms.begin() + high, sum.terms.end()}};
    if (low.getMost() >= unit)
      continue;
    if (high == 0)
      return {Sum(), low};
    Sum upper{{sum.terms.begin(), sum.terms.begin() + high}};
    for (Sum::Term &term : upper.terms)
      term.coefficient /= unit;
    int64_t inner = divisor / unit, most = upper.getMost();
    if (inner == 1)
      return {upper, low};
    AffineExpr expr = upper.getExpr(sum.terms.front().part.getContext());
    low.terms.push_back({expr % inner, unit, inner - 1});
    return {Sum{{{expr.floorDiv(inner), 1, most / inner}}}, low};
  }
  return {Sum(), sum}; // Not reached: with all terms high nothing is low.
}

} // namespace

SmallVector<AffineExpr> placesBeforeReshape(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to, ArrayRef<AffineExpr> at,
                                            bool isExact) {
  MLIRContext *context = from.front().getContext();
  SmallVector<AffineExpr> places(from.size(), getAffineConstantExpr(0, context));
  for (const ReshapeSegment &segment : splitReshape(from, to)) {
    Sum sum;
    int64_t stride = 1;
    auto isEstimate = [](AffineExpr extent) { return !getConstant(extent); }; // But the outermost one does not matter.
    bool isKnown =
        !isExact ||
        (llvm::none_of(to.slice(segment.toBegin, segment.toEnd - segment.toBegin).drop_front(), isEstimate) &&
         llvm::none_of(from.slice(segment.fromBegin, segment.fromEnd - segment.fromBegin).drop_front(), isEstimate));
    for (size_t d = segment.toEnd; d-- > segment.toBegin;) {
      int64_t extent = estimateExtent(to[d]);
      isKnown &= bool(at[d]);
      if (at[d] && extent > 1)
        sum.terms.push_back({at[d], stride, extent - 1});
      stride = llvm::MulOverflow(stride, extent, stride) ? INT64_MAX / 2 : stride;
    }
    for (size_t d = segment.fromEnd; d-- > segment.fromBegin;) {
      auto [quotient, remainder] = divide(sum, d == segment.fromBegin ? INT64_MAX : estimateExtent(from[d]));
      places[d] = isKnown ? remainder.getExpr(context) : AffineExpr();
      sum = quotient;
    }
  }
  return places;
}

namespace {

/// `expr` over a domain as one over the space in which the domain is; null where a dimension that it uses is unknown.
AffineExpr compose(AffineExpr expr, ArrayRef<AffineExpr> domain) {
  SmallVector<AffineExpr> replacements(domain);
  for (auto [d, at] : llvm::enumerate(domain)) {
    if (at)
      continue;
    if (expr.isFunctionOfDim(d))
      return AffineExpr();
    replacements[d] = getAffineConstantExpr(0, expr.getContext());
  }
  return expr.replaceDims(replacements);
}

/// What the results placed so far ask for, and where a further one lies that asks for the same.
class Ties {
public:
  explicit Ties(const KernelAccess &space) : space(space) {}

  /// Adds what a result asks for, alone in a space of its own, that lies at `place`.
  void add(const KernelAccess &own, ArrayRef<AffineExpr> place) {
    SmallVector<AffineExpr> domain(place);
    domain.resize(own.dims.size());
    for (const KernelRequest &request : own.requests) {
      SmallVector<AffineExpr, 4> coordinates;
      for (AffineExpr at : request.coordinates)
        coordinates.push_back(at ? compose(at, domain) : at);
      known[request.value].push_back(std::move(coordinates));
    }
  }

  /// Nearest values first; those that tie all of their dimensions before those that tie some.
  ResultPlace place(const KernelAccess &own) const {
    ResultPlace at(own.resultRank);
    llvm::SmallBitVector taken(space.resultRank);
    for (bool isWhole : {true, false})
      for (const KernelRequest &request : own.requests)
        if (auto it = known.find(request.value); it != known.end())
          for (const auto &coordinates : it->second)
            if (!llvm::all_of(at, [](AffineExpr place) { return bool(place); }))
              tie(own, request.coordinates, coordinates, isWhole, at, taken);
    // What no value ties goes in step with the dimension at its position, or has one index.
    for (auto [d, place] : llvm::enumerate(at)) {
      AffineExpr extent = own.dims[d].extent;
      if (!place && own.resultRank == space.resultRank && !taken.test(d) && isEqual(extent, space.dims[d].extent))
        place = getAffineDimExpr(d, extent.getContext());
      if (!place && getConstant(extent) == 1)
        place = getAffineConstantExpr(0, extent.getContext());
    }
    return at;
  }

private:
  /// A value that is wanted at `mine` and at `others`: dimensions at the same position of it are one. They must be as
  /// long as each other: a part of a dimension is none.
  void tie(const KernelAccess &own, ArrayRef<AffineExpr> mine, ArrayRef<AffineExpr> others, bool isWhole,
           ResultPlace &at, llvm::SmallBitVector &taken) const {
    SmallVector<std::pair<unsigned, unsigned>> pairs;
    for (auto [x, y] : llvm::zip_equal(mine, others)) {
      auto left = dyn_cast_or_null<AffineDimExpr>(x), right = dyn_cast_or_null<AffineDimExpr>(y);
      if (!left || left.getPosition() >= own.resultRank || at[left.getPosition()])
        continue;
      bool isTied = right && right.getPosition() < space.resultRank && !taken.test(right.getPosition()) &&
                    isEqual(own.dims[left.getPosition()].extent, space.dims[right.getPosition()].extent);
      if (isTied)
        pairs.emplace_back(left.getPosition(), right.getPosition());
      else if (isWhole)
        return;
    }
    for (auto [l, r] : pairs)
      if (!at[l] && !taken.test(r)) {
        at[l] = getAffineDimExpr(r, own.dims[l].extent.getContext());
        taken.set(r);
      }
  }

  const KernelAccess &space;
  llvm::DenseMap<Value, SmallVector<SmallVector<AffineExpr, 4>, 1>> known;
};

class Walk {
public:
  Walk(KernelAccess &access, bool entersFolds, bool isExact)
      : access(access), entersFolds(entersFolds), isExact(isExact) {}

  void run(Block &body) {
    ValueRange results = body.getTerminator()->getOperands();
    if (results.empty())
      return;
    addDims(results.front());
    access.results = placeResults(body);
    for (auto [result, at] : llvm::zip_equal(results, access.results))
      if (at && llvm::all_of(*at, [](AffineExpr place) { return bool(place); }))
        request(result, *at);
    follow(body);
  }

private:
  /// Whether `result` is reduced from tiles of the first one (tg::findTileParts): it asks for nothing else.
  static bool isOfTiles(Value result, Value first) {
    std::optional<tg::PartsResult> found = result == first ? std::nullopt : tg::findPartsResult(result);
    std::optional<tg::ProductOf> whole = found ? tg::findProductOf(found->parts.whole) : std::nullopt;
    std::optional<tg::ProductOf> made = whole ? tg::findProductOf(first) : std::nullopt;
    return made && made->product == whole->product;
  }

  void addDims(Value first) {
    Dims extents = getDims(first.getType());
    access.resultRank = extents.size();
    for (auto [d, extent] : llvm::enumerate(extents))
      access.dims.push_back({extent, nullptr, unsigned(d), unsigned(d)});
  }

  /// All that is asked for.
  void follow(Block &body) {
    for (size_t i = 0; i < access.requests.size() && i < requestLimit; ++i) {
      KernelRequest current = access.requests[i];
      if (Operation *op = current.value.getDefiningOp(); op && body.findAncestorOpInBlock(*op))
        askOperands(op, cast<OpResult>(current.value).getResultNumber(), current.coordinates);
      else if (auto state = dyn_cast<BlockArgument>(current.value))
        askState(state, current.coordinates);
    }
  }

  /// The results in the space of the first one: what a further one asks for is what the ones before it ask for, where
  /// its dimensions are theirs.
  SmallVector<std::optional<ResultPlace>> placeResults(Block &body) const {
    ValueRange results = body.getTerminator()->getOperands();
    auto itself = [](Value result) {
      ResultPlace place;
      for (int64_t d = 0; d < cast<RankedTensorType>(result.getType()).getRank(); ++d)
        place.push_back(getAffineDimExpr(d, result.getContext()));
      return place;
    };
    SmallVector<std::optional<ResultPlace>> places{itself(results.front())};
    Ties ties(access);
    for (unsigned i = 0; results.size() > 1 && i < results.size(); ++i) {
      if (isOfTiles(results[i], results.front())) {
        places.push_back(std::nullopt);
        continue;
      }
      KernelAccess own;
      Walk alone(own, /*entersFolds=*/true, isExact);
      alone.addDims(results[i]);
      alone.request(results[i], itself(results[i]));
      alone.follow(body);
      if (i > 0)
        places.push_back(ties.place(own));
      ties.add(own, *places.back());
    }
    return places;
  }

  void request(Value value, ArrayRef<AffineExpr> coordinates) {
    size_t hash = llvm::hash_combine(value, llvm::hash_combine_range(coordinates.begin(), coordinates.end()));
    for (unsigned i : known[hash])
      if (access.requests[i].value == value && ArrayRef(access.requests[i].coordinates) == coordinates)
        return;
    known[hash].push_back(access.requests.size());
    access.requests.push_back({value, {coordinates.begin(), coordinates.end()}});
  }

  /// The one dimension of its domain along which an op of a fold reduces what the fold streams (of others, extents are
  /// 1); none if it goes through it as several.
  static std::optional<unsigned> findStreamedDim(Operation *op) {
    auto tiled = isStreamed(op) ? dyn_cast<TileOpInterface>(op) : TileOpInterface();
    if (!tiled)
      return std::nullopt;
    SmallVector<unsigned> reduced, longer;
    for (auto [d, kind, extent] : llvm::enumerate(tiled.getDomainIterators(), tiled.getDomainExtents()))
      if (kind == utils::IteratorType::reduction) {
        reduced.push_back(d);
        if (getConstant(extent) != 1)
          longer.push_back(d);
      }
    ArrayRef<unsigned> candidates = longer.empty() ? reduced : longer;
    return candidates.size() == 1 ? std::optional(candidates.front()) : std::nullopt;
  }

  /// The dimension of the iteration space for dimension `d` of the op's domain.
  AffineExpr reducedDim(Operation *op, unsigned d, AffineExpr extent) {
    auto fold = dyn_cast<tg::FoldOp>(op->getParentOp()); // All that reduce what a fold streams go along one dimension.
    if (fold && findStreamedDim(op) == d) {
      op = fold;
      d = 0;
      extent = fold.getPartExtent();
    } else {
      fold = {};
    }
    auto [it, inserted] = reduced.try_emplace({op, d}, access.dims.size());
    if (inserted)
      access.dims.push_back({extent, op, d, unsigned(access.dims.size())});
    AffineExpr dim = getAffineDimExpr(it->second, op->getContext());
    if (!fold || !fold.getParts())
      return dim;
    AffineExpr part = partOf.lookup(fold); // As if all parts were as long as the longest.
    return part && (!isExact || getConstant(extent)) ? part * estimateExtent(extent) + dim : AffineExpr();
  }

  /// Where the op's domain is when its result `result` is wanted at `coordinates`: null where unknown.
  SmallVector<AffineExpr> placeDomain(tg::TileOpInterface op, unsigned result, ArrayRef<AffineExpr> coordinates) {
    SmallVector<AffineExpr> extents = op.getDomainExtents();
    SmallVector<AffineExpr> domain(extents.size());
    llvm::BitVector placed(extents.size());
    auto place = [&](unsigned d, AffineExpr at) {
      domain[d] = at;
      placed.set(d);
    };
    if (std::optional<AffineMap> map = op.getResultMap(result)) {
      for (auto [i, expr] : llvm::enumerate(map->getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          place(dim.getPosition(), coordinates[i]);
    } else if (auto topK = dyn_cast<tg::TopKOp>(op.getOperation())) {
      for (unsigned d = 0; d < extents.size(); ++d)
        if (d != topK.getAxis())
          place(d, coordinates[d]);
    }
    for (unsigned d = 0; d < extents.size(); ++d)
      if (!placed[d])
        domain[d] = reducedDim(op, d, extents[d]);
    return domain;
  }

  /// The states with which a fold finishes are those that its update yields.
  void askState(BlockArgument state, ArrayRef<AffineExpr> coordinates) {
    auto fold = entersFolds ? dyn_cast<tg::FoldOp>(state.getOwner()->getParentOp()) : tg::FoldOp();
    if (fold && state.getOwner() == &fold.getFinish().front())
      request(fold.getUpdate().front().getTerminator()->getOperand(state.getArgNumber()), coordinates);
  }

  void askOperands(Operation *op, unsigned result, ArrayRef<AffineExpr> coordinates) {
    if (auto fold = dyn_cast<tg::FoldOp>(op); fold && entersFolds) {
      if (fold.getParts())
        partOf.try_emplace(fold, coordinates.front());
      request(fold.getFinish().front().getTerminator()->getOperand(result),
              coordinates.drop_front(fold.getNumPartDims()));
    }
    auto tiled = dyn_cast<tg::TileOpInterface>(op);
    if (!tiled)
      return;
    SmallVector<AffineExpr> domain = placeDomain(tiled, result, coordinates);
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      SmallVector<AffineExpr> wanted(type.getRank());
      if (auto reshape = dyn_cast<tg::ReshapeOp>(op); reshape && type.getRank() > 0)
        wanted = placesBeforeReshape(tg::getDims(type), tg::getDims(reshape.getType()), coordinates, isExact);
      else if (std::optional<AffineMap> map = tiled.getOperandMap(operand.getOperandNumber()))
        for (auto [i, expr] : llvm::enumerate(map->getResults()))
          wanted[i] = compose(expr, domain);
      else if (auto gather = dyn_cast<tg::GatherOp>(op); gather && operand.getOperandNumber() == 0)
        for (auto [i, expr] : llvm::enumerate(gather.getDataMap().getResults()))
          wanted[i] = isa<AffineSymbolExpr>(expr) ? AffineExpr() : compose(expr, domain);
      request(operand.get(), wanted);
    }
  }

  KernelAccess &access;
  bool entersFolds, isExact;
  llvm::DenseMap<size_t, SmallVector<unsigned, 1>> known;
  llvm::DenseMap<std::pair<Operation *, unsigned>, unsigned> reduced;
  llvm::DenseMap<Operation *, AffineExpr> partOf; ///< The index of a fold's result along its dimension of parts.
};

/// Dimensions of the space that two requests of one value put at the same index of it.
class Alignment {
public:
  explicit Alignment(KernelAccess &access)
      : access(access), together(access.dims.size(), llvm::SmallBitVector(access.dims.size())) {}

  void run() {
    noteTogether();
    llvm::MapVector<Value, SmallVector<const KernelRequest *>> byValue;
    for (const KernelRequest &request : access.requests)
      byValue[request.value].push_back(&request);
    for (auto &[value, requests] : byValue)
      for (const KernelRequest *other : ArrayRef(requests).drop_front())
        align(*requests.front(), *other);
    for (unsigned d = 0; d < access.dims.size(); ++d)
      access.dims[d].along = find(d);
  }

private:
  unsigned find(unsigned d) const {
    while (access.dims[d].along != d)
      d = access.dims[d].along;
    return d;
  }

  /// Dimensions along which one value extends are two, even if each of them is one of the same tensor's elsewhere:
  /// ranks by counting compare x[i] with all x[j].
  void noteTogether() {
    for (const KernelRequest &request : access.requests) {
      llvm::SmallBitVector own(access.dims.size());
      for (AffineExpr at : request.coordinates)
        for (unsigned d = 0; at && d < access.dims.size(); ++d)
          if (at.isFunctionOfDim(d))
            own.set(d);
      for (unsigned d : own.set_bits())
        together[d] |= own;
    }
  }

  void align(const KernelRequest &a, const KernelRequest &b) {
    SmallVector<std::pair<unsigned, unsigned>> pairs;
    for (auto [x, y] : llvm::zip(a.coordinates, b.coordinates)) {
      if (x == y)
        continue;
      auto left = dyn_cast_or_null<AffineDimExpr>(x), right = dyn_cast_or_null<AffineDimExpr>(y);
      if (!left || !right)
        return;
      unsigned l = left.getPosition(), r = right.getPosition();
      bool reduces = access.dims[l].reducer || access.dims[r].reducer;
      bool isOne = reduces && !together[l].test(r) && !together[find(l)].test(find(r));
      if (!isOne || !tg::isEqual(access.dims[l].extent, access.dims[r].extent)) // As long as each other: not a part.
        return;
      pairs.emplace_back(l, r);
    }
    for (auto [l, r] : pairs) {
      unsigned first = find(l), second = find(r);
      // Two dimensions of the result stay apart.
      if (first != second && std::max(first, second) >= access.resultRank)
        access.dims[std::max(first, second)].along = std::min(first, second);
    }
  }

  KernelAccess &access;
  SmallVector<llvm::SmallBitVector> together; ///< By dimension: those beside which it occurs in one value.
};

} // namespace

AffineDimExpr getShiftedDim(AffineExpr place, int64_t unit) {
  auto sum = dyn_cast_or_null<AffineBinaryOpExpr>(place);
  auto shift =
      sum && sum.getKind() == AffineExprKind::Add ? dyn_cast<AffineConstantExpr>(sum.getRHS()) : AffineConstantExpr();
  return dyn_cast_or_null<AffineDimExpr>(shift && shift.getValue() % unit == 0 ? sum.getLHS() : place);
}

SmallVector<const KernelRequest *> KernelAccess::of(Value value) const {
  SmallVector<const KernelRequest *> found;
  for (const KernelRequest &request : requests)
    if (request.value == value)
      found.push_back(&request);
  return found;
}

std::optional<unsigned> KernelAccess::findAlong(Operation *op, unsigned axis) const {
  for (const KernelDim &dim : dims)
    if (dim.reducer == op && dim.domainDim == axis)
      return dim.along < resultRank ? std::optional(dim.along) : std::nullopt;
  if (auto scan = dyn_cast<ScanOp>(op))
    for (const KernelRequest *request : of(scan))
      if (auto dim = dyn_cast_or_null<AffineDimExpr>(request->coordinates[axis]); dim && dim.getPosition() < resultRank)
        return dim.getPosition();
  return std::nullopt;
}

SmallVector<ReshapeSegment> splitReshape(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<ReshapeSegment> segments;
  unsigned i = from.size(), j = to.size();
  while (i > 0 && j > 0) {
    unsigned fromEnd = i, toEnd = j;
    AffineExpr a = from[--i], b = to[--j];
    while (!tg::isEqual(a, b) && (i > 0 || j > 0)) {
      bool extendFrom = i > 0 && (j == 0 || estimateExtent(a) < estimateExtent(b));
      if (extendFrom)
        a = tg::simplify(a * from[--i]);
      else
        b = tg::simplify(b * to[--j]);
    }
    segments.push_back({i, fromEnd, j, toEnd});
  }
  return segments;
}

KernelAccess analyseAccess(Block &body, bool entersFolds, bool isExact) {
  KernelAccess access;
  Walk(access, entersFolds, isExact).run(body);
  Alignment(access).run();
  return access;
}

/// The terms of a sum, in the order in which they are printed.
static void addTerms(AffineExpr e, SmallVectorImpl<AffineExpr> &terms) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(e);
  if (!sum || sum.getKind() != AffineExprKind::Add) {
    terms.push_back(e);
    return;
  }
  addTerms(sum.getLHS(), terms);
  addTerms(sum.getRHS(), terms);
}

/// `e` with sums from the left, a + b + c as (a + b) + c. Text has no parentheses in sums: a + (b + c) would come back
/// as another expression.
static AffineExpr asParsed(AffineExpr e) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (!binary)
    return e;
  if (binary.getKind() != AffineExprKind::Add)
    return getAffineBinaryOpExpr(binary.getKind(), asParsed(binary.getLHS()), asParsed(binary.getRHS()));
  SmallVector<AffineExpr> terms;
  addTerms(e, terms);
  AffineExpr sum = asParsed(terms.front());
  for (AffineExpr term : ArrayRef(terms).drop_front())
    sum = sum + asParsed(term);
  return sum;
}

/// The index as a map from the domain; a symbol for each coordinate that depends on data.
static AffineMap getMap(const KernelRequest &request, unsigned numDims, MLIRContext *context) {
  SmallVector<AffineExpr> places;
  unsigned numSymbols = 0;
  for (AffineExpr at : request.coordinates)
    places.push_back(at ? asParsed(at) : getAffineSymbolExpr(numSymbols++, context));
  return AffineMap::get(numDims, numSymbols, places, context);
}

KernelDomain describeDomain(KernelOp kernel) {
  constexpr size_t mostMaps = 8;
  MLIRContext *context = kernel.getContext();
  Block &body = kernel.getBody().front();
  KernelAccess access = analyseAccess(body, /*entersFolds=*/true, /*isExact=*/true);
  SmallVector<AffineExpr> extents;
  SmallVector<int64_t> along;
  for (const KernelDim &dim : access.dims) {
    extents.push_back(dim.extent);
    along.push_back(dim.along);
  }
  llvm::MapVector<Value, SmallVector<Attribute>> maps;
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto note = [&](Value value) { (void)maps[value]; };
    llvm::for_each(op->getOperands(), note);
    llvm::for_each(op->getResults(), note);
    for (Region &region : op->getRegions())
      llvm::for_each(region.getArguments(), note);
  });
  for (const KernelRequest &request : access.requests)
    if (auto it = maps.find(request.value); it != maps.end())
      it->second.push_back(AffineMapAttr::get(getMap(request, access.dims.size(), context)));
  SmallVector<Attribute> lists;
  for (auto &[value, list] : maps)
    lists.push_back(ArrayAttr::get(context, list.size() > mostMaps ? ArrayRef<Attribute>() : list));
  return {DomainAttr::get(context, getSymbolMap(extents, context), access.resultRank, along),
          ArrayAttr::get(context, lists)};
}

int64_t estimateExtent(AffineExpr extent) {
  unsigned symbols = 0;
  extent.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  ArrayRef<int64_t> likely = LikelyExtents::get();
  SmallVector<AffineExpr> values;
  for (unsigned s = 0; s < symbols; ++s)
    values.push_back(
        getAffineConstantExpr(s < likely.size() && likely[s] > 0 ? likely[s] : symbolEstimate, extent.getContext()));
  auto number = dyn_cast<AffineConstantExpr>(tg::simplify(extent.replaceSymbols(values)));
  return number ? std::max<int64_t>(number.getValue(), 1) : symbolEstimate;
}

} // namespace weft::tg
