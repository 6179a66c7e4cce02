// What speaks against having kernels in one launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Obstacles.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

using schedule::countResident;
using schedule::Part;

/// What part of its time more a part takes with `ctas` CTAs on an SM, which could fill `needed`. A map loses nothing as
/// long as it has the bytes under way that DRAM's latency asks for (Little's law), twice over, since a CTA asks for
/// what it reads and then writes as much; but no estimate is better than a twentieth.
static double findLostShare(const Part &part, int64_t ctas, int64_t needed, const Device &device) {
  constexpr double margin = 2, uncertainty = 0.05;
  double idle = double(needed) / double(ctas) - 1;
  if (!part.isMap)
    return idle;
  double underWay = double(ctas) * part.bytes / 2 / double(part.grid);
  double wanted = margin * device.memorySeconds * device.memoryBandwidth / double(device.sms);
  return std::min(idle, std::max(wanted / underWay - 1, uncertainty));
}

/// Seconds that few bytes take longer because their CTAs come in more waves, each of which begins, waits for memory and
/// ends: CTAs of a warp beside one of 32 warps may take three waves instead of one. Parts do so side by side.
static double findWaves(const Part &part, int64_t ctas, int64_t needed, const Device &device) {
  double wave = device.tailSeconds + device.memorySeconds, stream = part.bytes / device.memoryBandwidth;
  auto waves = [&](int64_t resident) { return double(llvm::divideCeil(part.grid, resident * int64_t(device.sms))); };
  return wave * waves(ctas) - std::max(stream, wave * waves(needed));
}

std::string findObstacle(ArrayRef<Part> parts, const Device &device) {
  if (std::string limit = schedule::findLimit(parts, device); !limit.empty())
    return limit;
  int64_t warps = 0, shared = 0;
  for (const Part &each : parts) {
    warps = std::max(warps, each.warps);
    shared = std::max(shared, each.shared);
  }
  int64_t together = countResident(parts, device);
  double lost = 0;
  for (const Part &each : parts) {
    int64_t alone = countResident(each.warps, each.shared, each.registers, device);
    int64_t needed = std::min<int64_t>(alone, llvm::divideCeil(each.grid, int64_t(device.sms)));
    if (together >= needed)
      continue;
    lost += each.bytes / device.memoryBandwidth * findLostShare(each, together, needed, device);
    if (!each.isMap || std::max(lost, findWaves(each, together, needed, device)) > device.launchSeconds)
      return llvm::formatv("{0} CTAs an SM instead of {1}: {2} bytes of shared memory, {3} warps", together, needed,
                           shared, warps);
  }
  return "";
}

} // namespace weft::plan
