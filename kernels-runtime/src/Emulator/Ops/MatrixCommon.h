// What the warp-wide matrix instructions share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMULATOR_OPS_MATRIXCOMMON_H
#define WEFT_EMULATOR_OPS_MATRIXCOMMON_H

#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/Warp.h"
#include "Emulator/Numerics/MatrixMultiply.h"

namespace weft::emu {

/// True if the step may execute now: the warp has converged and all 32 threads take part. Else `outcome` says what
/// comes instead, a wait or a fault.
inline bool isWholeWarp(Warp &warp, const Step &step, LaneMask mask, Outcome &outcome) {
  if (!warp.converged(step, warp.live, outcome))
    return false;
  if (mask == kAllLanes)
    return true;
  outcome = warp.machine->fault(warp, step, 32, "all 32 threads of the warp must execute it, got lanes 0x%08x", mask);
  return false;
}

/// The element of A or B for a PTX type that matrices have; f16 for others, which the binders refuse.
inline MatrixElement matrixElementOf(ptx::Type type) {
  switch (type) {
  case ptx::Type::BF16:
    return MatrixElement::BF16;
  case ptx::Type::TF32:
    return MatrixElement::TF32;
  case ptx::Type::E4M3:
    return MatrixElement::E4M3;
  case ptx::Type::E5M2:
    return MatrixElement::E5M2;
  case ptx::Type::S8:
    return MatrixElement::S8;
  case ptx::Type::U8:
    return MatrixElement::U8;
  default:
    return MatrixElement::F16;
  }
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_MATRIXCOMMON_H
