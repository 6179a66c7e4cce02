// Passes of the Schedule room: tk without layouts to tk with layouts, channels, roles and allocated shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_PASSES_H
#define WEFT_SCHEDULE_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace weft::schedule {

#define GEN_PASS_DECL
#include "weft/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Schedule/Passes.h.inc"

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_PASSES_H
