// Tools of MLIR's own command lines: their --help has all options of LLVM, hundreds of lines. A text of ours instead.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_SHORTHELP_H
#define WEFT_TOOLS_COMMON_SHORTHELP_H

#include "llvm/Config/llvm-config.h"

#include <cstdio>
#include <string_view>

namespace weft::tools {

/// Whether the command line asks for help or the version, which is then printed. Others (--help-list) are LLVM's.
inline bool printShortHelp(int argc, char **argv, const char *text) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view word = argv[i]; word == "--help" || word == "-help" || word == "-h") {
      std::fputs(text, stdout);
      return true;
    } else if (word == "--version" || word == "-version") {
      std::puts("weft " WEFT_VERSION " (LLVM " LLVM_VERSION_STRING ")");
      return true;
    }
  }
  return false;
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_SHORTHELP_H
