// Linear forms over values of a thread: sums, divisions that split, conditions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IndexForms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace weft::gpu;

namespace {
constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();

int64_t clamp(__int128 value) { return value < least ? least : value > greatest ? greatest : int64_t(value); }
int64_t saturatingAdd(int64_t a, int64_t b) { return clamp(__int128(a) + b); }
bool isUnbounded(int64_t value) { return value == least || value == greatest; }
} // namespace

LinearForm IndexArithmetic::get(Value value, Bounds bounds, unsigned depth) {
  auto [it, isNew] = numbers.try_emplace(value, atoms.size());
  if (isNew)
    atoms.push_back({value, bounds, depth});
  return {{{it->second, 1}}, 0};
}

Value IndexArithmetic::toIndex(Value integer) {
  Value &cast = casts[integer];
  if (!cast)
    cast = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), integer);
  return cast;
}

//===-- Sums ------------------------------------------------------------------------------------------------------===//

LinearForm IndexArithmetic::add(const LinearForm &a, const LinearForm &b) {
  LinearForm sum;
  sum.constant = a.constant + b.constant;
  auto i = a.terms.begin(), j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first)) {
      sum.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->first < i->first) {
      sum.terms.push_back(*j++);
    } else {
      if (int64_t coefficient = i->second + j->second)
        sum.terms.push_back({i->first, coefficient});
      ++i, ++j;
    }
  }
  return sum;
}

LinearForm IndexArithmetic::scale(const LinearForm &a, int64_t factor) {
  if (factor == 0)
    return {};
  LinearForm result = a;
  for (auto &[atom, coefficient] : result.terms)
    coefficient *= factor;
  result.constant *= factor;
  return result;
}

LinearForm IndexArithmetic::multiply(const LinearForm &a, const LinearForm &b) {
  if (a.terms.empty())
    return scale(b, a.constant);
  if (b.terms.empty())
    return scale(a, b.constant);
  // (A + c)(B + d) = AB + dA + cB + cd: registers that differ in constants share the products.
  LinearForm left{a.terms, 0}, right{b.terms, 0};
  LinearForm product = apply(Opcode::multiply, left, right, {});
  product = add(product, add(scale(left, b.constant), scale(right, a.constant)));
  product.constant += a.constant * b.constant;
  return product;
}

Bounds IndexArithmetic::getBounds(const LinearForm &form) const {
  Bounds sum{form.constant, form.constant};
  for (auto [atom, coefficient] : form.terms) {
    Bounds bounds = atoms[atom].bounds;
    if (coefficient < 0)
      std::swap(bounds.min, bounds.max);
    auto times = [&, factor = coefficient](int64_t bound, int64_t open) {
      return isUnbounded(bound) ? open : clamp(__int128(bound) * factor);
    };
    int64_t low = times(bounds.min, least), high = times(bounds.max, greatest);
    sum.min = sum.min == least || low == least ? least : saturatingAdd(sum.min, low);
    sum.max = sum.max == greatest || high == greatest ? greatest : saturatingAdd(sum.max, high);
  }
  return sum;
}

int64_t IndexArithmetic::getDivisor(const Terms &terms) {
  int64_t divisor = 0;
  for (auto [atom, coefficient] : terms)
    divisor = std::gcd(divisor, coefficient);
  return divisor;
}

//===-- Division --------------------------------------------------------------------------------------------------===//

/// Parts of a form with respect to a divisor k: multiple (of k) + rest, with 0 <= rest.constant < k.
static std::pair<LinearForm, LinearForm> splitMultiples(const LinearForm &a, int64_t k) {
  LinearForm multiple, rest;
  for (auto term : a.terms)
    (term.second % k == 0 ? multiple : rest).terms.push_back(term);
  rest.constant = llvm::mod(a.constant, k);
  multiple.constant = a.constant - rest.constant;
  return {multiple, rest};
}

/// What of the constant cannot carry: the terms are multiples of g, so that terms + g * n leaves g - 1 below.
static int64_t takeSmall(LinearForm &rest, int64_t k) {
  int64_t g = std::gcd(IndexArithmetic::getDivisor(rest.terms), k), small = rest.constant % g;
  rest.constant -= small;
  return small;
}

LinearForm IndexArithmetic::divideBy(const LinearForm &a, int64_t k) {
  auto [multiple, rest] = splitMultiples(a, k);
  LinearForm quotient = multiple;
  for (auto &[atom, coefficient] : quotient.terms)
    coefficient /= k;
  quotient.constant /= k;
  Bounds bounds = getBounds(rest);
  if (rest.terms.empty() || (bounds.min >= 0 && bounds.max < k))
    return quotient;
  takeSmall(rest, k);
  int64_t g = std::gcd(std::gcd(getDivisor(rest.terms), rest.constant), k);
  for (auto &[atom, coefficient] : rest.terms)
    coefficient /= g;
  rest.constant /= g;
  k /= g;
  bounds = getBounds(rest);
  Bounds divided{isUnbounded(bounds.min) ? bounds.min : llvm::divideFloorSigned(bounds.min, k),
                 isUnbounded(bounds.max) ? bounds.max : llvm::divideFloorSigned(bounds.max, k)};
  return add(quotient, apply(Opcode::floorDiv, rest, constant(k), divided));
}

LinearForm IndexArithmetic::remainderBy(const LinearForm &a, int64_t k) {
  LinearForm rest = splitMultiples(a, k).second;
  Bounds bounds = getBounds(rest);
  if (rest.terms.empty() || (bounds.min >= 0 && bounds.max < k))
    return rest;
  int64_t small = takeSmall(rest, k), g = std::gcd(std::gcd(getDivisor(rest.terms), rest.constant), k);
  for (auto &[atom, coefficient] : rest.terms)
    coefficient /= g;
  rest.constant /= g;
  LinearForm result = scale(apply(Opcode::mod, rest, constant(k / g), {0, k / g - 1}), g);
  result.constant += small;
  return result;
}

LinearForm IndexArithmetic::floorDiv(const LinearForm &a, const LinearForm &b) {
  if (b.terms.empty() && b.constant > 0)
    return b.constant == 1 ? a : divideBy(a, b.constant);
  return apply(Opcode::floorDiv, a, b, getBounds(a).min >= 0 ? Bounds{0, getBounds(a).max} : Bounds{});
}

LinearForm IndexArithmetic::mod(const LinearForm &a, const LinearForm &b) {
  if (b.terms.empty() && b.constant > 0)
    return b.constant == 1 ? LinearForm{} : remainderBy(a, b.constant);
  int64_t max = getBounds(b).max;
  return apply(Opcode::mod, a, b, {0, max == greatest ? max : max - 1});
}

LinearForm IndexArithmetic::apply(Opcode opcode, const LinearForm &a, const LinearForm &b, Bounds bounds) {
  auto key = std::make_tuple(int(opcode), a.terms, a.constant, b.terms, b.constant);
  auto found = applied.find(key);
  if (found != applied.end())
    return {{{found->second, 1}}, 0};
  Bounds left = getBounds(a), right = getBounds(b);
  bool isNonNegative = left.min >= 0 && right.min >= 0;
  if (opcode == Opcode::multiply && isNonNegative) {
    bool isOpen = left.max == greatest || right.max == greatest;
    bounds = {clamp(__int128(left.min) * right.min), isOpen ? greatest : clamp(__int128(left.max) * right.max)};
  }
  unsigned depth = std::max(getDepth(a.terms), getDepth(b.terms));
  Value value = emit(opcode, materialize(a), materialize(b), isNonNegative);
  LinearForm form = get(value, bounds, depth);
  applied[key] = form.terms.front().first;
  return form;
}

Value IndexArithmetic::emit(Opcode opcode, Value a, Value b, bool isNonNegative) {
  if (opcode == Opcode::multiply)
    return arith::MulIOp::create(builder, loc, a, b);
  if (isNonNegative)
    return opcode == Opcode::floorDiv ? Value(arith::DivUIOp::create(builder, loc, a, b))
                                      : Value(arith::RemUIOp::create(builder, loc, a, b));
  // The divisor is positive. For a < 0: floor(a / b) = -1 - (-1 - a) / b, and a mod b = a - b * floor(a / b).
  Value zero = materializeConstant(0), minusOne = materializeConstant(-1);
  Value isNegative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, zero);
  Value flipped = arith::SubIOp::create(builder, loc, minusOne, a);
  Value positive = arith::SelectOp::create(builder, loc, isNegative, flipped, a);
  Value quotient = arith::DivUIOp::create(builder, loc, positive, b);
  Value negated = arith::SubIOp::create(builder, loc, minusOne, quotient);
  quotient = arith::SelectOp::create(builder, loc, isNegative, negated, quotient);
  if (opcode == Opcode::floorDiv)
    return quotient;
  return arith::SubIOp::create(builder, loc, a, arith::MulIOp::create(builder, loc, quotient, b));
}

//===-- Expressions -----------------------------------------------------------------------------------------------===//

LinearForm IndexArithmetic::evaluate(AffineExpr expr, ArrayRef<LinearForm> dims, ArrayRef<LinearForm> symbols) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return constant(value.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  LinearForm a = evaluate(binary.getLHS(), dims, symbols), b = evaluate(binary.getRHS(), dims, symbols);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return add(a, b);
  case AffineExprKind::Mul:
    return multiply(a, b);
  case AffineExprKind::FloorDiv:
    return floorDiv(a, b);
  case AffineExprKind::CeilDiv: // ceil(a / b) = floor((a + b - 1) / b)
    return floorDiv(add(add(a, b), constant(-1)), b);
  default:
    return mod(a, b);
  }
}

unsigned IndexArithmetic::getDepth(const Terms &terms) const {
  unsigned depth = 0;
  for (auto [atom, coefficient] : terms)
    depth = std::max(depth, atoms[atom].depth);
  return depth;
}

Value IndexArithmetic::materializeConstant(int64_t value) {
  Value &known = constants[value];
  if (!known)
    known = arith::ConstantIndexOp::create(builder, loc, value);
  return known;
}

Value IndexArithmetic::materializeTerms(const Terms &terms) {
  if (terms.empty())
    return {};
  Value &known = sums[terms];
  if (known)
    return known;
  Terms ordered = terms;
  llvm::sort(ordered, [&](auto &a, auto &b) {
    return std::make_pair(atoms[a.first].depth, a.first) < std::make_pair(atoms[b.first].depth, b.first);
  });
  Value sum;
  if (ordered.size() > 1) { // The part that changes least is shared with other sums.
    Terms outer(ordered.begin(), ordered.end() - 1);
    llvm::sort(outer);
    sum = materializeTerms(outer);
  }
  auto [atom, coefficient] = ordered.back();
  Value product = atoms[atom].value;
  if (coefficient != 1 && !(coefficient == -1 && sum))
    product = arith::MulIOp::create(builder, loc, product, materializeConstant(coefficient));
  if (sum)
    product = coefficient == -1 ? Value(arith::SubIOp::create(builder, loc, sum, product))
                                : Value(arith::AddIOp::create(builder, loc, sum, product));
  return sums[terms] = product;
}

Value IndexArithmetic::materialize(const LinearForm &form) {
  Value sum = materializeTerms(form.terms);
  if (!sum)
    return materializeConstant(form.constant);
  if (form.constant == 0)
    return sum;
  return arith::AddIOp::create(builder, loc, sum, materializeConstant(form.constant));
}

//===-- Conditions ------------------------------------------------------------------------------------------------===//

Predicate IndexArithmetic::compare(const LinearForm &form, bool isEquality) {
  Bounds bounds = getBounds(form);
  auto known = [](bool value) { return Predicate{{}, true, value}; };
  if (isEquality ? bounds.min > 0 || bounds.max < 0 : bounds.max < 0)
    return known(false);
  if (isEquality ? bounds.min == 0 && bounds.max == 0 : bounds.min >= 0)
    return known(true);
  // g X + c >= 0 is X >= -floor(c / g): one condition for all constants that floor to the same.
  int64_t g = getDivisor(form.terms);
  if (isEquality && form.constant % g)
    return known(false);
  int64_t constant = llvm::divideFloorSigned(form.constant, g);
  auto key = std::make_pair(std::make_pair(form.terms, constant), isEquality);
  Value &value = conditions[key];
  if (!value) {
    Terms left, right; // left <= right + constant, without negative coefficients
    for (auto [atom, coefficient] : form.terms)
      (coefficient < 0 ? left : right).push_back({atom, std::abs(coefficient) / g});
    LinearForm lhs{left, left.empty() ? -constant : 0}, rhs{right, left.empty() ? 0 : constant};
    value = arith::CmpIOp::create(builder, loc, isEquality ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sle,
                                  materialize(lhs), materialize(rhs));
  }
  return {value, false, false};
}

Predicate IndexArithmetic::both(const Predicate &a, const Predicate &b) {
  if (a.isFalse() || b.isTrue())
    return a;
  if (b.isFalse() || a.isTrue())
    return b;
  if (a.value == b.value)
    return a;
  Value &value = conjunctions[{a.value, b.value}];
  if (!value)
    value = arith::AndIOp::create(builder, loc, a.value, b.value);
  return {value, false, false};
}

Predicate IndexArithmetic::evaluate(IntegerSet set, ArrayRef<LinearForm> dims, ArrayRef<LinearForm> symbols) {
  Predicate all;
  for (unsigned i = 0; i < set.getNumConstraints(); ++i)
    all = both(all, compare(evaluate(set.getConstraint(i), dims, symbols), set.isEq(i)));
  return all;
}
