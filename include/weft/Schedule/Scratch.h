// Shared memory that ops on register tiles need while they run: the contract between allocation and lowering.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_SCRATCH_H
#define WEFT_SCHEDULE_SCRATCH_H

#include "mlir/IR/Operation.h"

namespace weft::schedule {

/// Of tk.reduce, tk.convert, tk.broadcast, tk.store, tk.scan and tk.sort: the offset of the op's scratch, in bytes from
/// the CTA's dynamic shared memory, a multiple of 16 (i64). Set by --weft-tk-allocate.
constexpr llvm::StringLiteral scratchAttr = "tk.scratch";

/// Bytes of shared memory, 16-byte aligned, that `op` (with layouts) needs while it runs; 0 for most. The op orders
/// its own accesses: a barrier comes before its first write and between its writes and reads, so scratch may be shared
/// with any op that is not asynchronous.
int64_t getScratchBytes(mlir::Operation *op);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_SCRATCH_H
