// The recursion over a kernel's values, with coordinates in place of tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace weft::plan {
namespace {

constexpr size_t requestLimit = 4096;

class Walk {
public:
  explicit Walk(KernelAccess &access) : access(access) {}

  void run(func::FuncOp kernel) {
    auto results = cast<func::ReturnOp>(kernel.getBody().front().getTerminator()).getOperands();
    if (results.empty())
      return;
    tg::Dims extents = tg::getDims(results.front().getType());
    access.resultRank = extents.size();
    SmallVector<AffineExpr, 4> own;
    for (auto [d, extent] : llvm::enumerate(extents)) {
      own.push_back(getAffineDimExpr(d, kernel.getContext()));
      access.dims.push_back({extent, nullptr, unsigned(d), unsigned(d)});
    }
    // Further results have the first one's coordinates where their extents agree; others are not followed.
    for (Value result : results)
      if (tg::getDims(result.getType()) == extents)
        request(result, own);
    for (size_t i = 0; i < access.requests.size() && i < requestLimit; ++i) {
      KernelRequest current = access.requests[i];
      if (Operation *op = current.value.getDefiningOp())
        askOperands(op, cast<OpResult>(current.value).getResultNumber(), current.coordinates);
    }
  }

private:
  void request(Value value, ArrayRef<AffineExpr> coordinates) {
    size_t hash = llvm::hash_combine(value, llvm::hash_combine_range(coordinates.begin(), coordinates.end()));
    for (unsigned i : known[hash])
      if (access.requests[i].value == value && ArrayRef(access.requests[i].coordinates) == coordinates)
        return;
    known[hash].push_back(access.requests.size());
    access.requests.push_back({value, {coordinates.begin(), coordinates.end()}});
  }

  /// The dimension of the iteration space for dimension `d` of the op's domain.
  AffineExpr reducedDim(Operation *op, unsigned d, AffineExpr extent) {
    auto [it, inserted] = reduced.try_emplace({op, d}, access.dims.size());
    if (inserted)
      access.dims.push_back({extent, op, d, unsigned(access.dims.size())});
    return getAffineDimExpr(it->second, op->getContext());
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

  void askOperands(Operation *op, unsigned result, ArrayRef<AffineExpr> coordinates) {
    auto tiled = dyn_cast<tg::TileOpInterface>(op);
    if (!tiled)
      return;
    SmallVector<AffineExpr> domain = placeDomain(tiled, result, coordinates);
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      SmallVector<AffineExpr> wanted(type.getRank());
      if (std::optional<AffineMap> map = tiled.getOperandMap(operand.getOperandNumber()))
        for (auto [i, expr] : llvm::enumerate(map->getResults()))
          wanted[i] = compose(expr, domain);
      else if (auto gather = dyn_cast<tg::GatherOp>(op); gather && operand.getOperandNumber() == 0)
        for (auto [i, expr] : llvm::enumerate(gather.getDataMap().getResults()))
          wanted[i] = isa<AffineSymbolExpr>(expr) ? AffineExpr() : compose(expr, domain);
      request(operand.get(), wanted);
    }
  }

  /// `expr` over the domain as one over the iteration space; null where a dimension that it uses is unknown.
  static AffineExpr compose(AffineExpr expr, ArrayRef<AffineExpr> domain) {
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

  KernelAccess &access;
  llvm::DenseMap<size_t, SmallVector<unsigned, 1>> known;
  llvm::DenseMap<std::pair<Operation *, unsigned>, unsigned> reduced;
};

/// Dimensions of the space that two requests of one value put at the same place of it.
class Alignment {
public:
  explicit Alignment(KernelAccess &access) : access(access) {}

  void run() {
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
      if (!reduces || !tg::isEqual(access.dims[l].extent, access.dims[r].extent))
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
};

} // namespace

SmallVector<const KernelRequest *> KernelAccess::of(Value value) const {
  SmallVector<const KernelRequest *> found;
  for (const KernelRequest &request : requests)
    if (request.value == value)
      found.push_back(&request);
  return found;
}

KernelAccess analyseAccess(func::FuncOp kernel) {
  KernelAccess access;
  Walk(access).run(kernel);
  Alignment(access).run();
  return access;
}

int64_t estimateExtent(AffineExpr extent) {
  unsigned symbols = 0;
  extent.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  SmallVector<AffineExpr> values(symbols, getAffineConstantExpr(symbolEstimate, extent.getContext()));
  auto number = dyn_cast<AffineConstantExpr>(tg::simplify(extent.replaceSymbols(values)));
  return number ? std::max<int64_t>(number.getValue(), 1) : symbolEstimate;
}

} // namespace weft::plan
