// Chains of contractions as folds: what one makes is summed up by the other, and never stored.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// E = f(A B) D, f element by element: a fold over the middle dimension l with one state, E so far, to which each step
// adds f(A B[:, l]) D[l, :]. Equal up to the order of E's sum. Whether that pays is the caller's business (Plan).
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_FOLDCHAIN_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_FOLDCHAIN_H

#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

/// A chain, as `batch` times C[m,l] = A[m,k] B[k,l], E[m,n] = f(C)[m,l] D[l,n]; extents that are symbols count as 0.
struct ChainShape {
  int64_t batch = 1, m = 1, k = 1, l = 1, n = 1;
  int64_t elementBytes = 2; ///< Of D.
};

/// The shape of the chain that ends in `root`, if an operand is made by one contraction without a reduction between
/// them, over one dimension, of which nobody else needs anything; else nothing, with the reason in `reason`.
std::optional<ChainShape> describeChain(ContractOp root, std::string &reason);

/// The shape of the chain inside of a fold: a streamed contraction of what another one makes in each step.
std::optional<ChainShape> describeChain(FoldOp fold);

/// Replaces the chain that ends in `root` by a fold; null, with the reason, where it is none, or where a sum must keep
/// its order (`tg.numerics = "exact"`).
FoldOp foldChain(ContractOp root, std::string &reason);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_FOLDCHAIN_H
