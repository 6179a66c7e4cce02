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

/// Word of four bytes at byte `at` of the memory, as i32.
mlir::Value loadWord(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memory, mlir::Value at);
/// acc + the products of the unsigned bytes of words `first` and the signed ones of `second`, added up by word.
mlir::Value addQuads(mlir::OpBuilder &b, mlir::Location loc, RegisterTile tile, mlir::Value first, mlir::Value second,
                     mlir::Value acc);

/// The ops of the body that compute `scalar` on what is mapped: on vectors, where an operand is one. A function of few
/// bits is looked up.
void cloneFactor(mlir::OpBuilder &b, mlir::linalg::GenericOp op, mlir::Value scalar, RegisterTile tile,
                 mlir::IRMapping &mapping);

/// Replaces `op`, whose operands are memory and which `contraction` describes, by loops. Fails, leaving the IR as it
/// was, if an operand's layout or element type does not suit.
llvm::LogicalResult lowerContraction(mlir::linalg::GenericOp op, const Contraction &contraction, RegisterTile tile);
/// The same for a contraction with few rows; fails also if neither N nor K has a loop to vectorise. `eachRow`: rows, of
/// any number, go one after the other, and each sum is that of `lowerContraction` to the bit, or this fails.
llvm::LogicalResult streamContraction(mlir::linalg::GenericOp op, const Contraction &contraction, RegisterTile tile,
                                      bool eachRow = false);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_MICROKERNEL_H
