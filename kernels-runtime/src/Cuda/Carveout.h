// One division of an SM's memory for all kernels of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An SM's fast memory is divided into L1 cache and shared memory, and divided anew only when no CTA runs on it. Left to
// itself the driver divides it for each kernel. Then a kernel that starts early finds no room beside one that has it
// otherwise: its CTAs pile up on the SMs that end first. With one division for all kernels of a run, as much shared
// memory as those want that want most, networks of many small kernels take 0.94 to 0.96 of the time on an H100; with
// less than they want, 1.3 (docs/notes/small-products.md). Kernels of other runs of the session
// (plans for other extents) have no part in it: what they want is taken from the L1, through which others stream.
#ifndef WEFT_CUDA_CARVEOUT_H
#define WEFT_CUDA_CARVEOUT_H

#include "EarlyStart.h"

#include <optional>
#include <vector>

namespace weft::cuda {

class Carveout {
public:
  /// A run begins.
  void begin();

  /// Kernel number `kernel` is launched with `grid` CTAs: how many per cent of an SM's shared memory it is to prefer
  /// from now on; nothing if it does so already. Of this run only launches before this one are known, so the division
  /// is that of the kernels that ran with this one when it last ran, from the second run on.
  std::optional<int> follow(const SmLimits &limits, const CtaNeeds &cta, int64_t grid, uint32_t kernel);

private:
  struct Kernel {
    int64_t wanted = 0; ///< Bytes of an SM that the kernels of its last run wanted.
    int percent = -1;   ///< -1: the driver's choice.
    bool isInRun = false;
  };

  int64_t wanted = 0; ///< In this run.
  std::vector<Kernel> kernels;
};

} // namespace weft::cuda

#endif // WEFT_CUDA_CARVEOUT_H
