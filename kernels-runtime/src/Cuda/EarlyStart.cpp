//===- EarlyStart.cpp - Which kernels start while the one in front still runs -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
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

bool EarlyStart::follow(const SmLimits &limits, const CtaNeeds &cta, int64_t grid) {
  std::array<double, 3> each = findShares(limits, cta);
  int64_t most = ::countResident(each);
  int64_t share = (grid + limits.count - 1) / limits.count;
  bool fits = true;
  for (size_t i = 0; i < each.size(); ++i)
    fits &= held[i] + each[i] * double(std::min(share, most)) <= 1;
  for (size_t i = 0; i < each.size(); ++i)
    held[i] = each[i] * double(std::min(share, most));
  return fits || share >= most;
}
