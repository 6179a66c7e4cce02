// The tools of the compiler as functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executables of a build and the library in the wheel run the same ones. Arguments are those of main: argv[0] is the
// tool. Each writes to stdout and stderr and returns the exit code.
#ifndef WEFT_TOOLS_COMMON_COMPILERTOOLS_H
#define WEFT_TOOLS_COMMON_COMPILERTOOLS_H

#include <string>

namespace weft::tools {

int runCompile(int argc, char **argv);
int runInspect(int argc, char **argv);
/// `folder`: where weft-compile is, for models that are no bundles yet.
int runExplain(int argc, char **argv, const std::string &folder);

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_COMPILERTOOLS_H
