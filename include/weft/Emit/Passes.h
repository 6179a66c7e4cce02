// Passes that finish lowered kernel modules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_PASSES_H
#define WEFT_EMIT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace weft::emit {

#define GEN_PASS_DECL
#include "weft/Emit/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Emit/Passes.h.inc"

} // namespace weft::emit

#endif // WEFT_EMIT_PASSES_H
