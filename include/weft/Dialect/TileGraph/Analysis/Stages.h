// Stages of a program: what must have run before a symbol that is data has its value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_ANALYSIS_STAGES_H
#define WEFT_DIALECT_TILEGRAPH_ANALYSIS_STAGES_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::tg {

/// Ops that bind no symbols and mention only those of the arguments are of stage 0. What mentions a symbol that an op
/// of stage n binds is of stage n + 1 at least, and so is what reads the results of a loop, a branch or a collective of
/// stage n; so is an op with `tg.behind` than the collective in front of it. A kernel has ops of one stage: with more
/// it could have to run before such an op and behind it.
class Stages {
public:
  /// `withCollectives`: these end stages, too, as they must where kernels are still to be formed.
  explicit Stages(mlir::Block &block, bool withCollectives = true);

  unsigned get(mlir::Operation *op) const { return stages.lookup(op); }
  /// The block's ops by stages, otherwise in their order.
  llvm::SmallVector<mlir::Operation *> order() const;

private:
  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, unsigned> stages;
};

/// By op of the block: how many collectives stand in front of it. Kernels with another one between them are never one
/// launch.
llvm::DenseMap<mlir::Operation *, unsigned> countCollectives(mlir::Block &block);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_ANALYSIS_STAGES_H
