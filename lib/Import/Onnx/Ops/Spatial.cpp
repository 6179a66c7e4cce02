// Rearrangements of spatial dimensions: DepthToSpace, SpaceToDepth, CenterCropPad, Col2Im.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "Shared/RuntimeShapes.h"
#include "Shared/Window.h"

using namespace mlir;

namespace weft::onnx {
namespace {

FailureOr<int64_t> readBlockSize(NodeContext &c) {
  FailureOr<int64_t> block = c.intAttr("blocksize");
  if (succeeded(block) && (*block < 1 || *block > (1 << 15)))
    return c.error("expected attribute `blocksize` in [1, 32768], got " + Twine(*block));
  return block;
}

/// `extent` / `divisor`, which has to be exact.
FailureOr<AffineExpr> divideExtent(NodeContext &c, AffineExpr extent, AffineExpr divisor, const Twine &what) {
  AffineExpr quotient = tg::simplify(extent.floorDiv(divisor));
  std::optional<int64_t> known = tg::getConstant(extent), by = tg::getConstant(divisor);
  if (known && by && *known % *by != 0)
    return c.error("expected " + what + " to be a multiple of " + Twine(*by) + ", got " + Twine(*known));
  if (failed(c.assumeEqual(extent, tg::simplify(quotient * divisor), what)))
    return failure();
  return quotient;
}

LogicalResult importDepthToSpace(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)) || failed(c.checkRank(x, 4, 4, "input")))
    return failure();
  FailureOr<int64_t> block = readBlockSize(c);
  FailureOr<unsigned> mode = c.choiceAttr("mode", {"DCR", "CRD"}, "DCR");
  if (failed(block) || failed(mode))
    return failure();
  FailureOr<AffineExpr> depth = divideExtent(c, c.dim(x, 1), c.constExpr(*block * *block), "the number of channels");
  if (failed(depth))
    return failure();
  AffineExpr n = c.dim(x, 0), h = c.dim(x, 2), w = c.dim(x, 3), b = c.constExpr(*block);
  bool depthFirst = *mode == 0;
  Value split = c.reshape(x, depthFirst ? tg::Dims{n, b, b, *depth, h, w} : tg::Dims{n, *depth, b, b, h, w});
  Value moved =
      c.transpose(split, depthFirst ? ArrayRef<int64_t>{0, 3, 4, 1, 5, 2} : ArrayRef<int64_t>{0, 1, 4, 2, 5, 3});
  return deliver(c, c.reshape(moved, {n, *depth, tg::simplify(h * *block), tg::simplify(w * *block)}));
}

LogicalResult importSpaceToDepth(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)) || failed(c.checkRank(x, 4, 4, "input")))
    return failure();
  FailureOr<int64_t> block = readBlockSize(c);
  FailureOr<unsigned> mode = c.choiceAttr("mode", {"DCR", "CRD"}, "DCR"); // Since version 28.
  if (failed(block) || failed(mode))
    return failure();
  FailureOr<AffineExpr> h = divideExtent(c, c.dim(x, 2), c.constExpr(*block), "the height");
  FailureOr<AffineExpr> w = divideExtent(c, c.dim(x, 3), c.constExpr(*block), "the width");
  if (failed(h) || failed(w))
    return failure();
  AffineExpr n = c.dim(x, 0), depth = c.dim(x, 1), b = c.constExpr(*block);
  Value split = c.reshape(x, {n, depth, *h, b, *w, b});
  Value moved = *mode == 0 ? c.transpose(split, {0, 3, 5, 1, 2, 4}) : c.transpose(split, {0, 1, 3, 5, 2, 4});
  return deliver(c, c.reshape(moved, {n, tg::simplify(depth * (*block * *block)), *h, *w}));
}

LogicalResult importCenterCropPad(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(2, 2)))
    return failure();
  int64_t rank = c.rank(x);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (c.hasAttr("axes")) {
    FailureOr<SmallVector<int64_t>> given = c.intsAttr("axes");
    FailureOr<SmallVector<int64_t>> normal =
        failed(given) ? FailureOr<SmallVector<int64_t>>(failure()) : c.normalizeAxes(*given, rank);
    if (failed(normal))
      return failure();
    axes = *normal;
  }
  FailureOr<tg::Dims> shape = c.requiredDims(1, "shape");
  if (failed(shape))
    return failure();
  if (shape->size() != axes.size())
    return c.error("expected " + Twine(axes.size()) + " values in `shape`, got " + Twine(shape->size()));
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  for (auto [axis, wanted] : llvm::zip_equal(axes, *shape)) {
    std::optional<int64_t> growth = tg::getConstant(tg::simplify(wanted - c.dim(x, axis)));
    std::optional<int64_t> extent = tg::getConstant(wanted);
    if (!growth) {
      Expr difference(c, c.extents(tg::simplify(wanted - c.dim(x, axis))));
      Expr half = (difference / 2.0).reshape({});
      x = shiftAlong(c, x, axis, half, wanted, c.scalarInt(0, c.elementType(x)));
      if (!x)
        return failure();
      continue;
    }
    if ((extent && *extent < 0) || *growth > maxWindowParameter)
      return c.error("expected values of `shape` in [0, " + Twine(maxWindowParameter) + "]");
    // An odd amount takes its extra element at the end, for cropping and for padding.
    low[axis] = *growth / 2;
    high[axis] = *growth - low[axis];
  }
  Type element = c.elementType(x);
  Value zero = isa<FloatType>(element) ? c.scalar(0, element) : c.scalarInt(0, element);
  return deliver(c, padOrCrop(c, x, zero, low, high));
}

//===--- Col2Im ---===//

/// Geometry of Col2Im: an image that blocks slide over.
struct ImageBlocks {
  tg::Dims image, block, positions;
  SmallVector<int64_t> strides, dilations, pads;
  size_t spatial() const { return image.size(); }
};

FailureOr<ImageBlocks> readImageBlocks(NodeContext &c) {
  FailureOr<tg::Dims> image = c.requiredDims(1, "image_shape"), block = c.requiredDims(2, "block_shape");
  if (failed(image) || failed(block))
    return failure();
  size_t spatial = image->size();
  if (block->size() != spatial || spatial < 1 || spatial > 6)
    return c.error("expected `image_shape` and `block_shape` of one length in [1, 6], got " + Twine(spatial) + " and " +
                   Twine(block->size()));
  FailureOr<SmallVector<int64_t>> strides = readWindowInts(c, "strides", spatial, 1, 1);
  FailureOr<SmallVector<int64_t>> dilations = readWindowInts(c, "dilations", spatial, 1, 1);
  FailureOr<SmallVector<int64_t>> pads = readWindowInts(c, "pads", 2 * spatial, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  ImageBlocks g{*image, *block, {}, *strides, *dilations, *pads};
  for (size_t d = 0; d < spatial; ++d) {
    for (AffineExpr extent : {g.image[d], g.block[d]}) {
      std::optional<int64_t> known = tg::getConstant(extent);
      if (known && (*known < 1 || *known > maxWindowParameter))
        return c.error("expected values of `image_shape` and `block_shape` in [1, " + Twine(maxWindowParameter) + "]");
      if (failed(c.assumeAtMost(c.constExpr(1), extent, "extents of `image_shape` and `block_shape`")))
        return failure();
    }
    AffineExpr padded = g.image[d] + g.pads[d] + g.pads[spatial + d], reach = (g.block[d] - 1) * g.dilations[d] + 1;
    AffineExpr room = tg::simplify(padded - reach);
    if (std::optional<int64_t> known = tg::getConstant(room); known && *known < 0)
      return c.error("expected the padded image to hold a block in spatial dimension " + Twine(d));
    if (failed(c.assumeAtMost(tg::simplify(reach), tg::simplify(padded), "a block of the padded image")))
      return failure();
    g.positions.push_back(tg::simplify(room.floorDiv(g.strides[d]) + 1));
  }
  for (AffineExpr total : {product(c, g.image), tg::simplify(product(c, g.block) * product(c, g.positions))})
    if (std::optional<int64_t> known = tg::getConstant(total); known && (*known < 0 || *known > maxWindowParameter))
      return c.limit("expected an image and blocks of at most " + Twine(maxWindowParameter) + " elements");
  return g;
}

/// Flat image index of each (tap, position), both row-major; indices in the padding get the number of pixels, which a
/// scatter drops.
Value imagePlaces(NodeContext &c, const ImageBlocks &g) {
  size_t spatial = g.spatial();
  auto along = [&](size_t d, AffineExpr extent) {
    tg::Dims line(2 * spatial, c.constExpr(1));
    line[d] = extent;
    return Expr(c, iota(c, extent)).reshape(line);
  };
  auto scalar = [&](AffineExpr extent) { return Expr(c, extentScalar(c, extent, c.b.getI64Type())); };
  Expr place = scalar(c.constExpr(0)), isInside(c, c.scalarInt(1, c.b.getI1Type()));
  for (size_t d = 0; d < spatial; ++d) {
    Expr at = along(spatial + d, g.positions[d]) * double(g.strides[d]) +
              along(d, g.block[d]) * double(g.dilations[d]) - double(g.pads[d]);
    isInside = isInside & at.compare(tg::CmpPredicate::Ge, 0.0) & at.compare(tg::CmpPredicate::Lt, scalar(g.image[d]));
    place = place * scalar(g.image[d]) + at;
  }
  Expr flat = isInside.select(place, scalar(product(c, g.image)));
  return foldTable(c, flat.reshape(tg::Dims{tg::simplify(product(c, g.block) * product(c, g.positions))}));
}

LogicalResult importCol2Im(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(3, 3)) || failed(c.checkRank(x, 3, 3, "input")))
    return failure();
  FailureOr<ImageBlocks> g = readImageBlocks(c);
  if (failed(g))
    return failure();
  AffineExpr taps = product(c, g->block), count = product(c, g->positions), pixels = product(c, g->image);
  FailureOr<AffineExpr> channels = divideExtent(c, c.dim(x, 1), taps, "dimension 1 of `input`");
  if (failed(channels) || failed(c.assumeEqual(c.dim(x, 2), count, "dimension 2 of `input` and the block positions")))
    return failure();
  MLIRContext *context = c.b.getContext();
  AffineExpr n = c.dim(x, 0), d0, d1, d2, place;
  bindDims(context, d0, d1, d2);
  bindSymbols(context, place);
  Type element = c.elementType(x);
  Value zero = isa<FloatType>(element) ? c.scalar(0, element) : c.scalarInt(0, element);
  Value empty = c.broadcastTo(zero, {n, *channels, pixels});
  Value updates = c.reshape(x, {n, *channels, tg::simplify(taps * count)});
  Value image = c.make<tg::ScatterOp>(
      empty, imagePlaces(c, *g), updates, AffineMapAttr::get(AffineMap::get(3, 1, {d0, d1, place}, context)),
      c.b.getAffineMapArrayAttr({AffineMap::get(3, 0, {d2}, context)}), tg::MonoidAttr::get(context, tg::Monoid::Add));
  tg::Dims result{n, *channels};
  result.append(g->image);
  return deliver(c, c.reshape(image, result));
}

} // namespace

ArrayRef<OpEntry> getSpatialOps() {
  static const OpEntry ops[] = {
      {"", "DepthToSpace", 1, newestOpset, importDepthToSpace, ""},
      {"", "SpaceToDepth", 1, newestOpset, importSpaceToDepth, ""},
      {"", "CenterCropPad", 18, newestOpset, importCenterCropPad, "constant change of extents"},
      {"", "Col2Im", 18, newestOpset, importCol2Im, ""},
  };
  return ops;
}

} // namespace weft::onnx
