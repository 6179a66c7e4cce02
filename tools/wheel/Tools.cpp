// The compiler's tools in the library of the wheel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CompilerTools.h"
#include "weft/compiler.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft;

/// The tool that argv[0] names, a path beside which the others lie. Not of the C ABI: the commands of the same wheel
/// call it, once in a process. Returns the exit code, 2 for an unknown name.
extern "C" WEFTC_EXPORT int weftc_run_tool(int argc, char **argv) {
  llvm::StringRef path = argv[0], name = llvm::sys::path::filename(path);
  int exitCode = 2;
  if (name == "weft-compile")
    exitCode = tools::runCompile(argc, argv);
  else if (name == "weft-inspect")
    exitCode = tools::runInspect(argc, argv);
  else if (name == "weft-explain")
    exitCode = tools::runExplain(argc, argv, llvm::sys::path::parent_path(path).str());
  else
    llvm::errs() << name << ": error: expected weft-compile, weft-inspect or weft-explain as the command's name\n";
  llvm::outs().flush();
  return exitCode;
}
