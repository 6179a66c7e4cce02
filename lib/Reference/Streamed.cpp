// tg.fold: the update on the whole stream, or on each part of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "Index.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"

using namespace mlir;

namespace weft::reference {

/// One step of the whole dimension, or of the part of it that `stream` says.
Results Evaluator::evaluatePart(tg::FoldOp fold, Environment &environment) {
  Block &update = fold.getUpdate().front(), &finish = fold.getFinish().front();
  for (auto [state, init] : llvm::zip(update.getArguments(), fold.getInit())) {
    auto type = cast<RankedTensorType>(state.getType());
    FailureOr<SmallVector<int64_t>> shape = extentsOf(fold, type);
    FailureOr<Tensor> tensor =
        failed(shape) ? FailureOr<Tensor>(failure()) : makeTensor(fold, *shape, type.getElementType());
    auto splat = DenseElementsAttr::get(RankedTensorType::get({}, type.getElementType()), {Attribute(init)});
    std::optional<Tensor> value = Tensor::fromElements(splat, limits.maxTensorBytes);
    if (failed(tensor) || !value || failed(charge(fold, tensor->size())))
      return failure();
    for (int64_t i = 0; i < tensor->size(); ++i)
      tensor->store(i, value->load(0));
    environment[state] = std::make_shared<Tensor>(std::move(*tensor));
  }
  bool isEmpty = stream && stream->first >= stream->second;
  Results states = isEmpty ? Results(SmallVector<Tensor>()) : evaluateBlock(update, environment);
  if (isEmpty)
    for (BlockArgument state : update.getArguments())
      states->push_back(*environment[state]);
  if (failed(states))
    return failure();
  for (auto [argument, state] : llvm::zip(finish.getArguments(), *states))
    environment[argument] = std::make_shared<Tensor>(std::move(state));
  return evaluateBlock(finish, environment);
}

/// The parts one after the other; the elements of the others are left out of what reduces the stream.
Results Evaluator::evaluateFold(tg::FoldOp fold, Environment &environment) {
  if (!fold.getParts())
    return evaluatePart(fold, environment);
  auto numberOf = [&](AffineExpr expr) { return evaluateExpr(expr, {}, symbols); };
  std::optional<int64_t> extent = numberOf(fold.getExtent().getResult(0)), units = numberOf(fold.getNumUnits());
  if (!extent || !units)
    return fail(fold, "expected an extent that is known");
  SmallVector<Tensor> results;
  for (unsigned i = 0; i < fold.getNumResults(); ++i) {
    FailureOr<Tensor> result = makeResult(fold, i);
    if (failed(result))
      return failure();
    results.push_back(std::move(*result));
  }
  int64_t parts = *fold.getParts(), unit = *fold.getUnit();
  for (int64_t part = 0; part < parts; ++part) {
    auto border = [&](int64_t p) { return std::min(p * *units / parts * unit, *extent); };
    stream = {border(part), border(part + 1)};
    Results own = evaluatePart(fold, environment);
    stream.reset();
    if (failed(own))
      return failure();
    for (auto [whole, each] : llvm::zip_equal(results, *own))
      for (int64_t i = 0; i < each.size(); ++i)
        whole.copyElement(part * each.size() + i, each, i);
  }
  return results;
}

/// `tensor`, with `fill` in place of what is outside of the part of the stream along `axis`.
static Tensor keepPart(const Tensor &tensor, int64_t axis, std::pair<int64_t, int64_t> part, Scalar fill) {
  Tensor kept = tensor;
  int64_t stride = getStrides(tensor.shape())[axis], extent = tensor.dim(axis);
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (int64_t place = i / stride % extent; place < part.first || place >= part.second)
      kept.store(i, fill);
  return kept;
}

/// What an op that reduces the stream reads of it in a part: elsewhere what adds nothing to the result.
LogicalResult Evaluator::takePart(Operation *op, SmallVectorImpl<const Tensor *> &operands,
                                  std::vector<Tensor> &storage) {
  storage.reserve(operands.size());
  auto tile = cast<tg::TileOpInterface>(op);
  SmallVector<utils::IteratorType> kinds = tile.getDomainIterators();
  for (auto [i, operand] : llvm::enumerate(operands)) {
    std::optional<AffineMap> map = tile.getOperandMap(i);
    Scalar fill;
    fill.i = 0; // The bits of 0.0 too.
    if (auto reduce = dyn_cast<tg::ReduceOp>(op)) {
      FailureOr<Scalar> identity = getIdentity(*this, op, reduce.getKind(), operand->element());
      if (failed(identity))
        return failure();
      fill = *identity;
    }
    for (auto [axis, expr] : llvm::enumerate(map->getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && kinds[dim.getPosition()] == utils::IteratorType::reduction) {
        if (failed(charge(op, operand->size())))
          return failure();
        storage.push_back(keepPart(*operand, axis, *stream, fill));
        operand = &storage.back();
        break;
      }
  }
  return success();
}

} // namespace weft::reference
