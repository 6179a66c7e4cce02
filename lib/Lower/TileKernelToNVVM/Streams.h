// Reads of tensors that the L2 cache cannot keep: which they are, and the policy that they carry.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_STREAMS_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_STREAMS_H

#include "KernelInfo.h"

namespace weft::gpu {

/// The copies by TMA of `kernel` that read a tensor of at least half the L2 cache once: each element by one CTA, or by
/// CTAs that run together. What they bring may leave the cache first; then what others have written stays there until
/// there is time to write it back.
llvm::DenseSet<mlir::Operation *> findStreams(mlir::func::FuncOp kernel, llvm::StringRef target);

/// The L2 policy of a stream (i64), for .L2::cache_hint.
mlir::Value emitStreamPolicy(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_STREAMS_H
