// Passes and pipeline of Normalize: from imported `tg` to primitives in canonical form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_PASSES_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
class RewritePatternSet;
} // namespace mlir

namespace weft::tg {

#define GEN_PASS_DECL
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

/// Whether `op` is a composite: a named function of several primitives that decomposition removes.
bool isComposite(mlir::Operation *op);

/// One pattern for each composite.
void populateDecompositionPatterns(mlir::RewritePatternSet &patterns);
void populateNormDecompositions(mlir::RewritePatternSet &patterns);
void populateAttentionDecompositions(mlir::RewritePatternSet &patterns);

/// The program of a rank, as the pass `weft-shard` makes it.
struct MeshOptions {
  int64_t ranks = 1;
  std::vector<std::string> shards; ///< What is split, each "PATTERN:DIM"; none: what the cost model finds.
  bool isOfModel = false;          ///< The model itself says what is split.
  std::string target;              ///< The device that prices it; empty: the CPU.
  double linkRate = 0;             ///< GB/s; 0: the device's.
  double linkLatency = -1;         ///< us; below 0: the device's.
};

struct NormalizeOptions {
  bool decompose = true;                    ///< Rewrite composites; off keeps them, and skips the final check.
  int64_t foldMaxBytes = int64_t(64) << 10; ///< Largest result of constant folding; 0 folds nothing.
  int64_t foldMaxGrowth = int64_t(1) << 20; ///< Largest excess of a folded result over its operands.
  std::string licence = "exact";            ///< Loosest contract of algebraic rewrites (Rules.h); empty: none at all.
  MeshOptions mesh;
};

/// Canonical form, folding, decomposition, common subexpressions, dead code. Afterwards: builtin, func and tg without
/// composites.
void buildNormalizePipeline(mlir::OpPassManager &pm, const NormalizeOptions &options);
/// Registers --weft-normalize.
void registerNormalizePipeline();

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_PASSES_H
