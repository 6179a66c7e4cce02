// What a rewrite removes and adds: FLOPs, weighted operations, bytes; and prices of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_COST_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_COST_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace weft::tg {

/// Of a set of ops. A symbol counts as 256.
struct Work {
  double flops = 0;        ///< As DNNFusion counts: one per scalar function, two per multiply-add.
  double products = 0;     ///< Those of them in contractions.
  double scalars = 0;      ///< The others, a division, root or transcendental counted as the products it takes.
  double unfusedBytes = 0; ///< Every op reads its operands and writes its result.
  double fusedBytes =
      0; ///< Values between ops that the combination table fuses stay in registers; leaves are read once.
};

using OpSet = llvm::SmallSetVector<mlir::Operation *, 16>;

/// The work of `ops`. `free` ops (folded at compile time) cost nothing, and what they make is a weight.
Work countWork(const OpSet &ops, const OpSet &free = {});

/// Seconds per unit on a machine; only ratios matter.
struct Prices {
  llvm::StringLiteral name;
  double scalar, product, byte;
  bool fused;
};

/// "cpu", "gpu" or "dnnfusion" (FLOPs first, then bytes without fusion); null if there is none of that name.
const Prices *findPrices(llvm::StringRef name);
double getSeconds(const Work &work, const Prices &prices);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_COST_H
