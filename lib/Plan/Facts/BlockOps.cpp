// What the plan asks of ops by themselves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/BlockOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Plan/Facts.h"

using namespace mlir;

namespace weft::plan {

Operation *userInBlock(Operation *op, Operation *user) { return op->getBlock()->findAncestorOpInBlock(*user); }

SmallVector<Value> usedValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

bool isRenaming(Operation *op) { return isa<tg::ReshapeOp, tg::BitcastOp>(op); }

bool isHostOp(Operation *op) {
  return isa<tg::ConstantOp, tg::WeightOp, tg::AssumeEqualOp, tg::AssumeAtMostOp, tg::BindSymbolsOp, tg::LoopOp,
             tg::IfOp, tg::VariantsOp, tg::DispatchOp, tg::KernelOp>(op) ||
         tg::isCollective(op) || isRenaming(op) || op->hasAttr(tg::inPlaceAttr) || op->hasAttr(tg::joinedAttr) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

SmallVector<Operation *> findSinks(const Group &group) {
  SmallVector<Operation *> sinks;
  for (Operation *op : llvm::reverse(group))
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !group.contains(userInBlock(op, user)); }))
      sinks.push_back(op);
  auto largest = llvm::max_element(sinks, [](Operation *a, Operation *b) {
    return estimateElements(a->getResult(0)) < estimateElements(b->getResult(0));
  });
  if (largest != sinks.end())
    std::rotate(sinks.begin(), largest, std::next(largest));
  return sinks;
}

int64_t countInstructions(Operation *op) {
  if (!isa<tg::PointwiseOpInterface>(op))
    return 0;
  if (isa<tg::ExpOp, tg::Expm1Op, tg::LogOp, tg::Log1pOp, tg::ErfOp, tg::SigmoidOp, tg::TanhOp, tg::PowOp, tg::SinOp,
          tg::CosOp, tg::TanOp, tg::AsinOp, tg::AcosOp, tg::AtanOp, tg::SinhOp, tg::CoshOp, tg::AsinhOp, tg::AcoshOp,
          tg::AtanhOp, tg::FModOp, tg::ModOp>(op))
    return 16;
  if (isa<tg::DivOp, tg::SqrtOp, tg::RsqrtOp, tg::ReciprocalOp>(op))
    return 4;
  return 1;
}

} // namespace weft::plan
