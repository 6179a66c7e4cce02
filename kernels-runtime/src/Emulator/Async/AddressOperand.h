// Addresses of asynchronous instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a bound address operand to the address of a lane in the addressing of the instruction's space.
#ifndef WEFT_EMULATOR_ASYNC_ADDRESSOPERAND_H
#define WEFT_EMULATOR_ASYNC_ADDRESSOPERAND_H

#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"

namespace weft::emu {

struct AddressOperand {
  int64_t offset = 0;
  MemorySpace space = MemorySpace::Generic; ///< Of the instruction.
  uint8_t slot = 0;                         ///< Index in Step::slots.
  uint8_t width = 0;                        ///< Bytes of the base register; 0: none.
  bool addsRank = false;                    ///< A .shared variable: the offset lies in the CTA's own memory.

  uint64_t at(const Warp &warp, const Step &step, unsigned lane) const {
    uint64_t address = uint64_t(offset);
    if (width == 4)
      address += warp.lanes<uint32_t>(step.slots[slot])[lane];
    else if (width == 8)
      address += warp.lanes<uint64_t>(step.slots[slot])[lane];
    if (addsRank)
      address += uint64_t(warp.cta->rank) << kSharedRankShift;
    return space == MemorySpace::Shared || space == MemorySpace::SharedCluster ? uint32_t(address) : address;
  }
};

/// Binds operand `operand` as an address in `space`.
AddressOperand bindAddress(Binder &b, const ptx::Operand &operand, MemorySpace space);

/// Consumes .shared, .shared::cta or .shared::cluster; none of them is generic addressing.
MemorySpace acceptSharedSpace(Binder &b, bool allowsCluster);

/// Consumes .L2::cache_hint.
inline bool acceptCacheHint(Binder &b) { return b.accept("L2::cache_hint"); }

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_ADDRESSOPERAND_H
