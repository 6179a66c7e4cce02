// Ops that only a program has, apart from the others because few rooms know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_PROGRAM_H
#define WEFT_DIALECT_TILEGRAPH_IR_PROGRAM_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/ProgramOps.h.inc"
#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/CollectiveOps.h.inc"

namespace weft::tg {

/// Whether all ranks of a program do `op` together (CollectiveOps.td).
bool isCollective(mlir::Operation *op);

/// Unit on a collective: it runs beside the ops behind it, until one reads its result.
inline constexpr llvm::StringLiteral overlapAttr = "tg.overlap";
/// Unit on a tg.concat of collectives' results: they are made in its memory.
inline constexpr llvm::StringLiteral joinedAttr = "tg.joined";

/// Unit on an op: kernels do not have it together with ops in front of the collective that stands in front of it.
inline constexpr llvm::StringLiteral behindAttr = "tg.behind";

// Results in the memory of arguments: docs/memory.md.

/// i64 on a result of @main: number of the argument in whose memory the caller may have it.
inline constexpr llvm::StringLiteral aliasAttr = "tg.alias";
/// Unit on a tg.scatter: no two of its updates have the same index.
inline constexpr llvm::StringLiteral distinctAttr = "tg.distinct";
/// Unit on a tg.scatter: its result is the memory of its data, in which only the updates are written.
inline constexpr llvm::StringLiteral inPlaceAttr = "tg.in_place";

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_PROGRAM_H
