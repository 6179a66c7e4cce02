// Elementwise ops: each runs its own scalar definition, in f64 for floats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "Index.h"
#include "ScalarProgram.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::reference {
namespace {

/// Reads an operand in the order of the result's elements, stretched by broadcasting.
class BroadcastReader {
public:
  BroadcastReader(const Tensor &source, const Tensor &result)
      : source(source), isContiguous(source.shape() == result.shape()), position(result.shape()) {
    SmallVector<int64_t> own = getStrides(source.shape());
    strides.assign(result.rank(), 0);
    for (int64_t d = 0, lead = result.rank() - source.rank(); d < source.rank(); ++d)
      strides[lead + d] = source.dim(d) == 1 ? 0 : own[d];
  }
  /// The next `count` elements.
  void read(Scalar *into, int64_t count) {
    for (int64_t i = 0; i < count; ++i, ++next) {
      into[i] = source.load(isContiguous ? next : dot(strides, *position));
      if (!isContiguous)
        position.advance();
    }
  }

private:
  const Tensor &source;
  bool isContiguous;
  int64_t next = 0;
  SmallVector<int64_t> strides;
  Odometer position;
};

/// Checks that each operand's extents are the result's or static 1: extents that broadcasting assumed equal must be.
LogicalResult checkBroadcast(Evaluator &ev, Operation *op, Operands operands, const Tensor &result) {
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    int64_t lead = result.rank() - operand->rank();
    for (int64_t d = 0; d < operand->rank(); ++d)
      if (operand->dim(d) != result.dim(lead + d) && type.getDimSize(d) != 1)
        return ev.fail(op, "expected operand " + Twine(i) + " to broadcast to " +
                               formatShape(result.shape(), result.element()) + ", got " +
                               formatShape(operand->shape(), operand->element()));
  }
  return success();
}

} // namespace

std::optional<Results> evaluatePointwise(Evaluator &ev, Operation *op, Operands operands) {
  auto pointwise = dyn_cast<tg::PointwiseOpInterface>(op);
  if (!pointwise)
    return std::nullopt;
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(checkBroadcast(ev, op, operands, *result)))
    return Results(failure());
  FloatType f64 = Float64Type::get(op->getContext());
  SmallVector<Type> types;
  for (const Tensor *operand : operands)
    types.push_back(tg::getScalarType(operand->element(), f64));
  auto program = ScalarProgram::compile(op->getContext(), types, [&](OpBuilder &b, Location loc, ValueRange scalars) {
    return pointwise.buildScalar(b, loc, scalars, f64);
  });
  if (!program)
    return Results(ev.fail(op, "the reference does not know an op of its scalar definition"));
  if (failed(ev.charge(op, result->size(), program->cost())))
    return Results(failure());
  std::vector<BroadcastReader> readers;
  for (const Tensor *operand : operands)
    readers.emplace_back(*operand, *result);
  for (int64_t start = 0; start < result->size(); start += ScalarProgram::lanes) {
    int64_t count = std::min(ScalarProgram::lanes, result->size() - start);
    for (auto [i, reader] : llvm::enumerate(readers))
      reader.read(program->argument(i), count);
    const Scalar *values = program->run(count);
    for (int64_t i = 0; i < count; ++i)
      result->store(start + i, values[i]);
  }
  return single(std::move(*result));
}

} // namespace weft::reference
