// Steps that the program builder inserts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMULATOR_OPS_CONTROL_H
#define WEFT_EMULATOR_OPS_CONTROL_H

#include "Emulator/Exec/Program.h"

namespace weft::emu {

struct Family;
extern const Family kControlFamily;

/// Goes to Step::target.
Outcome runJump(Warp &warp, const Step &step, LaneMask mask);
/// Leaves the function; the end of an entry is the end of the thread.
Outcome runReturn(Warp &warp, const Step &step, LaneMask mask);

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_CONTROL_H
