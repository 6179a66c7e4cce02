// The measurements of the tool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options, and what is measured: one program, or two in turns.
#ifndef WEFT_BENCH_BENCH_H
#define WEFT_BENCH_BENCH_H

#include "Counts.h"
#include "Kernels.h"
#include "Meter.h"
#include "Statistics.h"

#include <functional>

namespace weft::bench {

/// What the command line says; see `weft-bench --help`. Times in milliseconds.
struct Options {
  run::Options program, baseline;
  bool hasBaseline = false;
  bool isHot = true, isCold = true;
  double warmUp = 200, duration = 3000;
  int iterations = 10;
  std::vector<double> percentiles = {50, 90, 95, 99};
  bool includesTransfers = false, json = false;
  std::string exportTimes;
  double failIfSlower = -1;                                                    ///< Per cent; negative: never.
  int kernels = 0;                                                             ///< That are listed with their times.
  std::function<void(const std::string &)> began = [](const std::string &) {}; ///< What is measured next.
};

/// A program that is ready to run.
struct Side {
  explicit Side(const run::Options &options) : options(options) {}
  /// Opens the bundle, makes the inputs, and runs once. Again: all of that anew, in other memory. `saysNotes`: of
  /// extents that nothing sets, for the first time only.
  Error open(bool includesTransfers, bool saysNotes);
  void close();

  const run::Options &options;
  std::unique_ptr<run::Runner> runner;
  std::unique_ptr<Meter> meter; ///< Null on devices that count instead of taking time.
  double openTime = 0;          ///< From nothing to a session: mapping, code, weights.
  double firstRunTime = 0;
};

struct Series {
  Clock clock;
  bool isCold;
  std::vector<double> times;
  Summary summary;
};

struct Comparison {
  Clock clock;
  bool isCold;
  Ratio ratio; ///< Above 1: the program is faster than the baseline.
};

struct Results {
  std::vector<Series> series;
  std::vector<Comparison> comparisons;
  std::vector<Count> counts, baselineCounts; ///< Of the emulator.
  std::vector<KernelTime> kernels;           ///< All of the program, if any are to be listed.
};

/// True for devices that count: "emu:...".
bool isCounting(const std::string &device);

/// Measures `program`, and compares it with `baseline` (null: none).
Error measure(const Options &options, Side &program, Side *baseline, Results &results);

} // namespace weft::bench

#endif // WEFT_BENCH_BENCH_H
