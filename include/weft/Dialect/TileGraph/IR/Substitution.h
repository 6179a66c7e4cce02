// An expression in the place of a symbol.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_SUBSTITUTION_H
#define WEFT_DIALECT_TILEGRAPH_IR_SUBSTITUTION_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"

namespace weft::tg {

/// Replaces symbol number `symbol` by `expr` in the types and in the symbol maps of the program, kernels not yet
/// outlined. The list of symbols stays as it is.
void substituteSymbol(mlir::ModuleOp program, unsigned symbol, mlir::AffineExpr expr);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_SUBSTITUTION_H
