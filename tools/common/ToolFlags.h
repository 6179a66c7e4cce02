// What the tools that have a set of flags share: help, version, and the form of a usage error.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_TOOLFLAGS_H
#define WEFT_TOOLS_COMMON_TOOLFLAGS_H

#include "weft/Support/Flags.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::tools {

struct CommonFlags {
  explicit CommonFlags(FlagSet &set)
      : help{set, "help", false, "", "This text"}, version{set, "version", false, "", "The versions of Weft and LLVM"} {
  }
  Flag<bool> help, version;
};

inline int failUsage(llvm::StringRef tool, const llvm::Twine &problem) {
  llvm::errs() << tool << ": error: " << problem << '\n';
  return 2;
}

/// Parses the command line. An exit code: the tool is done.
inline std::optional<int> parseFlags(FlagSet &flags, const CommonFlags &common, int argc, char **argv,
                                     llvm::StringRef tool, llvm::StringRef overview) {
  std::string problem;
  std::vector<llvm::StringRef> arguments(argv + 1, argv + argc);
  bool parsed = flags.parse(arguments, problem);
  if (common.help) {
    llvm::outs() << tool << ": " << overview << '\n';
    flags.printHelp(llvm::outs());
    return 0;
  }
  if (common.version) {
    llvm::outs() << "weft " WEFT_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
    return 0;
  }
  if (!parsed)
    return failUsage(tool, problem);
  return std::nullopt;
}

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_TOOLFLAGS_H
