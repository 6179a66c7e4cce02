// What surrounds a contraction on memory: zeros written to its result before, and an elementwise op that reads the sums
// once. Both join the contraction: sums begin as zeros in registers, and are rounded, biased, activated there before
// they are stored.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_EPILOGUE_H
#define WEFT_LIB_LOWER_CPU_EPILOGUE_H

#include "FlatOperand.h"

namespace weft::cpu {

/// Ops in the block of a contraction.
struct Surroundings {
  mlir::linalg::GenericOp zero;     ///< Writes zeros to all of C just before; null: C holds sums already.
  mlir::linalg::GenericOp epilogue; ///< The only reader of C, whose result lies elsewhere; null if there is none.
  unsigned sumInput = 0;            ///< The epilogue's input that is C.
};

/// None of the ops between these and `contraction` has effects, so all of them may be emitted in the last one's
/// position.
Surroundings findSurroundings(mlir::linalg::GenericOp contraction);

/// An epilogue as operands over the loops of the contraction and a body that takes vectors.
class Epilogue {
public:
  /// Fails if an operand is no strided memory.
  static mlir::FailureOr<Epilogue> create(mlir::OpBuilder &b, mlir::linalg::GenericOp contraction,
                                          const Surroundings &around);

  /// The results for `sum` (a vector or a scalar of C's type); `load` gives the element or the vector of operand number
  /// i.
  mlir::Value apply(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sum,
                    llvm::function_ref<mlir::Value(unsigned)> load) const;

  llvm::SmallVector<FlatOperand> operands; ///< By input; that of the sums is not used.
  FlatOperand result;

private:
  mlir::linalg::GenericOp op;
  unsigned sumInput;
};

/// Erases the ops that have joined the contraction, and the memory of the sums where nothing uses it any more.
void eraseJoined(const Surroundings &around, mlir::Value sums);

/// A copy of `def`, an elementwise op of a scalar body, on the mapped operands: on vectors if one of them is a vector.
void cloneElementwise(mlir::OpBuilder &b, mlir::Operation *def, mlir::IRMapping &mapping);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_EPILOGUE_H
