// Root of the `tk` dialect's records.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_TILEKERNEL_TD
#define WEFT_DIALECT_TILEKERNEL_IR_TILEKERNEL_TD

include "weft/Dialect/TileKernel/IR/TileOps.td"
include "weft/Dialect/TileKernel/IR/AsyncOps.td"
include "weft/Dialect/TileKernel/IR/LaunchOps.td"

#endif // WEFT_DIALECT_TILEKERNEL_IR_TILEKERNEL_TD
