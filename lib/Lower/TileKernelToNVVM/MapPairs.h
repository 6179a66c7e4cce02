// The region of a tk.map for two registers at once, where instructions take pairs of 16-bit elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_TILEKERNELTONVVM_MAPPAIRS_H
#define WEFT_LOWER_TILEKERNELTONVVM_MAPPAIRS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace weft::gpu {

/// Whether the region narrows f32 to 16 bits, or computes in 16 bits.
bool hasPairs(mlir::Region &region);
/// The bit of the register index in which the two of a pair differ: that which moves the fields of a word by half of
/// it, if there is one, else the lowest. `inputs`: the registers of each argument.
unsigned findPairBit(mlir::Region &region, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> inputs);
/// The region for two registers; `arguments` are those of the first, then those of the second. Results alike.
llvm::SmallVector<mlir::Value> inlinePair(mlir::OpBuilder &builder, mlir::Region &region,
                                          llvm::ArrayRef<mlir::Value> arguments);

} // namespace weft::gpu

#endif // WEFT_LOWER_TILEKERNELTONVVM_MAPPAIRS_H
