// Which kernels start while the one in front still runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EarlyStart.h"

#include <algorithm>

using namespace weft::cuda;

/// Registers are allotted to a warp in such units.
static constexpr unsigned kRegisterUnit = 256, kWarpThreads = 32;

/// Threads, registers and shared memory as parts of an SM's.
static std::array<double, 3> findShares(const SmLimits &limits, const CtaNeeds &cta) {
  unsigned warps = (cta.threads + kWarpThreads - 1) / kWarpThreads;
  unsigned ofWarp = (cta.registers * kWarpThreads + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  return {double(cta.threads) / limits.threads, double(ofWarp) * warps / limits.registers,
          double(cta.sharedBytes + unsigned(limits.sharedBytesOfCta)) / limits.sharedBytes};
}

static int64_t countResident(const std::array<double, 3> &each) {
  return int64_t(1 / *std::max_element(each.begin(), each.end()));
}

int64_t weft::cuda::countResident(const SmLimits &limits, const CtaNeeds &cta) {
  return ::countResident(findShares(limits, cta));
}

/// The least shared memory of a CTA that leaves no room for a second one; 0 where a CTA cannot have as much.
static unsigned findLoneBytes(const SmLimits &limits) {
  constexpr int kUnit = 128;
  int bytes = (limits.sharedBytes / 2 - limits.sharedBytesOfCta) / kUnit * kUnit + kUnit;
  return bytes + limits.sharedBytesOfCta <= limits.sharedBytes ? unsigned(bytes) : 0;
}

bool EarlyStart::take(const std::array<double, 3> &each, int64_t share) {
  int64_t most = ::countResident(each);
  bool fits = true;
  for (size_t i = 0; i < each.size(); ++i) {
    double taken = each[i] * double(std::min(share, most));
    fits &= held[i] + taken <= 1;
    held[i] = taken;
  }
  return fits || share >= most;
}

std::optional<unsigned> EarlyStart::follow(const SmLimits &limits, const CtaNeeds &cta, int64_t grid, bool waits) {
  int64_t share = (grid + limits.count - 1) / limits.count;
  if (take(findShares(limits, cta), share))
    return waits ? std::optional(cta.sharedBytes) : std::nullopt;
  CtaNeeds lone = {cta.threads, cta.registers, findLoneBytes(limits)};
  if (!waits || 2 * grid < limits.count || grid > limits.count || lone.sharedBytes <= cta.sharedBytes)
    return std::nullopt;
  take(findShares(limits, lone), share);
  return lone.sharedBytes;
}
