// Affine expressions and maps on numbers. Arithmetic is checked: maps come from outside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Index.h"
#include "weft/Reference/Reference.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::reference {

static std::optional<int64_t> apply(AffineExprKind kind, int64_t a, int64_t b) {
  int64_t result;
  switch (kind) {
  case AffineExprKind::Add:
    return llvm::AddOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case AffineExprKind::Mul:
    return llvm::MulOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case AffineExprKind::FloorDiv:
    return b > 0 ? std::optional(llvm::divideFloorSigned(a, b)) : std::nullopt;
  case AffineExprKind::CeilDiv:
    return b > 0 ? std::optional(llvm::divideCeilSigned(a, b)) : std::nullopt;
  case AffineExprKind::Mod:
    return b > 0 ? std::optional(llvm::mod(a, b)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> evaluateExpr(AffineExpr expr, ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto pick = [](ArrayRef<int64_t> values, unsigned position) {
    return position < values.size() ? std::optional(values[position]) : std::nullopt;
  };
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return pick(dims, dim.getPosition());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return pick(symbols, symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<int64_t> lhs = evaluateExpr(binary.getLHS(), dims, symbols);
  std::optional<int64_t> rhs = evaluateExpr(binary.getRHS(), dims, symbols);
  return lhs && rhs ? apply(expr.getKind(), *lhs, *rhs) : std::nullopt;
}

/// a * factor + b, in place of a; false on overflow.
static bool addScaled(LinearForm &a, int64_t factor, const LinearForm &b) {
  auto step = [&](int64_t &x, int64_t y) { return !llvm::MulOverflow(x, factor, x) && !llvm::AddOverflow(x, y, x); };
  if (!step(a.base, b.base))
    return false;
  for (auto [x, y] : llvm::zip(a.strides, b.strides))
    if (!step(x, y))
      return false;
  return true;
}

std::optional<LinearForm> linearize(AffineExpr expr, unsigned numDims) {
  LinearForm form;
  form.strides.assign(numDims, 0);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    form.base = constant.getValue();
    return form;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    if (dim.getPosition() >= numDims)
      return std::nullopt;
    form.strides[dim.getPosition()] = 1;
    return form;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<LinearForm> lhs = linearize(binary.getLHS(), numDims), rhs = linearize(binary.getRHS(), numDims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return addScaled(*lhs, 1, *rhs) ? lhs : std::nullopt;
  // Affine expressions keep constant factors on the right.
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() != AffineExprKind::Mul || !factor)
    return std::nullopt;
  return addScaled(*lhs, factor.getValue(), form) ? lhs : std::nullopt;
}

/// Whether `form` stays within [0, extent) over the box `extents`.
static bool staysWithin(const LinearForm &form, ArrayRef<int64_t> extents, int64_t extent) {
  int64_t low = form.base, high = form.base;
  for (auto [stride, n] : llvm::zip(form.strides, extents)) {
    int64_t last;
    if (llvm::MulOverflow(stride, n - 1, last) || llvm::AddOverflow(last < 0 ? low : high, last, last < 0 ? low : high))
      return false;
  }
  return low >= 0 && high < extent;
}

std::optional<Access> Access::create(AffineMap map, ArrayRef<int64_t> extents, ArrayRef<int64_t> shape) {
  Access access;
  access.map = map;
  access.shape.assign(shape.begin(), shape.end());
  access.strides.assign(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    access.strides[d - 1] = access.strides[d] * shape[d];
  access.form.strides.assign(extents.size(), 0);
  access.isLinear = true;
  bool isEmpty = llvm::is_contained(extents, 0);
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    std::optional<LinearForm> form = linearize(expr, extents.size());
    if (!form) {
      access.isLinear = false;
      return access;
    }
    if (!isEmpty && !staysWithin(*form, extents, shape[d]))
      return std::nullopt;
    // Offsets of points of the box are in bounds whatever wraps on the way; an empty box has none.
    auto addProduct = [step = access.strides[d]](int64_t &into, int64_t x) {
      into = int64_t(uint64_t(into) + uint64_t(x) * uint64_t(step));
    };
    addProduct(access.form.base, form->base);
    for (auto [into, stride] : llvm::zip(access.form.strides, form->strides))
      addProduct(into, stride);
  }
  return access;
}

std::optional<int64_t> Access::offset(ArrayRef<int64_t> point) const {
  if (isLinear)
    return form(point);
  int64_t offset = 0;
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    std::optional<int64_t> index = evaluateExpr(expr, point, {});
    if (!index || *index < 0 || *index >= shape[d])
      return std::nullopt;
    offset += *index * strides[d];
  }
  return offset;
}

} // namespace weft::reference
