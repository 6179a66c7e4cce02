// Emission of one contraction on memory: as packed panels and register tiles (MicroKernel.cpp), or, with few rows, as
// vectors streamed from the columns in place (StreamContraction.cpp).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_MICROKERNEL_H
#define WEFT_LIB_LOWER_CPU_MICROKERNEL_H

#include "Contraction.h"

namespace weft::cpu {

/// Register tile of the target.
struct RegisterTile {
  unsigned vectorBits; ///< Width of a vector register.
  unsigned rows;       ///< Rows of accumulators; each row is two vectors wide.
  bool addsQuads;      ///< Four products of u8 by i8 are added up in i32 by one instruction (VNNI).
};

/// Replaces `op`, whose operands are memory and which `contraction` describes, by loops. Fails, leaving the IR as it
/// was, if an operand's layout or element type does not suit.
llvm::LogicalResult lowerContraction(mlir::linalg::GenericOp op, const Contraction &contraction, RegisterTile tile);
/// The same for a contraction with few rows; fails also if neither N nor K has a loop to vectorise.
llvm::LogicalResult streamContraction(mlir::linalg::GenericOp op, const Contraction &contraction, RegisterTile tile);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_MICROKERNEL_H
