// weft-compile as a function: an ONNX model (or a module of any phase) to a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CompilerTools.h"
#include "../common/Progress.h"
#include "../common/ToolFlags.h"
#include "Flags.h"
#include "weft/Compiler/Compilation.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft;
using weft::onnx::ErrorClass;

/// Problems of the flags that only the tool has.
static void checkFlags(const tools::CompileFlags &flags, weft::onnx::Diagnostics &problems) {
  if (flags.progress != "auto" && flags.progress != "on" && flags.progress != "off")
    (void)problems.report(ErrorClass::Usage, "--progress: expected auto, on or off, got `" + flags.progress + "`");
  if (flags.diagFormat != "text" && flags.diagFormat != "json")
    (void)problems.report(ErrorClass::Usage, "--diag-format: expected text or json, got `" + flags.diagFormat + "`");
}

/// Empty: there is none.
static std::string getCacheFolder(const tools::CompileFlags &flags) {
  const char *variable = std::getenv("WEFT_CACHE");
  std::string folder = flags.cache.getNumOccurrences() ? flags.cache.getValue() : variable ? variable : "";
  return folder == "off" ? "" : folder;
}

static void report(const tools::CompileFlags &flags, const weft::onnx::Diagnostics &problems) {
  if (problems.empty())
    return;
  if (flags.diagFormat != "json")
    return problems.print(llvm::errs(), flags.input);
  llvm::json::OStream json(llvm::errs(), 2);
  problems.print(json);
  llvm::errs() << '\n';
}

static void reportAll(const tools::CompileFlags &flags, const Compilation &compilation) {
  llvm::raw_ostream &os = llvm::errs();
  if (!flags.quiet)
    os << compilation.getSummary();
  if (flags.timeReport)
    for (const auto &[name, seconds] : compilation.getTimes())
      os << llvm::left_justify(name, 16) << llvm::format("%8.3f s", seconds) << '\n';
  if (flags.diagFormat != "json") {
    for (const std::string &text : compilation.getRemarks())
      os << weft::onnx::escape(flags.input) << ": remark: " << weft::onnx::escape(text, 2000) << '\n';
    for (const std::string &warning : compilation.getWarnings())
      os << weft::onnx::escape(flags.input) << ": warning: " << weft::onnx::escape(warning, 2000) << '\n';
  }
  report(flags, compilation.getDiagnostics());
}

int tools::runCompile(int argc, char **argv) {
  tools::CompileFlags flags;
  if (std::optional<int> code = tools::parseFlags(flags, flags.common, argc, argv, "weft-compile",
                                                  "an ONNX model (or a module of any phase) to a bundle"))
    return *code;
  if (flags.input.empty())
    return tools::failUsage("weft-compile", "expected a model; see --help");
  weft::onnx::Diagnostics own;
  checkFlags(flags, own);
  std::optional<tools::Progress> progress(std::in_place, "weft-compile",
                                          flags.progress == "on"                     ? tools::Progress::All
                                          : flags.progress == "auto" && !flags.quiet ? tools::Progress::whereWatched()
                                                                                     : tools::Progress::Off);
  std::optional<BundleCache> cache;
  CompileRequest request;
  if (std::string folder = getCacheFolder(flags); !folder.empty()) {
    llvm::Expected<BundleCache> opened = BundleCache::open(folder, flags.cacheLimit << 20);
    if (!opened)
      return tools::failUsage("weft-compile", "--cache: " + llvm::toString(opened.takeError()));
    cache = std::move(*opened);
    request.cache = &*cache;
  }
  request.model = flags.input;
  request.output = flags.output;
  request.began = [&](llvm::StringRef activity) { progress->begin(activity.str()); };
  Compilation compilation(flags, request);
  report(flags, own);
  if (!own.empty())
    return own.exitCode();
  bool done = compilation.run();
  progress.reset();
  reportAll(flags, compilation);
  return done ? 0 : compilation.getDiagnostics().exitCode();
}
