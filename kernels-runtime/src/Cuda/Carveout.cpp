//===- Carveout.cpp - One division of an SM's memory for all kernels ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Carveout.h"

#include <algorithm>

using namespace weft::cuda;

std::optional<int> Carveout::follow(const SmLimits &limits, const CtaNeeds &cta, int64_t grid, uint32_t kernel) {
  if (percents.size() <= kernel)
    percents.resize(kernel + 1, -1);
  int64_t ofCta = int64_t(cta.sharedBytes) + limits.sharedBytesOfCta, share = (grid + limits.count - 1) / limits.count;
  wanted = std::max(wanted, ofCta * std::min(share, countResident(limits, cta)));
  auto percent = int((100 * wanted + limits.sharedBytes - 1) / limits.sharedBytes);
  if (percents[kernel] == percent)
    return std::nullopt;
  percents[kernel] = percent;
  return percent;
}
