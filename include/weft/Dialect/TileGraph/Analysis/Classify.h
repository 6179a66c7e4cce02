// DNNFusion's view of a graph: mapping types of ops, the combination table, what fusion may remove.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The five types are those of DNNFusion (Niu et al., PLDI'21, table 2); ours refine Many-to-Many (MappingType) and
// derive types from maps (IR/Mapping.h). The classification lives beside the dialect, not in Plan, because the algebra
// of Rewrite asks for the same properties, and Rewrite may not depend on Plan.
#ifndef WEFT_DIALECT_TILEGRAPH_ANALYSIS_CLASSIFY_H
#define WEFT_DIALECT_TILEGRAPH_ANALYSIS_CLASSIFY_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <array>

namespace weft::tg {

/// In the order of the table's rows and columns.
enum class MappingClass { OneToOne, OneToMany, ManyToMany, Reorganize, Shuffle };
constexpr unsigned numMappingClasses = 5;

/// None for Opaque.
std::optional<MappingClass> getMappingClass(MappingType type);
/// "one_to_one", "one_to_many", "many_to_many", "reorganize", "shuffle".
llvm::StringRef stringifyMappingClass(MappingClass mapping);

/// How complex a type is to fuse: One-to-One < Reorganize, Shuffle < One-to-Many < Many-to-Many < Opaque.
unsigned getComplexity(MappingType type);

/// The type of an op: the most complex of its operands' (of equal ones the first); of an op with regions (`tg.fold`)
/// the most complex op inside; One-to-Many for what makes tensors from nothing (iota, extents, constants), Opaque for
/// what has no maps.
MappingType getMappingType(mlir::Operation *op);

enum class Verdict {
  Fuse,    ///< Always pays.
  Profile, ///< May pay: the cost model decides.
  Refuse,  ///< Does not pay as it is.
};
llvm::StringRef stringifyVerdict(Verdict verdict);

/// What becomes of `first -> second` in one kernel.
struct Combination {
  Verdict verdict;
  MappingClass result; ///< Type of the fused op.
};
/// The 25 cells. Refuse if either is Opaque (then `result` is ManyToMany).
Combination combine(MappingType first, MappingType second);
const Combination &combine(MappingClass first, MappingClass second);
/// Of the producer of `operand` and its user; none where no `tg` op that computes or moves produces it.
std::optional<Combination> combine(mlir::OpOperand &operand);

/// Whether fusion can remove `result` from memory: it has users, none of them a terminator, and no combination with one
/// of them is refused.
bool isRemovable(mlir::OpResult result);

/// Whether `op` is classified: a `tg` op that computes or moves tensors.
bool isClassified(mlir::Operation *op);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_ANALYSIS_CLASSIFY_H
