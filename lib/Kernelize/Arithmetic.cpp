// Normal form of index expressions: sums of products, with divisions resolved by known ranges.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With q * d + r the dividend split term by term, the rules for a divisor d are:
//   0 <= r < d                     x floordiv d = q, x mod d = r
//   r = g r' + c, d = g d'         x floordiv d = q + (r' + c floordiv g) floordiv d',
//                                  x mod d = g ((r' + c floordiv g) mod d') + c mod g
//   r = g r' + s, 0 <= s < g, d = g d'   the same with s in the place of c mod g
//   (x floordiv a) floordiv d      = x floordiv (a d)
//   (x mod m) floordiv d, d | m    = (x floordiv d) mod (m / d)
//   (x mod m) mod d, d | m         = x mod d
//   d (x floordiv d) + x mod d     = x, and with (x floordiv d) mod n in the place of x floordiv d it is x mod (d n)
#include "Arithmetic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace weft::kernelize {

/// A total order that does not depend on addresses.
static int compare(AffineExpr a, AffineExpr b) {
  if (a == b)
    return 0;
  if (a.getKind() != b.getKind()) // Symbols before divisions, for readable products.
    return a.getKind() > b.getKind() ? -1 : 1;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(a))
    return symbol.getPosition() < cast<AffineSymbolExpr>(b).getPosition() ? -1 : 1;
  if (auto constant = dyn_cast<AffineConstantExpr>(a))
    return constant.getValue() < cast<AffineConstantExpr>(b).getValue() ? -1 : 1;
  auto x = cast<AffineBinaryOpExpr>(a), y = cast<AffineBinaryOpExpr>(b);
  int left = compare(x.getLHS(), y.getLHS());
  return left ? left : compare(x.getRHS(), y.getRHS());
}

static std::optional<int64_t> constantOf(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

/// The value of a sum that is a constant.
template <typename SumT> static std::optional<int64_t> constantOf(const SumT &sum) {
  if (sum.empty())
    return 0;
  if (sum.size() == 1 && sum.front().factors.empty())
    return sum.front().coefficient;
  return std::nullopt;
}

AffineExpr Arithmetic::addAtom(AffineExpr extent) {
  extents.push_back(extent);
  return getAffineSymbolExpr(extents.size() - 1, context);
}

AffineExpr Arithmetic::simplify(AffineExpr expr) { return toExpr(normalize(expr)); }

AffineExpr Arithmetic::toExpr(const Sum &sum) const {
  AffineExpr result = getAffineConstantExpr(0, context);
  for (const Term &term : sum) {
    AffineExpr product;
    for (AffineExpr factor : term.factors)
      product = product ? product * factor : factor;
    result = result + (product ? product * term.coefficient : getAffineConstantExpr(term.coefficient, context));
  }
  return result;
}

void Arithmetic::add(Sum &sum, const Term &term) {
  auto it = llvm::find_if(sum, [&](const Term &other) { return other.factors == term.factors; });
  if (it == sum.end()) {
    if (term.coefficient != 0)
      sum.push_back(term);
    return;
  }
  it->coefficient += term.coefficient;
  if (it->coefficient == 0)
    sum.erase(it);
}

Arithmetic::Sum Arithmetic::scaled(Sum sum, int64_t factor) {
  if (factor == 0)
    return {};
  for (Term &term : sum)
    term.coefficient *= factor;
  return sum;
}

Arithmetic::Sum Arithmetic::added(Sum lhs, const Sum &rhs) {
  for (const Term &term : rhs)
    add(lhs, term);
  return recombine(std::move(lhs));
}

Arithmetic::Sum Arithmetic::multiply(const Sum &lhs, const Sum &rhs) {
  Sum product;
  for (const Term &a : lhs)
    for (const Term &b : rhs) {
      Term term{a.coefficient * b.coefficient, a.factors};
      term.factors.append(b.factors.begin(), b.factors.end());
      llvm::sort(term.factors, [](AffineExpr x, AffineExpr y) { return compare(x, y) < 0; });
      add(product, term);
    }
  return product;
}

Arithmetic::Sum Arithmetic::leaf(AffineExpr expr) {
  Sum result;
  add(result, Term{1, {expr}});
  return result;
}

/// The last rule of the file's comment.
Arithmetic::Sum Arithmetic::recombine(Sum sum) {
  for (size_t i = 0; i < sum.size(); ++i)
    for (size_t j = 0; j < sum.size(); ++j) {
      if (i == j || sum[i].factors.size() != 1 || sum[j].factors.size() != 1)
        continue;
      auto low = dyn_cast<AffineBinaryOpExpr>(sum[j].factors[0]),
           high = dyn_cast<AffineBinaryOpExpr>(sum[i].factors[0]);
      if (!low || !high || low.getKind() != AffineExprKind::Mod)
        continue;
      std::optional<int64_t> divisor = constantOf(low.getRHS());
      if (!divisor || sum[i].coefficient != sum[j].coefficient * *divisor)
        continue;
      AffineExpr quotient = low.getLHS().floorDiv(*divisor), whole;
      if (high == quotient)
        whole = low.getLHS();
      else if (high.getKind() == AffineExprKind::Mod && high.getLHS() == quotient && constantOf(high.getRHS()))
        whole = low.getLHS() % (*constantOf(high.getRHS()) * *divisor);
      else
        continue;
      Sum combined = scaled(normalize(whole), sum[j].coefficient);
      sum.erase(sum.begin() + std::max(i, j));
      sum.erase(sum.begin() + std::min(i, j));
      return added(std::move(sum), combined);
    }
  return sum;
}

void Arithmetic::split(const Sum &dividend, const Sum &divisor, Sum &quotient, Sum &rest) {
  if (divisor.size() != 1) {
    rest = dividend;
    return;
  }
  const Term &by = divisor.front();
  for (const Term &term : dividend) {
    Term part = term;
    bool divides = true;
    for (AffineExpr factor : by.factors) {
      auto it = llvm::find(part.factors, factor);
      divides = divides && it != part.factors.end();
      if (it != part.factors.end())
        part.factors.erase(it);
    }
    if (divides && term.coefficient % by.coefficient == 0) {
      part.coefficient = term.coefficient / by.coefficient;
      add(quotient, part);
    } else if (by.factors.empty() && term.factors.empty()) {
      add(quotient, Term{llvm::divideFloorSigned(term.coefficient, by.coefficient), {}});
      add(rest, Term{llvm::mod(term.coefficient, by.coefficient), {}});
    } else {
      add(rest, term);
    }
  }
}

/// rest = g * rest' + c: divides rest by g, floor of the constant; c mod g into `constant`.
template <typename SumT> static SumT dividedBy(SumT rest, int64_t g, int64_t &constant) {
  constant = 0;
  SumT result;
  for (auto &term : rest) {
    if (term.factors.empty()) {
      constant = llvm::mod(term.coefficient, g);
      term.coefficient = llvm::divideFloorSigned(term.coefficient, g);
    } else {
      term.coefficient /= g;
    }
    if (term.coefficient != 0)
      result.push_back(term);
  }
  return result;
}

template <typename SumT> static int64_t commonDivisor(const SumT &rest, int64_t divisor) {
  int64_t g = divisor;
  for (const auto &term : rest)
    if (!term.factors.empty())
      g = std::gcd(g, term.coefficient);
  return g;
}

int64_t Arithmetic::separate(const Sum &rest, int64_t divisor, Sum &high, Sum &low) {
  SmallVector<int64_t> candidates;
  for (const Term &term : rest)
    if (int64_t g = std::gcd(divisor, term.coefficient); !term.factors.empty() && g > 1)
      candidates.push_back(g);
  llvm::sort(candidates, std::greater<>());
  candidates.erase(llvm::unique(candidates), candidates.end());
  for (int64_t g : candidates) {
    high.clear();
    low.clear();
    for (const Term &term : rest) {
      if (term.factors.empty()) {
        add(high, Term{llvm::divideFloorSigned(term.coefficient, g), {}});
        add(low, Term{llvm::mod(term.coefficient, g), {}});
      } else {
        add(term.coefficient % g == 0 ? high : low,
            Term{term.coefficient % g == 0 ? term.coefficient / g : term.coefficient, term.factors});
      }
    }
    if (isWithin(low, Sum{Term{g, {}}}))
      return g;
  }
  return 1;
}

/// The division that `rest` is, if it is one and nothing else.
template <typename SumT> static AffineBinaryOpExpr soleDivision(const SumT &rest, AffineExprKind kind) {
  if (rest.size() != 1 || rest.front().coefficient != 1 || rest.front().factors.size() != 1)
    return AffineBinaryOpExpr(nullptr);
  auto expr = dyn_cast<AffineBinaryOpExpr>(rest.front().factors.front());
  return expr && expr.getKind() == kind ? expr : AffineBinaryOpExpr(nullptr);
}

Arithmetic::Sum Arithmetic::floorDivide(const Sum &dividend, const Sum &divisor) {
  std::optional<int64_t> by = constantOf(divisor);
  if (by && *by <= 0) // An empty tensor: nothing is accessed.
    return {};
  Sum quotient, rest;
  split(dividend, divisor, quotient, rest);
  if (rest.empty() || isWithin(rest, divisor))
    return recombine(quotient);
  if (by) {
    int64_t constant = 0;
    if (int64_t g = commonDivisor(rest, *by); g > 1)
      return added(quotient, floorDivide(dividedBy(rest, g, constant), Sum{Term{*by / g, {}}}));
    Sum high, low;
    if (int64_t g = separate(rest, *by, high, low); g > 1)
      return added(quotient, floorDivide(high, Sum{Term{*by / g, {}}}));
    if (auto inner = soleDivision(rest, AffineExprKind::FloorDiv); inner && constantOf(inner.getRHS()))
      return added(quotient, floorDivide(normalize(inner.getLHS()), Sum{Term{*by * *constantOf(inner.getRHS()), {}}}));
    auto inner = soleDivision(rest, AffineExprKind::Mod);
    std::optional<int64_t> m = inner ? constantOf(inner.getRHS()) : std::nullopt;
    if (m && *m % *by == 0)
      return added(quotient, modulo(floorDivide(normalize(inner.getLHS()), divisor), Sum{Term{*m / *by, {}}}));
  }
  AffineExpr expr = toExpr(rest).floorDiv(toExpr(divisor));
  return added(quotient, expr.getKind() == AffineExprKind::FloorDiv ? leaf(expr) : normalize(expr));
}

Arithmetic::Sum Arithmetic::modulo(const Sum &dividend, const Sum &divisor) {
  std::optional<int64_t> by = constantOf(divisor);
  if (by && *by <= 1)
    return {};
  Sum quotient, rest;
  split(dividend, divisor, quotient, rest);
  if (rest.empty() || isWithin(rest, divisor))
    return rest;
  if (by) {
    int64_t constant = 0;
    if (int64_t g = commonDivisor(rest, *by); g > 1) {
      Sum inner = modulo(dividedBy(rest, g, constant), Sum{Term{*by / g, {}}});
      return added(scaled(inner, g), Sum{Term{constant, {}}});
    }
    Sum high, low;
    if (int64_t g = separate(rest, *by, high, low); g > 1)
      return added(scaled(modulo(high, Sum{Term{*by / g, {}}}), g), low);
    auto inner = soleDivision(rest, AffineExprKind::Mod);
    std::optional<int64_t> m = inner ? constantOf(inner.getRHS()) : std::nullopt;
    if (m && *m % *by == 0)
      return modulo(normalize(inner.getLHS()), divisor);
  }
  AffineExpr expr = toExpr(rest) % toExpr(divisor);
  return expr.getKind() == AffineExprKind::Mod ? leaf(expr) : normalize(expr);
}

Arithmetic::Sum Arithmetic::ceilDivide(const Sum &dividend, const Sum &divisor) {
  if (constantOf(divisor) && *constantOf(divisor) <= 0)
    return {};
  Sum quotient, rest;
  split(dividend, divisor, quotient, rest);
  if (rest.empty())
    return quotient;
  AffineExpr expr = toExpr(dividend).ceilDiv(toExpr(divisor));
  if (auto constant = constantOf(expr))
    return Sum{Term{*constant, {}}};
  return leaf(expr);
}

Arithmetic::Sum Arithmetic::normalize(AffineExpr expr) {
  if (auto constant = constantOf(expr)) {
    Sum result;
    add(result, Term{*constant, {}});
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return leaf(expr);
  Sum lhs = normalize(binary.getLHS()), rhs = normalize(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return added(std::move(lhs), rhs);
  case AffineExprKind::Mul:
    return recombine(multiply(lhs, rhs));
  case AffineExprKind::FloorDiv:
    return floorDivide(lhs, rhs);
  case AffineExprKind::Mod:
    return modulo(lhs, rhs);
  default:
    return ceilDivide(lhs, rhs);
  }
}

//===-- Ranges ----------------------------------------------------------------------------------------------------===//

/// Whether only kernel symbols occur, so that least and greatest value are the expression itself.
bool Arithmetic::isFixed(AffineExpr expr) const {
  bool fixed = true;
  expr.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      fixed = fixed && !extents[symbol.getPosition()];
  });
  return fixed;
}

bool Arithmetic::isFactorNonNegative(AffineExpr factor) const {
  if (auto constant = constantOf(factor))
    return *constant >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(factor);
  if (!binary || factor.getKind() == AffineExprKind::Mod)
    return true;
  return isFactorNonNegative(binary.getLHS()) && isFactorNonNegative(binary.getRHS());
}

bool Arithmetic::isShownNonNegative(const Sum &sum) const {
  return llvm::all_of(sum, [&](const Term &term) {
    return term.coefficient >= 0 && llvm::all_of(term.factors, [&](AffineExpr f) { return isFactorNonNegative(f); });
  });
}

std::optional<Arithmetic::Range> Arithmetic::rangeOfFactor(AffineExpr factor) {
  if (isFixed(factor))
    return Range(leaf(factor), leaf(factor));
  if (auto symbol = dyn_cast<AffineSymbolExpr>(factor))
    return Range(Sum{}, added(normalize(extents[symbol.getPosition()]), Sum{Term{-1, {}}}));
  auto binary = dyn_cast<AffineBinaryOpExpr>(factor);
  if (!binary || !isFixed(binary.getRHS()))
    return std::nullopt;
  Sum divisor = normalize(binary.getRHS());
  if (factor.getKind() == AffineExprKind::Mod)
    return Range(Sum{}, added(divisor, Sum{Term{-1, {}}}));
  if (factor.getKind() != AffineExprKind::FloorDiv)
    return std::nullopt;
  std::optional<Range> inner = rangeOf(normalize(binary.getLHS()));
  if (!inner)
    return std::nullopt;
  return Range(floorDivide(inner->first, divisor), floorDivide(inner->second, divisor));
}

std::optional<Arithmetic::Range> Arithmetic::rangeOfTerm(const Term &term) {
  Range result(Sum{Term{1, {}}}, Sum{Term{1, {}}});
  for (AffineExpr factor : term.factors) {
    std::optional<Range> range = rangeOfFactor(factor);
    if (!range || (term.factors.size() > 1 && !isShownNonNegative(range->first)))
      return std::nullopt;
    result = {multiply(result.first, range->first), multiply(result.second, range->second)};
  }
  result = {scaled(result.first, term.coefficient), scaled(result.second, term.coefficient)};
  if (term.coefficient < 0)
    std::swap(result.first, result.second);
  return result;
}

std::optional<Arithmetic::Range> Arithmetic::rangeOf(const Sum &sum) {
  Range result;
  for (const Term &term : sum) {
    std::optional<Range> range = rangeOfTerm(term);
    if (!range)
      return std::nullopt;
    result = {added(result.first, range->first), added(result.second, range->second)};
  }
  return result;
}

bool Arithmetic::isWithin(const Sum &value, const Sum &divisor) {
  std::optional<Range> range = rangeOf(value);
  if (!range || !isShownNonNegative(range->first))
    return false;
  Sum slack = added(added(divisor, Sum{Term{-1, {}}}), scaled(range->second, -1));
  return isShownNonNegative(slack);
}

bool Arithmetic::isNonNegative(AffineExpr expr) {
  std::optional<Range> range = rangeOf(normalize(expr));
  return range && isShownNonNegative(range->first);
}

} // namespace weft::kernelize
