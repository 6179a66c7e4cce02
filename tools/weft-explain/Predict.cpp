// What the cost models add: traffic and hit rate of launches, bounds, what a kernel is bound by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch that the models know is simulated; tensors of its kernel beyond the launch's own cross memory once. All
// other kernels are streams: they move what they read and write. Times are at the device's peak rates, so they are
// bounds.
#include "../common/TextFile.h"
#include "Explain.h"
#include "weft/Support/InputFile.h"

using namespace weft;
using namespace weft::explain;
using bundle::Error;
using bundle::ErrorCode;
namespace json = llvm::json;

/// Peak operations in a second of what the kernel computes with.
static double getPeak(const Device &device, const Dispatch &dispatch, int64_t elementBytes) {
  bool isWgmma = dispatch.engine == "wgmma";
  if (!isWgmma && dispatch.engine != "mma")
    return device.perSecond(device.f32PerClock);
  const MatrixRates &rates = isWgmma ? device.matrix : device.mmaSync;
  return device.perSecond(elementBytes == 1 ? rates.i8 : elementBytes == 2 ? rates.f16 : rates.tf32);
}

/// What the models say of each kernel's launch, by the launch; nothing where they refuse it.
struct Prediction {
  plan::Counters counters;
  int64_t elementBytes = 2;
  std::string refusal;
};
using Predictions = std::map<const json::Object *, Prediction>;

static Prediction predictLaunch(const json::Object &launch) {
  Prediction prediction;
  plan::Configuration configuration;
  if (!plan::readConfiguration(json::Value(json::Object(launch)), configuration, prediction.refusal) ||
      !plan::predictCounters(configuration, prediction.counters, prediction.refusal))
    return prediction;
  prediction.refusal.clear();
  prediction.elementBytes = configuration.elementBytes;
  return prediction;
}

/// Predicts the dispatch's launches; those that the models refuse are streams from then on, as what they do not know.
static int64_t predictLaunches(Program &program, Dispatch &dispatch, Predictions &predictions) {
  int64_t elementBytes = 2;
  for (Launch &launch : dispatch.launches) {
    auto [it, isNew] = predictions.try_emplace(launch.source);
    if (isNew)
      it->second = predictLaunch(*launch.source);
    if (!it->second.refusal.empty()) {
      launch.source = nullptr;
      if (isNew)
        program.remarks.push_back({"Missed", "no-model", "cost", dispatch.kernel, "", it->second.refusal});
      continue;
    }
    launch.predicted = it->second.counters;
    elementBytes = it->second.elementBytes;
  }
  llvm::erase_if(dispatch.launches, [](const Launch &launch) { return !launch.source; });
  return elementBytes;
}

static void predict(Program &program, Dispatch &dispatch, Predictions &predictions) {
  dispatch.boundBytes = dispatch.compulsoryBytes = dispatch.modelBytes = dispatch.readBytes + dispatch.writeBytes;
  int64_t elementBytes = predictLaunches(program, dispatch, predictions);
  if (!dispatch.launches.empty()) {
    double known = 0, moved = 0, bound = 0, compulsory = 0, lookups = 0, hits = 0;
    for (Launch &launch : dispatch.launches) {
      plan::Counters &counters = launch.predicted;
      known += launch.bytes;
      // What a launch leaves in the cache is written sooner or later; a sample of rows may miss some that are read.
      moved +=
          counters["dram__bytes_read.sum"] + counters["dram__bytes_write.sum"] + counters["weft.l2_dirty_bytes_at_end"];
      bound += counters["weft.dram_bytes_bound"];
      compulsory += counters["weft.dram_bytes_compulsory"];
      lookups += counters["lts__t_sectors.sum"];
      hits += counters["lts__t_sectors.sum"] * counters["lts__t_sector_hit_rate.pct"];
    }
    double others = std::max(dispatch.readBytes + dispatch.writeBytes - known, 0.0);
    // Of several kernels one may read what another one left in the cache: only what crosses the launch is certain.
    if (!dispatch.hasParts) {
      dispatch.boundBytes = others + bound;
      dispatch.compulsoryBytes = others + compulsory;
    }
    dispatch.modelBytes = std::max(others + moved, dispatch.boundBytes);
    if (lookups > 0)
      dispatch.hitRate = hits / lookups;
  }
  if (!program.device)
    return;
  double peak = getPeak(*program.device, dispatch, elementBytes);
  double compute = peak > 0 ? dispatch.flops / peak : 0, memory = dispatch.modelBytes / program.device->memoryBandwidth;
  dispatch.seconds = std::max(compute, memory);
  dispatch.boundBy = compute > memory ? "compute" : "memory";
}

void weft::explain::predict(Model &model) {
  Predictions predictions;
  for (Program &program : model.programs) {
    for (Dispatch &dispatch : program.dispatches)
      ::predict(program, dispatch, predictions);
    findLevels(program);
  }
}

//===--- Measured values ---===//

/// Launches with `measured`, in an array or an object with `launches`, by dispatch.
static bool parseLaunches(llvm::StringRef text, std::vector<plan::MeasuredKernel> &kernels, std::string &reason) {
  std::optional<json::Value> root = parseJson(text, reason);
  if (!root)
    return false;
  const json::Array *list = root->getAsArray();
  if (const json::Object *object = root->getAsObject())
    list = object->getArray("launches");
  if (!list) {
    reason = "expected an array of launches, or an object with `launches`";
    return false;
  }
  for (const json::Value &value : *list) {
    const json::Object *launch = value.getAsObject(), *measured = launch ? launch->getObject("measured") : nullptr;
    plan::MeasuredKernel kernel;
    if (launch)
      kernel.name = launch->getString("name").value_or("").str();
    if (measured)
      for (const auto &[name, metric] : *measured)
        if (std::optional<double> number = metric.getAsNumber())
          kernel.counters[name.str()] = *number;
    kernels.push_back(std::move(kernel));
  }
  return true;
}

Error weft::explain::readMeasured(const std::string &path, Program &program) {
  std::string text, reason;
  if (Error error = tools::readTextFile(path, text))
    return error;
  llvm::StringRef trimmed = llvm::StringRef(text).ltrim();
  bool isJson = trimmed.starts_with("{") || trimmed.starts_with("[");
  std::vector<plan::MeasuredKernel> kernels;
  if (!(isJson ? parseLaunches(text, kernels, reason) : plan::parseNcuCsv(text, kernels, reason)))
    return Error(ErrorCode::Input, bundle::quote(path) + ": " + reason);
  if (kernels.size() != program.dispatches.size())
    return Error(ErrorCode::Input, bundle::quote(path) + ": expected " + std::to_string(program.dispatches.size()) +
                                       " kernels, one for each dispatch of " + program.target + ", got " +
                                       std::to_string(kernels.size()));
  for (size_t i = 0; i < kernels.size(); ++i) {
    plan::addBytes(kernels[i].counters);
    program.dispatches[i].measured = std::move(kernels[i].counters);
  }
  return {};
}
