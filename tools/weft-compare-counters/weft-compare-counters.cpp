// weft-compare-counters LAUNCHES.json [--ncu=FILE.csv]: predicted counters beside measured ones, launch by launch, and
// how far off the predictions are. Measured values come from ncu's CSV, kernel by kernel in the order of the launches,
// or from the launches' own `measured`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CommandLine.h"
#include "../common/TextFile.h"
#include "weft/Plan/Cost/Counters.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace weft;
using bundle::Error;
using bundle::ErrorCode;

namespace {
struct Options {
  std::string launches, ncu;
};

/// A metric of the table: its unit is `scale` of ncu's.
struct Column {
  const char *metric, *label;
  double scale;
  bool isRate;
};
} // namespace

static constexpr Column kColumns[] = {{"dram__bytes_read.sum", "DRAM read MB", 1e-6, false},
                                      {"dram__bytes_write.sum", "DRAM write MB", 1e-6, false},
                                      {"lts__t_sector_hit_rate.pct", "L2 hit %", 1, true}};

/// What is summed up: the columns, and metrics that are no columns.
static constexpr Column kSummaries[] = {kColumns[0],
                                        kColumns[1],
                                        {"dram__bytes.sum", "", 1e-6, false},
                                        {"lts__t_sectors.sum", "", 1, false},
                                        {"lts__t_sectors_lookup_miss.sum", "", 1, false},
                                        kColumns[2],
                                        {"sm__inst_executed_pipe_tensor.sum", "", 1, false},
                                        {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "", 1, false},
                                        {"launch__grid_size", "", 1, false},
                                        {"launch__waves_per_multiprocessor", "", 1, false}};

/// Measured values by CSV: as many kernels as launches.
static Error readMeasured(const Options &options, std::vector<plan::Comparison> &comparisons) {
  std::string text, reason;
  if (Error error = tools::readTextFile(options.ncu, text))
    return error;
  std::vector<plan::MeasuredKernel> kernels;
  if (!plan::parseNcuCsv(text, kernels, reason))
    return Error(ErrorCode::Input, bundle::quote(options.ncu) + ": " + reason);
  if (kernels.size() != comparisons.size())
    return Error(ErrorCode::Input, bundle::quote(options.ncu) + ": expected " + std::to_string(comparisons.size()) +
                                       " kernels, one for each launch, got " + std::to_string(kernels.size()));
  for (size_t i = 0; i < kernels.size(); ++i)
    comparisons[i].measured = kernels[i].counters;
  return {};
}

/// Everything of a launch but its order and what is known of it.
static std::string familyOf(const plan::Configuration &launch) {
  llvm::json::Object rest = launch.source;
  for (const char *field : {"name", "order", "measured"})
    rest.erase(field);
  return llvm::formatv("{0}", llvm::json::Value(std::move(rest)));
}

static Error collect(const Options &options, std::vector<plan::Comparison> &comparisons) {
  std::string text, reason;
  std::vector<plan::Configuration> launches;
  if (Error error = tools::readLaunchFile(options.launches, text, launches))
    return error;
  for (size_t i = 0; i < launches.size(); ++i) {
    std::string name = launches[i].name.empty() ? "launch " + std::to_string(i) : launches[i].name;
    plan::Comparison comparison{name, familyOf(launches[i]), {}, {}};
    if (!plan::predictCounters(launches[i], comparison.predicted, reason))
      return Error(ErrorCode::Input, bundle::quote(options.launches) + ": launch " + std::to_string(i) + ": " + reason);
    for (const auto &entry : launches[i].measured)
      if (std::optional<double> value = entry.second.getAsNumber())
        comparison.measured[entry.first.str()] = *value;
    plan::addBytes(comparison.measured);
    comparisons.push_back(std::move(comparison));
  }
  return options.ncu.empty() ? Error() : readMeasured(options, comparisons);
}

static void printCell(const plan::Counters &counters, const Column &column) {
  auto found = counters.find(column.metric);
  if (found == counters.end())
    llvm::outs() << " | -";
  else
    llvm::outs() << llvm::format(" | %.1f", found->second * column.scale);
}

static void printTable(const std::vector<plan::Comparison> &comparisons) {
  llvm::outs() << "| launch";
  for (const Column &column : kColumns)
    llvm::outs() << " | " << column.label << ": predicted | measured";
  llvm::outs() << " |\n|---|" << "---:|---:|---:|---:|---:|---:|\n";
  for (const plan::Comparison &comparison : comparisons) {
    llvm::outs() << "| " << comparison.name;
    for (const Column &column : kColumns) {
      printCell(comparison.predicted, column);
      printCell(comparison.measured, column);
    }
    llvm::outs() << " |\n";
  }
  llvm::outs() << '\n';
}

/// How far off the predictions are, metric by metric, and how well they rank orders.
static void printSummaries(const std::vector<plan::Comparison> &comparisons) {
  for (const Column &column : kSummaries) {
    plan::ErrorSummary summary = plan::summarise(comparisons, column.metric, column.isRate);
    double scale = column.isRate ? 1 : 100;
    if (summary.launches)
      llvm::outs() << llvm::format("%s: median error %.1f %s, worst %.1f (%s), %d launches\n", column.metric,
                                   scale * summary.median, column.isRate ? "points" : "%", scale * summary.worst,
                                   summary.worstName.c_str(), int(summary.launches));
  }
  plan::PairSummary pairs = plan::rankPairs(comparisons, "dram__bytes.sum", 0.05);
  if (pairs.pairs)
    llvm::outs() << llvm::format("orders of one launch whose DRAM bytes differ by more than 5 %%: %d of %d pairs "
                                 "ranked right\n",
                                 int(pairs.right), int(pairs.pairs));
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Put measured counters beside the predicted ones (docs/explorer.md)", "weft-compare-counters");
  app.add_option("launches", options.launches, "Launches as JSON; - is standard input")
      ->option_text("FILE")
      ->required();
  app.add_option("--ncu", options.ncu, "Measured values: ncu --csv, a kernel for each launch, in order")
      ->option_text("FILE");
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  std::vector<plan::Comparison> comparisons;
  if (Error error = collect(options, comparisons))
    return tools::reportError("weft-compare-counters", error);
  printTable(comparisons);
  printSummaries(comparisons);
  return 0;
}
