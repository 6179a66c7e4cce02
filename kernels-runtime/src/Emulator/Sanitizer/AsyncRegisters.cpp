// Registers that unfinished operations still use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots are compared, not register names: the emitter keeps a register that an operation may use late in its slot
// until a step with WaitsLate, so a slot that is lent holds no other register.

#include "Emulator/Sanitizer/AsyncRegisters.h"

using namespace weft::emu;

static bool isLate(Role role) { return role == Role::LateUse || role == Role::LateDef; }

void AsyncRegisters::mark(const Lent &lent) {
  if (lent.frame != pending.front().frame)
    return;
  lentRoles.resize(lent.code->frameBytes / 4 + 1, Role::Use);
  for (unsigned i = 0; i < lent.step->slotCount; ++i) {
    Slot slot = lent.step->slots[i];
    Role role = lent.code->roleOf(*lent.step, i);
    if (slot != kNoSlot && !(slot & kConstantSlot) && isLate(role) && lentRoles[slot / 4] != Role::LateDef)
      lentRoles[slot / 4] = role;
  }
}

void AsyncRegisters::lend(const Step &step, const FunctionCode &code, const void *frame) {
  pending.push_back({&step, &code, frame});
  mark(pending.back());
}

void AsyncRegisters::giveBackOldest() {
  if (pending.empty())
    return;
  pending.erase(pending.begin());
  lentRoles.clear();
  for (const Lent &lent : pending)
    mark(lent);
}

/// Whether `role` of another instruction is forbidden while `owner` is pending.
static bool clashes(Role owner, Role role) {
  if (isLate(role)) // Another wgmma: may read the same A, and accumulate on.
    return owner != role;
  return owner == Role::LateDef || role != Role::Use;
}

const Step *AsyncRegisters::conflict(const Step &step, const FunctionCode &code, const void *frame) const {
  if (pending.empty() || pending.front().frame != frame)
    return nullptr;
  for (unsigned i = 0; i < step.slotCount; ++i) {
    Slot slot = step.slots[i];
    if (slot == kNoSlot || (slot & kConstantSlot) || slot / 4 >= lentRoles.size())
      continue;
    Role owner = lentRoles[slot / 4];
    if (!isLate(owner) || !clashes(owner, code.roleOf(step, i)))
      continue;
    for (const Lent &lent : pending)
      for (unsigned j = 0; j < lent.step->slotCount; ++j)
        if (lent.step->slots[j] == slot && isLate(lent.code->roleOf(*lent.step, j)))
          return lent.step;
  }
  return nullptr;
}
