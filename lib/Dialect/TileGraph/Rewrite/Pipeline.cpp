// The normalize pipeline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"

using namespace mlir;

void weft::tg::buildNormalizePipeline(OpPassManager &pm, const NormalizeOptions &options) {
  FoldConstantsOptions fold;
  fold.maxResultBytes = options.foldMaxBytes;
  fold.maxGrowthBytes = options.foldMaxGrowth;
  auto simplify = [&] {
    pm.addPass(createSimplify());
    if (options.foldMaxBytes > 0)
      pm.addPass(createFoldConstants(fold));
    pm.addPass(createCSEPass());
  };
  if (options.decompose)
    pm.addPass(createIntegerContractions());
  simplify();
  if (options.decompose) {
    pm.addPass(createDecomposeComposites());
    simplify();
    pm.addPass(createJoinSlices());
  }
  if (options.decompose && !options.licence.empty()) {
    RewriteAlgebraOptions rewrite;
    rewrite.licence = options.licence;
    pm.addPass(createRewriteAlgebra(rewrite));
    pm.addPass(createCSEPass());
  }
  pm.addPass(createSimplify());
  if (options.decompose && options.mesh.ranks > 1) { // Repeated heads are one dimension still.
    ShardOptions shard;
    shard.ranks = options.mesh.ranks;
    shard.requests.assign(options.mesh.shards.begin(), options.mesh.shards.end());
    shard.isOfModel = options.mesh.isOfModel;
    shard.target = options.mesh.target;
    shard.linkRate = options.mesh.linkRate;
    shard.linkLatency = options.mesh.linkLatency;
    pm.addPass(createShard(shard));
    pm.addPass(createSimplify());
    pm.addPass(createCSEPass());
  }
  if (options.decompose) {
    pm.addPass(createSplitRepeats());
    pm.addPass(createSimplify());
    pm.addPass(createVerifyNormalized());
  }
}

namespace {
struct NormalizePipelineOptions : PassPipelineOptions<NormalizePipelineOptions> {
  weft::tg::NormalizeOptions defaults;
  Option<bool> decompose{*this, "decompose", llvm::cl::desc("rewrite composites to primitives"),
                         llvm::cl::init(defaults.decompose)};
  Option<int64_t> foldMaxBytes{*this, "fold-max-bytes",
                               llvm::cl::desc("largest result of constant folding; 0 folds nothing"),
                               llvm::cl::init(defaults.foldMaxBytes)};
  Option<int64_t> foldMaxGrowth{*this, "fold-max-growth",
                                llvm::cl::desc("largest excess of a folded result over its operands, in bytes"),
                                llvm::cl::init(defaults.foldMaxGrowth)};
  Option<std::string> licence{*this, "licence",
                              llvm::cl::desc("loosest contract of algebraic rewrites: exact, reassociating, "
                                             "approximating; empty: none"),
                              llvm::cl::init(defaults.licence)};
};
} // namespace

void weft::tg::registerNormalizePipeline() {
  PassPipelineRegistration<NormalizePipelineOptions>("weft-normalize",
                                                     "composites to primitives, constants folded, canonical form",
                                                     [](OpPassManager &pm, const NormalizePipelineOptions &flags) {
                                                       NormalizeOptions options;
                                                       options.decompose = flags.decompose;
                                                       options.foldMaxBytes = flags.foldMaxBytes;
                                                       options.foldMaxGrowth = flags.foldMaxGrowth;
                                                       options.licence = flags.licence;
                                                       buildNormalizePipeline(pm, options);
                                                     });
}
