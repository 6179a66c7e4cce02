// weft-explore -o explorer.html: a page on which tiles are computed in any order and the cache answers; one file, no
// network. --numbers prints what the library says of configurations that the page exported.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CommandLine.h"
#include "../common/TextFile.h"
#include "Explore.h"
#include "Page.h"

#include "llvm/Support/FileSystem.h"
#include <CLI/CLI.hpp>

using namespace weft;
using bundle::Error;
using bundle::ErrorCode;

namespace {
struct Options {
  std::string output, open, numbers;
};
} // namespace

static Error printNumbers(const std::string &path) {
  std::string text, reason;
  std::vector<plan::Configuration> launches;
  if (Error error = tools::readLaunchFile(path, text, launches))
    return error;
  llvm::json::OStream json(llvm::outs(), 1);
  json.arrayBegin();
  for (size_t i = 0; i < launches.size(); ++i)
    if (!explore::writeNumbers(launches[i], json, reason))
      return Error(ErrorCode::Input, bundle::quote(path) + ": launch " + std::to_string(i) + ": " + reason);
  json.arrayEnd();
  llvm::outs() << '\n';
  return {};
}

static Error writePage(const Options &options) {
  std::string launches;
  if (!options.open.empty()) {
    std::vector<plan::Configuration> checked;
    if (Error error = tools::readLaunchFile(options.open, launches, checked))
      return error;
  }
  std::error_code code;
  llvm::raw_fd_ostream file(options.output, code);
  if (!code) {
    file << explore::makePage(launches);
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return Error(ErrorCode::Input, bundle::quote(options.output) + ": " + code.message());
  return {};
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Write the traversal explorer: one page, no network (docs/explorer.md)", "weft-explore");
  app.add_option("-o,--output", options.output, "The page to write; - is standard output")->option_text("FILE");
  app.add_option("--open", options.open, "Launches (JSON) that the page opens with")->option_text("FILE");
  app.add_option("--numbers", options.numbers,
                 "Print what the models say of the launches in a file; - is standard input")
      ->option_text("FILE");
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  if (options.output.empty() == options.numbers.empty())
    return tools::reportError("weft-explore", Error(ErrorCode::Usage, "expected either -o FILE or --numbers=FILE"));
  Error error = options.numbers.empty() ? writePage(options) : printNumbers(options.numbers);
  return error ? tools::reportError("weft-explore", error) : 0;
}
