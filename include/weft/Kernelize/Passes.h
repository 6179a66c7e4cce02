// Kernelize: from tg ops on tensors to tk ops on tiles. Passes.td is the contract.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_KERNELIZE_PASSES_H
#define WEFT_KERNELIZE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace weft::kernelize {

#define GEN_PASS_DECL
#include "weft/Kernelize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Kernelize/Passes.h.inc"

} // namespace weft::kernelize

#endif // WEFT_KERNELIZE_PASSES_H
