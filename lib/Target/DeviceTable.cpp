// Calibrations: read as what they are, text from elsewhere.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rate that was measured takes the place of the quoted one; rates of types that were not measured go with the one of
// f16 of the same instructions. Rates by the clock are by the table's clock, at which they are multiplied again.
#include "weft/Target/DeviceTable.h"
#include "weft/Support/InputFile.h"
#include <cmath>

namespace weft {

namespace json = llvm::json;
using llvm::StringRef;

/// By architecture and SMs; of several the one whose name ("H100", "A100-80") has all its parts in the driver's.
static const Device *findCard(StringRef architecture, int64_t sms, StringRef driverName) {
  for (const Device &device : getDevices()) {
    auto [family, variant] = StringRef(device.name).split('-');
    if (architecture == device.architecture && sms == int64_t(device.sms) &&
        driverName.contains(
            family.drop_while([](char c) { return !(c >= '0' && c <= '9') && c != 'A' && c != 'H'; })) &&
        driverName.contains(variant))
      return &device;
  }
  return nullptr;
}

namespace {
/// Numbers of a calibration; the first that is missing or out of range stays in `error`.
struct Numbers {
  const json::Object &object;
  std::string &error;

  double get(const json::Object &from, StringRef name, double least, double most) {
    std::optional<double> value = from.getNumber(name);
    if ((!value || !(*value >= least && *value <= most)) && error.empty())
      error = name.str() + ": expected a number from " + std::to_string(int64_t(least)) + " to " +
              std::to_string(int64_t(most));
    return value.value_or(least);
  }
  double get(StringRef name, double least, double most) { return get(object, name, least, most); }
};
} // namespace

static void scaleRates(MatrixRates &rates, double f16) {
  double factor = rates.f16 ? f16 / rates.f16 : 1;
  for (unsigned *rate : {&rates.f16, &rates.tf32, &rates.f8, &rates.i8})
    *rate = unsigned(std::lround(double(*rate) * factor));
}

static bool measure(const json::Object &object, Device &device, std::string &error) {
  constexpr double tera = 1e12;
  Numbers numbers{object, error};
  double perClock = double(device.sms) * device.clock;
  device.memoryBandwidth = numbers.get("dramReadBytesPerSecond", 1e9, 100 * tera);
  device.l2BytesPerClock = unsigned(numbers.get("l2ReadBytesPerSecond", 1e9, 1000 * tera) / device.clock);
  scaleRates(device.mmaSync, numbers.get("mmaSyncF16Flops", 1e9, 1e6 * tera) / perClock);
  if (device.hasWgmma())
    scaleRates(device.matrix, numbers.get("wgmmaF16Flops", 1e9, 1e6 * tera) / perClock);
  else
    device.matrix = device.mmaSync;
  if (const json::Object *effective = object.getObject("effectiveL2Bytes"))
    device.effectiveL2Bytes = uint64_t(numbers.get(*effective, "own", 1 << 16, double(device.l2Bytes) * 2));
  else if (error.empty())
    error = "effectiveL2Bytes: expected an object";
  if (object.get("sharedReadBytesPerClock"))
    device.sharedBytesPerClock = unsigned(std::lround(numbers.get("sharedReadBytesPerClock", 1, 1e6)));
  if (device.maxCluster > 1 && object.get("clusterBarrierClocks")) // Not measured before 2026-11-22.
    device.clusterClocks = unsigned(numbers.get("clusterBarrierClocks", 1, 1e6));
  if (device.maxCluster > 1 && object.get("clusterBytesPerClock")) { // Nor these, before the evening of that day.
    device.mergeBytesPerClock = unsigned(std::lround(numbers.get("clusterBytesPerClock", 1, 1e6)));
    device.mergeClocks = unsigned(std::lround(numbers.get("clusterMergeClocks", 0, 1e6)));
    device.clusteredSms = unsigned(numbers.get("clusteredSms", 1, device.sms));
  }
  if (object.get("mmaFoldClocks")) { // Not before the night of that day.
    device.mmaFoldClocks = unsigned(std::lround(numbers.get("mmaFoldClocks", 1, 1e5)));
    device.foldClocks =
        device.hasWgmma() ? unsigned(std::lround(numbers.get("foldClocks", 1, 1e5))) : device.mmaFoldClocks;
  }
  if (object.get("linkBytesPerSecond")) { // Of GPUs that were calibrated together.
    device.links.bytes = numbers.get("linkBytesPerSecond", 1e6, 100 * tera);
    device.links.seconds = numbers.get("linkSeconds", 0, 1);
  }
  double launch = numbers.get("launchSeconds", 0, 1);
  device.launchSeconds = std::max(launch - device.tailSeconds, 0.0); // Empty kernels were measured, drained too.
  return error.empty();
}

bool readDeviceTable(StringRef text, Device &device, std::string &error) {
  error.clear();
  std::optional<json::Value> root = parseJson(text, error);
  if (!root)
    return false;
  const json::Object *object = root->getAsObject();
  StringRef schema = object ? object->getString("schema").value_or("") : "";
  if (schema != "weft.calibration/1") {
    error =
        "expected schema weft.calibration/1, as `weft calibrate` writes it, got '" + schema.take_front(40).str() + "'";
    return false;
  }
  if (object->getBoolean("emulated").value_or(false)) {
    error = "expected the calibration of a GPU, got one of an emulated GPU";
    return false;
  }
  if (std::optional<StringRef> failure = object->getString("error")) {
    error = "expected a whole calibration, got one that ended early: " + failure->take_front(200).str();
    return false;
  }
  StringRef architecture = object->getString("architecture").value_or(""),
            name = object->getString("device").value_or("");
  const Device *known = findCard(architecture, object->getInteger("sms").value_or(0), name);
  if (!known) {
    error = "expected a GPU of the device table, got '" + name.take_front(60).str() + "' (" +
            architecture.take_front(20).str() + ", " + std::to_string(object->getInteger("sms").value_or(0)) + " SMs)";
    return false;
  }
  device = *known;
  return measure(*object, device, error);
}

} // namespace weft
