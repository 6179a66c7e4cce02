// weft-cpu-choose-tiles: what the plan of a CPU kernel says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.h"
#include "TileSizes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_CHOOSETILES
#include "weft/Lower/Cpu/Passes.h.inc"

using namespace mlir;

linalg::LinalgOp findRoot(func::FuncOp kernel) {
  auto stores = llvm::to_vector(kernel.getOps<bufferization::MaterializeInDestinationOp>());
  auto root = stores.size() == 1 ? stores.front().getSource().getDefiningOp<linalg::LinalgOp>() : linalg::LinalgOp();
  return root && root.hasPureTensorSemantics() && root->getNumResults() == 1 ? root : linalg::LinalgOp();
}

namespace {
class ChooseTiles : public impl::ChooseTilesBase<ChooseTiles> {
  void runOnOperation() override {
    func::FuncOp func = getKernelFunc(getOperation());
    if (!func)
      return signalPassFailure();
    ModuleOp module = getOperation();
    linalg::LinalgOp root = findRoot(func);
    Attribute given = module->getAttr(tileSizesAttr);
    if (!root || !given) {
      if (root)
        module->setAttr(tileSizesAttr, DenseI64ArrayAttr::get(&getContext(), chooseTileSizes(root)));
      return;
    }
    auto sizes = dyn_cast<DenseI64ArrayAttr>(given);
    if (sizes && sizes.size() == root.getNumLoops() &&
        llvm::all_of(sizes.asArrayRef(), [](int64_t size) { return size >= 0; }))
      return;
    module.emitError() << tileSizesAttr << ": expected " << root.getNumLoops()
                       << " tile sizes of at least 0, one for each loop of kernel " << module.getSymName().value_or("?")
                       << ", got " << given;
    signalPassFailure();
  }
};
} // namespace

} // namespace weft::cpu
