// What the LLVM-free tools share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing with the house's exit codes, suggestions for unknown flags, --flagfile, and the form of error messages.
#ifndef WEFT_TOOLS_COMMON_COMMANDLINE_H
#define WEFT_TOOLS_COMMON_COMMANDLINE_H

#include "weft/Bundle/Error.h"

#include <string>

namespace CLI {
class App;
}

namespace weft::tools {

/// "weft 0.1.0, bundle format 1.2".
std::string getVersionText();

/// Parses the command line into the variables bound to `app`, with --version; `--flagfile=F` stands for the flags in F,
/// one to a line (# begins a comment line). True if the program is to end with `exitCode`: help and version were
/// printed, or the error was.
bool parse(CLI::App &app, int argc, char **argv, int &exitCode);

/// Prints "TOOL: error: MESSAGE" to stderr and returns the exit code.
int reportError(const char *tool, const bundle::Error &error);

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_COMMANDLINE_H
