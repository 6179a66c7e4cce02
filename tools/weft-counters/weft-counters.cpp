// weft-counters LAUNCHES.json: the counters that a profiler would read for each launch, predicted; the launches with
// `predicted` added, which `weft compare-counters` and the explorer open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CommandLine.h"
#include "../common/DeviceTable.h"
#include "weft/Plan/Cost/Counters.h"

#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace weft;
using bundle::Error;
using bundle::ErrorCode;
namespace json = llvm::json;

/// What each access does along the loops of its stage.
static json::Array listReuse(const plan::LaunchModel &launch) {
  static constexpr const char *names[] = {"new", "window", "again", "sum"};
  json::Array list;
  for (size_t stage = 0; stage < launch.stages.size(); ++stage)
    for (const plan::AccessModel &access : launch.stages[stage].accesses) {
      auto along = [&](plan::LaunchLoop loop) { return names[size_t(plan::classifyReuse(access, loop))]; };
      list.push_back(json::Object{{"array", launch.arrays[access.array].name},
                                  {"stage", int64_t(stage)},
                                  {"row", along(plan::LaunchLoop::Row)},
                                  {"col", along(plan::LaunchLoop::Col)},
                                  {"step", along(plan::LaunchLoop::Step)}});
    }
  return list;
}

static Error printCounters(const std::string &path, const DeviceTable &devices) {
  std::string text, reason;
  std::vector<plan::Configuration> launches;
  if (Error error = tools::readLaunchFile(path, text, launches, devices))
    return error;
  json::Array list;
  for (size_t i = 0; i < launches.size(); ++i) {
    plan::Counters counters;
    if (!plan::predictCounters(launches[i], counters, reason))
      return Error(ErrorCode::Input, bundle::quote(path) + ": launch " + std::to_string(i) + ": " + reason);
    json::Object launch = launches[i].source, predicted;
    for (const auto &[name, value] : counters)
      predicted[name] = value;
    launch["predicted"] = std::move(predicted);
    launch["reuse"] = listReuse(launches[i].launch);
    list.push_back(std::move(launch));
  }
  json::Object root{{"schema", "weft.counters/1"}, {"launches", std::move(list)}};
  llvm::outs() << llvm::formatv("{0:2}\n", json::Value(std::move(root)));
  return {};
}

int main(int argc, char **argv) {
  std::string input, deviceTable;
  CLI::App app("Predict the counters of launches, under Nsight Compute's names (docs/explorer.md)", "weft-counters");
  app.add_option("launches", input, "Launches as JSON; - is standard input")->option_text("FILE")->required();
  app.add_option("--device-table", deviceTable, "Measured rates of the GPU, as weft calibrate wrote them")
      ->option_text("FILE");
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  DeviceTable devices;
  Error error = tools::readDeviceTable(deviceTable, devices).within("--device-table");
  if (!error)
    error = printCounters(input, devices);
  return error ? tools::reportError("weft-counters", error) : 0;
}
