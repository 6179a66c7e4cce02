// Reads of registers that nothing has written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward analysis of a function's steps: a read that no write reaches on any path is certain to be of an undefined
// value. (A register that is read so is live from the function's entry on, so its slot is nobody else's until then.)
// Accumulators do not count as read: with scale-d false they are not. Packing an undefined half beside a defined one is
// no read of it yet: what takes the half out of the word and uses it is.
#ifndef WEFT_EMULATOR_SANITIZER_UNDEFINEDREGISTERS_H
#define WEFT_EMULATOR_SANITIZER_UNDEFINEDREGISTERS_H

#include "Emulator/Exec/Program.h"

namespace weft::emu {

/// Indices of the steps of `code` that certainly read an undefined register, ascending.
std::vector<uint32_t> undefinedReads(const FunctionCode &code);

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_UNDEFINEDREGISTERS_H
