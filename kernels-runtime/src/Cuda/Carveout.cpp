// One division of an SM's memory for all kernels of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Carveout.h"

#include <algorithm>

using namespace weft::cuda;

void Carveout::begin() {
  for (Kernel &kernel : kernels)
    if (kernel.isInRun) {
      kernel.wanted = wanted;
      kernel.isInRun = false;
    }
  wanted = 0;
}

std::optional<int> Carveout::follow(const SmLimits &limits, const CtaNeeds &cta, int64_t grid, uint32_t number) {
  if (kernels.size() <= number)
    kernels.resize(number + 1);
  Kernel &kernel = kernels[number];
  int64_t ofCta = int64_t(cta.sharedBytes) + limits.sharedBytesOfCta, share = (grid + limits.count - 1) / limits.count;
  wanted = std::max(wanted, ofCta * std::min(share, countResident(limits, cta)));
  kernel.isInRun = true;
  int64_t bytes = std::max(wanted, kernel.wanted);
  auto percent = int((100 * bytes + limits.sharedBytes - 1) / limits.sharedBytes);
  if (kernel.percent == percent)
    return std::nullopt;
  kernel.percent = percent;
  return percent;
}
