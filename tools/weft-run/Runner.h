// One session of the tool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the bundle through the C ABI, makes the inputs that the command line asks for, runs, and measures.
#ifndef WEFT_RUN_RUNNER_H
#define WEFT_RUN_RUNNER_H

#include "Compare.h"
#include "InputSpec.h"

#include <map>
#include <memory>

namespace weft::run {

/// The error of a call of the C ABI, which is freed.
Error take(weft_error *error);

/// What the command line says; see `weft-run --help`.
struct Options {
  std::string bundle, device = "cpu", entry, weightsFolder, inputsNpz, testSet;
  std::vector<std::string> compileFlags; ///< Where `bundle` is a model.
  std::string compiled;                  ///< The bundle that was made of it; empty: `bundle` is one.
  std::string counters;                  ///< "", "text" or "json".
  std::string trace;                     ///< File.
  std::string nvtx;                      ///< Library.
  std::string rank;                      ///< "R/N@HOST:PORT", "env", or empty: a program of one rank.
  int64_t timeoutMs = 0;
  int threads = 0;
  uint64_t memoryLimit = 0, turnLimit = 0, seed = 0;
  std::vector<std::string> inputs, outputs, expected, dims;
  Tolerance tolerance;
  int benchmark = 0;
  int64_t maxElements = 1024;
  bool verify = false, printStatistics = false, printPlacement = false, json = false;
  bool launchesKernels = false; ///< No CUDA graphs.
};

struct Port {
  std::string name;
  DType dtype;
  std::vector<int64_t> dims;         ///< -1 where symbolic.
  std::vector<std::string> dimTexts; ///< "" where static.
};

/// Milliseconds.
struct Benchmark {
  int runs = 0;
  double median = 0, min = 0, p90 = 0;
};

class Runner {
public:
  explicit Runner(const Options &options) : options(options) {}

  Error open();
  /// Fills `inputs`: from specs, the npz file or the test set, the rest with random numbers. Extents that nothing sets
  /// are noted on stderr if `saysNotes`.
  Error makeInputs(bool saysNotes = true);
  Error run();
  Error benchmark(Benchmark &result);
  /// The tensor that --expected-output or the test set gives for each output; empty where there is none.
  Error readExpected(std::vector<std::optional<Tensor>> &expected);

  const std::vector<Port> &getInputPorts() const { return inputPorts; }
  const std::vector<Port> &getOutputPorts() const { return outputPorts; }
  const std::vector<Tensor> &getOutputs() const { return outputs; }
  /// The inputs in host memory, as the session takes them; valid as long as this object.
  std::vector<weft_tensor> getInputViews();
  weft_session *getSession() const { return session.get(); }
  /// The last run as a trace of Perfetto, in a file.
  Error writeTrace(const std::string &path) const;
  std::string getEntryName() const;

private:
  Error joinRanks();
  Error bindDims(std::vector<int64_t> &symbols);
  Error readNpz(std::vector<std::optional<Tensor>> &given);
  Error readTestSet(const char *prefix, const std::vector<Port> &ports, std::vector<std::optional<Tensor>> &given);
  Error assignSpecs(const std::vector<std::string> &texts, const std::vector<Port> &ports, const char *flag,
                    std::vector<std::optional<Spec>> &specs);
  Error learnSymbols(const std::vector<std::optional<Tensor>> &given, bool saysNotes,
                     std::vector<int64_t> &symbols) const;

  struct Release {
    void operator()(weft_bundle *handle) const { weft_bundle_release(handle); }
    void operator()(weft_session *handle) const { weft_session_release(handle); }
    void operator()(weft_communicator *handle) const { weft_communicator_release(handle); }
  };
  const Options &options;
  std::unique_ptr<weft_bundle, Release> bundle;
  std::unique_ptr<weft_communicator, Release> communicator;
  std::unique_ptr<weft_session, Release> session;
  std::vector<Port> inputPorts, outputPorts;
  std::vector<Tensor> inputs, outputs;
};

} // namespace weft::run

#endif // WEFT_RUN_RUNNER_H
