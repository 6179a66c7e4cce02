// Reads of a step's first fragments while the products before them run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_READAHEAD_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_READAHEAD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::gpu {

/// Of the ops that a dot became: reads of its first fragments, and the first instruction that multiplies those of each
/// piece of its depth.
inline constexpr llvm::StringLiteral firstReadAttr = "weft.first_read", firstProductAttr = "weft.first_product";

/// Moves the wait of loops whose operands come by cp.async, and the reads of the first fragments behind it, into the
/// iteration before, ahead of its last products, and its copies behind the second reads. The marks of dots are gone
/// then.
void readAhead(mlir::func::FuncOp kernel);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_READAHEAD_H
