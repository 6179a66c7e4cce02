// Addresses of asynchronous instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbols are placed relative to the window of their space; registers hold addresses of the instruction's space.
#include "Emulator/Async/AddressOperand.h"

namespace weft::emu {

AddressOperand bindAddress(Binder &b, const ptx::Operand &operand, MemorySpace space) {
  AddressRef ref = b.address(operand);
  AddressOperand address;
  address.offset = ref.offset;
  address.space = space;
  address.slot = ref.slot;
  address.width = ref.hasRegister ? ref.width : 0;
  if (!ref.isSymbol)
    return address;
  bool isGeneric = space == MemorySpace::Generic;
  switch (ref.space) {
  case ptx::Space::Shared:
    address.addsRank = true;
    if (isGeneric)
      address.offset += int64_t(kSharedWindow);
    else if (space != MemorySpace::Shared && space != MemorySpace::SharedCluster)
      b.fail("expected an address of another space, got a .shared variable");
    break;
  case ptx::Space::Param:
    if (space == MemorySpace::Generic)
      address.offset += int64_t(kParamWindow);
    else if (space != MemorySpace::Param)
      b.fail("expected an address of another space, got a parameter");
    break;
  case ptx::Space::Global:
  case ptx::Space::Const:
    if (space == MemorySpace::Shared || space == MemorySpace::SharedCluster)
      b.fail("expected an address in shared memory, got a global variable");
    break;
  default:
    b.fail("expected an address in shared, global or parameter memory");
  }
  return address;
}

MemorySpace acceptSharedSpace(Binder &b, bool allowsCluster) {
  if (b.accept("shared") || b.accept("shared::cta"))
    return MemorySpace::Shared;
  if (allowsCluster && b.accept("shared::cluster"))
    return MemorySpace::SharedCluster;
  return MemorySpace::Generic;
}

} // namespace weft::emu
