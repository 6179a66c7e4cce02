// Modifiers that loads, stores and atomics share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See bindAccess of LoadStore.cpp for their use.
#ifndef WEFT_EMULATOR_OPS_MEMORYQUALIFIERS_H
#define WEFT_EMULATOR_OPS_MEMORYQUALIFIERS_H

#include "Emulator/Exec/Access.h"
#include "Emulator/Exec/Binder.h"

namespace weft::emu {

/// What stands between the mnemonic and the vector or type.
struct MemoryQualifiers {
  MemorySpace space = MemorySpace::Generic;
  Order order = Order::Weak;
  Scope scope = Scope::None;
  CacheHints cache;
};

/// Consumes .weak, .volatile, .relaxed, ..., scopes, a state space, cache operators, priorities and prefetch sizes. The
/// compilers do not agree on their order, so any is taken.
MemoryQualifiers parseQualifiers(Binder &b);
/// The same without the demand that an order and a scope come together, for atomics, where either has a default.
void acceptQualifiers(Binder &b, MemoryQualifiers &q);

/// Checks an address against the space: a symbol must be in it.
AddressRef bindSpaceAddress(Binder &b, unsigned operand, MemorySpace space);

/// Scope of a fence or atomic; None if there is none.
Scope acceptScope(Binder &b);

} // namespace weft::emu

#endif // WEFT_EMULATOR_OPS_MEMORYQUALIFIERS_H
