// From a module of the syntax tree to executable functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lays out variables, binds every function that an entry reaches, orders its blocks and colours its registers.
#ifndef WEFT_EMULATOR_PROGRAM_BUILD_H
#define WEFT_EMULATOR_PROGRAM_BUILD_H

#include "Emulator/Exec/Binder.h"

namespace weft::emu {

/// Steps that are in no text.
struct SyntheticSteps {
  RunFunction jump = nullptr; ///< Goes to Step::target: a block that follows another in the text but not in the order.
  RunFunction end = nullptr;  ///< `ret`: where the body ends without one.
};

/// `globals`, parallel to ptx::Module::variables, has the addresses of .global and .const variables, and receives those
/// of .shared variables. `result.name` is kept. The error begins with "line:column: ".
Error buildModule(const ptx::Module &module, std::vector<Placement> &globals, const SyntheticSteps &synthetic,
                  ModuleCode &result);

/// Makes `code`'s steps and slots of what its instructions were bound to: `labels` has, by index of a label, the bound
/// step it stands before. Part of buildModule, separate for tests.
void emitCode(const BoundCode &bound, const std::vector<uint32_t> &labels, const ptx::Function &function,
              const SyntheticSteps &synthetic, FunctionCode &code);

} // namespace weft::emu

#endif // WEFT_EMULATOR_PROGRAM_BUILD_H
