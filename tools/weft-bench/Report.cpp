// What the tool prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text for people, JSON for programs. Times are in milliseconds, in both.
#include "Report.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace weft;
using namespace weft::bench;
using weft::bundle::quote;
using weft::bundle::quoteJson;

static weft_statistics getStatistics(const Side &side) {
  weft_statistics statistics = {};
  statistics.struct_size = sizeof statistics;
  weft_session_statistics(side.runner->getSession(), &statistics);
  return statistics;
}

static const char *getTemperature(bool isCold) { return isCold ? "cold" : "hot"; }

static double getRate(const Series &series) { return series.summary.mean > 0 ? 1e3 / series.summary.mean : 0; }

//===--------------------------------------------------------------------------------------------------------------===//
// Text
//===--------------------------------------------------------------------------------------------------------------===//

static void printHead(const Side &program) {
  weft_statistics statistics = getStatistics(program);
  const char *code = weft_session_code(program.runner->getSession());
  std::printf("device   %s (%s)", program.options.device.c_str(), code);
  if (program.meter && !program.meter->describeDevice().empty())
    std::printf(", %s", program.meter->describeDevice().c_str());
  if (program.meter)
    std::printf("; cold: after %.1f MB written", double(program.meter->getFlushBytes()) / 1e6);
  std::printf("\nfirst    session %.3f ms, run %.3f ms; weights %.3f MB, activations %.3f MB\n", program.openTime,
              program.firstRunTime, double(statistics.weight_bytes) / 1e6, double(statistics.arena_bytes) / 1e6);
  if (statistics.graphs_run)
    std::printf("graphs   %" PRIu64 " of %" PRIu64 " runs replayed one\n", statistics.graphs_run, statistics.runs);
}

static void printSeries(const Options &options, const Results &results) {
  std::printf("%-10s %-4s %8s", "", "", "n");
  for (double percent : options.percentiles) {
    char head[16];
    std::snprintf(head, sizeof head, "p%g", percent);
    std::printf(" %12s", head);
  }
  std::printf(" %8s %12s\n", "spread", "per second");
  for (const Series &series : results.series) {
    std::printf("%-10s %-4s %8zu", getName(series.clock), getTemperature(series.isCold), series.summary.count);
    for (double value : series.summary.percentiles)
      std::printf(" %9.4f ms", value);
    std::printf(" +-%4.1f %% %12.1f\n", series.summary.getSpread(), getRate(series));
  }
}

static void printComparison(const Options &options, const Comparison &comparison) {
  const Ratio &ratio = comparison.ratio;
  std::printf("vs %s, %s %s: ", quote(options.baseline.bundle).c_str(), getName(comparison.clock),
              getTemperature(comparison.isCold));
  if (ratio.getVerdict() == Ratio::None)
    std::printf("no difference shown, %.3fx", ratio.value);
  else if (ratio.getVerdict() == Ratio::Faster)
    std::printf("%.3fx faster", ratio.value);
  else
    std::printf("%.3fx slower", 1 / ratio.value);
  bool isSlower = ratio.getVerdict() == Ratio::Slower;
  std::printf(" [%.3f, %.3f] (%zu pairs of sessions, blocks ABBA, paired t, 95 %% confidence)\n",
              isSlower ? 1 / ratio.high : ratio.low, isSlower ? 1 / ratio.low : ratio.high, ratio.pairs);
}

static double getTotal(const std::vector<KernelTime> &kernels) {
  double total = 0;
  for (const KernelTime &kernel : kernels)
    total += kernel.milliseconds;
  return total;
}

static void printKernels(const Options &options, const Results &results) {
  double total = getTotal(results.kernels);
  std::printf("kernels  %zu, %.4f ms when started one by one\n", results.kernels.size(), total);
  for (size_t i = 0; i < results.kernels.size() && i < size_t(options.kernels); ++i) {
    const KernelTime &kernel = results.kernels[i];
    std::printf("  %5.1f %% %10.4f ms  %zu x %s", total > 0 ? 100 * kernel.milliseconds / total : 0,
                kernel.milliseconds, kernel.dispatches, quote(kernel.name).c_str());
    constexpr size_t shown = 4;
    for (size_t origin = 0; origin < kernel.origins.size() && origin < shown; ++origin)
      std::printf(" %s", quote(kernel.origins[origin]).c_str());
    std::printf("%s\n", kernel.origins.size() > shown ? " ..." : "");
  }
}

static void printCounts(const Options &options, const Results &results) {
  std::printf("the emulator counts and measures no times: sums over the kernels of one run\n");
  for (size_t i = 0; i < results.counts.size(); ++i) {
    const Count &count = results.counts[i];
    std::printf("%-52s %14.0f  %s", count.name.c_str(), count.value, count.what.c_str());
    if (options.hasBaseline) {
      double other = results.baselineCounts[i].value;
      std::printf("; baseline %.0f", other);
      if (other > 0)
        std::printf(", %.3fx", count.value / other);
    }
    std::printf("\n");
  }
}

void weft::bench::printText(const Options &options, const Side &program, const Results &results) {
  printHead(program);
  if (!program.meter) {
    printCounts(options, results);
    return;
  }
  printSeries(options, results);
  if (options.kernels)
    printKernels(options, results);
  for (const Comparison &comparison : results.comparisons)
    printComparison(options, comparison);
}

//===--------------------------------------------------------------------------------------------------------------===//
// JSON
//===--------------------------------------------------------------------------------------------------------------===//

static void printJsonSeries(const Options &options, const Results &results) {
  std::printf("\"series\": [");
  for (const Series &series : results.series) {
    const Summary &summary = series.summary;
    std::printf("%s{\"clock\": \"%s\", \"l2\": \"%s\", \"n\": %zu, \"min_ms\": %.6g, \"mean_ms\": %.6g, "
                "\"median_ms\": %.6g, \"median_ci95_ms\": [%.6g, %.6g], \"runs_per_second\": %.6g",
                &series == &results.series.front() ? "" : ", ", getName(series.clock), getTemperature(series.isCold),
                summary.count, summary.min, summary.mean, summary.median, summary.medianLow, summary.medianHigh,
                getRate(series));
    for (size_t i = 0; i < options.percentiles.size(); ++i)
      std::printf(", \"p%g_ms\": %.6g", options.percentiles[i], summary.percentiles[i]);
    std::printf("}");
  }
  std::printf("]");
}

static void printJsonComparisons(const Options &options, const Results &results) {
  static const char *const verdicts[] = {"no difference shown", "faster", "slower"};
  std::printf(", \"comparisons\": [");
  for (const Comparison &comparison : results.comparisons)
    std::printf("%s{\"baseline\": %s, \"clock\": \"%s\", \"l2\": \"%s\", \"speedup\": %.6g, \"ci95\": [%.6g, %.6g], "
                "\"pairs\": %zu, \"verdict\": \"%s\"}",
                &comparison == &results.comparisons.front() ? "" : ", ", quoteJson(options.baseline.bundle).c_str(),
                getName(comparison.clock), getTemperature(comparison.isCold), comparison.ratio.value,
                comparison.ratio.low, comparison.ratio.high, comparison.ratio.pairs,
                verdicts[comparison.ratio.getVerdict()]);
  std::printf("]");
}

static void printJsonCounts(const char *name, const std::vector<Count> &counts) {
  std::printf(", \"%s\": {", name);
  for (const Count &count : counts)
    std::printf("%s%s: %.0f", &count == &counts.front() ? "" : ", ", quoteJson(count.name).c_str(), count.value);
  std::printf("}");
}

static void printJsonKernels(const Options &options, const Results &results) {
  std::printf(", \"kernels\": [");
  for (size_t i = 0; i < results.kernels.size() && i < size_t(options.kernels); ++i) {
    const KernelTime &kernel = results.kernels[i];
    std::printf("%s{\"kernel\": %s, \"dispatches\": %zu, \"ms\": %.6g, \"origins\": [", i ? ", " : "",
                quoteJson(kernel.name).c_str(), kernel.dispatches, kernel.milliseconds);
    for (const std::string &origin : kernel.origins)
      std::printf("%s%s", &origin == &kernel.origins.front() ? "" : ", ", quoteJson(origin).c_str());
    std::printf("]}");
  }
  std::printf("]");
}

void weft::bench::printJson(const Options &options, const Side &program, const Results &results) {
  weft_statistics statistics = getStatistics(program);
  std::printf(
      "{\"schema\": \"weft.bench/1\", \"bundle\": %s, \"entry\": %s, \"device\": %s, \"code\": %s, \"card\": %s, "
      "\"flush_bytes\": %" PRIu64 ", \"session_ms\": %.6g, \"first_run_ms\": %.6g, \"weight_bytes\": %" PRIu64
      ", \"activation_bytes\": %" PRIu64 ", \"graph_runs\": %" PRIu64 ", ",
      quoteJson(program.options.bundle).c_str(), quoteJson(program.runner->getEntryName()).c_str(),
      quoteJson(program.options.device).c_str(), quoteJson(weft_session_code(program.runner->getSession())).c_str(),
      quoteJson(program.meter ? program.meter->describeDevice() : "").c_str(),
      program.meter ? program.meter->getFlushBytes() : 0, program.openTime, program.firstRunTime,
      statistics.weight_bytes, statistics.arena_bytes, statistics.graphs_run);
  printJsonSeries(options, results);
  printJsonComparisons(options, results);
  printJsonKernels(options, results);
  printJsonCounts("counts", results.counts);
  printJsonCounts("baseline_counts", results.baselineCounts);
  std::printf("}\n");
}

Error weft::bench::exportTimes(const std::string &path, const Results &results) {
  std::string text = "{\"schema\": \"weft.bench.times/1\", \"series\": [";
  char number[32];
  for (const Series &series : results.series) {
    text += std::string(&series == &results.series.front() ? "" : ", ") + "{\"clock\": \"" + getName(series.clock) +
            "\", \"l2\": \"" + getTemperature(series.isCold) + "\", \"ms\": [";
    for (size_t i = 0; i < series.times.size(); ++i) {
      std::snprintf(number, sizeof number, "%s%.6g", i ? ", " : "", series.times[i]);
      text += number;
    }
    text += "]}";
  }
  text += "]}\n";
  FILE *file = std::fopen(path.c_str(), "w");
  bool isWritten = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) != 0)
    isWritten = false;
  return isWritten ? Error() : Error(ErrorCode::Input, quote(path) + ": cannot write: " + std::strerror(errno));
}
