// The first copies of steady operands into shared memory, ahead of a kernel's wait for the kernels before it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_EARLYCOPIES_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_EARLYCOPIES_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::gpu {

/// Of copies ahead of the wait: the iterations of a loop behind it, which has them as well, but then leaves them out.
inline constexpr llvm::StringLiteral aheadAttr = "tk.ahead";

/// Puts copies of tensors in `steady` ahead of `wait`, an op in the body of `tiles`: of each channel of TMA as many
/// iterations as it has slots, of cp.async the prologue of the loop. Returns the tensors copied.
llvm::DenseSet<mlir::Value> copySteadyAhead(tk::ForTilesOp tiles, mlir::Operation *wait,
                                            const llvm::DenseSet<mlir::Value> &steady);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_EARLYCOPIES_H
