// Measures a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of weft-bench. Links the runtime only: no compiler, no CUDA.
#include "../common/CommandLine.h"
#include "../common/CompiledModel.h"
#include "../common/Progress.h"
#include "Generate.h"
#include "Report.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>

using namespace weft;
using namespace weft::bench;
using weft::bundle::quote;

static const char *const kDescription =
    "Measures a Weft bundle, or a model: weft-bench BUNDLE [--device=...] [--baseline=OTHER]\n\n"
    "On the CPU: the wall clock of a run. On a GPU: the time on the device (events around each run, the next one\n"
    "queued), the wall clock of a run, and of many runs that wait for nothing. On the emulator: counts, no times.\n"
    "Hot runs follow each other; a cold run follows a write of twice the largest cache (on a GPU: twice the L2).\n"
    "spread is half the 95 % confidence interval of the median, from order statistics.\n\n"
    "A baseline is measured in turns, in blocks A B B A of some 20 ms a letter, of twelve pairs of sessions; each "
    "pair\n"
    "gives one ratio of medians, and the verdict is a paired t-test on their logarithms: a difference is shown if 1\n"
    "lies outside of the 95 % confidence interval of the ratio.";

namespace {
/// Flags that are not yet what Options wants.
struct RawOptions {
  std::string l2 = "both", warmUp = "200ms", duration = "3s", percentiles = "50,90,95,99", graphs = "on";
  std::string generate;
  std::string baselineDevice, baselineEntry, baselineGraphs;
  int baselineThreads = -1;
};
} // namespace

static void declareFlags(CLI::App &app, Options &options, RawOptions &raw) {
  run::Options &program = options.program;
  app.add_option("bundle,--module", program.bundle, "The bundle (.weft), or a model (.onnx) to compile")->required();
  app.add_option("--compile-flag", program.compileFlags, "A flag for weft-compile, where a model is compiled")
      ->option_text("FLAG")
      ->allow_extra_args(false);
  app.add_option("--device", program.device, "cpu (default), cuda[:N] or emu:GPU, as for weft-run");
  app.add_option("--threads", program.threads, "CPU workers (default: the CPUs this process may use)")
      ->check(CLI::Range(0, 1024));
  app.add_option("--entry", program.entry, "Entry function (default: the first)");
  app.add_option("--input", program.inputs, "[NAME=][2x3xf32=]VALUE, as for weft-run; others are random")
      ->allow_extra_args(false);
  app.add_option("--dim", program.dims, "NAME=VALUE: a symbolic extent of random inputs (default: 1)")
      ->allow_extra_args(false);
  app.add_option("--seed", program.seed, "Seed of random inputs (default: 0)");
  app.add_option("--weights-folder", program.weightsFolder, "Folder of external weights (default: the bundle's)");
  app.add_option("--generate", raw.generate,
                 "prompt:N,tokens:M: a decoder with caches in place runs a prompt, then token after token; no other "
                 "measurement");
  app.add_option("--l2", raw.l2, "hot, cold or both (default)")->check(CLI::IsMember({"hot", "cold", "both"}));
  app.add_option("--warm-up", raw.warmUp, "Time of runs that do not count: 200ms (default), 1s; at least 3 runs");
  app.add_option("--duration", raw.duration, "Time of each series (default: 3s); twice that for a comparison");
  app.add_option("--iterations", options.iterations, "Runs of each series at least (default: 10)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--percentile", raw.percentiles, "Percentiles to show (default: 50,90,95,99)");
  app.add_option("--cuda-graph", raw.graphs, "on (default): replay runs as CUDA graphs; off: start each kernel")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_flag("--include-transfers", options.includesTransfers,
               "On a GPU: inputs and outputs in host memory, copied in each run");
  app.add_option("--baseline", options.baseline.bundle,
                 "Bundle or model to compare with (default with a flag below: the same)");
  app.add_option("--baseline-device", raw.baselineDevice, "Its device (default: the same)");
  app.add_option("--baseline-threads", raw.baselineThreads, "Its CPU workers (default: the same)")
      ->check(CLI::Range(0, 1024));
  app.add_option("--baseline-entry", raw.baselineEntry, "Its entry function (default: the same)");
  app.add_option("--baseline-cuda-graph", raw.baselineGraphs, "on or off (default: the same)")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--fail-if-slower", options.failIfSlower,
                 "PERCENT: exit 1 if it is shown to be slower than the baseline by more than that")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--kernels", options.kernels,
                 "N: the kernels that take most time, from a session that starts them one by one")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--export-times", options.exportTimes, "FILE: all times as JSON");
  app.add_flag("--json", options.json, "One JSON object on stdout (schema weft.bench/1)");
}

/// "200ms", "3s"; a bare number is milliseconds.
static Error parseTime(const char *flag, const std::string &text, double &milliseconds) {
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, milliseconds);
  std::string_view unit(rest, size_t(end - rest));
  constexpr double most = 3600e3;
  if (unit == "s")
    milliseconds *= 1e3;
  if (error == std::errc() && (unit == "s" || unit == "ms" || unit.empty()) && milliseconds >= 0 &&
      milliseconds <= most)
    return {};
  return Error(ErrorCode::Usage,
               std::string(flag) + ": expected a time of at most an hour like 200ms or 3s, got " + quote(text));
}

static Error parsePercentiles(std::string_view text, std::vector<double> &percents) {
  percents.clear();
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    double value = 0;
    auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value > 100 || (rest < end && (*rest != ',' || rest + 1 == end)))
      break;
    percents.push_back(value);
    if (rest == end)
      return {};
    at = rest + 1;
  }
  return Error(ErrorCode::Usage, "--percentile: expected numbers from 0 to 100 like 50,99, got " + quote(text));
}

static Error finishOptions(const RawOptions &raw, Options &options) {
  options.isHot = raw.l2 != "cold";
  options.isCold = raw.l2 != "hot";
  if (Error error = parseTime("--warm-up", raw.warmUp, options.warmUp))
    return error;
  if (Error error = parseTime("--duration", raw.duration, options.duration))
    return error;
  if (Error error = parsePercentiles(raw.percentiles, options.percentiles))
    return error;
  options.program.launchesKernels = raw.graphs == "off";
  options.hasBaseline = !options.baseline.bundle.empty() || !raw.baselineDevice.empty() || raw.baselineThreads >= 0 ||
                        !raw.baselineEntry.empty() || !raw.baselineGraphs.empty();
  if (options.failIfSlower >= 0 && !options.hasBaseline)
    return Error(ErrorCode::Usage, "--fail-if-slower needs a --baseline");
  std::string bundle = options.baseline.bundle.empty() ? options.program.bundle : options.baseline.bundle;
  options.baseline = options.program;
  options.baseline.bundle = bundle;
  if (!raw.baselineDevice.empty())
    options.baseline.device = raw.baselineDevice;
  if (raw.baselineThreads >= 0)
    options.baseline.threads = raw.baselineThreads;
  if (!raw.baselineEntry.empty())
    options.baseline.entry = raw.baselineEntry;
  if (!raw.baselineGraphs.empty())
    options.baseline.launchesKernels = raw.baselineGraphs == "off";
  for (run::Options *side : {&options.program, &options.baseline})
    if (isCounting(side->device))
      side->counters = "json";
  return {};
}

/// Models become bundles. Flags are for a program that is one; a baseline that is a bundle goes without.
static Error compileModels(Options &options, tools::CompiledModel &program, tools::CompiledModel &baseline) {
  run::Options &first = options.program, &second = options.baseline;
  if (Error error = tools::compileIfModel(first.bundle, first.device, first.compileFlags, program, first.compiled))
    return error;
  if (!options.hasBaseline)
    return {};
  if (second.bundle == first.bundle && second.device == first.device) {
    second.compiled = first.compiled;
    return {};
  }
  const std::vector<std::string> none;
  return tools::compileIfModel(second.bundle, second.device, tools::isModel(second.bundle) ? second.compileFlags : none,
                               baseline, second.compiled)
      .within("baseline");
}

/// 0, or 1 if the program is slower than it may be.
static Error runTool(Options &options, int &exitCode) {
  std::optional<tools::Progress> progress(std::in_place, "weft-bench", tools::Progress::whereWatched());
  options.began = [&](const std::string &activity) { progress->begin(activity); };
  Side program(options.program), baseline(options.baseline);
  options.began("open the program");
  if (Error error = program.open(options.includesTransfers, /*saysNotes=*/true))
    return error;
  if (options.hasBaseline)
    if (Error error = baseline.open(options.includesTransfers, /*saysNotes=*/true))
      return std::move(error).within("baseline");
  Results results;
  if (Error error = measure(options, program, options.hasBaseline ? &baseline : nullptr, results))
    return error;
  progress.reset();
  options.json ? printJson(options, program, results) : printText(options, program, results);
  for (const Comparison &comparison : results.comparisons)
    if (options.failIfSlower >= 0 && comparison.ratio.high < 1 / (1 + options.failIfSlower / 100))
      exitCode = 1;
  return options.exportTimes.empty() ? Error() : exportTimes(options.exportTimes, results);
}

int main(int argc, char **argv) {
  Options options;
  RawOptions raw;
  CLI::App app(kDescription, "weft-bench");
  declareFlags(app, options, raw);
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  Error error = finishOptions(raw, options);
  Generation generation;
  if (!error && !raw.generate.empty())
    error = parseGeneration(raw.generate, generation);
  tools::CompiledModel program, baseline;
  if (!error)
    error = compileModels(options, program, baseline);
  if (!error)
    error =
        raw.generate.empty() ? runTool(options, exitCode) : runGeneration(options.program, generation, options.json);
  return error ? tools::reportError("weft-bench", error) : exitCode;
}
