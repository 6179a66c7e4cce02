// weft-cpu-tile: the root op's parallel loops become the grid; everything it needs is computed tile by tile inside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.h"
#include "TileSizes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_TILETOGRID
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

using Materialize = bufferization::MaterializeInDestinationOp;

/// Makes the op that computes `value` write where `memory` lies: its initial value, as far as it is undefined, becomes
/// that memory.
void writeInPlace(RewriterBase &rewriter, Value value, Value memory) {
  OpOperand *init = nullptr;
  if (auto forall = value.getDefiningOp<scf::ForallOp>(); forall && value.hasOneUse()) {
    init = forall.getTiedOpOperand(cast<OpResult>(value));
    value = init->get();
  }
  while (auto op = value.getDefiningOp<DestinationStyleOpInterface>()) {
    if (op->getNumResults() != 1 || !value.hasOneUse())
      return;
    init = op.getDpsInitOperand(0);
    value = init->get();
  }
  if (!init || !value.getDefiningOp<tensor::EmptyOp>())
    return;
  rewriter.setInsertionPoint(init->getOwner());
  Value tensor = bufferization::ToTensorOp::create(rewriter, value.getLoc(), value.getType(), memory, /*restrict=*/true,
                                                   /*writable=*/true);
  rewriter.modifyOpInPlace(init->getOwner(), [&] { init->set(tensor); });
}

class TileToGrid : public weft::cpu::impl::TileToGridBase<TileToGrid> {
  void runOnOperation() override {
    func::FuncOp func = weft::cpu::getKernelFunc(getOperation());
    if (!func)
      return signalPassFailure();
    SmallVector<Materialize> stores = llvm::to_vector(func.getOps<Materialize>());
    IRRewriter rewriter(&getContext());
    for (Materialize store : stores)
      writeInPlace(rewriter, store.getSource(), store.getDest());
    linalg::LinalgOp root = weft::cpu::findRoot(func);
    auto sizes = getOperation()->getAttrOfType<DenseI64ArrayAttr>(weft::cpu::tileSizesAttr);
    if (!root || !sizes || sizes.size() != root.getNumLoops())
      return;
    if (!llvm::all_of(sizes.asArrayRef(), [](int64_t size) { return size == 0; }))
      tile(rewriter, root, sizes);
    cleanUp(func);
  }

  void tile(IRRewriter &rewriter, linalg::LinalgOp root, ArrayRef<int64_t> sizes) {
    scf::SCFTilingOptions tiling;
    tiling.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    tiling.setTileSizes(getAsIndexOpFoldResult(&getContext(), sizes));
    scf::SCFTileAndFuseOptions options;
    options.setTilingOptions(tiling);
    options.setFusionControlFn([](tensor::ExtractSliceOp, OpResult producer, bool) {
      // The initial value that was redirected to the result's memory stays outside.
      return isa<TilingInterface>(producer.getOwner()) ? std::optional(scf::SCFTileAndFuseOptions::ControlFnResult{})
                                                       : std::nullopt;
    });
    rewriter.setInsertionPoint(root);
    FailureOr<scf::SCFTileAndFuseResult> tiled =
        scf::tileConsumerAndFuseProducersUsingSCF(rewriter, cast<TilingInterface>(root.getOperation()), options);
    if (failed(tiled))
      return;
    for (OpResult result : root->getResults())
      if (Value replacement = tiled->replacements.lookup(result))
        rewriter.replaceAllUsesWith(result, replacement);
  }

  /// Merges the copies of producers that several consumers asked for.
  void cleanUp(func::FuncOp func) {
    RewritePatternSet patterns(&getContext());
    for (StringRef name : {"tensor", "linalg", "affine", "scf"})
      if (Dialect *dialect = getContext().getLoadedDialect(name))
        dialect->getCanonicalizationPatterns(patterns);
    tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, &getContext());
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, &getContext());
    affine::AffineMinOp::getCanonicalizationPatterns(patterns, &getContext());
    scf::ForallOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::DimOp::getCanonicalizationPatterns(patterns, &getContext());
    (void)applyPatternsGreedily(func, std::move(patterns));
    DominanceInfo dominance(func);
    IRRewriter rewriter(&getContext());
    eliminateCommonSubExpressions(rewriter, dominance, func);
  }
};

} // namespace
