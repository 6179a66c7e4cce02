// tg.scan and tg.top_k: loops along one axis.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tg.top_k orders elements by "precedes": the better element first (NaN counts as the largest number), of equal ones
// the lower index. That is a strict total order, so the j-th result is the first element after the (j-1)-th: for small
// k a selection pass per result needs no memory. Else a row's indices are merge-sorted bottom up in two rows of
// scratch.
#include "Patterns.h"
#include "Pieces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

namespace {

using RowBody = llvm::function_ref<scf::ValueVector(KernelBuilder &, ValueRange ivs, ValueRange state)>;

/// Loops over all rows along the axis in a piece, carrying `state`.
SmallVector<Value> forEachRow(KernelBuilder &b, const Piece &piece, ValueRange state, RowBody body) {
  SmallVector<Value> lowers, uppers, steps;
  for (auto [d, size] : llvm::enumerate(piece.sizes)) {
    if (int64_t(d) == piece.axis)
      continue;
    lowers.push_back(b.index(int64_t(0)));
    uppers.push_back(getValueOrCreateConstantIndexOp(b, b.getLoc(), size));
    steps.push_back(b.index(1));
  }
  auto nest = scf::buildLoopNest(b, b.getLoc(), lowers, uppers, steps, state,
                                 [&](OpBuilder &nested, Location loc, ValueRange ivs, ValueRange args) {
                                   KernelBuilder inner(loc, nested);
                                   return body(inner, ivs, args);
                                 });
  return SmallVector<Value>(nest.results);
}

/// The indices of element `position` of row `ivs`.
SmallVector<Value> placeInRow(ValueRange ivs, int64_t axis, Value position) {
  SmallVector<Value> place(ivs);
  place.insert(place.begin() + axis, position);
  return place;
}

using LoopBody = llvm::function_ref<SmallVector<Value>(KernelBuilder &, Value iv, ValueRange state)>;

/// for iv = 0 .. upper - 1, carrying `state`.
SmallVector<Value> loop(KernelBuilder &b, Value upper, Value step, ValueRange state, LoopBody body) {
  auto op = scf::ForOp::create(b, b.index(int64_t(0)), upper, step, state,
                               [&](OpBuilder &nested, Location loc, Value iv, ValueRange args) {
                                 KernelBuilder inner(loc, nested);
                                 scf::YieldOp::create(nested, loc, body(inner, iv, args));
                               });
  return SmallVector<Value>(op.getResults());
}

struct ScanLowering : OpConversionPattern<tg::ScanOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ScanOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Dims dims = tg::getDims(op.getType());
    Type element = op.getType().getElementType();
    FloatType compute = tg::getComputeType(element);
    int64_t axis = op.getAxis();
    Value identity = tg::buildIdentity(b, b.getLoc(), op.getKind(), element, compute);
    if (!identity)
      return rewriter.notifyMatchFailure(op, "monoid is not defined on the element type");
    Value extent = b.index(dims[axis]), one = b.index(1);
    Value last = arith::SubIOp::create(b, extent, one);
    Value input; // In the present piece.
    auto step = [&](KernelBuilder &inner, ValueRange ivs, Value iv, ValueRange state) -> SmallVector<Value> {
      Location loc = inner.getLoc();
      Value position = op.getReverse() ? arith::SubIOp::create(inner, last, iv).getResult() : iv;
      SmallVector<Value> place = placeInRow(ivs, axis, position);
      Value x = loadScalar(inner, loc, tensor::ExtractOp::create(inner, input, place), element, compute);
      Value next = tg::buildCombine(inner, loc, op.getKind(), state[1], x, element);
      Value stored = storeScalar(inner, loc, op.getExclusive() ? state[1] : next, element);
      return {tensor::InsertOp::create(inner, stored, state[0], place), next};
    };
    auto row = [&](KernelBuilder &inner, ValueRange ivs, ValueRange state) -> scf::ValueVector {
      return {loop(inner, extent, one, {state[0], identity}, [&](KernelBuilder &nested, Value iv, ValueRange args) {
                return step(nested, ivs, iv, args);
              }).front()};
    };
    OpFoldResult length = b.extents(dims)[axis];
    auto piece = [&](KernelBuilder &inner, const Piece &piece, ValueRange outputs) {
      input = piece.of(inner, adaptor.getInput(), length);
      return forEachRow(inner, piece, outputs, row);
    };
    Value empty = b.empty(dims, getPlainElement(element));
    rewriter.replaceOp(op, forEachPiece(b, dims, axis, empty, length, piece));
    return success();
  }
};

/// What the ordering of one tg.top_k is made of.
struct Ordering {
  Value input; ///< The converted operand.
  int64_t axis;
  bool largest;
  Type element;
  FloatType compute;

  Ordering(tg::TopKOp op, Value input)
      : input(input), axis(op.getAxis()), largest(op.getLargest()), element(op.getInput().getType().getElementType()),
        compute(tg::getComputeType(element)) {}

  Value load(KernelBuilder &b, ValueRange ivs, Value position) const {
    Value stored = tensor::ExtractOp::create(b, input, placeInRow(ivs, axis, position));
    return loadScalar(b, b.getLoc(), stored, element, compute);
  }

  Value better(KernelBuilder &b, Value x, Value y) const {
    if (!isa<FloatType>(element)) {
      using P = arith::CmpIPredicate;
      P greater = tg::isUnsignedElement(element) ? P::ugt : P::sgt,
        less = tg::isUnsignedElement(element) ? P::ult : P::slt;
      return arith::CmpIOp::create(b, largest ? greater : less, x, y);
    }
    // x > y, or x is NaN and y a number; the other way round for the smallest.
    using P = arith::CmpFPredicate;
    Value wins = arith::CmpFOp::create(b, largest ? P::OGT : P::OLT, x, y);
    Value nan = arith::CmpFOp::create(b, P::UNO, largest ? x : y, largest ? x : y);
    Value number = arith::CmpFOp::create(b, P::ORD, largest ? y : x, largest ? y : x);
    return arith::OrIOp::create(b, wins, arith::AndIOp::create(b, nan, number));
  }

  /// Whether element x at index i comes before element y at index j.
  Value precedes(KernelBuilder &b, Value x, Value i, Value y, Value j) const {
    Value before = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, i, j);
    Value notWorse = arith::XOrIOp::create(b, better(b, y, x), arith::ConstantOp::create(b, b.getBoolAttr(true)));
    return arith::OrIOp::create(b, better(b, x, y), arith::AndIOp::create(b, notWorse, before));
  }

  /// Writes element x of index i as result `position` of the row; `state` holds values and indices.
  SmallVector<Value> write(KernelBuilder &b, ValueRange ivs, Value position, Value x, Value i, ValueRange state) const {
    SmallVector<Value> place = placeInRow(ivs, axis, position);
    Value stored = storeScalar(b, b.getLoc(), x, element);
    Value index = arith::IndexCastOp::create(b, b.getI64Type(), i);
    return {tensor::InsertOp::create(b, stored, state[0], place), tensor::InsertOp::create(b, index, state[1], place)};
  }
};

/// k passes over a row: each finds the first element after the one before.
SmallVector<Value> selectRow(KernelBuilder &b, const Ordering &order, Value extent, Value k, ValueRange ivs,
                             ValueRange state) {
  Value one = b.index(1), none = b.index(-1);
  Value first = order.load(b, ivs, b.index(int64_t(0)));
  // State: values, indices, last written element and its index (none at first).
  SmallVector<Value> init{state[0], state[1], first, none};
  return loop(b, k, one, init, [&](KernelBuilder &pass, Value j, ValueRange written) {
    Value isFirst = arith::CmpIOp::create(pass, arith::CmpIPredicate::eq, written[3], none);
    auto scan = [&](KernelBuilder &inner, Value i, ValueRange best) -> SmallVector<Value> {
      Value x = order.load(inner, ivs, i);
      Value after = order.precedes(inner, written[2], written[3], x, i);
      Value isCandidate = arith::OrIOp::create(inner, isFirst, after);
      Value isOnly = arith::CmpIOp::create(inner, arith::CmpIPredicate::eq, best[1], none);
      Value wins = arith::OrIOp::create(inner, isOnly, order.precedes(inner, x, i, best[0], best[1]));
      Value takes = arith::AndIOp::create(inner, isCandidate, wins);
      return {arith::SelectOp::create(inner, takes, x, best[0]), arith::SelectOp::create(inner, takes, i, best[1])};
    };
    SmallVector<Value> best = loop(pass, extent, one, {first, none}, scan);
    SmallVector<Value> next = order.write(pass, ivs, j, best[0], best[1], written);
    next.append(best.begin(), best.end());
    return next;
  });
}

/// One step of a merge: writes to row `to` of `scratch` at `place` the head of run [left, middle) or of run [right,
/// end) of row `from`.
SmallVector<Value> mergeStep(KernelBuilder &b, const Ordering &order, ValueRange ivs, Value from, Value to, Value place,
                             Value middle, Value end, Value lastIndex, ValueRange state) {
  using P = arith::CmpIPredicate;
  Value scratch = state[0], left = state[1], right = state[2], one = b.index(1);
  auto head = [&](Value position) -> std::pair<Value, Value> {
    Value inRow = arith::MinUIOp::create(b, position, lastIndex);
    Value stored = tensor::ExtractOp::create(b, scratch, ValueRange{from, inRow});
    Value index = arith::IndexCastOp::create(b, b.getIndexType(), stored);
    return {order.load(b, ivs, index), index};
  };
  auto [x, i] = head(left);
  auto [y, j] = head(right);
  Value hasLeft = arith::CmpIOp::create(b, P::ult, left, middle);
  Value noRight = arith::CmpIOp::create(b, P::uge, right, end);
  Value takesLeft = arith::AndIOp::create(b, hasLeft, arith::OrIOp::create(b, noRight, order.precedes(b, x, i, y, j)));
  Value taken = arith::SelectOp::create(b, takesLeft, i, j);
  Value stored = arith::IndexCastOp::create(b, b.getI64Type(), taken);
  Value next = tensor::InsertOp::create(b, stored, scratch, ValueRange{to, place});
  return {next, arith::SelectOp::create(b, takesLeft, arith::AddIOp::create(b, left, one), left),
          arith::SelectOp::create(b, takesLeft, right, arith::AddIOp::create(b, right, one))};
}

/// One pass of the merge sort: runs of `width` in row `from` of `scratch` become runs of 2 * `width` in row `to`.
Value mergePass(KernelBuilder &b, const Ordering &order, ValueRange ivs, Value extent, Value width, Value from,
                Value to, Value scratch) {
  Value one = b.index(1), twice = arith::AddIOp::create(b, width, width);
  Value lastIndex = arith::SubIOp::create(b, extent, one);
  return loop(b, extent, twice, scratch,
              [&](KernelBuilder &runs, Value begin, ValueRange state) -> SmallVector<Value> {
                Value middle = arith::MinUIOp::create(runs, arith::AddIOp::create(runs, begin, width), extent);
                Value end = arith::MinUIOp::create(runs, arith::AddIOp::create(runs, begin, twice), extent);
                Value count = arith::SubIOp::create(runs, end, begin);
                return {loop(runs, count, one, {state[0], begin, middle},
                             [&](KernelBuilder &inner, Value p, ValueRange heads) {
                               Value place = arith::AddIOp::create(inner, begin, p);
                               return mergeStep(inner, order, ivs, from, to, place, middle, end, lastIndex, heads);
                             })
                            .front()};
              })
      .front();
}

/// Merge-sorts the row's indices in scratch (tensor<2 x extent x i64>, the third of `state`), then writes the first k.
SmallVector<Value> sortRow(KernelBuilder &b, const Ordering &order, Value extent, Value k, ValueRange ivs,
                           ValueRange state) {
  Value zero = b.index(int64_t(0)), one = b.index(1);
  auto identity = [&](KernelBuilder &inner, Value i, ValueRange args) -> SmallVector<Value> {
    Value index = arith::IndexCastOp::create(inner, inner.getI64Type(), i);
    return {tensor::InsertOp::create(inner, index, args[0], ValueRange{zero, i})};
  };
  Value scratch = loop(b, extent, one, state[2], identity).front();
  // State: scratch, row that holds the runs, their width.
  auto isUnsorted = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value more = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult, args[2], extent);
    scf::ConditionOp::create(nested, loc, more, args);
  };
  auto sort = [&](OpBuilder &nested, Location loc, ValueRange args) {
    KernelBuilder inner(loc, nested);
    Value other = arith::SubIOp::create(inner, one, args[1]);
    Value merged = mergePass(inner, order, ivs, extent, args[2], args[1], other, args[0]);
    scf::YieldOp::create(inner, ValueRange{merged, other, arith::AddIOp::create(inner, args[2], args[2])});
  };
  SmallVector<Value> init{scratch, zero, one};
  SmallVector<Type> types{scratch.getType(), b.getIndexType(), b.getIndexType()};
  auto sorted = scf::WhileOp::create(b, types, init, isUnsorted, sort);
  Value sortedScratch = sorted.getResult(0), row = sorted.getResult(1);
  auto emit = [&](KernelBuilder &inner, Value j, ValueRange args) {
    Value stored = tensor::ExtractOp::create(inner, sortedScratch, ValueRange{row, j});
    Value index = arith::IndexCastOp::create(inner, inner.getIndexType(), stored);
    return order.write(inner, ivs, j, order.load(inner, ivs, index), index, args);
  };
  SmallVector<Value> results = loop(b, k, one, {state[0], state[1]}, emit);
  results.push_back(sortedScratch);
  return results;
}

struct TopKLowering : OpConversionPattern<tg::TopKOp> {
  TopKLowering(Converter converter, MLIRContext *context, int64_t selectionLimit)
      : OpConversionPattern(converter, context), selectionLimit(selectionLimit) {}

  LogicalResult matchAndRewrite(tg::TopKOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Dims dims = tg::getDims(op.getValues().getType()), inputDims = tg::getDims(op.getInput().getType());
    Ordering order(op, adaptor.getInput()); // Of the present piece.
    Type plain = getPlainElement(order.element);
    SmallVector<Value> state{b.empty(dims, plain), b.empty(dims, b.getI64Type())};
    int64_t axis = op.getAxis();
    AffineExpr rowExtent = inputDims[axis];
    if (tg::getConstant(dims[axis]) == 0) {
      rewriter.replaceOp(op, state);
      return success();
    }
    bool selects = int64_t(op.getK()) <= selectionLimit;
    Value extent = b.index(rowExtent), k = b.index(dims[axis]);
    auto row = [&](KernelBuilder &inner, ValueRange ivs, ValueRange args) {
      SmallVector<Value> results =
          selects ? selectRow(inner, order, extent, k, ivs, args) : sortRow(inner, order, extent, k, ivs, args);
      return scf::ValueVector(results.begin(), results.begin() + args.size());
    };
    OpFoldResult length = b.extents(inputDims)[axis], count = b.extents(dims)[axis];
    auto piece = [&](KernelBuilder &inner, const Piece &piece, ValueRange outputs) {
      order.input = piece.of(inner, adaptor.getInput(), length);
      SmallVector<Value> carried(outputs);
      if (!selects)
        carried.push_back(
            tensor::EmptyOp::create(inner, ArrayRef<OpFoldResult>{b.getIndexAttr(2), length}, inner.getI64Type()));
      SmallVector<Value> results = forEachRow(inner, piece, carried, row);
      results.truncate(2);
      return results;
    };
    rewriter.replaceOp(op, forEachPiece(b, inputDims, axis, state, {count, count}, piece));
    return success();
  }

private:
  int64_t selectionLimit;
};

} // namespace

void populateOrderPatterns(Converter converter, RewritePatternSet &patterns, int64_t selectionLimit) {
  patterns.add<ScanLowering>(converter, patterns.getContext());
  patterns.add<TopKLowering>(converter, patterns.getContext(), selectionLimit);
}

} // namespace weft::lower
