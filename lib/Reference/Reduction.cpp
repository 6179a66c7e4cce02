// Reductions and scans, by the monoid's scalar definition, in row-major order of what is reduced.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "Index.h"
#include "ScalarProgram.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::reference {
namespace {

struct MonoidPrograms {
  ScalarProgram combine;
  Scalar identity;
};

FailureOr<MonoidPrograms> compileMonoid(Evaluator &ev, Operation *op, tg::Monoid kind, Type element) {
  FloatType f64 = Float64Type::get(op->getContext());
  Type scalar = tg::getScalarType(element, f64);
  auto combine =
      ScalarProgram::compile(op->getContext(), {scalar, scalar}, [&](OpBuilder &b, Location loc, ValueRange x) {
        return tg::buildCombine(b, loc, kind, x[0], x[1], element);
      });
  auto identity = ScalarProgram::compile(op->getContext(), {}, [&](OpBuilder &b, Location loc, ValueRange) {
    return tg::buildIdentity(b, loc, kind, element, f64);
  });
  if (!combine || !identity)
    return ev.fail(op, "the monoid is not defined on these elements");
  return MonoidPrograms{std::move(*combine), *identity->run(1)};
}

Results reduce(Evaluator &ev, tg::ReduceOp op, const Tensor &input) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size(), 4)) || failed(ev.charge(op, result->size(), 4)))
    return failure();
  FailureOr<MonoidPrograms> monoid = compileMonoid(ev, op, op.getKind(), input.element());
  if (failed(monoid))
    return failure();
  // Dimensions kept and reduced, with their strides in the operand.
  SmallVector<int64_t> strides = getStrides(input.shape()), keptShape, keptStrides, gone, goneStrides;
  for (int64_t d = 0; d < input.rank(); ++d) {
    bool isGone = llvm::is_contained(op.getAxes(), d);
    (isGone ? gone : keptShape).push_back(input.dim(d));
    (isGone ? goneStrides : keptStrides).push_back(strides[d]);
  }
  std::optional<int64_t> reductions = getSize(gone);
  if (!reductions)
    return ev.fail(op, "expected a smaller reduction");
  Odometer place(keptShape);
  int64_t offsets[ScalarProgram::lanes];
  for (int64_t start = 0; start < result->size(); start += ScalarProgram::lanes) {
    int64_t count = std::min(ScalarProgram::lanes, result->size() - start);
    Scalar *state = monoid->combine.argument(0), *next = monoid->combine.argument(1);
    for (int64_t i = 0; i < count; ++i, place.advance()) {
      offsets[i] = dot(keptStrides, *place);
      state[i] = monoid->identity;
    }
    Odometer step(gone);
    for (int64_t r = 0; r < *reductions; ++r, step.advance()) {
      int64_t offset = dot(goneStrides, *step);
      for (int64_t i = 0; i < count; ++i)
        next[i] = input.load(offsets[i] + offset);
      std::copy_n(monoid->combine.run(count), count, state);
    }
    for (int64_t i = 0; i < count; ++i)
      result->store(start + i, state[i]);
  }
  return single(std::move(*result));
}

Results scan(Evaluator &ev, tg::ScanOp op, const Tensor &input) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, input.size(), 8)))
    return failure();
  FailureOr<MonoidPrograms> monoid = compileMonoid(ev, op, op.getKind(), input.element());
  if (failed(monoid))
    return failure();
  if (input.size() == 0)
    return single(std::move(*result));
  int64_t axis = op.getAxis(), length = input.dim(axis), stride = getStrides(input.shape())[axis];
  Scalar *state = monoid->combine.argument(0), *next = monoid->combine.argument(1);
  for (int64_t line = 0, lines = input.size() / length; line < lines; ++line) {
    int64_t base = line / stride * stride * length + line % stride;
    state[0] = monoid->identity;
    for (int64_t step = 0; step < length; ++step) {
      int64_t place = base + (op.getReverse() ? length - 1 - step : step) * stride;
      next[0] = input.load(place);
      Scalar before = state[0];
      state[0] = *monoid->combine.run(1);
      result->store(place, op.getExclusive() ? before : state[0]);
    }
  }
  return single(std::move(*result));
}

} // namespace

FailureOr<Scalar> getIdentity(Evaluator &ev, Operation *op, tg::Monoid kind, Type element) {
  FailureOr<MonoidPrograms> monoid = compileMonoid(ev, op, kind, element);
  if (failed(monoid))
    return failure();
  return monoid->identity;
}

std::optional<Results> evaluateReduction(Evaluator &ev, Operation *op, Operands operands) {
  if (auto reduction = dyn_cast<tg::ReduceOp>(op))
    return reduce(ev, reduction, *operands[0]);
  if (auto prefix = dyn_cast<tg::ScanOp>(op))
    return scan(ev, prefix, *operands[0]);
  return std::nullopt;
}

} // namespace weft::reference
