// The rule of ShardAccess.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ShardAccess.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft::tg {

RankedTensorType getPartType(Type type, int64_t dim, int64_t ranks) {
  Dims dims = getDims(type);
  dims[dim] = simplify(dims[dim].floorDiv(ranks));
  return getTensorType(dims, cast<RankedTensorType>(type).getElementType());
}

bool isDivisible(Type type, int64_t dim, int64_t ranks, std::string &reason) {
  std::optional<int64_t> extent = getConstant(getDim(type, dim));
  if (extent && *extent > 0 && *extent % ranks == 0)
    return true;
  reason = extent ? llvm::formatv("dimension {0} of extent {1} is no multiple of {2} ranks", dim, *extent, ranks).str()
                  : llvm::formatv("dimension {0} has no static extent", dim).str();
  return false;
}

/// Of a reshape, whatever its extents: they matter inside of the segments that hold the same elements. None where a
/// segment has symbols.
static std::optional<AffineMap> getReshapeMap(ReshapeOp op) {
  MLIRContext *context = op.getContext();
  Dims from = getDims(op.getInput().getType()), to = getDims(op.getType());
  SmallVector<AffineExpr> places(from.size(), getAffineConstantExpr(0, context));
  for (const ReshapeSegment &segment : splitReshape(from, to)) {
    if (segment.fromEnd - segment.fromBegin == 1 && segment.toEnd - segment.toBegin == 1) {
      places[segment.fromBegin] = getAffineDimExpr(segment.toBegin, context);
      continue;
    }
    AffineExpr linear = getAffineConstantExpr(0, context);
    int64_t stride = 1;
    for (unsigned d = segment.toEnd; d-- > segment.toBegin;) {
      std::optional<int64_t> extent = getConstant(to[d]);
      if (!extent || *extent < 1)
        return std::nullopt;
      if (*extent > 1)
        linear = linear + getAffineDimExpr(d, context) * stride;
      stride *= *extent;
    }
    int64_t inner = 1;
    for (unsigned d = segment.fromEnd; d-- > segment.fromBegin;) {
      std::optional<int64_t> extent = getConstant(from[d]);
      if (!extent || *extent < 1)
        return std::nullopt;
      AffineExpr quotient = linear.floorDiv(inner);
      places[d] = d == segment.fromBegin ? quotient : quotient % *extent;
      if (*extent == 1)
        places[d] = getAffineConstantExpr(0, context);
      inner *= *extent;
    }
  }
  return simplifyAffineMap(AffineMap::get(to.size(), 0, places, context));
}

std::optional<ShardAccess> ShardAccess::get(Operation *op) {
  auto tile = dyn_cast<TileOpInterface>(op);
  if (!tile || op->getNumResults() != 1)
    return std::nullopt;
  ShardAccess access;
  access.op = op;
  access.extents = tile.getDomainExtents();
  access.reduces = isa<ContractOp, ReduceOp>(op);
  for (utils::IteratorType kind : tile.getDomainIterators())
    access.isSplittable.push_back(access.reduces || isa<ScatterOp>(op) || kind == utils::IteratorType::parallel);
  auto listMaps = [](ArrayAttr maps) {
    Maps list;
    for (Attribute map : maps)
      list.push_back(cast<AffineMapAttr>(map).getValue());
    return list;
  };
  auto isKnown = [](std::optional<AffineMap> map) { return map.has_value(); };
  bool knows =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](GatherOp gather) {
            access.operands = {{gather.getDataMap()}, listMaps(gather.getIndexMaps())};
            access.results = {{*tile.getResultMap(0)}};
            return true;
          })
          .Case([&](ScatterOp scatter) {
            AffineMap updates = AffineMap::getMultiDimIdentityMap(access.extents.size(), op->getContext());
            access.operands = {{scatter.getDataMap()}, listMaps(scatter.getIndexMaps()), {updates}};
            access.results = {{scatter.getDataMap()}};
            return true;
          })
          .Case([&](ConcatOp concat) { // Along other dimensions than its own it reads each operand at the index.
            AffineMap identity = AffineMap::getMultiDimIdentityMap(access.extents.size(), op->getContext());
            access.operands.assign(op->getNumOperands(), {identity});
            access.results = {{identity}};
            access.isSplittable[concat.getAxis()] = false;
            return true;
          })
          .Case([&](ReshapeOp reshape) {
            std::optional<AffineMap> map = getReshapeMap(reshape);
            if (!map)
              return false;
            access.operands = {{*map}};
            access.results = {{*tile.getResultMap(0)}};
            return true;
          })
          .Default([&](Operation *) {
            for (unsigned i = 0; i < op->getNumOperands(); ++i) {
              if (!isKnown(tile.getOperandMap(i)))
                return false;
              access.operands.push_back({*tile.getOperandMap(i)});
            }
            if (!isKnown(tile.getResultMap(0)))
              return false;
            access.results = {{*tile.getResultMap(0)}};
            return true;
          });
  return knows ? std::optional(access) : std::nullopt;
}

double ShardAccess::countPoints() const {
  double points = 1;
  for (AffineExpr extent : extents)
    points *= double(estimateExtent(extent));
  return points;
}

std::optional<Share> ShardAccess::findShare(const Maps &maps, Type tensor, unsigned dim, int64_t ranks,
                                            std::string &reason) const {
  MLIRContext *context = op->getContext();
  int64_t block = *getConstant(extents[dim]) / ranks;
  std::optional<Share> share;
  for (AffineMap map : maps) {
    Share own;
    unsigned symbols = map.getNumSymbols();
    AffineExpr here = getAffineDimExpr(dim, context), part = getAffineSymbolExpr(symbols, context);
    for (auto [j, place] : llvm::enumerate(map.getResults())) {
      AffineExpr moved = place.replace(here, here + part * block);
      AffineExpr way = simplifyAffineExpr(simplifyAffineExpr(moved, map.getNumDims(), symbols + 1) - place,
                                          map.getNumDims(), symbols + 1);
      if (getConstant(way) == 0)
        continue;
      if (!isDivisible(tensor, j, ranks, reason))
        return std::nullopt;
      int64_t partExtent = *getConstant(getDim(tensor, j)) / ranks;
      bool isOneBlock = way == part * partExtent && !own.isSplit();
      if (isOneBlock && place != here) { // Block 0 must not reach beyond its own.
        SmallVector<std::optional<int64_t>> low(map.getNumDims(), 0), high;
        for (auto [d, extent] : llvm::enumerate(extents)) {
          std::optional<int64_t> constant = d == dim ? block : getConstant(extent);
          high.push_back(constant ? std::optional(*constant - 1) : std::nullopt);
        }
        low.resize(map.getNumDims() + symbols);
        high.resize(map.getNumDims() + symbols);
        std::optional<int64_t> least =
            getBoundForAffineExpr(place, map.getNumDims(), symbols, low, high, /*isUpper=*/false);
        std::optional<int64_t> most =
            getBoundForAffineExpr(place, map.getNumDims(), symbols, low, high, /*isUpper=*/true);
        isOneBlock = least && most && *least >= 0 && *most < partExtent;
      }
      if (!isOneBlock) {
        reason = llvm::formatv("a part reads dimension {0} of {1} beyond its own part", j, tensor).str();
        return std::nullopt;
      }
      own.dim = int64_t(j);
    }
    if (share && *share != own) {
      reason = "two reads of an operand want different parts of it";
      return std::nullopt;
    }
    share = own;
  }
  return share ? share : Share();
}

/// Whether ranks combine such elements, or the reason.
static bool isCombined(Monoid kind, Type tensor, std::string &reason) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  if (kind != Monoid::And && kind != Monoid::Or && !element.isInteger(1) && !element.isInteger(16))
    return true;
  reason = llvm::formatv("ranks do not combine {0} by {1}", element, stringifyMonoid(kind)).str();
  return false;
}

std::optional<Split> ShardAccess::splitRows(int64_t ranks, std::string &reason) const {
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || gather.getIndexMaps().size() != 1)
    return std::nullopt;
  Split result;
  for (auto [j, place] : llvm::enumerate(gather.getDataMap().getResults()))
    if (isa<AffineSymbolExpr>(place)) {
      if (result.rows)
        return std::nullopt;
      result.rows = int64_t(j);
    }
  // The indices become a mask beside the result: their dimensions are some of its own, in order.
  int64_t last = -1;
  for (AffineExpr place : gather.getIndexMap(0).getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(place);
    if (!dim || int64_t(dim.getPosition()) <= last) {
      reason = "its indices are no dimensions of the result in order";
      return std::nullopt;
    }
    last = dim.getPosition();
  }
  Type data = gather.getData().getType();
  unsigned width = getElementBits(cast<RankedTensorType>(gather.getIndices().getType()).getElementType());
  if (auto extent = result.rows ? getConstant(getDim(data, *result.rows)) : std::nullopt;
      extent && width < 64 && *extent >= int64_t(1) << (width - 1)) {
    reason = "its indices have too few bits for an index of the whole table";
    return std::nullopt;
  }
  if (!result.rows || !isDivisible(data, *result.rows, ranks, reason) || !isCombined(Monoid::Add, data, reason))
    return std::nullopt;
  result.dim = extents.size();
  result.operands = {Share{*result.rows}, Share()};
  result.results = {Share()};
  result.combiner = Monoid::Add;
  return result;
}

std::optional<Split> ShardAccess::split(unsigned dim, int64_t ranks, std::string &reason) const {
  std::optional<int64_t> extent = getConstant(extents[dim]);
  if (!isSplittable[dim]) {
    reason = "the op needs all of that dimension at once";
    return std::nullopt;
  }
  if (!extent || *extent <= 0 || *extent % ranks != 0) {
    reason = extent ? llvm::formatv("an extent of {0} is no multiple of {1} ranks", *extent, ranks).str()
                    : "the extent is not static";
    return std::nullopt;
  }
  Split result;
  result.dim = dim;
  for (auto [operand, maps] : llvm::zip(op->getOperands(), operands)) {
    std::optional<Share> share = findShare(maps, operand.getType(), dim, ranks, reason);
    if (!share)
      return std::nullopt;
    result.operands.push_back(*share);
  }
  for (auto [value, maps] : llvm::zip(op->getResults(), results)) {
    std::optional<Share> share = findShare(maps, value.getType(), dim, ranks, reason);
    if (!share)
      return std::nullopt;
    result.results.push_back(*share);
    if (share->isSplit())
      continue;
    if (!reduces) {
      reason = "parts of its result cannot be combined";
      return std::nullopt;
    }
    Monoid kind = *cast<TileOpInterface>(op).getCombiner();
    if (!isCombined(kind, value.getType(), reason))
      return std::nullopt;
    result.combiner = kind;
  }
  return result;
}

} // namespace weft::tg
