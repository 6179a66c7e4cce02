// `tk.tile_part`, `tk.part_send` and `tk.part_receive`, apart from the other ops because few rooms know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_H
#define WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/PartOps.h.inc"

#endif // WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_H
