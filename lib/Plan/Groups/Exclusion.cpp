// Pairs of ops that no group has both of: what the rules R and G (weft/Plan/Groups.h) say of kinds of ops, whatever
// else is in the group. A search leaves such sets, and all that contain them, aside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/DimClasses.h"
#include "weft/Plan/Groups.h"

using namespace mlir;

namespace weft::plan {

static bool isProduct(Operation *op) { return isa<tg::ContractOp, tg::FoldOp>(op); }

/// R6 and G5: kinds that share a kernel with something.
static bool isFusible(Operation *op, bool gpu) {
  if (isa<tg::PointwiseOpInterface, tg::ContractOp, tg::FoldOp, tg::ReduceOp, tg::TransposeOp, tg::SliceOp,
          tg::BroadcastOp, tg::PadOp, tg::GatherOp, tg::IotaOp, tg::ExtentsOp, tg::WindowOp>(op))
    return true;
  return gpu && isa<tg::ReshapeOp, tg::BitcastOp, tg::ConcatOp>(op);
}

/// R2 and R3.
static bool excludeOnCpu(Operation *a, Operation *b, const DimClasses &dims) {
  if (isProduct(a))
    return !isa<tg::PointwiseOpInterface>(b);
  if (isProduct(b))
    return !isa<tg::PointwiseOpInterface>(a);
  auto first = dyn_cast<tg::ReduceOp>(a), second = dyn_cast<tg::ReduceOp>(b);
  if (first && second)
    return first.getAxes() != second.getAxes() || !dims.areSame(first.getInput(), second.getInput());
  return (first && isa<tg::GatherOp>(b)) || (second && isa<tg::GatherOp>(a));
}

/// G2. (Reductions over other axes may be in front of a contraction.)
static bool excludeOnGpu(Operation *a, Operation *b, const DimClasses &dims) {
  auto anchors = [](Operation *op) { return isProduct(op) || isa<tg::ReduceOp>(op); };
  if (isa<tg::FoldOp>(a) || isa<tg::FoldOp>(b))
    return anchors(a) && anchors(b);
  auto first = dyn_cast<tg::ContractOp>(a), second = dyn_cast<tg::ContractOp>(b);
  // Window sums are arithmetic, and vectors may be made of vectors.
  auto isInnerKind = [](tg::ContractOp op) { return tg::hasNoTiles(op); };
  return first && second && !(isInnerKind(first) || isInnerKind(second)) && !dims.areInStep(first, second);
}

bool excludeEachOther(Operation *a, Operation *b, const GroupOptions &options) {
  if (!isFusible(a, options.gpu) || !isFusible(b, options.gpu))
    return true;
  return a != b && (options.gpu ? excludeOnGpu : excludeOnCpu)(a, b, *options.dims);
}

} // namespace weft::plan
