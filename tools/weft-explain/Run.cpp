// weft-explain model.weft|model.onnx: what the compiler made of a model, and why: tables, answers to --why and
// --why-not, JSON, or a page.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CommandLine.h"
#include "../common/CompiledModel.h"
#include "../common/CompilerTools.h"
#include "../common/DeviceTable.h"
#include "Explain.h"
#include "Page.h"
#include "llvm/Support/FileSystem.h"

#include <CLI/CLI.hpp>
#include <charconv>

using namespace weft;
using namespace weft::explain;
using bundle::Error;
using bundle::ErrorCode;
using tools::isBundle;

namespace {
struct Options {
  std::string folder; ///< Of weft-compile.
  std::string input, target, planner, measured, output, why, whyNot, deviceTable, diff;
  std::vector<std::string> dims, compileFlags;
  bool json = false, levels = false;
};
} // namespace

static Error readSymbols(const std::vector<std::string> &dims, Symbols &symbols) {
  for (const std::string &dim : dims) {
    size_t mark = dim.find('=');
    int64_t value = 0;
    const char *begin = dim.c_str() + (mark == dim.npos ? dim.size() : mark + 1), *end = dim.c_str() + dim.size();
    auto [stop, code] = std::from_chars(begin, end, value);
    if (mark == dim.npos || mark == 0 || code != std::errc() || stop != end || value < 0)
      return Error(ErrorCode::Usage, "--dim: expected NAME=NUMBER, got " + bundle::quote(dim));
    symbols[dim.substr(0, mark)] = value;
  }
  return {};
}

static Error load(const Options &options, const DeviceTable &devices, const std::string &input, Model &model) {
  Symbols symbols;
  if (Error error = readSymbols(options.dims, symbols))
    return error;
  if (isBundle(input)) {
    for (auto [flag, isGiven] :
         {std::pair("--compile-flag", !options.compileFlags.empty()), std::pair("--planner", !options.planner.empty())})
      if (isGiven && isBundle(options.input))
        return Error(ErrorCode::Usage,
                     std::string(flag) + ": expected a model to compile, got the bundle " + bundle::quote(input));
    if (Error error = loadBundle(input, symbols, devices, model))
      return error;
  } else {
    std::vector<std::string> flags = options.compileFlags;
    if (!options.target.empty())
      flags.push_back("--target=" + options.target);
    if (!options.planner.empty())
      flags.push_back("--planner=" + options.planner);
    if (!options.deviceTable.empty())
      flags.push_back("--device-table=" + options.deviceTable);
    if (Error error = compileAndLoad(options.folder, input, flags, symbols, devices, model))
      return error;
  }
  if (!isBundle(input) || options.target.empty())
    return {};
  std::string targets;
  for (const Program &program : model.programs)
    targets += (targets.empty() ? "" : ", ") + program.target;
  llvm::erase_if(model.programs, [&](const Program &program) { return program.target != options.target; });
  if (model.programs.empty())
    return Error(ErrorCode::Usage, "--target: expected one of " + targets + ", got " + bundle::quote(options.target));
  return {};
}

static Error write(const Options &options, const std::string &text) {
  std::error_code code;
  llvm::raw_fd_ostream file(options.output, code);
  if (!code) {
    file << text;
    file.close();
    code = file.error();
    file.clear_error();
  }
  return code ? Error(ErrorCode::Input, bundle::quote(options.output) + ": " + code.message()) : Error();
}

/// The model by each of several planners, beside each other.
static Error compare(const Options &options, const DeviceTable &devices, const std::vector<std::string> &planners) {
  for (auto [flag, isGiven] :
       {std::pair("--why", !options.why.empty()), std::pair("--why-not", !options.whyNot.empty()),
        std::pair("--json", options.json), std::pair("--levels", options.levels),
        std::pair("--output", !options.output.empty()), std::pair("--measured", !options.measured.empty()),
        std::pair("--diff", !options.diff.empty())})
    if (isGiven)
      return Error(ErrorCode::Usage,
                   std::string(flag) + ": expected one planner, got " + bundle::quote(options.planner));
  std::vector<Model> models(planners.size());
  for (size_t i = 0; i < planners.size(); ++i) {
    Options one = options;
    one.planner = planners[i];
    if (Error error = load(one, devices, one.input, models[i]))
      return error;
    predict(models[i]);
  }
  printComparison(models, llvm::outs());
  return {};
}

static std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

static Error run(const Options &options) {
  DeviceTable devices;
  if (Error error = tools::readDeviceTable(options.deviceTable, devices))
    return std::move(error).within("--device-table");
  if (std::vector<std::string> planners = split(options.planner); planners.size() > 1)
    return compare(options, devices, planners);
  Model model;
  if (Error error = load(options, devices, options.input, model))
    return error;
  predict(model);
  Model before;
  ModelDiff changes;
  if (!options.diff.empty()) {
    Error error = load(options, devices, options.diff, before);
    if (error)
      return std::move(error).within("--diff");
    predict(before);
    if ((error = compareModels(before, model, changes)))
      return std::move(error).within("--diff");
  }
  const ModelDiff *diff = options.diff.empty() ? nullptr : &changes;
  if (!options.measured.empty()) {
    if (model.programs.size() != 1)
      return Error(ErrorCode::Usage, "--measured: expected --target, since the bundle has " +
                                         std::to_string(model.programs.size()) + " programs");
    if (Error error = readMeasured(options.measured, model.programs.front()))
      return std::move(error).within("--measured");
  }
  for (const std::string *request : {&options.why, &options.whyNot})
    if (!request->empty())
      return printReason(model, *request, llvm::outs()).within(request == &options.why ? "--why" : "--why-not");
  if (!options.output.empty())
    return write(options, options.json ? writeJson(model, diff) + "\n" : explore::makeReport(writeJson(model, diff)));
  if (options.json)
    llvm::outs() << writeJson(model, diff) << '\n';
  else if (options.levels)
    printLevels(model, llvm::outs());
  else if (diff)
    printDiff(*diff, llvm::outs());
  else
    printTable(model, llvm::outs());
  return {};
}

int tools::runExplain(int argc, char **argv, const std::string &folder) {
  Options options;
  options.folder = folder;
  CLI::App app("What was made of a model, and why (docs/explain.md)", "weft-explain");
  app.add_option("model", options.input, "model.weft, or a model to compile")->option_text("FILE")->required();
  app.add_option("--why", options.why, "Why two nodes share a kernel, or do not: A,B")->option_text("A,B");
  app.add_option("--why-not", options.whyNot, "The same")->option_text("A,B");
  app.add_flag("--levels", options.levels, "Where the tensor of every edge is: its memory level, bytes, and why");
  app.add_flag("--json", options.json, "Everything as JSON, on standard output or to -o");
  app.add_option("-o,--output", options.output, "Write a page that shows everything; - is standard output")
      ->option_text("FILE");
  app.add_option("--measured", options.measured,
                 "Measured values beside the predicted ones: ncu --csv, or launches with `measured` as JSON, one for "
                 "each dispatch")
      ->option_text("FILE");
  app.add_option("--target", options.target, "Of a bundle: the program to explain; of a model: what to compile for")
      ->option_text("TARGET");
  app.add_option("--planner", options.planner,
                 "Of a model: who chooses the groups; several, separated by commas, are compared in one table")
      ->option_text("NAME");
  app.add_option("--diff", options.diff, "What is other than in this bundle (or model): an earlier compile")
      ->option_text("FILE");
  app.add_option("--device-table", options.deviceTable, "Measured rates of the GPU, as weft calibrate wrote them")
      ->option_text("FILE");
  app.add_option("--dim", options.dims, "Value of a symbol, for the memory plan (256 otherwise)")
      ->option_text("NAME=NUMBER");
  app.add_option("--compile-flag", options.compileFlags, "A flag for weft-compile, where a model is compiled")
      ->option_text("FLAG");
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  Error error = run(options);
  return error ? tools::reportError("weft-explain", error) : 0;
}
