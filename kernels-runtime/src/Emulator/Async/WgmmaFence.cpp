// Registers that need a wgmma.fence.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks of registers by their slots, from the first fence of an activation on.
#include "Emulator/Async/WgmmaFence.h"

#include "Emulator/Async/AsyncStates.h"

namespace weft::emu {
namespace {

/// Calls body(slot, isAccumulator) for the registers of a wgmma.
template <typename Body> void forRegisters(const Step &step, Body &&body) {
  const WgmmaForm &form = *static_cast<const WgmmaForm *>(step.payload);
  for (unsigned i = 0; i < form.accumulators; ++i)
    body(step.slots[i], true);
  for (unsigned i = 0; form.hasRegisterA && i < 4; ++i)
    if (!(step.slots[form.a + i] & kConstantSlot))
      body(step.slots[form.a + i], false);
}

} // namespace

void WgmmaRegisters::use(const WgmmaOp::Part &part) {
  Machine &machine = *part.warp->machine;
  if (activation != part.activation) {
    machine.find("wgmma-fence", *part.warp, *part.step, 32, 0,
                 "no wgmma.fence stands before this wgmma in its function");
    fenced(*part.warp);
    return;
  }
  bool isAnyDirty = false;
  forRegisters(*part.step,
               [&](Slot slot, bool isAccumulator) { isAnyDirty |= isDirty(slot) && (!isAccumulator || part.addsToD); });
  if (isAnyDirty)
    machine.find("wgmma-fence", *part.warp, *part.step, 32, 0,
                 "registers of this wgmma were written by other instructions since the last wgmma.fence");
}

void WgmmaRegisters::fenced(const Warp &warp) {
  if (activation != &warp.activation()) {
    activation = &warp.activation();
    writtenAfter.assign(activation->code->frameBytes / 4 + 1, 0);
    fences = 0;
  }
  ++fences;
}

void WgmmaRegisters::step(const Warp &warp, const Step &step) {
  if (activation != &warp.activation())
    return;
  const FunctionCode &code = *activation->code;
  for (unsigned i = 0; i < step.slotCount; ++i) {
    Slot slot = step.slots[i];
    if (slot == kNoSlot || slot & kConstantSlot || slot / 4 >= writtenAfter.size())
      continue;
    Role role = code.roleOf(step, i);
    if (role == Role::Def || role == Role::DefUse)
      writtenAfter[slot / 4] = fences;
  }
}

void WgmmaFenceObserver::stepBegins(Warp &warp, const Step &step, LaneMask mask, bool /*isRepeated*/) {
  if (!mask || !warp.asyncState)
    return;
  WgmmaRegisters &registers = WarpAsync::of(warp).wgmma;
  if (registers.isTracked() && !isWgmma(step))
    registers.step(warp, step);
}

} // namespace weft::emu
