// com.microsoft operators on weights quantised block by block: MatMulNBits, GatherBlockQuantized.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Contraction.h"
#include "Shared/Expr.h"

using namespace mlir;

namespace weft::onnx {

namespace {

struct NBits {
  int64_t k = 0, n = 0, bits = 4, block = 0;
  int64_t blocks() const { return (k + block - 1) / block; }
};

FailureOr<NBits> readNBits(NodeContext &n) {
  n.ignoreAttr("accuracy_level");
  FailureOr<int64_t> k = n.intAttr("K"), columns = n.intAttr("N"), bits = n.intAttr("bits", 4),
                     block = n.intAttr("block_size");
  if (failed(k) || failed(columns) || failed(bits) || failed(block))
    return failure();
  constexpr int64_t maxExtent = int64_t(1) << 31;
  if (*k < 1 || *columns < 1 || *k > maxExtent || *columns > maxExtent)
    return n.error("expected attributes `K` and `N` within [1, 2^31], got " + Twine(*k) + " and " + Twine(*columns));
  if (*bits != 4 && *bits != 8)
    return n.unsupported("attribute `bits` = " + Twine(*bits) + " is not supported", "4 and 8 are supported");
  if (*block < 16 || *block > (1 << 20) || (*block & (*block - 1)) != 0)
    return n.error("expected attribute `block_size` to be a power of two of at least 16, got " + Twine(*block));
  return NBits{*k, *columns, *bits, *block};
}

/// The 4-bit halves of each byte, low ones first, along the last dimension.
Value unpackNibbles(NodeContext &n, Value bytes) {
  if (!bytes)
    return {};
  int64_t rank = n.rank(bytes);
  tg::Dims dims = n.dims(bytes);
  dims.back() = tg::simplify(dims.back() * 2);
  Type element = n.elementType(bytes);
  Value low = n.make<tg::AndOp>(bytes, n.scalarInt(15, element)),
        high = n.make<tg::ShrOp>(bytes, n.scalarInt(4, element));
  return n.reshape(n.concat({n.unsqueeze(low, {rank}), n.unsqueeze(high, {rank})}, rank), dims);
}

/// Zero points as N x blocks x 1 in `type`: packed like the weights with each row padded to whole bytes, or floats.
Value zeroPoints(NodeContext &n, const NBits &q, Type type) {
  Value given = n.input(3);
  if (!given)
    return n.scalar(double(int64_t(1) << (q.bits - 1)), type);
  int64_t blocks = q.blocks();
  if (isFloat(n, given))
    return n.cast(n.reshape(given, ArrayRef<int64_t>{q.n, blocks, 1}), type);
  int64_t rowBytes = (blocks * q.bits + 7) / 8;
  Value rows = n.reshape(given, ArrayRef<int64_t>{q.n, rowBytes});
  if (q.bits == 4)
    rows = n.slice(unpackNibbles(n, rows), 1, 0, n.constExpr(blocks));
  return n.cast(n.unsqueeze(rows, {2}), type);
}

/// Weights N x K in `element`: (q - zero point) * scale, with the arithmetic in f32 for f16 and bf16.
Value dequantize(NodeContext &n, const NBits &q, Type element) {
  Value packed = n.required(1), scales = n.required(2);
  if (!packed || !scales)
    return {};
  if (!n.elementType(packed).isUnsignedInteger(8)) {
    (void)n.error("expected quantised weights of uint8");
    return {};
  }
  int64_t blocks = q.blocks();
  Type compute = computeType(element);
  Value bytes = n.reshape(packed, ArrayRef<int64_t>{q.n, blocks, q.block * q.bits / 8});
  Value numbers = n.cast(q.bits == 4 ? unpackNibbles(n, bytes) : bytes, compute);
  Value factors = n.cast(n.reshape(scales, ArrayRef<int64_t>{q.n, blocks, 1}), compute);
  Value weights = n.make<tg::MulOp>(n.make<tg::SubOp>(numbers, zeroPoints(n, q, compute)), factors);
  Value rows = n.reshape(n.cast(weights, element), ArrayRef<int64_t>{q.n, blocks * q.block});
  return n.slice(rows, 1, 0, n.constExpr(q.k));
}

/// A (.. x K) times the transposed weights (N x K), plus a bias [N]. `accuracy_level` only permits less accuracy and is
/// ignored.
LogicalResult matMulNBits(NodeContext &n) {
  if (failed(n.checkNumInputs(3, 6)))
    return failure();
  if (n.input(4))
    return n.unsupported("input g_idx is not supported");
  FailureOr<NBits> q = readNBits(n);
  Value a = n.required(0), bias = n.input(5);
  if (failed(q) || failed(checkFloat(n, a, "A")) || failed(n.checkRank(a, 1, 64, "A")) ||
      failed(checkSameElement(n, a, bias)))
    return failure();
  Type element = n.elementType(a);
  Value weights = dequantize(n, *q, element);
  Value product = matmul(n, a, n.transpose(weights, {1, 0}), bias ? computeType(element) : element);
  if (bias)
    product = n.make<tg::AddOp>(product, n.toCompute(bias));
  return deliver(n, n.cast(product, element));
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
  if (*block < 16 || *block > (1 << 20) || (*block & (*block - 1)) != 0)
    return n.error("expected attribute `block_size` to be a power of two of at least 16, got " + Twine(*block));
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
  auto numbers = [&](Value table) { return spec->isPacked ? unpackNibbles(n, rows(table)) : rows(table); };
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
      {"com.microsoft", "MatMulNBits", 1, anyOpset, matMulNBits, "4 and 8 bits, no g_idx"},
      {"com.microsoft", "GatherBlockQuantized", 1, anyOpset, gatherBlockQuantized, "rows across the blocks"},
  };
  return table;
}

} // namespace weft::onnx
