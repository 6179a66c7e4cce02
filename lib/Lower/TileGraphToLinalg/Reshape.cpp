// Row-major reshapes as tensor.collapse_shape and tensor.expand_shape, in groups as small as the extents' expressions
// allow.
//
// Boundaries of groups are where a product of leading extents of the source equals one of the destination. What cannot
// be split is collapsed to one dimension and expanded from there, which is right for every reshape. Upstream lowers an
// expand_shape only if a group has at most one dynamic extent; a group with more is read element by element, at indices
// computed from the indices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace weft::lower {

namespace {
/// Dimensions [fromBegin, fromEnd) of the source hold the same elements as [toBegin, toEnd) of the destination.
struct Group {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
};
} // namespace

/// prefix[i] = product of the first i extents.
static Dims prefixProducts(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  Dims prefix{getAffineConstantExpr(1, context)};
  for (AffineExpr dim : dims)
    prefix.push_back(tg::simplify(prefix.back() * dim));
  return prefix;
}

/// The pair (i, j) with i > from, j > to, equal prefixes and the least i + j; the ends if there is none.
static std::pair<unsigned, unsigned> nextBoundary(ArrayRef<AffineExpr> p, ArrayRef<AffineExpr> q, unsigned from,
                                                  unsigned to) {
  unsigned m = p.size() - 1, n = q.size() - 1;
  for (unsigned sum = from + to + 2; sum <= m + n; ++sum)
    for (unsigned i = from + 1; i <= m && i + to < sum; ++i)
      if (unsigned j = sum - i; j <= n && tg::isEqual(p[i], q[j]))
        return {i, j};
  return {m, n};
}

static SmallVector<Group> matchGroups(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to, MLIRContext *context) {
  Dims p = prefixProducts(from, context), q = prefixProducts(to, context);
  SmallVector<Group> groups;
  unsigned i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    auto [nextI, nextJ] = nextBoundary(p, q, i, j);
    groups.push_back({i, nextI, j, nextJ});
    i = nextI;
    j = nextJ;
  }
  // Trailing extents of 1 on one side have no partner.
  if (!groups.empty()) {
    groups.back().fromEnd = from.size();
    groups.back().toEnd = to.size();
  }
  return groups;
}

static ReassociationIndices range(unsigned begin, unsigned end) {
  return llvm::to_vector<2>(llvm::seq<int64_t>(begin, end));
}

/// Extent of `dims` collapsed to one dimension, as a type says it: dynamic if one of them is.
static int64_t collapsedExtent(ArrayRef<AffineExpr> dims) {
  int64_t product = 1;
  for (AffineExpr dim : dims) {
    auto constant = tg::getConstant(dim);
    if (!constant)
      return ShapedType::kDynamic;
    product *= *constant;
  }
  return product;
}

static Value castTo(KernelBuilder &b, Value tensor, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tensor.getType()).clone(shape);
  return type == tensor.getType() ? tensor : tensor::CastOp::create(b, type, tensor).getResult();
}

static bool hasTwoDynamic(ArrayRef<AffineExpr> dims) {
  return llvm::count_if(dims, [](AffineExpr dim) { return !tg::getConstant(dim); }) > 1;
}

/// `collapsed`, of one dimension per group, as a tensor of extents `to`: dimension g is read at the row-major index of
/// group g.
static Value expandByCopy(KernelBuilder &b, Value collapsed, ArrayRef<Group> groups, ArrayRef<AffineExpr> to) {
  SmallVector<Value> extents = llvm::map_to_vector(to, [&](AffineExpr dim) { return b.index(dim); });
  return b.parallel(to, {}, getElementTypeOrSelf(collapsed), [&](OpBuilder &nested, Location loc, ValueRange) {
    SmallVector<Value> place;
    for (const Group &group : groups) {
      Value position = linalg::IndexOp::create(nested, loc, group.toBegin);
      for (unsigned d = group.toBegin + 1; d < group.toEnd; ++d) {
        position = arith::MulIOp::create(nested, loc, position, extents[d]);
        position = arith::AddIOp::create(nested, loc, position, linalg::IndexOp::create(nested, loc, d));
      }
      place.push_back(position);
    }
    return SmallVector<Value>{tensor::ExtractOp::create(nested, loc, collapsed, place)};
  });
}

static SmallVector<int64_t> staticShape(ArrayRef<AffineExpr> dims) {
  return llvm::map_to_vector(dims, [](AffineExpr dim) { return tg::getConstant(dim).value_or(ShapedType::kDynamic); });
}

Value KernelBuilder::castExtents(Value tensor, ArrayRef<AffineExpr> dims) {
  return castTo(*this, tensor, staticShape(dims));
}

Value KernelBuilder::reshape(Value tensor, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  Type element = getElementTypeOrSelf(tensor);
  if (llvm::equal(from, to))
    return tensor;
  auto isZero = [](AffineExpr dim) { return tg::getConstant(dim) == 0; };
  if (llvm::any_of(to, isZero) || llvm::any_of(from, isZero))
    return empty(to, element);

  // Without groups one side is a scalar and the other has only extents of 1, perhaps not known to be.
  SmallVector<Group> groups = matchGroups(from, to, getContext());
  if (groups.empty() && !from.empty())
    tensor = castTo(*this, tensor, SmallVector<int64_t>(from.size(), 1));
  SmallVector<int64_t> middle, middleTo, shape = staticShape(to);
  SmallVector<ReassociationIndices> collapse, expand;
  bool needsCopy = false;
  for (const Group &group : groups) {
    collapse.push_back(range(group.fromBegin, group.fromEnd));
    expand.push_back(range(group.toBegin, group.toEnd));
    needsCopy |= hasTwoDynamic(to.slice(group.toBegin, group.toEnd - group.toBegin));
    middle.push_back(collapsedExtent(from.slice(group.fromBegin, group.fromEnd - group.fromBegin)));
    middleTo.push_back(collapsedExtent(to.slice(group.toBegin, group.toEnd - group.toBegin)));
  }

  if (groups.size() < from.size())
    tensor = tensor::CollapseShapeOp::create(*this, RankedTensorType::get(middle, element), tensor, collapse);
  tensor = castTo(*this, tensor, middleTo);
  if (needsCopy)
    return expandByCopy(*this, tensor, groups, to);
  if (groups.size() == to.size())
    return castTo(*this, tensor, shape);
  if (groups.empty()) {
    SmallVector<OpFoldResult> ones(to.size(), getIndexAttr(1));
    auto type = RankedTensorType::get(SmallVector<int64_t>(to.size(), 1), element);
    return castTo(*this, tensor::ExpandShapeOp::create(*this, type, tensor, expand, ones), shape);
  }
  return tensor::ExpandShapeOp::create(*this, RankedTensorType::get(shape, element), tensor, expand, extents(to));
}

} // namespace weft::lower
