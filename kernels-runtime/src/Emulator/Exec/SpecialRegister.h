// Steps that read special registers and symbols.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both write slot 0 of their step for every lane of the mask.
#ifndef WEFT_EMULATOR_EXEC_SPECIALREGISTER_H
#define WEFT_EMULATOR_EXEC_SPECIALREGISTER_H

#include "Emulator/Exec/Access.h"
#include "Emulator/Exec/Binder.h"

namespace weft::emu {

/// The step function that reads a special register into lanes of `bytes` (2, 4 or 8), and its Step::immediate; null if
/// the register has no such form (or is none that a kernel can count on, as %pm and %envreg).
RunFunction specialReader(const ptx::Operand &operand, unsigned bytes, uint64_t &immediate);

/// The address of a shared or local variable, or of one in the activation's parameter block: its offset is the step's
/// immediate, with the ptx::Space in the upper half.
RunFunction symbolReader(unsigned bytes);

/// Where a symbol is, relative to its window; see AddressRef.
struct SymbolAddress {
  ptx::Space space = ptx::Space::Global;
  bool isFormal = false;
  bool isGenericSpace = false; ///< Its address is the generic address (.global, .const).
  uint64_t offset = 0;
};
/// False when the operand names nothing that has an address.
bool resolveSymbol(const BindContext &context, const ptx::Operand &operand, SymbolAddress &address);
/// The variable that a symbol operand names; null when it names something else.
const ptx::Variable *variableOf(const BindContext &context, const ptx::Operand &operand);

/// Addresses of functions, which nothing can be read from: what indirect calls and tables of functions hold.
constexpr uint64_t kFunctionWindow = uint64_t(4) << 40;
inline uint64_t addressOfFunction(uint32_t index) { return kFunctionWindow + 16 * (uint64_t(index) + 1); }
/// The index in ptx::Module::functions; above any index when `address` is none of a function.
inline uint64_t functionOfAddress(uint64_t address) {
  bool isFunction = address > kFunctionWindow && address < kFunctionWindow + kWindowBytes && address % 16 == 0;
  return isFunction ? (address - kFunctionWindow) / 16 - 1 : ~uint64_t(0);
}

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_SPECIALREGISTER_H
