// Passes of the Plan room about where data lies and what moves: chains of products, memory levels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_LEVELPASSES_H
#define WEFT_PLAN_LEVELPASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace weft::plan {

#define GEN_PASS_DECL
#include "weft/Plan/LevelPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Plan/LevelPasses.h.inc"

} // namespace weft::plan

#endif // WEFT_PLAN_LEVELPASSES_H
