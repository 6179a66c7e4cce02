// Math ops for CPUs: branch-free expansions and libm calls. See Passes.td for accuracy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_CPUMATH_CPUMATH_H
#define WEFT_LOWER_CPUMATH_CPUMATH_H

#include "mlir/Pass/Pass.h"

namespace weft::lower {

#define GEN_PASS_DECL
#include "weft/Lower/CpuMath/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Lower/CpuMath/Passes.h.inc"

} // namespace weft::lower

#endif // WEFT_LOWER_CPUMATH_CPUMATH_H
