// Non-maximum suppression on tensors; see the header. Boxes are compared in f32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NonMaxSuppression.h"
#include "Compose.h"
#include "Extents.h"
#include "Loops.h"
#include "RuntimeShapes.h"
#include <limits>

using namespace mlir;

namespace weft::onnx {
namespace {

/// Edges of boxes, all of the same extents.
struct Edges {
  Expr top, left, bottom, right;
};

/// Batches x 1 x boxes.
Edges readEdges(NodeContext &ctx, const SuppressionArgs &args) {
  Value boxes = ctx.cast(args.boxes, ctx.b.getF32Type());
  tg::Dims dims = ctx.dims(args.boxes);
  dims.pop_back();
  dims.insert(dims.begin() + 1, ctx.constExpr(1));
  auto number = [&](int64_t i) { return Expr(ctx, ctx.slice(boxes, 2, i, ctx.constExpr(1))).reshape(dims); };
  Expr a = number(0), b = number(1), c = number(2), d = number(3);
  if (args.centerFormat)
    return {b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0};
  return {a.min(c), b.min(d), a.max(c), b.max(d)};
}

/// Whether two boxes share more than `threshold` of their union; never for boxes without area.
Expr overlaps(const Edges &a, const Edges &b, Expr threshold) {
  auto area = [](const Edges &box) { return (box.bottom - box.top) * (box.right - box.left); };
  Expr height = a.bottom.min(b.bottom) - a.top.max(b.top), width = a.right.min(b.right) - a.left.max(b.left);
  Expr shared = height * width, areaA = area(a), areaB = area(b);
  auto isPositive = [](Expr x) { return x.compare(tg::CmpPredicate::Gt, 0.0); };
  Expr isMore = (shared / (areaA + areaB - shared)).compare(tg::CmpPredicate::Gt, threshold);
  return isMore & isPositive(height) & isPositive(width) & isPositive(areaA) & isPositive(areaB);
}

/// The boxes of each class in the order of their scores: all are batches x classes x boxes.
struct Ranked {
  Value order; ///< Numbers of the boxes.
  Edges edges;
  Expr isCandidate; ///< Whether the score is high enough.
};

Ranked rank(NodeContext &ctx, const SuppressionArgs &args) {
  Type f32 = ctx.b.getF32Type();
  Expr scores = Expr(ctx, args.scores).cast(f32);
  Expr isNan = scores.compare(tg::CmpPredicate::Ne, scores);
  Value order = sortedPlaces(ctx, isNan.select(scores.like(-std::numeric_limits<double>::infinity()), scores), 2,
                             /*largest=*/true);
  tg::Dims dims = ctx.dims(args.scores);
  auto arrange = [&](Expr values) { return Expr(ctx, takeElements(ctx, ctx.broadcastTo(values, dims), order, 2)); };
  Edges edges = readEdges(ctx, args);
  Expr sorted = arrange(scores);
  Expr isCandidate = args.scoreThreshold ? sorted.compare(tg::CmpPredicate::Gt, Expr(ctx, args.scoreThreshold))
                                         : Expr(ctx, ctx.broadcastTo(ctx.scalarInt(1, ctx.b.getI1Type()), dims));
  return {order, {arrange(edges.top), arrange(edges.left), arrange(edges.bottom), arrange(edges.right)}, isCandidate};
}

/// The most candidates of any class, which stand in front: the turns of the loop.
FailureOr<AffineExpr> countTurns(NodeContext &ctx, const SuppressionArgs &args, const Ranked &boxes) {
  if (!args.scoreThreshold)
    return ctx.dim(args.scores, 2);
  Value perClass = ctx.reduce(tg::Monoid::Add, boxes.isCandidate.cast(ctx.b.getI64Type()), {2}, /*keepDims=*/false);
  Expr most(ctx, ctx.reduce(tg::Monoid::Max, perClass, {0, 1}, /*keepDims=*/false));
  FailureOr<tg::Dims> turns = ctx.runtimeDims(most.max(0.0), "number of candidates"); // No class at all gives -inf.
  return failed(turns) ? FailureOr<AffineExpr>(failure()) : turns->front();
}

/// Each turn drops what the next kept box overlaps: batches x classes x boxes, i1.
FailureOr<Value> keepBest(NodeContext &ctx, const SuppressionArgs &args, const Ranked &boxes) {
  FailureOr<AffineExpr> turns = countTurns(ctx, args, boxes);
  if (failed(turns))
    return failure();
  AffineExpr count = ctx.dim(args.scores, 2), one = ctx.constExpr(1);
  Expr places = Expr(ctx, iota(ctx, count)).reshape({one, one, count});
  ScannedValue turn{ctx.reshape(iota(ctx, *turns), {*turns, one, one})};
  FailureOr<LoopResults> loop =
      buildCountedLoop(ctx, "suppress", *turns, Value(boxes.isCandidate), turn, {},
                       [&](ValueRange carried, ValueRange rows) -> FailureOr<LoopTurn> {
                         Expr kept(ctx, carried[0]), place(ctx, rows[0]);
                         Value index = ctx.reshape(place, ArrayRef<int64_t>{1});
                         auto here = [&](Expr values) { return Expr(ctx, takeAlong(ctx, values, index, 2)); };
                         const Edges &all = boxes.edges;
                         Edges mine{here(all.top), here(all.left), here(all.bottom), here(all.right)};
                         Expr drops = here(kept) & overlaps(mine, all, Expr(ctx, args.iouThreshold)) &
                                      places.compare(tg::CmpPredicate::Gt, place.reshape({one, one, one}));
                         Value result = kept & drops.unary<tg::NotOp>();
                         if (!result)
                           return failure();
                         return LoopTurn{{result}, {}};
                       });
  if (failed(loop))
    return failure();
  return loop->carried.front();
}

} // namespace

Value suppressNonMaxima(NodeContext &ctx, const SuppressionArgs &args) {
  Type index = ctx.b.getI64Type();
  Ranked boxes = rank(ctx, args);
  if (!boxes.isCandidate || !boxes.edges.right)
    return {};
  FailureOr<Value> best = keepBest(ctx, args, boxes);
  if (failed(best))
    return {};
  Expr kept(ctx, *best);
  Expr before(ctx, ctx.make<tg::ScanOp>(tg::Monoid::Add, Value(kept.cast(index)), int64_t(2), /*exclusive=*/true,
                                        /*reverse=*/false));
  kept = kept & before.compare(tg::CmpPredicate::Lt, Expr(ctx, args.maxPerClass));
  tg::Dims dims = ctx.dims(args.scores), flat{tg::getNumElements(args.scores.getType())};
  Value places = placesOfTrue(ctx, kept.reshape(flat), "number of kept boxes");
  if (!places)
    return {};
  auto extent = [&](int64_t d) { return Expr(ctx, extentScalar(ctx, dims[d], index)); };
  Expr classes = Expr(ctx, places) / extent(2);
  SmallVector<Value> columns{classes / extent(1), classes.binary<tg::ModOp>(extent(1)),
                             takeAlong(ctx, ctx.reshape(boxes.order, flat), places, 0)};
  for (Value &column : columns)
    if (column)
      column = ctx.unsqueeze(column, {1});
  return ctx.concat(columns, 1);
}

} // namespace weft::onnx
