// What the tool prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text for people, JSON for programs.
#include "Report.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

static std::string formatElement(const Tensor &tensor, int64_t index) {
  if (!isFloat(tensor.dtype))
    return tensor.dtype == DType::UI64 ? std::to_string(uint64_t(tensor.getInteger(index)))
                                       : std::to_string(tensor.getInteger(index));
  char text[32];
  // Digits that show the type's precision, not more.
  int digits = tensor.dtype == DType::F64 ? 17 : tensor.dtype == DType::F32 ? 7 : 4;
  std::snprintf(text, sizeof text, "%.*g", digits, tensor.get(index));
  return text;
}

std::string weft::run::formatElements(const Tensor &tensor, int64_t maxElements) {
  if (tensor.dims.empty())
    return formatElement(tensor, 0);
  int64_t count = tensor.getCount(), columns = std::max<int64_t>(tensor.dims.back(), 1),
          shown = std::min(count, maxElements);
  std::string text;
  for (int64_t i = 0; i < shown; ++i) {
    text += i % columns == 0 ? "[" : " ";
    text += formatElement(tensor, i);
    if ((i + 1) % columns == 0)
      text += "]";
  }
  if (shown < count)
    text += shown % columns ? " ...]" : "...";
  return count ? text : "[]";
}

static weft_statistics getStatistics(const Runner &runner) {
  weft_statistics statistics = {};
  statistics.struct_size = sizeof statistics;
  weft_session_statistics(runner.getSession(), &statistics);
  return statistics;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Text
//===--------------------------------------------------------------------------------------------------------------===//

/// "9.6 MB".
static std::string formatBytes(uint64_t bytes) {
  const char *units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

static void printComparison(const Port &port, const Comparison &comparison) {
  std::string name = quote(port.name);
  if (!comparison.failure.empty())
    std::printf("compare %s: FAILED: %s\n", name.c_str(), comparison.failure.c_str());
  else
    std::printf("compare %s: ok\n", name.c_str());
  std::printf("  max abs %.3g, max rel %.3g, max ulp %.0f, relative L2 %.3g; rtol %.3g, atol %.3g\n", comparison.maxAbs,
              comparison.maxRel, comparison.maxUlp, comparison.relativeL2, comparison.rtol, comparison.atol);
}

static void printPlacement(const Runner &runner) {
  size_t count = weft_session_dispatch_count(runner.getSession());
  std::map<std::string, size_t> byDevice;
  weft_dispatch dispatch;
  for (size_t i = 0; weft_session_dispatch(runner.getSession(), i, &dispatch) == 0; ++i)
    ++byDevice[dispatch.device];
  for (const auto &[device, dispatches] : byDevice)
    std::printf("placement %zu of %zu dispatches on %s\n", dispatches, count, device.c_str());
  for (size_t i = 0; i < count; ++i) {
    weft_session_dispatch(runner.getSession(), i, &dispatch);
    double milliseconds = dispatch.runs ? double(dispatch.total_ns) / 1e6 / double(dispatch.runs) : 0;
    std::printf("  %4zu %-6s %9.3f ms  grid %-8" PRId64 " %s ", i, dispatch.device, milliseconds, dispatch.last_grid,
                quote(dispatch.kernel).c_str());
    constexpr size_t shown = 4;
    for (size_t origin = 0; origin < dispatch.origin_count && origin < shown; ++origin)
      std::printf(" %s", quote(dispatch.origins[origin]).c_str());
    std::printf(dispatch.origin_count > shown ? " and %zu more\n" : "\n",
                dispatch.origin_count - std::min(dispatch.origin_count, shown));
  }
}

static void printStatistics(const Runner &runner) {
  weft_statistics s = getStatistics(runner);
  std::printf("statistics\n");
  std::printf("  runs         %" PRIu64 ", last %.3f ms\n", s.runs, double(s.last_run_ns) / 1e6);
  std::printf("  dispatches   %" PRIu64 " on %u threads\n", s.dispatches, s.threads);
  std::printf("  activations  %s in one arena (%s if nothing were shared)\n", formatBytes(s.arena_bytes).c_str(),
              formatBytes(s.unshared_bytes).c_str());
  std::printf("  weights      %s, mapped\n", formatBytes(s.weight_bytes).c_str());
  std::printf("  staging      %" PRIu64 " copies, %s\n", s.staged_copies, formatBytes(s.staged_bytes).c_str());
  std::printf("  plans        %" PRIu64 " made, %" PRIu64 " reused\n", s.plans_made, s.plans_reused);
  if (s.graphs_made || s.graphs_refused)
    std::printf("  CUDA graphs  %" PRIu64 " made, %" PRIu64 " runs replayed one, %" PRIu64 " refused\n", s.graphs_made,
                s.graphs_run, s.graphs_refused);
}

void weft::run::printText(const Report &report) {
  const Runner &runner = report.runner;
  std::printf("EXEC %s  device %s (%s)  %zu dispatches\n", quote(runner.getEntryName()).c_str(),
              report.options.device.c_str(), weft_session_code(runner.getSession()),
              weft_session_dispatch_count(runner.getSession()));
  for (size_t i = 0; report.printsResults && i < runner.getOutputs().size(); ++i) {
    const Tensor &output = runner.getOutputs()[i];
    std::printf("result[%zu] %s %s=%s\n", i, quote(runner.getOutputPorts()[i].name).c_str(), output.describe().c_str(),
                formatElements(output, report.options.maxElements).c_str());
  }
  for (size_t i = 0; i < report.comparisons.size(); ++i)
    if (report.comparisons[i])
      printComparison(runner.getOutputPorts()[i], *report.comparisons[i]);
  if (report.benchmark)
    std::printf("benchmark %d runs: median %.3f ms, min %.3f ms, p90 %.3f ms\n", report.benchmark->runs,
                report.benchmark->median, report.benchmark->min, report.benchmark->p90);
  if (report.options.printPlacement)
    printPlacement(runner);
  if (report.options.printStatistics)
    printStatistics(runner);
  if (!report.options.counters.empty())
    std::printf("%s\n", weft_session_counters(runner.getSession(), report.options.counters == "json"));
}

//===--------------------------------------------------------------------------------------------------------------===//
// JSON
//===--------------------------------------------------------------------------------------------------------------===//

/// JSON has no NaN or infinity: they become null.
static std::string jsonNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::isfinite(value) ? text : "null";
}

namespace {
/// Puts commas between the members of an object or array.
class JsonList {
public:
  explicit JsonList(char open) : text(1, open), close(open == '{' ? '}' : ']') {}
  void add(const std::string &value) { text += (text.size() > 1 ? ", " : "") + value; }
  void add(const char *key, const std::string &value) { add(quoteJson(key) + ": " + value); }
  std::string finish() const { return text + close; }

private:
  std::string text;
  char close;
};
} // namespace

static std::string jsonOutputs(const Report &report) {
  JsonList outputs('[');
  for (size_t i = 0; i < report.runner.getOutputs().size(); ++i) {
    const Tensor &tensor = report.runner.getOutputs()[i];
    JsonList output('{'), dims('[');
    for (int64_t dim : tensor.dims)
      dims.add(std::to_string(dim));
    output.add("name", quoteJson(report.runner.getOutputPorts()[i].name));
    output.add("dtype", quoteJson(getName(tensor.dtype)));
    output.add("dims", dims.finish());
    if (report.printsResults) {
      JsonList values('[');
      for (int64_t e = 0, n = std::min(tensor.getCount(), report.options.maxElements); e < n; ++e)
        values.add(isFloat(tensor.dtype) ? jsonNumber(tensor.get(e)) : formatElement(tensor, e));
      output.add("values", values.finish());
    }
    if (i < report.comparisons.size() && report.comparisons[i]) {
      const Comparison &comparison = *report.comparisons[i];
      JsonList compared('{');
      compared.add("ok", comparison.failure.empty() ? "true" : "false");
      compared.add("failure", quoteJson(comparison.failure));
      compared.add("mismatches", std::to_string(comparison.mismatches));
      compared.add("max_abs", jsonNumber(comparison.maxAbs));
      compared.add("max_rel", jsonNumber(comparison.maxRel));
      compared.add("max_ulp", jsonNumber(comparison.maxUlp));
      compared.add("relative_l2", jsonNumber(comparison.relativeL2));
      output.add("compare", compared.finish());
    }
    outputs.add(output.finish());
  }
  return outputs.finish();
}

static std::string jsonPlacement(const Runner &runner) {
  JsonList list('[');
  for (size_t i = 0; i < weft_session_dispatch_count(runner.getSession()); ++i) {
    weft_dispatch dispatch;
    weft_session_dispatch(runner.getSession(), i, &dispatch);
    JsonList item('{'), origins('[');
    for (size_t origin = 0; origin < dispatch.origin_count; ++origin)
      origins.add(quoteJson(dispatch.origins[origin]));
    item.add("kernel", quoteJson(dispatch.kernel));
    item.add("device", quoteJson(dispatch.device));
    item.add("origins", origins.finish());
    item.add("grid", std::to_string(dispatch.last_grid));
    item.add("runs", std::to_string(dispatch.runs));
    item.add("total_ns", std::to_string(dispatch.total_ns));
    list.add(item.finish());
  }
  return list.finish();
}

static std::string jsonStatistics(const Runner &runner) {
  weft_statistics s = getStatistics(runner);
  JsonList list('{');
  const std::pair<const char *, uint64_t> members[] = {
      {"runs", s.runs},
      {"dispatches", s.dispatches},
      {"last_run_ns", s.last_run_ns},
      {"staged_copies", s.staged_copies},
      {"staged_bytes", s.staged_bytes},
      {"arena_bytes", s.arena_bytes},
      {"unshared_bytes", s.unshared_bytes},
      {"weight_bytes", s.weight_bytes},
      {"plans_made", s.plans_made},
      {"plans_reused", s.plans_reused},
      {"graphs_made", s.graphs_made},
      {"graphs_run", s.graphs_run},
      {"graphs_refused", s.graphs_refused},
      {"threads", s.threads},
  };
  for (auto [name, value] : members)
    list.add(name, std::to_string(value));
  return list.finish();
}

void weft::run::printJson(const Report &report) {
  const Runner &runner = report.runner;
  JsonList root('{');
  root.add("schema", quoteJson("weft.run/1"));
  root.add("bundle", quoteJson(report.options.bundle));
  root.add("entry", quoteJson(runner.getEntryName()));
  root.add("device", quoteJson(report.options.device));
  root.add("code", quoteJson(weft_session_code(runner.getSession())));
  root.add("outputs", jsonOutputs(report));
  if (report.benchmark) {
    JsonList benchmark('{');
    benchmark.add("runs", std::to_string(report.benchmark->runs));
    benchmark.add("median_ms", jsonNumber(report.benchmark->median));
    benchmark.add("min_ms", jsonNumber(report.benchmark->min));
    benchmark.add("p90_ms", jsonNumber(report.benchmark->p90));
    root.add("benchmark", benchmark.finish());
  }
  if (report.options.printPlacement)
    root.add("placement", jsonPlacement(runner));
  if (report.options.printStatistics)
    root.add("statistics", jsonStatistics(runner));
  if (!report.options.counters.empty())
    root.add("counters", weft_session_counters(runner.getSession(), 1));
  std::printf("%s\n", root.finish().c_str());
}
