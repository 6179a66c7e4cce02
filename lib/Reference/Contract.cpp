// Contractions: for each element of the result, a loop over the reduction dimensions in row-major order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "Index.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::reference {
namespace {

/// The domain of a contraction and how its points lead to elements.
struct Domain {
  SmallVector<int64_t> extents;
  SmallVector<int64_t> outer, inner;           ///< Parallel and reduction dimensions, in the domain's order.
  SmallVector<int64_t> outerShape, innerShape; ///< Their extents.
  std::optional<Access> lhs, rhs, result;
};

FailureOr<Domain> makeDomain(Evaluator &ev, tg::ContractOp op, Operands operands, const Tensor &result) {
  Domain domain;
  for (AffineExpr expr : op.getDomainExtents()) {
    std::optional<int64_t> extent = evaluateExpr(expr, {}, ev.symbols);
    if (!extent || *extent < 0)
      return ev.fail(op, "expected known extents of the iteration domain");
    domain.extents.push_back(*extent);
  }
  for (auto [d, kind] : llvm::enumerate(op.getDomainIterators())) {
    bool isOuter = kind == utils::IteratorType::parallel;
    (isOuter ? domain.outer : domain.inner).push_back(d);
    (isOuter ? domain.outerShape : domain.innerShape).push_back(domain.extents[d]);
  }
  domain.lhs = Access::create(op.getMap(0), domain.extents, operands[0]->shape());
  domain.rhs = Access::create(op.getMap(1), domain.extents, operands[1]->shape());
  domain.result = Access::create(op.getMap(2), domain.extents, result.shape());
  if (!domain.lhs || !domain.rhs || !domain.result)
    return ev.fail(op, "expected accesses within the bounds of operands and result");
  return domain;
}

/// The operands' elements, extended to 64 bits by their own signedness.
struct Factors {
  std::vector<Scalar> lhs, rhs;
  bool isFloat;
};

void extendSigned(std::vector<Scalar> &values, Type element) {
  if (isa<FloatType>(element) || tg::isUnsignedElement(element))
    return;
  for (Scalar &value : values)
    value.i = uint64_t(signExtend(value.i, element.getIntOrFloatBitWidth()));
}

Scalar multiplyAdd(Scalar sum, Scalar x, Scalar y, bool isFloat) {
  if (isFloat)
    sum.f += x.f * y.f;
  else
    sum.i += x.i * y.i;
  return sum;
}

/// Sum over the reduction dimensions at the parallel point that `point` holds. None if an access leaves its tensor.
std::optional<Scalar> sumAt(const Domain &domain, const Factors &factors, MutableArrayRef<int64_t> point,
                            int64_t innerSize) {
  Scalar sum;
  sum.i = 0; // The bits of 0.0 too.
  if (innerSize == 0)
    return sum;
  // The last reduction dimension is a strided run where both maps are linear.
  const LinearForm *lhs = domain.lhs->linear(), *rhs = domain.rhs->linear();
  bool isRun = lhs && rhs && !domain.inner.empty();
  int64_t last = isRun ? domain.inner.back() : 0;
  int64_t run = isRun ? domain.extents[last] : 1;
  int64_t lhsStep = isRun ? lhs->strides[last] : 0, rhsStep = isRun ? rhs->strides[last] : 0;
  ArrayRef<int64_t> shape = ArrayRef<int64_t>(domain.innerShape).drop_back(isRun ? 1 : 0);
  for (int64_t d : domain.inner)
    point[d] = 0;
  Odometer position(shape);
  for (int64_t step = 0, steps = innerSize / run; step < steps; ++step, position.advance()) {
    for (auto [d, index] : llvm::zip(domain.inner, *position))
      point[d] = index;
    std::optional<int64_t> x = domain.lhs->offset(point), y = domain.rhs->offset(point);
    if (!x || !y)
      return std::nullopt;
    for (int64_t k = 0; k < run; ++k)
      sum = multiplyAdd(sum, factors.lhs[*x + k * lhsStep], factors.rhs[*y + k * rhsStep], factors.isFloat);
  }
  return sum;
}

} // namespace

std::optional<Results> evaluateContract(Evaluator &ev, Operation *op, Operands operands) {
  auto contract = dyn_cast<tg::ContractOp>(op);
  if (!contract)
    return std::nullopt;
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result))
    return Results(failure());
  FailureOr<Domain> domain = makeDomain(ev, contract, operands, *result);
  if (failed(domain))
    return Results(failure());
  std::optional<int64_t> innerSize = getSize(domain->innerShape);
  if (!innerSize || failed(ev.charge(op, result->size(), *innerSize)))
    return Results(ev.fail(op, "expected a smaller reduction"));
  FailureOr<std::vector<Scalar>> lhs = ev.loadAll(op, *operands[0]), rhs = ev.loadAll(op, *operands[1]);
  if (failed(lhs) || failed(rhs))
    return Results(failure());
  Factors factors{std::move(*lhs), std::move(*rhs), result->isFloat()};
  extendSigned(factors.lhs, operands[0]->element());
  extendSigned(factors.rhs, operands[1]->element());
  SmallVector<int64_t> point(domain->extents.size(), 0);
  Odometer position(domain->outerShape);
  for (int64_t i = 0; i < result->size(); ++i, position.advance()) {
    for (auto [d, index] : llvm::zip(domain->outer, *position))
      point[d] = index;
    std::optional<Scalar> sum = sumAt(*domain, factors, point, *innerSize);
    std::optional<int64_t> place = domain->result->offset(point);
    if (!sum || !place)
      return Results(ev.fail(op, "expected accesses within the bounds of operands and result"));
    result->store(*place, *sum);
  }
  return single(std::move(*result));
}

} // namespace weft::reference
