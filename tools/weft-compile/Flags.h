// Flags of weft-compile: the compiler's options, and what only a command line has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_COMPILE_FLAGS_H
#define WEFT_TOOLS_WEFT_COMPILE_FLAGS_H

#include "../common/ToolFlags.h"
#include "weft/Compiler/Cache.h"
#include "weft/Compiler/CompileOptions.h"

namespace weft::tools {

struct CompileFlags : CompileOptions {
  FlagCategory toolCategory{*this, "Files and messages"};
  Flag<std::string> input{*this, "", "", "model", "model.onnx, or .mlir to go on from"};
  Flag<std::string> output{*this, "o", "", "file",
                           "Output (default: the model's name with .weft; - is stdout for text)"};
  Flag<std::string> progress{
      *this, "progress", "auto", "when",
      "Say on stderr what is being done: auto (after 2 s, if that is a terminal), on (always), or off"};
  Flag<bool> timeReport{*this, "time-report", false, "", "Print the time of each phase"};
  Flag<std::string> diagFormat{*this, "diag-format", "text", "", "Problems as text or json"};
  Flag<std::string> cache{
      *this, "cache", "", "folder",
      "Where bundles that were made before are looked for and kept (default: $WEFT_CACHE; off: nowhere)"};
  Flag<uint64_t> cacheLimit{*this, "cache-limit", BundleCache::defaultLimit >> 20, "MiB",
                            "What the cache may hold; the bundles that were not used for longest go"};
  Flag<bool> quiet{*this, "quiet", false, "", "No summary"};
  CommonFlags common{*this};
};

} // namespace weft::tools

#endif // WEFT_TOOLS_WEFT_COMPILE_FLAGS_H
