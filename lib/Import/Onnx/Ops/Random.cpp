// Random numbers, as text-to-speech models draw their noise.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX leaves the generator open. Here a number is a function of the seed and of its own position (a hash of both), so
// that kernels draw where they use it, on any device the same. Without a seed the node's result names one: each node
// draws others, each run of a program, and each turn of a loop, the same.
#include "Shared/Common.h"
#include "Shared/Expr.h"
#include "Shared/Extents.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace weft::onnx {
namespace {

/// Mixes the bits of 32-bit numbers, so that each depends on all (a multiply and xor-shift hash).
Expr mix(Expr x) {
  auto fold = [](Expr value, int64_t shift) { return value.binary<tg::XorOp>(value.binary<tg::ShrOp>(double(shift))); };
  x = fold(x, 16) * double(0x7feb352d);
  x = fold(x, 15) * double(0x846ca68b);
  return fold(x, 16);
}

/// Uniform numbers inside (0, 1), of 24 bits, one for each of `count` elements; f32. Each `stream` gives others.
Expr drawUniform(NodeContext &n, AffineExpr count, uint32_t seed, uint32_t stream) {
  Type word = n.b.getIntegerType(32, /*isSigned=*/false);
  Expr place = Expr(n, iota(n, count)).cast(word);
  Expr key = mix(mix(place).binary<tg::XorOp>(double(seed)) + double(stream));
  Expr bits = mix(key).binary<tg::ShrOp>(8.0);
  return (bits.cast(n.b.getF32Type()) + 0.5) * 0x1p-24;
}

FailureOr<uint32_t> readSeed(NodeContext &n) {
  if (!n.hasAttr("seed"))
    return static_cast<uint32_t>(llvm::xxh3_64bits(n.node.output_size() ? n.node.output(0) : std::string()));
  FailureOr<double> seed = n.floatAttr("seed");
  return failed(seed) ? FailureOr<uint32_t>(failure()) : llvm::bit_cast<uint32_t>(static_cast<float>(*seed));
}

/// Numbers of extents `dims` and type `element` by the node's attributes.
LogicalResult deliverRandom(NodeContext &n, ArrayRef<AffineExpr> dims, Type element, bool isNormal) {
  FailureOr<double> first = isNormal ? n.floatAttr("mean", 0.0) : n.floatAttr("low", 0.0),
                    second = isNormal ? n.floatAttr("scale", 1.0) : n.floatAttr("high", 1.0);
  FailureOr<uint32_t> seed = readSeed(n);
  if (failed(first) || failed(second) || failed(seed))
    return failure();
  if (!isa<FloatType>(element))
    return n.error("expected a float type, got " + typeName(element));
  AffineExpr count = productOf(n, dims);
  Expr drawn = drawUniform(n, count, *seed, 0);
  if (isNormal) {
    Expr angle = drawUniform(n, count, *seed, 1) * (2 * llvm::numbers::pi);
    drawn = (drawn.unary<tg::LogOp>() * -2.0).unary<tg::SqrtOp>() * angle.unary<tg::CosOp>() * *second + *first;
  } else {
    drawn = drawn * (*second - *first) + *first;
  }
  return deliver(n, drawn.reshape(dims).cast(element));
}

template <bool isNormal> LogicalResult randomOfShape(NodeContext &n) {
  FailureOr<SmallVector<int64_t>> shape = n.intsAttr("shape");
  FailureOr<Type> element = n.typeAttr("dtype", n.b.getF32Type());
  if (failed(n.checkNumInputs(0, 0)) || failed(shape) || failed(element))
    return failure();
  int64_t count = 1;
  for (int64_t extent : *shape)
    if (extent < 0 || llvm::MulOverflow(count, extent, count) || count > (int64_t(1) << 40))
      return n.error("expected attribute `shape` of at most 2^40 elements");
  return deliverRandom(n, n.constDims(*shape), *element, isNormal);
}

template <bool isNormal> LogicalResult randomLike(NodeContext &n) {
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || !x)
    return failure();
  FailureOr<Type> element = n.typeAttr("dtype", n.elementType(x));
  return failed(element) ? failure() : deliverRandom(n, n.dims(x), *element, isNormal);
}

/// 1 where a number drawn is less than the probability, else 0.
LogicalResult bernoulli(NodeContext &n) {
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || failed(checkFloat(n, x, "input")))
    return failure();
  FailureOr<Type> element = n.typeAttr("dtype", n.elementType(x));
  FailureOr<uint32_t> seed = readSeed(n);
  if (failed(element) || failed(seed))
    return failure();
  tg::Dims dims = n.dims(x);
  Expr drawn = drawUniform(n, productOf(n, dims), *seed, 0).reshape(dims);
  return deliver(n, drawn.compare(tg::CmpPredicate::Lt, Expr(n, x).cast(n.b.getF32Type())).cast(*element));
}

/// Classes drawn for each row of logarithms of probabilities: as many as have less than the number drawn in front of
/// their end.
LogicalResult multinomial(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<int64_t> samples = n.intAttr("sample_size", 1);
  FailureOr<Type> element = n.typeAttr("dtype", n.b.getI32Type());
  FailureOr<uint32_t> seed = readSeed(n);
  if (failed(n.checkNumInputs(1, 1)) || failed(checkFloat(n, x, "input")) || failed(n.checkRank(x, 2, 2, "input")) ||
      failed(samples) || failed(element) || failed(seed))
    return failure();
  if (*samples < 1 || *samples > (1 << 24))
    return n.error("expected attribute `sample_size` in [1, 2^24], got " + Twine(*samples));
  if (!element->isInteger(32) && !element->isInteger(64))
    return n.error("expected attribute `dtype` to be int32 or int64, got " + typeName(*element));
  AffineExpr rows = n.dim(x, 0), count = n.constExpr(*samples), one = n.constExpr(1);
  Expr logits = Expr(n, x).cast(n.b.getF32Type());
  Expr weights = (logits - Expr(n, n.reduce(tg::Monoid::Max, logits, {1}, /*keepDims=*/true))).unary<tg::ExpOp>();
  Expr ends(n, n.make<tg::ScanOp>(tg::Monoid::Add, Value(weights), int64_t(1), /*exclusive=*/false, /*reverse=*/false));
  Expr total(n, n.reduce(tg::Monoid::Add, weights, {1}, /*keepDims=*/true));
  Expr drawn = drawUniform(n, tg::simplify(rows * *samples), *seed, 0).reshape({rows, count}) * total;
  Expr isBehind =
      ends.reshape({rows, one, n.dim(x, 1)}).compare(tg::CmpPredicate::Le, drawn.reshape({rows, count, one}));
  Expr place(n, n.reduce(tg::Monoid::Add, isBehind.cast(n.b.getI64Type()), {2}, /*keepDims=*/false));
  Expr last(n, extentScalar(n, tg::simplify(n.dim(x, 1) - 1), n.b.getI64Type())); // Where sums round.
  return deliver(n, place.min(last).cast(*element));
}

} // namespace

ArrayRef<OpEntry> getRandomOps() {
  static constexpr char note[] = "the same numbers in each run";
  static const OpEntry table[] = {
      {"", "Bernoulli", 15, newestOpset, bernoulli, note},
      {"", "Multinomial", 7, newestOpset, multinomial, note},
      {"", "RandomNormal", 1, newestOpset, randomOfShape<true>, note},
      {"", "RandomNormalLike", 1, newestOpset, randomLike<true>, note},
      {"", "RandomUniform", 1, newestOpset, randomOfShape<false>, note},
      {"", "RandomUniformLike", 1, newestOpset, randomLike<false>, note},
  };
  return table;
}

} // namespace weft::onnx
