// PTX text to its syntax tree.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA 7.0 to 9.0. Memory and time are bounded by the length of the text, whatever it says.
#ifndef WEFT_EMULATOR_PTX_PARSER_H
#define WEFT_EMULATOR_PTX_PARSER_H

#include "Emulator/Ptx/Ast.h"
#include "weft/Bundle/Error.h"

#include <string_view>

namespace weft::emu::ptx {

/// Parses a module. On failure `module` is unspecified, and the message is "LINE:COLUMN: what was expected or is
/// wrong"; code Input for malformed text, Unsupported for PTX of other versions and for declarations that the emulator
/// has not.
bundle::Error parse(std::string_view text, Module &module);

} // namespace weft::emu::ptx

#endif // WEFT_EMULATOR_PTX_PARSER_H
