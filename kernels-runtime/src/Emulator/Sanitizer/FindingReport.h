// Findings for people and for programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMULATOR_SANITIZER_FINDINGREPORT_H
#define WEFT_EMULATOR_SANITIZER_FINDINGREPORT_H

#include "Emulator/Exec/Launch.h"

namespace weft::emu {

/// A paragraph per finding: "KIND: MESSAGE", and how often it happened if more than once.
std::string formatFindings(const std::vector<Finding> &findings);
/// An array of objects with the fields of Finding; cta and thread are arrays of three numbers, the address is a string
/// in hexadecimal.
std::string formatFindingsJson(const std::vector<Finding> &findings);

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_FINDINGREPORT_H
