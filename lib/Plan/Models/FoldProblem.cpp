// What a fold of matrices comes down to: extents by role, and the work of a score.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileGraph/IR/FoldMask.h"
#include "weft/Plan/BlockOps.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/FoldModel.h"
#include "weft/Plan/KernelAccess.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

tg::ContractOp findFoldSum(tg::FoldOp fold) {
  tg::ContractOp sum;
  fold.getUpdate().walk([&](tg::ContractOp contract) {
    if (tg::isStreamed(contract))
      sum = contract;
  });
  return sum;
}

/// `value`, and what it is made of element by element, seen through views.
static void collectPlaces(Value value, llvm::SmallPtrSetImpl<Value> &found) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!found.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!isa_and_nonnull<tg::PointwiseOpInterface, tg::ReshapeOp, tg::TransposeOp, tg::BitcastOp>(op))
      continue;
    for (Value operand : op->getOperands()) // One with fewer elements is stretched.
      if (tg::isEqual(tg::getNumElements(operand.getType()), tg::getNumElements(next.getType())))
        work.push_back(operand);
  }
}

/// The scores of a fold, and all that its maps make of them before they are summed up.
static llvm::SmallPtrSet<Value, 16> findScores(tg::FoldOp fold, tg::ContractOp sum) {
  llvm::SmallPtrSet<Value, 16> scores;
  collectPlaces(sum.getLhs(), scores);
  fold.getUpdate().walk([&](tg::ReduceOp reduce) {
    llvm::SmallPtrSet<Value, 16> reduced;
    collectPlaces(reduce.getInput(), reduced);
    if (llvm::any_of(reduced, [&](Value value) { return scores.contains(value); }))
      scores.insert(reduced.begin(), reduced.end());
  });
  return scores;
}

/// Instructions of one score of the fold, by the maps that make its term of it.
static ScoreWork countScoreWork(tg::FoldOp fold, const llvm::SmallPtrSetImpl<Value> &scores) {
  ScoreWork work;
  fold.getUpdate().walk([&](Operation *op) {
    bool isReduce = isa<tg::ReduceOp>(op);
    if ((isReduce || isa<tg::PointwiseOpInterface>(op)) &&
        scores.contains(isReduce ? op->getOperand(0) : op->getResult(0)))
      ++(countInstructions(op) > 1 ? work.special : work.plain);
  });
  return work;
}

/// Terms of the products that make the scores; 0 if there are none.
static int64_t findDepth(tg::FoldOp fold, tg::ContractOp sum) {
  int64_t depth = 0;
  fold.getUpdate().walk([&](tg::ContractOp product) {
    if (product == sum)
      return;
    int64_t terms = 1;
    for (auto [d, extent] : llvm::enumerate(product.getDomainExtents()))
      if (!product.getMap(2).isFunctionOfDim(d))
        terms *= estimateExtent(extent);
    depth += terms;
  });
  return depth;
}

/// Whether all that `value` is made of are indices and numbers: a mask of such costs only the steps that it cuts.
static bool isMadeOfIndices(Value value) {
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!seen.insert(next).second || isa_and_nonnull<tg::IotaOp, tg::ConstantOp, tg::ExtentsOp>(op))
      continue;
    if (!isa_and_nonnull<tg::PointwiseOpInterface, tg::ReshapeOp, tg::TransposeOp>(op))
      return false;
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

/// Whether maps of a fold hold nothing but scores: no tile of a tensor is read beside them.
static bool hasPlainMaps(tg::FoldOp fold) {
  bool isPlain = true;
  int64_t products = 0;
  fold.getUpdate().walk([&](Operation *op) {
    products += isa<tg::ContractOp>(op);
    if (!isa<tg::PointwiseOpInterface>(op))
      return;
    for (Value operand : op->getOperands()) // From memory, as it is or behind a cast.
      isPlain &= fold->isAncestor(operand.getParentBlock()->getParentOp()) || isMadeOfIndices(operand) ||
                 llvm::all_of(tg::getDims(operand.getType()), [](AffineExpr dim) { return dim == 1; });
  });
  return isPlain && products == 2;
}

/// Whether a mask of indices chooses some of the scores.
static bool hasIndexMask(tg::FoldOp fold, const llvm::SmallPtrSetImpl<Value> &scores) {
  return fold.getUpdate()
      .walk([&](tg::SelectOp select) {
        bool isMask = scores.contains(select.getResult()) && isMadeOfIndices(select.getCondition());
        return isMask ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Bytes of a score: of tiles of tensors that are read beside the scores, a bias or a mask that is an input.
static double countBesideBytes(tg::FoldOp fold) {
  double bytes = 0;
  auto isLong = [](AffineExpr dim) { return tg::getConstant(dim) != 1; };
  for (Operation &op : fold.getUpdate().front()) {
    if (!isa<tg::PointwiseOpInterface>(op))
      continue;
    for (Value operand : op.getOperands())
      if (!fold->isAncestor(operand.getParentBlock()->getParentOp()) &&
          llvm::count_if(tg::getDims(operand.getType()), isLong) > 1)
        bytes += double(tg::getElementBits(cast<RankedTensorType>(operand.getType()).getElementType())) / 8;
  }
  return bytes;
}

/// Whether several CTAs may have parts of a tile's stream, and merge what they have of its states. A decoder's rows are
/// a tile of one instruction, whose stream kernels of their own cut finer.
static bool isMergeable(tg::FoldOp fold, const FoldProblem &problem) {
  constexpr int64_t decoderRows = 16;
  auto isKnown = [](AffineExpr extent) { return tg::getConstant(extent).has_value(); };
  auto isWord = [](Type type) { return cast<RankedTensorType>(type).getElementType().isF32(); };
  return !problem.isInParts && problem.isKnown && problem.getRows() > decoderRows && !fold.getMerge().empty() &&
         llvm::all_of(fold.getUpdate().front().getArgumentTypes(), isWord) && tg::mergesInitialStates(fold) &&
         llvm::all_of(fold.getResultTypes(), [&](Type type) { return llvm::all_of(tg::getDims(type), isKnown); });
}

FoldProblem describeFold(tg::FoldOp fold, tg::ContractOp sum) {
  FoldProblem problem;
  Operation *rhs = sum.getRhs().getDefiningOp();
  bool rowsOnLeft = !rhs || !fold->isAncestor(rhs);
  SmallVector<int64_t> columns;
  for (auto [d, estimated] : llvm::enumerate(sum.getDomainExtents())) {
    bool made = sum.getMap(rowsOnLeft ? 0 : 1).isFunctionOfDim(d),
         read = sum.getMap(rowsOnLeft ? 1 : 0).isFunctionOfDim(d);
    int64_t extent = estimateExtent(estimated);
    if (!sum.getMap(2).isFunctionOfDim(d))
      continue;
    if (made == read)
      problem.batch *= extent;
    else
      (made ? problem.rows : columns).push_back(extent);
  }
  for (int64_t extent : columns) {
    problem.width *= int64_t(llvm::PowerOf2Ceil(extent));
    problem.columns *= columns.size() == 1 ? int64_t(llvm::alignTo(extent, 8)) : int64_t(llvm::PowerOf2Ceil(extent));
  }
  Type type = cast<RankedTensorType>(sum.getRhs().getType()).getElementType();
  problem.hasMatrix = type.isF16() || type.isBF16();
  problem.bytes = std::max<int64_t>(tg::getElementBits(type) / 8, 1);
  problem.depth = findDepth(fold, sum);
  problem.streamed = estimateExtent(fold.getPartExtent());
  problem.longestStep = std::min<int64_t>(fold.getUnit().value_or(128), 128);
  llvm::SmallPtrSet<Value, 16> scores = findScores(fold, sum);
  problem.score = countScoreWork(fold, scores);
  problem.besideBytes = countBesideBytes(fold);
  // An extent that is not known may be ragged, which is a mask.
  problem.isKnown = tg::getConstant(fold.getExtent().getResult(0)).has_value();
  problem.isPlain = problem.isKnown && hasPlainMaps(fold);
  problem.isMasked = hasIndexMask(fold, scores);
  problem.isInParts = fold.getParts().has_value();
  problem.isMergeable = isMergeable(fold, problem);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(fold.getUpdate(), captured);
  for (Value value : captured)
    problem.operandBytes += value.getDefiningOp<tg::IotaOp>() ? 0 : estimateBytes(value);
  for (Value result : fold.getResults())
    problem.resultBytes += estimateBytes(result);
  return problem;
}

} // namespace weft::plan
