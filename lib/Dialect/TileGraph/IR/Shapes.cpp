// Tensor types with symbolic extents; see Shapes.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/AffineMap.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft::tg {

std::optional<int64_t> getConstant(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

static unsigned countSymbols(AffineExpr expr) {
  unsigned count = 0;
  expr.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      count = std::max(count, symbol.getPosition() + 1);
  });
  return count;
}

/// The terms of `expr` as a sum, products of sums multiplied out; none where they would be more than `most`.
static std::optional<Dims> getTerms(AffineExpr expr, size_t most) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  bool isSum = expr.getKind() == AffineExprKind::Add, isProduct = expr.getKind() == AffineExprKind::Mul;
  if (!isSum && !isProduct)
    return Dims{expr};
  std::optional<Dims> left = getTerms(binary.getLHS(), most), right = getTerms(binary.getRHS(), most);
  if (!left || !right || (isSum ? left->size() + right->size() : left->size() * right->size()) > most)
    return std::nullopt;
  if (isSum) {
    llvm::append_range(*left, *right);
    return left;
  }
  Dims terms;
  for (AffineExpr a : *left)
    for (AffineExpr b : *right)
      terms.push_back(a * b);
  return terms;
}

/// Products of sums of symbols: simplifyAffineExpr takes each of them for one thing, so (s0 + s1) * s2 is not s0 * s2 +
/// s1 * s2 to it.
static bool hasProductOfSum(AffineExpr expr) {
  auto isSumOf = [](AffineExpr e) { return e.getKind() == AffineExprKind::Add; };
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || (!isSumOf(expr) && expr.getKind() != AffineExprKind::Mul))
    return false;
  bool isProductOfSum =
      !isSumOf(expr) && !getConstant(binary.getRHS()) && (isSumOf(binary.getLHS()) || isSumOf(binary.getRHS()));
  return isProductOfSum || hasProductOfSum(binary.getLHS()) || hasProductOfSum(binary.getRHS());
}

AffineExpr simplify(AffineExpr expr) {
  constexpr size_t mostTerms = 16;
  if (hasProductOfSum(expr)) {
    if (std::optional<Dims> terms = getTerms(expr, mostTerms)) {
      expr = getAffineConstantExpr(0, expr.getContext());
      for (AffineExpr term : *terms)
        expr = expr + term;
    }
  }
  return simplifyAffineExpr(expr, 0, countSymbols(expr));
}

AffineMap getSymbolMap(ArrayRef<AffineExpr> exprs, MLIRContext *context) {
  unsigned symbols = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  return AffineMap::get(0, symbols, exprs, context);
}

bool isEqual(AffineExpr a, AffineExpr b) { return a == b || getConstant(simplify(a - b)) == 0; }

RankedTensorType getTensorType(ArrayRef<AffineExpr> dims, Type element) {
  SmallVector<int64_t> shape;
  Dims simplified;
  unsigned symbols = 0;
  for (AffineExpr dim : dims) {
    simplified.push_back(simplify(dim));
    symbols = std::max(symbols, countSymbols(simplified.back()));
    shape.push_back(getConstant(simplified.back()).value_or(ShapedType::kDynamic));
  }
  Attribute encoding;
  if (llvm::any_of(shape, ShapedType::isDynamic)) {
    MLIRContext *context = element.getContext();
    encoding = DimsAttr::get(context, AffineMap::get(0, symbols, simplified, context));
  }
  return RankedTensorType::get(shape, element, encoding);
}

RankedTensorType getTensorType(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }

Dims getDims(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  if (auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding()))
    return Dims(dims.getMap().getResults());
  Dims dims;
  for (int64_t extent : type.getShape())
    dims.push_back(getAffineConstantExpr(extent, type.getContext()));
  return dims;
}

AffineExpr getDim(Type tensor, int64_t d) { return getDims(tensor)[d]; }

RankedTensorType withElement(Type type, Type element) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), element, tensor.getEncoding());
}

AffineExpr getNumElements(Type tensor) {
  AffineExpr product = getAffineConstantExpr(1, tensor.getContext());
  for (AffineExpr dim : getDims(tensor))
    product = product * dim;
  return simplify(product);
}

int64_t getElementBits(Type element) { return element.isInteger(1) ? 8 : int64_t(element.getIntOrFloatBitWidth()); }

std::optional<int64_t> getByteSize(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  if (!type.hasStaticShape())
    return std::nullopt;
  int64_t bits = getElementBits(type.getElementType());
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(bits, extent, bits) || bits > (int64_t(1) << 62))
      return type.getNumElements() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  return llvm::divideCeil(bits, 8);
}

/// Prints `expr` with the binding strength of the surrounding operator, so that only needed parentheses appear.
static void formatExpr(AffineExpr expr, ArrayRef<std::string> names, llvm::raw_ostream &os, bool inProduct) {
  if (auto constant = getConstant(expr)) {
    os << *constant;
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    unsigned position = symbol.getPosition();
    if (position < names.size())
      os << names[position];
    else
      os << 's' << position;
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  bool isSum = binary.getKind() == AffineExprKind::Add;
  const char *text = isSum                                          ? " + "
                     : binary.getKind() == AffineExprKind::Mul      ? " * "
                     : binary.getKind() == AffineExprKind::Mod      ? " mod "
                     : binary.getKind() == AffineExprKind::FloorDiv ? " floordiv "
                                                                    : " ceildiv ";
  if (isSum && inProduct)
    os << '(';
  formatExpr(binary.getLHS(), names, os, !isSum);
  os << text;
  formatExpr(binary.getRHS(), names, os, !isSum);
  if (isSum && inProduct)
    os << ')';
}

std::string formatDims(ArrayRef<AffineExpr> dims, ArrayRef<std::string> symbolNames) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(dims, os, [&](AffineExpr dim) { formatExpr(dim, symbolNames, os, false); }, " x ");
  return text;
}

std::optional<Dims> broadcastDims(ArrayRef<Dims> shapes, SmallVectorImpl<std::pair<AffineExpr, AffineExpr>> *assumed) {
  size_t rank = 0;
  for (const Dims &shape : shapes)
    rank = std::max(rank, shape.size());
  Dims result(rank);
  for (const Dims &shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      AffineExpr dim = shape[shape.size() - 1 - i];
      AffineExpr &into = result[rank - 1 - i];
      if (!into || getConstant(into) == 1) {
        into = dim;
        continue;
      }
      if (getConstant(dim) == 1 || isEqual(dim, into))
        continue;
      bool bothConstant = getConstant(dim) && getConstant(into);
      if (bothConstant || !assumed)
        return std::nullopt;
      assumed->push_back({into, dim});
      if (getConstant(dim))
        into = dim;
    }
  }
  return result;
}

} // namespace weft::tg
