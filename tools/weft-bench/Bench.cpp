//===- Bench.cpp - The measurements of the tool -------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// How often things run: until the time asked for is over, and at least as often as asked for.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Bench.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::bench;

static constexpr size_t kMaxSamples = 200000;

bool weft::bench::isCounting(const std::string &device) { return device.substr(0, 4) == "emu:"; }

Error Side::open(bool includesTransfers) {
  double begin = now();
  if (Error error = runner.open())
    return error;
  openTime = now() - begin;
  if (Error error = runner.makeInputs())
    return error;
  begin = now();
  if (Error error = runner.run())
    return error;
  firstRunTime = now() - begin;
  return isCounting(options.device) ? Error() : Meter::create(runner, options.device, includesTransfers, meter);
}

/// Runs for `duration` and at least `least` times; the times go to `times`.
static Error runFor(Meter &meter, Clock clock, bool isCold, double duration, int least, std::vector<double> &times) {
  double end = now() + duration;
  while ((int(times.size()) < least || now() < end) && times.size() < kMaxSamples)
    if (Error error = meter.measure(clock, isCold, 1 + int(times.size() / 8), times))
      return error;
  return {};
}

static Error warmUp(const Options &options, Meter &meter) {
  constexpr int least = 3; // The second run may be recorded, the third one replayed.
  std::vector<double> times;
  return runFor(meter, Clock::Latency, /*isCold=*/false, options.warmUp, least, times);
}

/// Hot and cold, as asked for.
static std::vector<bool> getTemperatures(const Options &options) {
  std::vector<bool> cold;
  if (options.isHot)
    cold.push_back(false);
  if (options.isCold)
    cold.push_back(true);
  return cold;
}

static Error measureSeries(const Options &options, Meter &meter, Results &results) {
  for (Clock clock : meter.getClocks())
    for (bool isCold : getTemperatures(options)) {
      if (clock == Clock::Pipelined && isCold) // Runs follow each other.
        continue;
      Series series{clock, isCold, {}, {}};
      if (Error error = runFor(meter, clock, isCold, options.duration, options.iterations, series.times))
        return error;
      series.summary = summarise(series.times, options.percentiles);
      results.series.push_back(std::move(series));
    }
  return {};
}

static Error measureMedian(Meter &meter, Clock clock, bool isCold, int count, double &median) {
  std::vector<double> times;
  if (Error error = meter.measure(clock, isCold, count, times))
    return error;
  std::sort(times.begin(), times.end());
  median = getPercentile(times, 50);
  return {};
}

/// Blocks A B B A, in which each letter stands for some runs and their median: what drifts falls on both alike.
static Error compare(const Options &options, Meter &a, Meter &b, Clock clock, bool isCold, Comparison &comparison) {
  constexpr size_t leastBlocks = 8, mostBlocks = 2000;
  constexpr double legTime = 20;
  constexpr int mostRuns = 200;
  constexpr int trial = 3;
  double first = 0, begin = now();
  if (Error error = measureMedian(a, clock, isCold, trial, first))
    return error;
  // The time that passes, with what makes a run cold.
  int runs = std::clamp(int(legTime * trial / std::max(now() - begin, 1e-3)), 1, mostRuns);
  std::vector<double> logRatios;
  for (double end = now() + 2 * options.duration;
       logRatios.size() < leastBlocks || (now() < end && logRatios.size() < mostBlocks);) {
    double times[4]; // A B B A
    Meter *order[] = {&a, &b, &b, &a};
    for (size_t leg = 0; leg < 4; ++leg)
      if (Error error = measureMedian(*order[leg], clock, isCold, runs, times[leg]))
        return error;
    if (times[0] <= 0 || times[1] <= 0 || times[2] <= 0 || times[3] <= 0)
      return Error(ErrorCode::Unsupported, "the runs are too short for the clock; use larger shapes");
    logRatios.push_back((std::log(times[1]) + std::log(times[2]) - std::log(times[0]) - std::log(times[3])) / 2);
  }
  comparison = {clock, isCold, compareBlocks(logRatios)};
  return {};
}

Error weft::bench::measure(const Options &options, Side &program, Side *baseline, Results &results) {
  if (!program.meter || (baseline && !baseline->meter)) {
    if (program.meter || (baseline && baseline->meter))
      return Error(ErrorCode::Usage, "one of the devices counts and the other takes time: they cannot be compared");
    results.counts = readCounts(program.runner);
    if (baseline)
      results.baselineCounts = readCounts(baseline->runner);
    return {};
  }
  if (Error error = warmUp(options, *program.meter))
    return error;
  if (Error error = measureSeries(options, *program.meter, results))
    return error;
  if (options.kernels)
    if (Error error = measureKernels(options.program, options.duration, results.kernels))
      return error;
  if (!baseline)
    return {};
  if (Error error = warmUp(options, *baseline->meter))
    return std::move(error).within("baseline");
  // On two kinds of devices only the wall clock is common.
  Clock clock = program.meter->getClocks().front();
  if (clock != baseline->meter->getClocks().front())
    clock = Clock::Latency;
  for (bool isCold : getTemperatures(options)) {
    Comparison comparison;
    if (Error error = compare(options, *program.meter, *baseline->meter, clock, isCold, comparison))
      return error;
    results.comparisons.push_back(comparison);
  }
  return {};
}
