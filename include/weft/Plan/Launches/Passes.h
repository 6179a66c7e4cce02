// Passes that choose what starts together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_LAUNCHES_PASSES_H
#define WEFT_PLAN_LAUNCHES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace weft::plan {

#define GEN_PASS_DECL
#include "weft/Plan/Launches/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Plan/Launches/Passes.h.inc"

} // namespace weft::plan

#endif // WEFT_PLAN_LAUNCHES_PASSES_H
