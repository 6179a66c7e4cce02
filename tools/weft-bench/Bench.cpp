// The measurements of the tool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often things run: until the time asked for is over, and at least as often as asked for.
#include "Bench.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::bench;

static constexpr size_t kMaxSamples = 200000;

bool weft::bench::isCounting(const std::string &device) { return device.substr(0, 4) == "emu:"; }

void Side::close() {
  meter.reset();
  runner.reset();
}

Error Side::open(bool includesTransfers, bool saysNotes) {
  close();
  runner = std::make_unique<run::Runner>(options);
  double begin = now();
  if (Error error = runner->open())
    return error;
  openTime = now() - begin;
  if (Error error = runner->makeInputs(saysNotes))
    return error;
  begin = now();
  if (Error error = runner->run())
    return error;
  firstRunTime = now() - begin;
  return isCounting(options.device) ? Error() : Meter::create(*runner, options.device, includesTransfers, meter);
}

/// Runs for `duration` and at least `least` times; the times go to `times`.
static Error runFor(Meter &meter, Clock clock, bool isCold, double duration, int least, std::vector<double> &times) {
  double end = now() + duration;
  while ((int(times.size()) < least || now() < end) && times.size() < kMaxSamples)
    if (Error error = meter.measure(clock, isCold, 1 + int(times.size() / 8), times))
      return error;
  return {};
}

static Error warmUp(Meter &meter, double duration) {
  constexpr int least = 3; // The second run may be recorded, the third one replayed.
  std::vector<double> times;
  return runFor(meter, Clock::Latency, /*isCold=*/false, duration, least, times);
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
      options.began(std::string("measure ") + getName(clock) + (isCold ? ", cold" : ", hot"));
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

/// The mean ln(time of B / time of A) over blocks A B B A, in which each letter stands for some runs and their median:
/// what drifts falls on both alike.
static Error compareInBlocks(Meter &a, Meter &b, Clock clock, bool isCold, double duration, double &logRatio) {
  constexpr size_t leastBlocks = 2, mostBlocks = 1000;
  constexpr double legTime = 20;
  constexpr int mostRuns = 200;
  constexpr int trial = 3;
  double first = 0, begin = now();
  if (Error error = measureMedian(a, clock, isCold, trial, first))
    return error;
  // The time that passes, with what makes a run cold.
  int runs = std::clamp(int(legTime * trial / std::max(now() - begin, 1e-3)), 1, mostRuns);
  size_t blocks = 0;
  logRatio = 0;
  for (double end = now() + duration; blocks < leastBlocks || (now() < end && blocks < mostBlocks); ++blocks) {
    double times[4]; // A B B A
    Meter *order[] = {&a, &b, &b, &a};
    for (size_t leg = 0; leg < 4; ++leg)
      if (Error error = measureMedian(*order[leg], clock, isCold, runs, times[leg]))
        return error;
    if (times[0] <= 0 || times[1] <= 0 || times[2] <= 0 || times[3] <= 0)
      return Error(ErrorCode::Unsupported, "the runs are too short for the clock; use larger shapes");
    logRatio += (std::log(times[1]) + std::log(times[2]) - std::log(times[0]) - std::log(times[3])) / 2;
  }
  logRatio /= double(blocks);
  return {};
}

/// Pairs of sessions, each opened anew: where memory and code of a session lie makes it faster or slower by some per
/// cent for as long as it lives, so that however many blocks of one pair tell nothing of the programs. Each of the two
/// is opened first in half of the pairs, and comes first in half.
static Error compare(const Options &options, Side &program, Side &baseline, Results &results) {
  constexpr int pairs = 12; // A multiple of four.
  // On two kinds of devices only the wall clock is common.
  Clock clock = program.meter->getClocks().front();
  if (clock != baseline.meter->getClocks().front())
    clock = Clock::Latency;
  baseline.close(); // The other one stays: a GPU's context lives as long as a session of it.
  Side a(options.program), b(options.baseline);
  std::vector<bool> temperatures = getTemperatures(options);
  std::vector<std::vector<double>> logRatios(temperatures.size());
  for (int pair = 0; pair < pairs; ++pair) {
    options.began("compare with the baseline, pair " + std::to_string(pair + 1) + " of " + std::to_string(pairs));
    bool isReversed = pair % 2, comesLater = pair / 2 % 2;
    Side *sides[] = {isReversed ? &b : &a, isReversed ? &a : &b};
    for (Side *side : sides)
      side->close(); // Both, so that what was opened second may lie where the first was.
    for (Side *side : sides) {
      Error error = side->open(options.includesTransfers, /*saysNotes=*/false);
      if (!error)
        error = warmUp(*side->meter, options.warmUp / pairs);
      if (error)
        return side == &b ? std::move(error).within("baseline") : std::move(error);
    }
    Meter &first = comesLater ? *b.meter : *a.meter, &second = comesLater ? *a.meter : *b.meter;
    for (size_t i = 0; i < temperatures.size(); ++i) {
      double logRatio = 0;
      if (Error error = compareInBlocks(first, second, clock, temperatures[i], 2 * options.duration / pairs, logRatio))
        return error;
      logRatios[i].push_back(comesLater ? -logRatio : logRatio);
    }
  }
  for (size_t i = 0; i < temperatures.size(); ++i)
    results.comparisons.push_back({clock, temperatures[i], comparePairs(logRatios[i])});
  return {};
}

Error weft::bench::measure(const Options &options, Side &program, Side *baseline, Results &results) {
  if (!program.meter || (baseline && !baseline->meter)) {
    if (program.meter || (baseline && baseline->meter))
      return Error(ErrorCode::Usage, "one of the devices counts and the other takes time: they cannot be compared");
    results.counts = readCounts(*program.runner);
    if (baseline)
      results.baselineCounts = readCounts(*baseline->runner);
    return {};
  }
  options.began("warm up");
  if (Error error = warmUp(*program.meter, options.warmUp))
    return error;
  if (Error error = measureSeries(options, *program.meter, results))
    return error;
  if (options.kernels) {
    options.began("measure kernels");
    if (Error error = measureKernels(options.program, options.duration, results.kernels))
      return error;
  }
  return baseline ? compare(options, program, *baseline, results) : Error();
}
