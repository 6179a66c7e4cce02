// Where the variables of a module lie.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which functions and variables an entry reaches, and offsets of shared, local and .param variables. A shared variable
// has one offset, whatever entry reaches it: the least that is free in all of them, so that an entry pays for little
// that only others use.
#ifndef WEFT_EMULATOR_PROGRAM_LAYOUT_H
#define WEFT_EMULATOR_PROGRAM_LAYOUT_H

#include "Emulator/Exec/Binder.h"

namespace weft::emu {

/// Offsets of the variables of one function.
struct FunctionLayout {
  std::vector<Placement> locals, parameters, returns;
  uint32_t localBytes = 0;
  uint32_t parameterBlockBytes = 0;
};

struct EntryLayout {
  uint32_t function = 0;           ///< In ptx::Module::functions.
  std::vector<uint32_t> functions; ///< All that it reaches, itself first.
  uint32_t staticSharedBytes = 0;
  uint32_t dynamicSharedOffset = 0;
};

struct ModuleLayout {
  std::vector<FunctionLayout> functions; ///< By index in ptx::Module::functions; empty for those no entry reaches.
  std::vector<EntryLayout> entries;
};

/// `globals`, parallel to ptx::Module::variables, has the addresses of .global and .const variables; those of .shared
/// variables are added. Errors: variables of more bytes than a window has, .local variables in module scope.
Error layOut(const ptx::Module &module, std::vector<Placement> &globals, ModuleLayout &result);

} // namespace weft::emu

#endif // WEFT_EMULATOR_PROGRAM_LAYOUT_H
