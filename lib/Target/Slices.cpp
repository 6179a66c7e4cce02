// What Slices.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Slices.h"
#include "llvm/ADT/bit.h"
#include <algorithm>

int64_t weft::gpu::countSlices(int64_t m, int64_t n, int64_t stepBytes, int64_t depthBytes, int64_t warps) {
  constexpr int64_t piece = 32, instructionBytes = 32, leastBytes = 256;
  int64_t pieces = std::max<int64_t>(m / piece, 1) * std::max<int64_t>(n / piece, 1);
  int64_t slices = std::min({warps / pieces, stepBytes / instructionBytes, depthBytes / leastBytes});
  return slices < 2 ? 1 : int64_t(llvm::bit_floor(uint64_t(slices)));
}
