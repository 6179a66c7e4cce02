// Rearrangements of spatial dimensions: DepthToSpace, SpaceToDepth, CenterCropPad, Col2Im.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/RuntimeShapes.h"
#include "Shared/Window.h"
#include "llvm/Support/MathExtras.h"

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
FailureOr<AffineExpr> divideExtent(NodeContext &c, AffineExpr extent, int64_t divisor, const Twine &what) {
  AffineExpr quotient = tg::simplify(extent.floorDiv(divisor));
  if (std::optional<int64_t> known = tg::getConstant(extent); known && *known % divisor != 0)
    return c.error("expected " + what + " to be a multiple of " + Twine(divisor) + ", got " + Twine(*known));
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
  FailureOr<AffineExpr> depth = divideExtent(c, c.dim(x, 1), *block * *block, "the number of channels");
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
  FailureOr<AffineExpr> h = divideExtent(c, c.dim(x, 2), *block, "the height");
  FailureOr<AffineExpr> w = divideExtent(c, c.dim(x, 3), *block, "the width");
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
  SmallVector<int64_t> image, block, strides, dilations, pads, positions;
  int64_t pixels = 1, taps = 1, count = 1;
};

FailureOr<ImageBlocks> readImageBlocks(NodeContext &c) {
  ImageBlocks g;
  FailureOr<SmallVector<int64_t>> image = c.requiredInts(1, "image_shape"), block = c.requiredInts(2, "block_shape");
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
  g = {*image, *block, *strides, *dilations, *pads, {}, 1, 1, 1};
  for (size_t d = 0; d < spatial; ++d) {
    if (g.image[d] < 1 || g.image[d] > maxWindowParameter || g.block[d] < 1 || g.block[d] > maxWindowParameter)
      return c.error("expected values of `image_shape` and `block_shape` in [1, " + Twine(maxWindowParameter) + "]");
    int64_t room = g.image[d] + g.pads[d] + g.pads[spatial + d] - ((g.block[d] - 1) * g.dilations[d] + 1);
    if (room < 0)
      return c.error("expected the padded image to hold a block in spatial dimension " + Twine(d));
    g.positions.push_back(room / g.strides[d] + 1);
    if (llvm::MulOverflow(g.pixels, g.image[d], g.pixels) || llvm::MulOverflow(g.taps, g.block[d], g.taps) ||
        llvm::MulOverflow(g.count, g.positions[d], g.count) || g.pixels > maxWindowParameter)
      return c.limit("expected an image of at most " + Twine(maxWindowParameter) + " elements");
  }
  int64_t entries;
  if (llvm::MulOverflow(g.taps, g.count, entries) || entries > maxTableEntries)
    return c.limit("expected at most " + Twine(maxTableEntries) + " block elements");
  return g;
}

/// Flat image place of each (tap, position), both row-major; places in the padding get `pixels`, which a scatter drops.
SmallVector<int64_t> imagePlaces(const ImageBlocks &g) {
  SmallVector<int64_t> places;
  size_t spatial = g.image.size();
  for (int64_t entry = 0; entry < g.taps * g.count; ++entry) {
    int64_t tap = entry / g.count, position = entry % g.count, place = 0, pitch = 1;
    bool outside = false;
    for (size_t d = spatial; d-- > 0;) {
      int64_t at = position % g.positions[d] * g.strides[d] + tap % g.block[d] * g.dilations[d] - g.pads[d];
      outside |= at < 0 || at >= g.image[d];
      place += at * pitch;
      pitch *= g.image[d];
      position /= g.positions[d];
      tap /= g.block[d];
    }
    places.push_back(outside ? g.pixels : place);
  }
  return places;
}

LogicalResult importCol2Im(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(3, 3)) || failed(c.checkRank(x, 3, 3, "input")))
    return failure();
  FailureOr<ImageBlocks> g = readImageBlocks(c);
  if (failed(g))
    return failure();
  FailureOr<AffineExpr> channels = divideExtent(c, c.dim(x, 1), g->taps, "dimension 1 of `input`");
  if (failed(channels) ||
      failed(c.assumeEqual(c.dim(x, 2), c.constExpr(g->count), "dimension 2 of `input` and the block positions")))
    return failure();
  MLIRContext *context = c.b.getContext();
  AffineExpr n = c.dim(x, 0), d0, d1, d2, place;
  bindDims(context, d0, d1, d2);
  bindSymbols(context, place);
  Type element = c.elementType(x);
  Value zero = isa<FloatType>(element) ? c.scalar(0, element) : c.scalarInt(0, element);
  Value empty = c.broadcastTo(zero, {n, *channels, c.constExpr(g->pixels)});
  Value updates = c.reshape(x, {n, *channels, c.constExpr(g->taps * g->count)});
  Value image = c.make<tg::ScatterOp>(empty, c.intsConstant(imagePlaces(*g)), updates,
                                      AffineMapAttr::get(AffineMap::get(3, 1, {d0, d1, place}, context)),
                                      c.b.getAffineMapArrayAttr({AffineMap::get(3, 0, {d2}, context)}),
                                      tg::MonoidAttr::get(context, tg::Monoid::Add));
  tg::Dims result{n, *channels};
  result.append(c.constDims(g->image));
  return deliver(c, c.reshape(image, result));
}

} // namespace

ArrayRef<OpEntry> getSpatialOps() {
  static const OpEntry ops[] = {
      {"", "DepthToSpace", 1, newestOpset, importDepthToSpace, ""},
      {"", "SpaceToDepth", 1, newestOpset, importSpaceToDepth, ""},
      {"", "CenterCropPad", 18, newestOpset, importCenterCropPad, "constant change of extents"},
      {"", "Col2Im", 18, newestOpset, importCol2Im, "constant shapes"},
  };
  return ops;
}

} // namespace weft::onnx
