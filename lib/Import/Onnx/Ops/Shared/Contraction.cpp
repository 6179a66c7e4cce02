// Labelled contractions: broadcast labels are dropped from the operand they stretch, the rest becomes one
// `tg.contract`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contraction.h"
#include "Compose.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {

namespace {

int64_t placeOf(const Labeled &operand, int label) {
  auto it = llvm::find(operand.labels, label);
  return it == operand.labels.end() ? -1 : it - operand.labels.begin();
}

/// Drops the labels of `operand` that have extent 1 and that `other` has with another extent.
Value dropStretched(NodeContext &n, Labeled &operand, const Labeled &other) {
  SmallVector<int64_t> dropped;
  for (auto [d, label] : llvm::enumerate(operand.labels)) {
    int64_t there = placeOf(other, label);
    if (there >= 0 && n.staticDim(operand.value, d) == 1 && n.staticDim(other.value, there) != 1)
      dropped.push_back(d);
  }
  for (int64_t d : llvm::reverse(dropped))
    operand.labels.erase(operand.labels.begin() + d);
  return dropped.empty() ? operand.value : n.squeeze(operand.value, dropped);
}

/// `operand` with its dimensions in the order of `result` and extents of 1 for the labels that it lacks.
Value alignTo(NodeContext &n, const Labeled &operand, ArrayRef<int> result) {
  SmallVector<int64_t> permutation, missing;
  for (auto [d, label] : llvm::enumerate(result)) {
    int64_t place = placeOf(operand, label);
    if (place >= 0)
      permutation.push_back(place);
    else
      missing.push_back(d);
  }
  return n.unsqueeze(n.transpose(operand.value, permutation), missing);
}

/// x * factor; an integer x takes integer factors only.
Value scaleBy(NodeContext &n, Value x, double factor, StringRef name) {
  if (!x || factor == 1.0)
    return x;
  if (isInteger(n, x) && std::trunc(factor) != factor) {
    (void)n.unsupported("a fractional attribute `" + name + "` with integer operands is not supported");
    return {};
  }
  return n.make<tg::MulOp>(x, scalarLike(n, factor, x));
}

} // namespace

Value contractLabeled(NodeContext &n, Labeled lhs, Labeled rhs, ArrayRef<int> result, Type element) {
  if (!lhs.value || !rhs.value)
    return {};
  Labeled left = lhs;
  lhs.value = dropStretched(n, lhs, rhs);
  rhs.value = dropStretched(n, rhs, left);
  if (!lhs.value || !rhs.value)
    return {};

  SmallVector<int> used(result);
  for (int label : llvm::concat<int>(lhs.labels, rhs.labels))
    if (!llvm::is_contained(used, label))
      used.push_back(label);
  if (used.size() == result.size()) {
    Value x = n.cast(alignTo(n, lhs, result), element), y = n.cast(alignTo(n, rhs, result), element);
    return n.make<tg::MulOp>(x, y);
  }
  constexpr StringLiteral letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (used.size() > letters.size()) {
    (void)n.unsupported("a contraction over more than " + Twine(letters.size()) + " dimensions is not supported");
    return {};
  }
  auto spell = [&](ArrayRef<int> labels) {
    std::string text;
    for (int label : labels)
      text += letters[llvm::find(used, label) - used.begin()];
    return text;
  };
  return n.contract(lhs.value, rhs.value, spell(lhs.labels) + "," + spell(rhs.labels) + "->" + spell(result), element);
}

Value matmul(NodeContext &n, Value lhs, Value rhs, Type element) {
  if (!lhs || !rhs)
    return {};
  constexpr int rowLabel = -1, columnLabel = -2, sumLabel = -3;
  int64_t leftRank = n.rank(lhs), rightRank = n.rank(rhs);
  if (leftRank < 1 || rightRank < 1) {
    (void)n.error("expected operands of rank 1 or more, got ranks " + Twine(leftRank) + " and " + Twine(rightRank));
    return {};
  }
  // Batch dimensions are labelled by their distance from the matrix dimensions, so that they align as numpy's do.
  auto batch = [](int64_t count) {
    SmallVector<int> labels;
    for (int64_t d = count; d > 0; --d)
      labels.push_back(d);
    return labels;
  };
  Labeled left{lhs, batch(leftRank - 2)}, right{rhs, batch(rightRank - 2)};
  SmallVector<int> result = batch(std::max(leftRank, rightRank) - 2);
  if (leftRank > 1) {
    left.labels.push_back(rowLabel);
    result.push_back(rowLabel);
  }
  left.labels.push_back(sumLabel);
  right.labels.push_back(sumLabel);
  if (rightRank > 1) {
    right.labels.push_back(columnLabel);
    result.push_back(columnLabel);
  }
  // numpy's matmul does not stretch the summed dimension.
  AffineExpr leftSum = n.dim(lhs, leftRank - 1), rightSum = n.dim(rhs, std::max<int64_t>(rightRank - 2, 0));
  if (failed(n.assumeEqual(leftSum, rightSum, "the summed dimension")))
    return {};
  return contractLabeled(n, left, right, result, element);
}

Value gemm(NodeContext &n, const GemmArgs &args) {
  if (!args.a || !args.b)
    return {};
  Type element = n.elementType(args.a);
  bool plain = args.alpha == 1.0 && (!args.c || args.beta == 0);
  std::string einsum = std::string(args.transA ? "km" : "mk") + "," + (args.transB ? "nk" : "kn") + "->mn";
  Value product = n.contract(args.a, args.b, einsum, plain ? element : computeType(element));
  product = scaleBy(n, product, args.alpha, "alpha");
  if (!args.c || args.beta == 0 || !product)
    return product;
  // C stretches to the product's shape, never the other way.
  Value bias = scaleBy(n, n.toCompute(args.c), args.beta, "beta");
  return n.make<tg::AddOp>(product, n.broadcastTo(bias, n.dims(product)));
}

} // namespace weft::onnx
