// Operations and bytes of programs and kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Facts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/BlockOps.h"
#include "weft/Plan/KernelAccess.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace weft::plan {

double estimateElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  double elements = 1;
  for (AffineExpr extent : tg::getDims(type))
    elements *= double(std::max<int64_t>(estimateExtent(extent), 0));
  return elements;
}

double estimateBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? estimateElements(value) * double(tg::getElementBits(type.getElementType())) / 8 : 0;
}

double estimateFlops(Operation *op) {
  double flops = 0;
  op->walk([&](tg::TileOpInterface tile) {
    double points = double(tile.getFlopsPerPoint());
    if (points == 0)
      return;
    for (AffineExpr extent : tile.getDomainExtents())
      points *= double(std::max<int64_t>(estimateExtent(extent), 0));
    flops += points;
  });
  return flops;
}

double takenBytes(Value value, llvm::function_ref<bool(Operation *)> isReader) {
  double whole = estimateBytes(value), parts = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (!isReader(user))
      continue;
    bool isPart = (isa<tg::GatherOp>(user) && use.getOperandNumber() == 0) || isa<tg::SliceOp>(user);
    if (!isPart)
      return whole;
    parts += estimateBytes(user->getResult(0));
  }
  return std::min(whole, parts);
}

UnfusedFacts measureUnfused(ModuleOp program) {
  UnfusedFacts facts;
  auto main = program.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return facts;
  for (Operation &op : main.getBody().front()) {
    if (isHostOp(&op))
      continue;
    ++facts.ops;
    facts.flops += estimateFlops(&op);
    for (Value operand : usedValues(&op))
      facts.bytes += takenBytes(operand, [&](Operation *user) { return op.isAncestor(user); });
    for (Value result : op.getResults()) {
      facts.bytes += estimateBytes(result);
      if (llvm::none_of(result.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
        facts.intermediateBytes += estimateBytes(result);
    }
  }
  return facts;
}

//===--- Kernels as problems that the cost models know ---===//

/// The extent of dimension `dim` of a contraction's domain.
static int64_t extentOf(tg::ContractOp contract, unsigned dim) {
  SmallVector<AffineExpr> extents = cast<tg::TileOpInterface>(contract.getOperation()).getDomainExtents();
  return std::max<int64_t>(estimateExtent(extents[dim]), 1);
}

static int64_t elementBytesOf(Value value) {
  return std::max<int64_t>(tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()) / 8, 1);
}

/// Whether the elements of an operand are those of a tensor in memory; what a prologue computes has other bytes there.
static bool isInMemory(Value operand) {
  while (isa_and_nonnull<tg::ReshapeOp, tg::TransposeOp>(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  return isa<BlockArgument>(operand);
}

/// A GEMM of two matrices in memory; none for batches and windows, of which the models know nothing.
static std::optional<LaunchProblem> describeProduct(tg::ContractOp contract) {
  if (!isInMemory(contract.getLhs()) || !isInMemory(contract.getRhs()))
    return std::nullopt;
  AffineMap lhs = contract.getMap(0), rhs = contract.getMap(1), result = contract.getMap(2);
  if (!lhs.isProjectedPermutation(true) || !rhs.isProjectedPermutation(true) || !result.isProjectedPermutation(true))
    return std::nullopt;
  LaunchProblem problem;
  problem.elementBytes = elementBytesOf(contract.getLhs());
  int64_t left = 1, right = 1;
  std::optional<bool> isLeftFirst; // Which operand the rows of the result come from.
  for (AffineExpr index : result.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(index);
    int64_t extent = dim ? extentOf(contract, dim.getPosition()) : 1;
    if (extent == 1)
      continue;
    bool isLeft = lhs.isFunctionOfDim(dim.getPosition()), isRight = rhs.isFunctionOfDim(dim.getPosition());
    if (isLeft && isRight)
      return std::nullopt;
    (isLeft ? left : right) *= extent;
    if (!isLeftFirst)
      isLeftFirst = isLeft;
  }
  for (unsigned dim = 0; dim < result.getNumDims(); ++dim)
    if (!result.isFunctionOfDim(dim))
      problem.k *= extentOf(contract, dim);
  bool isSwapped = isLeftFirst && !*isLeftFirst;
  problem.m = isSwapped ? right : left;
  problem.n = isSwapped ? left : right;
  problem.bytes = estimateBytes(contract.getLhs()) + estimateBytes(contract.getRhs()) +
                  double(left) * double(right) * double(problem.elementBytes);
  return problem;
}

/// Attention: scores of a contraction, summed up by a streamed one.
static std::optional<LaunchProblem> describeAttention(tg::FoldOp fold) {
  tg::ContractOp sum;
  fold.getUpdate().walk([&](tg::ContractOp contract) {
    if (tg::isStreamed(contract))
      sum = contract;
  });
  if (!sum)
    return std::nullopt;
  LaunchProblem problem;
  problem.isAttention = true;
  AffineMap lhs = sum.getMap(0), rhs = sum.getMap(1), result = sum.getMap(2);
  for (unsigned dim = 0; dim < result.getNumDims(); ++dim) {
    bool isLeft = lhs.isFunctionOfDim(dim), isRight = rhs.isFunctionOfDim(dim);
    int64_t &side = !result.isFunctionOfDim(dim) ? problem.keys
                    : isLeft && isRight          ? problem.heads
                    : isLeft                     ? problem.queries
                                                 : problem.headDim;
    side *= extentOf(sum, dim);
  }
  problem.elementBytes = elementBytesOf(sum.getRhs());
  double rows = double(problem.heads) * double(problem.queries) + double(problem.heads) * double(problem.keys);
  problem.bytes = 2 * rows * double(problem.headDim) * double(problem.elementBytes);
  return problem;
}

KernelFacts measureKernel(ModuleOp kernel) {
  KernelFacts facts;
  auto func = kernel.lookupSymbol<func::FuncOp>("kernel");
  if (!func || func.isExternal())
    return facts;
  tg::LikelyExtents likely(kernel);
  SmallVector<tg::ContractOp> products;
  SmallVector<tg::FoldOp> folds;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (!isa<tg::ConstantOp>(op))
      facts.ops.push_back(op.getName().stripDialect().str());
    facts.flops += estimateFlops(&op);
    if (auto contract = dyn_cast<tg::ContractOp>(op))
      products.push_back(contract);
    if (auto fold = dyn_cast<tg::FoldOp>(op))
      folds.push_back(fold);
  }
  for (Value argument : func.getArguments())
    facts.readBytes.push_back(takenBytes(argument, [](Operation *) { return true; }));
  if (products.size() == 1 && folds.empty())
    facts.problem = describeProduct(products[0]);
  else if (folds.size() == 1 && products.empty())
    facts.problem = describeAttention(folds[0]);
  return facts;
}

/// Whether a result of a dispatch, or a view of it, leaves the program.
static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() || (isRenaming(user) && isReturned(user->getResult(0)));
  });
}

std::vector<DispatchFacts> measureDispatches(ModuleOp program, const llvm::StringMap<KernelFacts> &kernels) {
  std::vector<DispatchFacts> list;
  tg::LikelyExtents likely(program);
  for (auto main : program.getOps<func::FuncOp>())
    for (tg::DispatchOp dispatch : main.getOps<tg::DispatchOp>()) {
      DispatchFacts facts;
      auto kernel = kernels.find(dispatch.getCallee().getRootReference().getValue());
      if (kernel != kernels.end()) {
        facts.flops = kernel->second.flops;
        for (auto [i, operand] : llvm::enumerate(dispatch.getOperands_()))
          facts.readBytes += i < kernel->second.readBytes.size() ? kernel->second.readBytes[i] : estimateBytes(operand);
      }
      for (Value result : dispatch->getResults()) {
        facts.writeBytes += estimateBytes(result);
        if (!isReturned(result))
          facts.intermediateBytes += estimateBytes(result);
      }
      list.push_back(facts);
    }
  return list;
}

} // namespace weft::plan
