// `tk.load_index` and `tk.local_read`, apart from the other ops because few rooms know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_H
#define WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/ScalarOps.h.inc"

#endif // WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_H
