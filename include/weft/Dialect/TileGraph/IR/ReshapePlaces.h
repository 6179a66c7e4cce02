// Which element of a reshape's operand an element of its result is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_RESHAPEPLACES_H
#define WEFT_DIALECT_TILEGRAPH_IR_RESHAPEPLACES_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::tg {

/// Where the operand of a reshape is read when the result is wanted at `at`: dimensions that both have stay themselves.
/// With `isExact` not (a null expression) where that rests on an estimate.
llvm::SmallVector<mlir::AffineExpr> placesBeforeReshape(llvm::ArrayRef<mlir::AffineExpr> from,
                                                        llvm::ArrayRef<mlir::AffineExpr> to,
                                                        llvm::ArrayRef<mlir::AffineExpr> at, bool isExact);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_RESHAPEPLACES_H
