// Math ops for NVIDIA GPUs, without libdevice. See Passes.td for accuracy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_GPUMATH_GPUMATH_H
#define WEFT_LOWER_GPUMATH_GPUMATH_H

#include "mlir/Pass/Pass.h"

namespace weft::lower {

#define GEN_PASS_DECL
#include "weft/Lower/GpuMath/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Lower/GpuMath/Passes.h.inc"

} // namespace weft::lower

#endif // WEFT_LOWER_GPUMATH_GPUMATH_H
