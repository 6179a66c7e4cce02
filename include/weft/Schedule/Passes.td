// Passes of the Schedule room, on a kernel module of `tk` ops (docs/gpu.md).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_PASSES_TD
#define WEFT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"


#endif // WEFT_SCHEDULE_PASSES_TD
