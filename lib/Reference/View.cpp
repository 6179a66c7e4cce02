// Views, padding and concatenation: every element of the result is a copy of one operand's element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "Index.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::reference {
namespace {

/// result[i] = source[form(i)], after a check that every read is in bounds.
Results copyStrided(Evaluator &ev, Operation *op, const Tensor &source, ArrayRef<AffineExpr> sourceIndex) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, result->size())))
    return failure();
  AffineMap map = AffineMap::get(result->rank(), 0, sourceIndex, op->getContext());
  std::optional<Access> access = Access::create(map, result->shape(), source.shape());
  if (!access || !access->linear())
    return ev.fail(op, "expected reads within " + formatShape(source.shape(), source.element()) + " for a result of " +
                           formatShape(result->shape(), result->element()));
  Odometer place(result->shape());
  for (int64_t i = 0; i < result->size(); ++i, place.advance())
    result->copyElement(i, source, (*access->linear())(*place));
  return single(std::move(*result));
}

Results transpose(Evaluator &ev, tg::TransposeOp op, const Tensor &input) {
  SmallVector<AffineExpr> index(input.rank());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    index[from] = getAffineDimExpr(to, op.getContext());
  return copyStrided(ev, op, input, index);
}

/// The same bytes, for reshape and bitcast.
Results reinterpret(Evaluator &ev, Operation *op, const Tensor &input) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size())))
    return failure();
  if (result->bytes().size() != input.bytes().size())
    return ev.fail(op, "expected " + Twine(input.size()) + " elements, got " +
                           formatShape(result->shape(), result->element()));
  llvm::copy(input.bytes(), result->bytes().begin());
  return single(std::move(*result));
}

Results broadcast(Evaluator &ev, tg::BroadcastOp op, const Tensor &input) {
  SmallVector<AffineExpr> index;
  int64_t lead = op.getType().getRank() - input.rank();
  FailureOr<SmallVector<int64_t>> shape = ev.extentsOf(op, op.getType());
  if (failed(shape))
    return failure();
  for (int64_t d = 0; d < input.rank(); ++d) {
    if (input.dim(d) != 1 && input.dim(d) != (*shape)[lead + d])
      return ev.fail(op, "expected dimension " + Twine(d) + " of extent " + Twine((*shape)[lead + d]) + " or 1, got " +
                             Twine(input.dim(d)));
    index.push_back(input.dim(d) == 1 ? getAffineConstantExpr(0, op.getContext())
                                      : getAffineDimExpr(lead + d, op.getContext()));
  }
  return copyStrided(ev, op, input, index);
}

Results slice(Evaluator &ev, tg::SliceOp op, const Tensor &input) {
  SmallVector<AffineExpr> index;
  for (int64_t d = 0; d < input.rank(); ++d)
    index.push_back(getAffineDimExpr(d, op.getContext()) * op.getStrides()[d] + op.getOffsets()[d]);
  return copyStrided(ev, op, input, index);
}

Results window(Evaluator &ev, tg::WindowOp op, const Tensor &input) {
  SmallVector<AffineExpr> index;
  for (int64_t d = 0; d < input.rank(); ++d)
    index.push_back(getAffineDimExpr(d, op.getContext()));
  for (auto [j, d] : llvm::enumerate(op.getDims()))
    index[d] =
        index[d] * op.getStrides()[j] + getAffineDimExpr(input.rank() + j, op.getContext()) * op.getDilations()[j];
  return copyStrided(ev, op, input, index);
}

Results pad(Evaluator &ev, tg::PadOp op, const Tensor &input, const Tensor &value) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, result->size())) || failed(ev.charge(op, input.size())))
    return failure();
  for (int64_t i = 0; i < result->size(); ++i)
    result->copyElement(i, value, 0);
  SmallVector<AffineExpr> index;
  for (int64_t d = 0; d < input.rank(); ++d)
    index.push_back(getAffineDimExpr(d, op.getContext()) * (op.getInterior()[d] + 1) + op.getLow()[d]);
  AffineMap map = AffineMap::get(input.rank(), 0, index, op.getContext());
  std::optional<Access> access = Access::create(map, input.shape(), result->shape());
  if (!access || !access->linear())
    return ev.fail(op, "expected the operand within the padded result");
  Odometer place(input.shape());
  for (int64_t i = 0; i < input.size(); ++i, place.advance())
    result->copyElement((*access->linear())(*place), input, i);
  return single(std::move(*result));
}

Results concat(Evaluator &ev, tg::ConcatOp op, Operands inputs) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, result->size())))
    return failure();
  int64_t axis = op.getAxis(), start = 0;
  SmallVector<int64_t> strides = getStrides(result->shape());
  for (const Tensor *input : inputs) {
    SmallVector<int64_t> expected(result->shape());
    expected[axis] = input->dim(axis);
    start += input->dim(axis);
    if (input->shape() != ArrayRef<int64_t>(expected) || start > result->dim(axis))
      return ev.fail(op, "expected operands that fill " + formatShape(result->shape(), result->element()) + ", got " +
                             formatShape(input->shape(), input->element()));
    int64_t base = (start - input->dim(axis)) * strides[axis];
    Odometer place(input->shape());
    for (int64_t i = 0; i < input->size(); ++i, place.advance())
      result->copyElement(base + dot(strides, *place), *input, i);
  }
  return single(std::move(*result));
}

} // namespace

std::optional<Results> evaluateView(Evaluator &ev, Operation *op, Operands operands) {
  using Answer = std::optional<Results>;
  return llvm::TypeSwitch<Operation *, Answer>(op)
      .Case([&](tg::TransposeOp view) -> Answer { return transpose(ev, view, *operands[0]); })
      .Case<tg::ReshapeOp, tg::BitcastOp>([&](auto view) -> Answer { return reinterpret(ev, view, *operands[0]); })
      .Case([&](tg::BroadcastOp view) -> Answer { return broadcast(ev, view, *operands[0]); })
      .Case([&](tg::SliceOp view) -> Answer { return slice(ev, view, *operands[0]); })
      .Case([&](tg::WindowOp view) -> Answer { return window(ev, view, *operands[0]); })
      .Case([&](tg::PadOp padding) -> Answer { return pad(ev, padding, *operands[0], *operands[1]); })
      .Case([&](tg::ConcatOp joining) -> Answer { return concat(ev, joining, operands); })
      .Default(Answer());
}

} // namespace weft::reference
