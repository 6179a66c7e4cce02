// Runs one kernel of a PTX file on the emulator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For kernels that are not in a bundle, hand-written ones included: parse, run, look at results, findings and counters.
// Exit code 1: the sanitizer found something, an output differs from what was expected, or runs with different seeds
// do not agree.
#include "../common/CommandLine.h"
#include "Compare.h"
#include "Emulator/Counters/LaunchCounters.h"
#include "Emulator/EmulatorDevice.h"
#include "Emulator/Exec/Card.h"
#include "Files.h"
#include "InputSpec.h"
#include "KernelArguments.h"
#include "Report.h"

#include <CLI/CLI.hpp>
#include <chrono>

using namespace weft;
using namespace weft::emu;
using weft::bundle::Error;
using weft::bundle::ErrorCode;
using weft::bundle::quote;
using weft::run::Tensor;

namespace {
struct Options {
  std::string ptx, device = "sm_90a", entry, counters;
  std::vector<uint32_t> grid = {1}, block = {32}, cluster = {1};
  uint32_t sharedBytes = 0;
  int seeds = 1;
  uint64_t dataSeed = 0;
  int64_t maxElements = 64;
  bool listEntries = false, printSpeed = false;
  std::vector<std::string> buffers, arguments, outputs, expected;
  run::Tolerance tolerance;
};
} // namespace

static void declareFlags(CLI::App &app, Options &options) {
  app.add_option("ptx", options.ptx, "The PTX file (-: standard input)")->required();
  app.add_option(
      "--device", options.device,
      "GPU[,OPTION=VALUE...]: sm_80, sm_86, sm_89, sm_90a (default), sm_120, A100, H100, ...; options seed=N,\n"
      "timing=early|random|late, order=random|depth-first|reverse, ctas=numbers|reverse|random, "
      "sanitizer=on|off, limit=N");
  app.add_option("--entry", options.entry, "The kernel (default: the only one)");
  app.add_option("--grid", options.grid, "X[,Y[,Z]] CTAs (default: 1)")->delimiter(',')->expected(1, 3);
  app.add_option("--block", options.block, "X[,Y[,Z]] threads (default: 32)")->delimiter(',')->expected(1, 3);
  app.add_option("--cluster", options.cluster, "X[,Y[,Z]] CTAs of a cluster (default: 1, or what the kernel demands)")
      ->delimiter(',')
      ->expected(1, 3);
  app.add_option("--shared", options.sharedBytes, "Bytes of dynamic shared memory");
  app.add_option("--buffer", options.buffers,
                 "NAME=SHAPE[=VALUE]: device memory, e.g. A=512x768xf16=rand:normal:1, B=64xf32=@b.npy, C=8xi32=0,\n"
                 "D=512x512xf16=empty (uninitialised); random without VALUE")
      ->allow_extra_args(false);
  app.add_option("--arg", options.arguments,
                 "The next parameter: a buffer's name (its address), TYPE=NUMBER (i32=512, f32=1.5), or\n"
                 "map:NAME:BOX[:swizzle=32|64|128][:nan], a tensor map over a buffer, e.g. map:A:128x64:swizzle=128")
      ->allow_extra_args(false);
  app.add_option("--data-seed", options.dataSeed, "Seed of random buffers (default: 0)");
  app.add_option("--output", options.outputs, "NAME: print a buffer after the run; NAME=@FILE.npy: write it")
      ->allow_extra_args(false);
  app.add_option("--expected-output", options.expected, "NAME=VALUE: compare a buffer, exit 1 if it differs")
      ->allow_extra_args(false);
  app.add_option("--rtol", options.tolerance.rtol, "Relative tolerance (default by type, see weft-run)");
  app.add_option("--atol", options.tolerance.atol, "Absolute tolerance (default by type)");
  app.add_option("--output-max-element-count", options.maxElements, "Elements printed of a buffer (default: 64)");
  app.add_option("--seeds", options.seeds,
                 "Run N times with seeds seed, seed+1, ... on fresh memory; exit 1 if results differ")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--counters{text}", options.counters,
               "Print the counters of the (last) launch: =text (default) or =json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--list-entries", options.listEntries, "Print the kernels of the file and what they need, and stop");
  app.add_flag("--print-speed", options.printSpeed, "Print instructions executed and the time they took");
}

static Dim3 toDim3(const std::vector<uint32_t> &values) {
  Dim3 dim;
  dim.x = values.empty() ? 1 : values[0];
  dim.y = values.size() > 1 ? values[1] : 1;
  dim.z = values.size() > 2 ? values[2] : 1;
  return dim;
}

static void printEntries(const std::vector<EntryInfo> &entries) {
  for (const EntryInfo &entry : entries)
    std::printf("%s: %zu bytes of parameters, %u bytes of static shared memory, %u registers, at most %u threads\n",
                quote(entry.name).c_str(), entry.parameterBytes, entry.staticSharedBytes, entry.registersPerThread,
                entry.maxThreads);
}

static Error findEntry(const std::vector<EntryInfo> &entries, const std::string &name, EntryInfo &result) {
  std::string names;
  for (const EntryInfo &entry : entries) {
    names += (names.empty() ? "" : ", ") + quote(entry.name);
    if (entry.name == name || (name.empty() && entries.size() == 1)) {
      result = entry;
      return {};
    }
  }
  if (entries.empty())
    return Error(ErrorCode::Usage, "the file has no kernel (.entry)");
  return Error(ErrorCode::Usage,
               (name.empty() ? "--entry is needed" : "no kernel " + quote(name)) + "; the file has: " + names);
}

static void printFindings(const std::vector<Finding> &findings) {
  for (const Finding &finding : findings)
    std::fprintf(stderr, "weft-emu: %s: %s%s\n", finding.kind.c_str(), finding.message.c_str(),
                 finding.count > 1 ? (" (" + std::to_string(finding.count) + " times)").c_str() : "");
}

/// Prints or writes what --output names.
static Error writeOutputs(const Options &options, const KernelArguments &arguments,
                          const std::vector<Tensor> &results) {
  for (const std::string &text : options.outputs) {
    size_t at = text.find("=@");
    const Buffer *buffer = arguments.findBuffer(text.substr(0, at));
    if (!buffer)
      return Error(ErrorCode::Usage, "--output: no buffer " + quote(text.substr(0, at)));
    const Tensor &tensor = results[size_t(buffer - arguments.getBuffers().data())];
    if (at != text.npos) {
      if (Error error = run::writeNpy(text.substr(at + 2), tensor))
        return error;
      continue;
    }
    std::printf("%s: %s=%s\n", buffer->name.c_str(), tensor.describe().c_str(),
                run::formatElements(tensor, options.maxElements).c_str());
  }
  return {};
}

/// Compares with what --expected-output says; `exitCode` becomes 1 on a difference.
static Error compareOutputs(const Options &options, const KernelArguments &arguments,
                            const std::vector<Tensor> &results, int &exitCode) {
  for (const std::string &text : options.expected) {
    size_t equals = text.find('=');
    const Buffer *buffer = equals == text.npos ? nullptr : arguments.findBuffer(text.substr(0, equals));
    if (!buffer)
      return Error(ErrorCode::Usage, "--expected-output: expected NAME=VALUE with a buffer's name, got " + quote(text));
    run::Spec spec;
    Tensor want;
    const Tensor &got = results[size_t(buffer - arguments.getBuffers().data())];
    if (Error error = run::parseSpec(text.substr(equals + 1), {}, spec))
      return error;
    if (Error error = run::makeTensor(spec, got.dtype, got.dims, 0, want))
      return std::move(error).within("--expected-output=" + quote(text));
    run::Comparison comparison = run::compare(got, want, options.tolerance);
    std::printf("%s: %s, relative L2 error %.3g\n", buffer->name.c_str(),
                comparison.failure.empty() ? "as expected" : comparison.failure.c_str(), comparison.relativeL2);
    exitCode |= !comparison.failure.empty();
  }
  return {};
}

/// One launch on fresh memory.
static Error launchOnce(Emulator &card, KernelArguments &arguments, LaunchSpec spec, LaunchResult &result,
                        std::vector<Tensor> &outputs) {
  if (Error error = arguments.place(card))
    return error;
  spec.parameters = arguments.getParameters().data();
  spec.parameterBytes = arguments.getParameters().size();
  Error failure = card.launch(spec, result);
  outputs.resize(arguments.getBuffers().size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (Error error = arguments.read(card, arguments.getBuffers()[i], outputs[i]))
      return error;
  if (Error error = arguments.release(card))
    return error;
  return failure;
}

/// Launches with every seed; reports findings and differences, keeps the results of the first.
static Error launchAll(const Options &options, Emulator &card, KernelArguments &arguments, LaunchSpec spec,
                       LaunchResult &result, std::vector<Tensor> &outputs, int &exitCode) {
  auto begin = std::chrono::steady_clock::now();
  uint64_t instructions = 0;
  for (int i = 0; i < options.seeds; ++i, ++spec.options.seed) {
    std::vector<Tensor> again;
    Error error = launchOnce(card, arguments, spec, result, again);
    instructions += result.threadInstructions;
    printFindings(result.findings);
    exitCode |= !result.findings.empty();
    if (error)
      return error;
    if (i == 0) {
      outputs = std::move(again);
      continue;
    }
    for (size_t k = 0; k < outputs.size(); ++k)
      if (outputs[k].bytes != again[k].bytes) {
        std::fprintf(stderr, "weft-emu: results-differ: buffer %s after seed %llu is not what it was after the first\n",
                     quote(arguments.getBuffers()[k].name).c_str(), (unsigned long long)spec.options.seed);
        exitCode = 1;
      }
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.printSpeed)
    std::fprintf(stderr, "%llu thread instructions in %.3f s, %.1f million per second\n",
                 (unsigned long long)instructions, seconds, double(instructions) / seconds / 1e6);
  return {};
}

static Error runTool(const Options &options, int &exitCode) {
  std::string cardName;
  LaunchSpec spec;
  if (Error error = parseCard(options.device, cardName, spec.options))
    return error;
  std::vector<uint8_t> text;
  if (Error error = run::readFile(options.ptx, text))
    return error;
  std::unique_ptr<Emulator> card;
  if (Error error = Emulator::create(cardName, card))
    return error;
  std::string_view source(reinterpret_cast<const char *>(text.data()), text.size());
  if (Error error = card->load(source, options.ptx, spec.module))
    return error;
  std::vector<EntryInfo> entries;
  if (Error error = card->entries(spec.module, entries))
    return error;
  if (options.listEntries) {
    printEntries(entries);
    return {};
  }
  EntryInfo entry;
  if (Error error = findEntry(entries, options.entry, entry))
    return error;
  KernelArguments arguments;
  if (Error error = arguments.parse(options.buffers, options.arguments, options.dataSeed))
    return error;
  spec.entry = entry.name;
  spec.grid = toDim3(options.grid);
  spec.block = toDim3(options.block);
  spec.cluster = entry.requiredCluster.x ? entry.requiredCluster : toDim3(options.cluster);
  spec.dynamicSharedBytes = options.sharedBytes;
  spec.options.isCounted |= !options.counters.empty();
  LaunchResult result;
  std::vector<Tensor> outputs;
  if (Error error = launchAll(options, *card, arguments, spec, result, outputs, exitCode))
    return error;
  if (Error error = writeOutputs(options, arguments, outputs))
    return error;
  if (Error error = compareOutputs(options, arguments, outputs, exitCode))
    return error;
  if (spec.options.isCounted)
    std::printf(
        "%s\n",
        (options.counters == "json" ? formatCountersJson(result.counters) : formatCounters(result.counters)).c_str());
  return {};
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs one kernel of a PTX file on the emulator: weft-emu KERNEL.ptx --grid=... --block=... --arg=...",
               "weft-emu");
  declareFlags(app, options);
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  if (Error error = runTool(options, exitCode))
    return tools::reportError("weft-emu", error);
  return exitCode;
}
