// Runs a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of weft-run. Links the runtime only: no compiler, no protobuf.
#include "../common/CommandLine.h"
#include "../common/CompiledModel.h"
#include "Files.h"
#include "Report.h"

#include <CLI/CLI.hpp>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

/// Declares the flags; `--help` prints them in this order.
static void declareFlags(CLI::App &app, Options &options) {
  app.add_option("bundle,--module", options.bundle, "The bundle (.weft), or a model (.onnx) to compile")->required();
  app.add_option("--compile-flag", options.compileFlags, "A flag for weft-compile, where a model is compiled")
      ->option_text("FLAG")
      ->allow_extra_args(false);
  app.add_option("--device", options.device,
                 "cpu (default), cuda[:N]: an NVIDIA GPU (its driver: libcuda.so.1, or $WEFT_CUDA_DRIVER), or\n"
                 "emu:GPU[,OPTION=VALUE...]: the PTX emulator as sm_80, sm_86, sm_89, sm_90a, sm_120, H100, ...;\n"
                 "options seed=N, timing=early|random|late, order=random|depth-first|reverse, "
                 "ctas=numbers|reverse|random, sanitizer=on|off, limit=N");
  app.add_option("--threads", options.threads, "CPU workers (default: the CPUs this process may use)")
      ->check(CLI::Range(0, 1024));
  app.add_option("--entry", options.entry, "Entry function (default: the first)");
  app.add_option("--input", options.inputs,
                 "[NAME=][2x3xf32=]VALUE; VALUE is @FILE (.npy, .pb), numbers, or rand:normal[:SEED],\n"
                 "rand:uniform[:SEED[:LOW:HIGH]]; inputs that are not given are random")
      ->allow_extra_args(false);
  app.add_option("--inputs-npz", options.inputsNpz, "Inputs by name from an .npz file");
  app.add_option("--test-set", options.testSet, "Folder with input_N.pb and output_N.pb, as ONNX has them");
  app.add_option("--dim", options.dims, "NAME=VALUE: a symbolic extent of random inputs (default: 1)")
      ->allow_extra_args(false);
  app.add_option("--seed", options.seed, "Seed of random inputs (default: 0)");
  app.add_option("--output", options.outputs, "[NAME=]@FILE.npy: write an output; -: print all (default)")
      ->allow_extra_args(false);
  app.add_option("--output-max-element-count", options.maxElements, "Elements printed of an output (default: 1024)");
  app.add_option("--expected-output", options.expected,
                 "[NAME=]VALUE, as for --input: compare an output, exit 1 if it differs")
      ->allow_extra_args(false);
  app.add_option("--rtol", options.tolerance.rtol,
                 "Relative tolerance (default: f64 1e-7, f32 1e-4, f16 1e-3, bf16 1e-2)");
  app.add_option("--atol", options.tolerance.atol,
                 "Absolute tolerance (default: f64 1e-9, f32 1e-5, f16 1e-3, bf16 1e-2)");
  app.add_option("--ulp", options.tolerance.ulp,
                 "Units in the last place that are allowed (default: none; alone: nothing else is)");
  app.add_option("--benchmark", options.benchmark, "Run N times after 3 warm-ups: median, min, p90 in ms")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--print-placement", options.printPlacement, "Where each kernel ran, its time, and its ONNX nodes");
  app.add_option("--trace", options.trace,
                 "Write what the last run did and when, kernels one after the other, as JSON for ui.perfetto.dev")
      ->option_text("FILE");
  app.add_flag("--nvtx{libnvToolsExt.so.1}", options.nvtx,
               "Make ranges of NVTX for a profiler such as nsys; =LIBRARY (default: libnvToolsExt.so.1)");
  app.add_flag("--print-statistics", options.printStatistics, "Memory, copies, dispatches");
  app.add_flag("--counters{text}", options.counters,
               "What the emulator counted in the last run, under Nsight Compute's names: =text (default) or =json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--weights-folder", options.weightsFolder, "Folder of external weights (default: the bundle's)");
  app.add_option("--rank", options.rank,
                 "R/N@HOST:PORT: this process is rank R of N; rank 0 listens there. env: as torchrun and mpirun say");
  app.add_option("--rank-timeout", options.timeoutMs, "Milliseconds to wait for a rank that does nothing (60000)")
      ->check(CLI::PositiveNumber);
  app.add_option("--memory-limit", options.memoryLimit, "Bytes of activations (default: the machine's memory)");
  app.add_option("--turn-limit", options.turnLimit, "Turns of all loops of one run together (default: 2^24)");
  app.add_flag("--verify", options.verify, "Check the hash of every weight first");
  app.add_flag("--json", options.json, "One JSON object on stdout (schema weft.run/1)");
}

/// Writes --output files; `printsResults` says whether results are still to be printed.
static Error writeOutputs(const Options &options, const Runner &runner, bool &printsResults) {
  printsResults = options.outputs.empty();
  size_t next = 0;
  for (const std::string &text : options.outputs) {
    if (text == "-") {
      printsResults = true;
      continue;
    }
    const std::vector<Port> &ports = runner.getOutputPorts();
    size_t at = text.find("=@");
    size_t index = next;
    if (text.substr(0, 1) == "@") {
      at = 0;
      ++next;
    } else if (at != text.npos) {
      for (index = 0; index < ports.size() && ports[index].name != text.substr(0, at); ++index)
        ;
      ++at;
    }
    if (at == text.npos)
      return Error(ErrorCode::Usage, "--output: expected [NAME=]@FILE or -, got " + quote(text));
    if (index >= ports.size())
      return Error(ErrorCode::Usage, "--output: the model has no such output: " + quote(text));
    if (Error error = writeNpy(text.substr(at + 1), runner.getOutputs()[index]))
      return error;
  }
  return {};
}

/// 0, or 1 if a comparison failed.
static Error runTool(Options &options, int &exitCode) {
  tools::CompiledModel compiled;
  if (Error error =
          tools::compileIfModel(options.bundle, options.device, options.compileFlags, compiled, options.compiled))
    return error;
  Runner runner(options);
  if (Error error = runner.open())
    return error;
  if (Error error = runner.makeInputs())
    return error;
  if (Error error = runner.run())
    return error;
  Report report{options, runner, true, {}, std::nullopt};
  if (Error error = writeOutputs(options, runner, report.printsResults))
    return error;
  std::vector<std::optional<Tensor>> expected;
  if (Error error = runner.readExpected(expected))
    return error;
  for (size_t i = 0; i < expected.size(); ++i) {
    report.comparisons.emplace_back();
    if (!expected[i])
      continue;
    report.comparisons[i] = compare(runner.getOutputs()[i], *expected[i], options.tolerance);
    exitCode |= !report.comparisons[i]->failure.empty();
  }
  // Who compares or measures wants the verdict, not the numbers, unless --output=- says so.
  bool isQuiet = !options.testSet.empty() || !options.expected.empty() || options.benchmark;
  report.printsResults &= !isQuiet || !options.outputs.empty();
  if (options.benchmark) {
    report.benchmark.emplace();
    if (Error error = runner.benchmark(*report.benchmark))
      return error;
  }
  if (!options.trace.empty())
    if (Error error = runner.writeTrace(options.trace))
      return error;
  options.json ? printJson(report) : printText(report);
  return {};
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs a Weft bundle, or a model: weft-run BUNDLE [--input=...]", "weft-run");
  declareFlags(app, options);
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  if (Error error = runTool(options, exitCode))
    return tools::reportError("weft-run", error);
  return exitCode;
}
