// What becomes of f16 constants that are multiplied by a constant scale.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_NARROWSCALES_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_NARROWSCALES_H

#include "mlir/IR/Value.h"

namespace weft::tg {

/// Whether the rule's contract allows for the rounding of x * s: where x is f16 it may not round, which holds if s is
/// powers of two that take no number of the constant x out of the normal range.
bool isExactScale(mlir::Value x, mlir::Value s);

/// Whether no product of a number of x and one of s overflows, both constants of f16 (true of all others). Numbers may
/// become subnormal.
bool isScaleInRange(mlir::Value x, mlir::Value s);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_NARROWSCALES_H
