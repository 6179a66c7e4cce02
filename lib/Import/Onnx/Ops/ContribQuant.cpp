// com.microsoft operators on weights quantised block by block: MatMulNBits, MatMulBnb4, products with FP8 and FP4
// blocks, GatherBlockQuantized.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/BlockQuantization.h"
#include "Shared/Common.h"
#include "Shared/Contraction.h"
#include "Shared/Expr.h"

using namespace mlir;

namespace weft::onnx {

namespace {

/// Attributes `K` and `N`.
struct WeightShape {
  int64_t k = 0, n = 0;
};

FailureOr<WeightShape> readWeightShape(NodeContext &n) {
  FailureOr<int64_t> k = n.intAttr("K"), columns = n.intAttr("N");
  if (failed(k) || failed(columns))
    return failure();
  constexpr int64_t maxExtent = int64_t(1) << 31;
  if (*k < 1 || *columns < 1 || *k > maxExtent || *columns > maxExtent)
    return n.error("expected attributes `K` and `N` within [1, 2^31], got " + Twine(*k) + " and " + Twine(*columns));
  return WeightShape{*k, *columns};
}

/// a (.. x K) times the transposed weights (N x K), plus a bias [N], in the element type of a.
LogicalResult deliverProduct(NodeContext &n, Value a, Value weights, Value bias) {
  Type element = n.elementType(a);
  Value product = matmul(n, a, n.transpose(weights, {1, 0}), bias ? computeType(element) : element);
  if (bias)
    product = n.make<tg::AddOp>(product, n.toCompute(bias));
  return deliver(n, n.cast(product, element));
}

/// Whether `a` and `bias` are operands of such a product.
LogicalResult checkProduct(NodeContext &n, Value a, Value bias) {
  return success(succeeded(checkFloat(n, a, "A")) && succeeded(n.checkRank(a, 1, 64, "A")) &&
                 succeeded(checkSameElement(n, a, bias)) && (!bias || succeeded(n.checkRank(bias, 1, 1, "bias"))));
}

/// `accuracy_level` only permits less accuracy and is ignored.
LogicalResult matMulNBits(NodeContext &n) {
  n.ignoreAttr("accuracy_level");
  FailureOr<WeightShape> shape = readWeightShape(n);
  FailureOr<int64_t> bits = n.intAttr("bits", 4), block = n.intAttr("block_size");
  Value a = n.required(0), groups = n.input(4), bias = n.input(5);
  if (failed(n.checkNumInputs(3, 6)) || failed(shape) || failed(bits) || failed(block) ||
      failed(checkBlockSize(n, *block)) || failed(checkProduct(n, a, bias)))
    return failure();
  if (*bits != 2 && *bits != 4 && *bits != 8)
    return n.unsupported("attribute `bits` = " + Twine(*bits) + " is not supported", "2, 4 and 8 are supported");
  if (groups) {
    if (failed(n.checkRank(groups, 1, 1, "g_idx")) || !isInteger(n, groups))
      return n.error("expected g_idx of integers, got " + typeName(groups.getType()));
    std::optional<int64_t> count = n.staticDim(groups, 0);
    if (!count || *count < shape->k)
      return n.error("expected g_idx of at least K = " + Twine(shape->k) + " elements, got type " +
                     typeName(groups.getType()));
    groups = n.slice(groups, 0, 0, n.constExpr(shape->k));
  }
  Value weights = dequantizeRows(n, {*bits, *block, shape->k}, n.constExpr(shape->n), n.required(1), n.required(2),
                                 n.input(3), groups, n.elementType(a));
  return deliverProduct(n, a, weights, bias);
}

//===----------------------------------------------------------------------===//
// Floats of 4 and 8 bits
//===----------------------------------------------------------------------===//

/// Entry `codes` (integers) of a table of floats.
Value lookUp(NodeContext &n, Value codes, ArrayRef<double> table, Type element) {
  return codes ? take(n, floatTable(n, table, {int64_t(table.size())}, element), codes, 0) : Value();
}

/// FP4 or NF4 numbers of bitsandbytes, the first of a byte in its high bits, times the largest magnitude of their
/// block.
LogicalResult matMulBnb4(NodeContext &n) {
  static constexpr double fp4[] = {0,   0.00520833333,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
                                   -0., -0.00520833333, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25};
  static constexpr double nf4[] = {-1.0,
                                   -0.6961928009986877,
                                   -0.5250730514526367,
                                   -0.39491748809814453,
                                   -0.28444138169288635,
                                   -0.18477343022823334,
                                   -0.09105003625154495,
                                   0.0,
                                   0.07958029955625534,
                                   0.16093020141124725,
                                   0.24611230194568634,
                                   0.33791524171829224,
                                   0.44070982933044434,
                                   0.5626170039176941,
                                   0.7229568362236023,
                                   1.0};
  n.ignoreAttr("training_mode");
  FailureOr<WeightShape> shape = readWeightShape(n);
  FailureOr<int64_t> block = n.intAttr("block_size");
  FailureOr<bool> isNormal = n.boolAttr("quant_type"), transposed = n.boolAttr("transB", true);
  Value a = n.required(0), packed = n.required(1), largest = n.required(2);
  if (failed(n.checkNumInputs(3, 3)) || failed(shape) || failed(block) || failed(isNormal) || failed(transposed) ||
      failed(checkBlockSize(n, *block)) || failed(checkProduct(n, a, {})) || !packed || !largest ||
      failed(checkSameElement(n, a, largest)))
    return failure();
  if (!n.elementType(packed).isUnsignedInteger(8))
    return n.error("expected quantised weights of uint8, got " + typeName(n.elementType(packed)));
  int64_t count = shape->n * shape->k, blocks = (count + *block - 1) / *block;
  if (count > (int64_t(1) << 48) || count % *block != 0)
    return n.unsupported("N * K = " + Twine(count) +
                         " numbers that are no multiple of the block size are not supported");
  Type element = n.elementType(a), compute = computeType(element);
  Value bytes = n.reshape(packed, ArrayRef<int64_t>{count / 2});
  Value low = n.make<tg::AndOp>(bytes, n.scalarInt(15, n.elementType(packed))),
        high = n.make<tg::ShrOp>(bytes, n.scalarInt(4, n.elementType(packed)));
  Value codes =
      n.reshape(n.concat({n.unsqueeze(high, {1}), n.unsqueeze(low, {1})}, 1), ArrayRef<int64_t>{blocks, *block});
  Expr numbers(n, lookUp(n, n.cast(codes, n.b.getI64Type()), *isNormal ? ArrayRef(nf4) : ArrayRef(fp4), compute));
  Expr weights = numbers * Expr(n, n.cast(n.reshape(largest, ArrayRef<int64_t>{blocks, 1}), compute));
  Value rows = n.cast(n.reshape(weights, ArrayRef<int64_t>{shape->n, shape->k}), element);
  return deliverProduct(n, a, *transposed ? rows : n.transpose(rows, {1, 0}), {});
}

/// `perBlock` (rows x blocks) for each of `columns` numbers of a row.
Value spreadBlocks(NodeContext &n, Value perBlock, int64_t block, AffineExpr columns) {
  if (!perBlock || failed(n.checkRank(perBlock, 2, 2, "the scales")) ||
      failed(n.assumeAtMost(columns, tg::simplify(n.dim(perBlock, 1) * block), "numbers of the blocks")))
    return {};
  Value repeated = repeatAlong(n, perBlock, 1, block);
  return repeated ? n.slice(repeated, 1, 0, columns) : Value();
}

FailureOr<int64_t> readBlock(NodeContext &n, int64_t otherwise) {
  FailureOr<int64_t> block = n.intAttr("block_size", otherwise);
  if (succeeded(block) && (*block < 1 || *block > (1 << 20)))
    return n.error("expected attribute `block_size` in [1, 2^20], got " + Twine(*block));
  return block;
}

/// Weights of f8E4M3FN with a scale for each block; with `a_scale` the activations are rounded to that type too.
LogicalResult matMulFp8(NodeContext &n) {
  Value a = n.required(0), numbers = n.required(1), scales = n.required(2), aScale = n.input(3), bias = n.input(4);
  FailureOr<int64_t> block = readBlock(n, 128);
  if (failed(n.checkNumInputs(3, 5)) || failed(block) || failed(checkProduct(n, a, bias)) || !numbers ||
      failed(n.checkRank(numbers, 2, 2, "B")))
    return failure();
  Type f32 = n.b.getF32Type(), element = n.elementType(a), narrow = n.elementType(numbers);
  if (!isa<Float8E4M3FNType>(narrow))
    return n.error("expected weights of float8e4m3fn, got " + typeName(narrow));
  Expr factors(n, spreadBlocks(n, n.cast(scales, f32), *block, n.dim(numbers, 1)));
  Value weights = n.cast(Expr(n, n.cast(numbers, f32)) * factors, element);
  if (aScale) {
    Expr scale(n, n.cast(n.reshape(aScale, ArrayRef<int64_t>()), f32));
    Value rounded = n.cast(Expr(n, n.cast(a, f32)) / scale, narrow);
    a = n.cast(Expr(n, n.cast(rounded, f32)) * scale, element);
  }
  return weights && a ? deliverProduct(n, a, weights, bias) : failure();
}

/// Weights of f4E2M1FN, two in a byte, with a scale of f8E4M3FN for each block and one for all.
LogicalResult matMulFp4(NodeContext &n) {
  static constexpr double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0., -0.5, -1, -1.5, -2, -3, -4, -6};
  Value a = n.required(0), packed = n.required(1), scales = n.required(2), scale = n.required(3), bias = n.input(5);
  FailureOr<int64_t> block = readBlock(n, 16);
  if (failed(n.checkNumInputs(4, 6)) || failed(block) || failed(checkProduct(n, a, bias)) || !packed || !scales ||
      !scale || failed(n.checkRank(packed, 2, 2, "B")))
    return failure();
  if (!n.elementType(packed).isUnsignedInteger(8) || !n.elementType(scales).isUnsignedInteger(8))
    return n.error("expected weights and block scales of uint8, got " + typeName(n.elementType(packed)) + " and " +
                   typeName(n.elementType(scales)));
  Type f32 = n.b.getF32Type();
  Expr numbers(n, lookUp(n, n.cast(unpackBits(n, packed, 4), n.b.getI64Type()), e2m1, f32));
  if (!numbers)
    return failure();
  Value narrow =
      n.make<tg::BitcastOp>(tg::withElement(scales.getType(), Float8E4M3FNType::get(n.b.getContext())), scales);
  Expr factors(n, spreadBlocks(n, n.cast(narrow, f32), *block, n.dim(numbers, 1)));
  Expr weights = numbers * factors * Expr(n, n.cast(n.reshape(scale, ArrayRef<int64_t>()), f32));
  return weights ? deliverProduct(n, a, n.cast(weights, n.elementType(a)), bias) : failure();
}

//===----------------------------------------------------------------------===//
// GatherBlockQuantized
//===----------------------------------------------------------------------===//

struct BlockGather {
  int64_t gatherAxis = 0, quantizeAxis = 1, block = 128, bits = 4;
  bool isPacked = false; ///< ui8 of two 4-bit numbers, along the last dimension.
};

FailureOr<BlockGather> readBlockGather(NodeContext &n, Value data) {
  FailureOr<int64_t> gather = n.intAttr("gather_axis", 0), quantize = n.intAttr("quantize_axis", 1),
                     block = n.intAttr("block_size", 128), bits = n.intAttr("bits", 4);
  if (failed(gather) || failed(quantize) || failed(block) || failed(bits) || failed(n.checkRank(data, 2, 8, "data")))
    return failure();
  FailureOr<int64_t> g = n.normalizeAxis(*gather, n.rank(data)), q = n.normalizeAxis(*quantize, n.rank(data));
  if (failed(g) || failed(q))
    return failure();
  if (failed(checkBlockSize(n, *block)))
    return failure();
  if (*bits != 4 && *bits != 8)
    return n.error("expected attribute `bits` to be 4 or 8, got " + Twine(*bits));
  bool isByte = n.elementType(data).isUnsignedInteger(8);
  if (*g == *q)
    return n.unsupported("a gather along the quantised dimension is not supported");
  if (isByte && *bits == 4 && *q != n.rank(data) - 1)
    return n.unsupported("4-bit numbers packed along another dimension than the last are not supported");
  return BlockGather{*g, *q, *block, *bits, isByte && *bits == 4};
}

/// Rows of a table that is quantised in blocks along another dimension: gathered first, so that only they are read,
/// then (q - zero point) * scale in f32, rounded to the scales' type.
LogicalResult gatherBlockQuantized(NodeContext &n) {
  Value data = n.required(0), indices = n.required(1), scales = n.required(2), zeros = n.input(3);
  if (failed(n.checkNumInputs(3, 4)) || !data || !indices || failed(checkFloat(n, scales, "scales")))
    return failure();
  FailureOr<BlockGather> spec = readBlockGather(n, data);
  if (failed(spec) || failed(n.checkRank(scales, n.rank(data), n.rank(data), "scales")) ||
      (zeros && failed(n.checkRank(zeros, n.rank(data), n.rank(data), "zero_points"))))
    return failure();
  Type f32 = n.b.getF32Type(), element = n.elementType(scales);
  bool isUnsigned = n.elementType(data).isUnsignedInteger(8);
  int64_t axis = spec->quantizeAxis + (spec->gatherAxis < spec->quantizeAxis ? n.rank(indices) - 1 : 0);
  auto rows = [&](Value table) { return take(n, table, indices, spec->gatherAxis); };
  auto numbers = [&](Value table) { return spec->isPacked ? unpackBits(n, rows(table), 4) : rows(table); };
  Expr values(n, n.cast(numbers(data), f32));
  if (!values)
    return failure();
  AffineExpr extent = n.dim(values, axis);
  auto spread = [&](Value blocks) {
    if (!blocks)
      return Expr(n, Value());
    if (failed(n.assumeAtMost(extent, tg::simplify(n.dim(blocks, axis) * spec->block), "elements of the blocks")))
      return Expr(n, Value());
    Value repeated = repeatAlong(n, n.cast(blocks, f32), axis, spec->block);
    return Expr(n, repeated ? n.slice(repeated, axis, 0, extent) : Value());
  };
  if (zeros)
    values = values - spread(numbers(zeros));
  else if (isUnsigned)
    values = values - static_cast<double>(int64_t(1) << (spec->bits - 1));
  return deliver(n, n.cast(values * spread(rows(scales)), element));
}

} // namespace

ArrayRef<OpEntry> getContribQuantOps() {
  static const OpEntry table[] = {
      {"com.microsoft", "MatMulNBits", 1, anyOpset, matMulNBits, "2, 4 and 8 bits"},
      {"com.microsoft", "MatMulBnb4", 1, anyOpset, matMulBnb4, "whole blocks"},
      {"com.microsoft", "MatMulBlockQuantizedFp8Weight", 1, anyOpset, matMulFp8, ""},
      {"com.microsoft", "MatMulBlockQuantizedFp4Weight", 1, anyOpset, matMulFp4, ""},
      {"com.microsoft", "GatherBlockQuantized", 1, anyOpset, gatherBlockQuantized, "rows across the blocks"},
  };
  return table;
}

} // namespace weft::onnx
