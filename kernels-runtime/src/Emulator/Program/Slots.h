// Where registers lie in a warp's register file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers that are not live at the same time share a slot. A register is live on the hull of its live range in the
// order of the blocks' priorities; registers of asynchronous operations (roles LateUse and LateDef) stay theirs as long
// as one may be under way. A slot holds 32 lanes of 1, 2, 4, 8 or 16 bytes, or 32 predicates as the bits of 4 bytes. No
// destination shares a slot with a source of its step, unless they are the same register.
#ifndef WEFT_EMULATOR_PROGRAM_SLOTS_H
#define WEFT_EMULATOR_PROGRAM_SLOTS_H

#include "Emulator/Exec/Binder.h"
#include "Emulator/Program/ControlFlow.h"

namespace weft::emu {

/// Positions of a register: the steps number `first` to `last`, counted along ControlFlow::order, use its slot.
struct LiveHull {
  uint32_t first = ptx::kNone;
  uint32_t last = 0;
  bool isEmpty() const { return first == ptx::kNone; }
};

struct Liveness {
  std::vector<LiveHull> hulls; ///< By virtual register.
  /// Most 32-bit registers that hold a value at one point: narrower registers count one, predicates none.
  uint32_t peakRegisters = 0;
};

/// Registers that hold values when the function begins, and that are read when it has ended.
struct Boundary {
  std::vector<uint32_t> parameters;
  std::vector<uint32_t> results;
};

/// Liveness of the virtual registers of `code`.
Liveness analyseLiveness(const BoundCode &code, const ControlFlow &flow, const Boundary &boundary);

struct SlotMap {
  std::vector<Slot> slots; ///< By virtual register: bytes from the start of the file, a multiple of the slot's size.
  uint32_t bytes = 0;      ///< Of the file; a multiple of 64.
};

/// `widths`: BoundCode::registerWidths. Every register gets a slot, also those that no step names.
SlotMap assignSlots(const std::vector<uint8_t> &widths, const Liveness &liveness);

} // namespace weft::emu

#endif // WEFT_EMULATOR_PROGRAM_SLOTS_H
