// Steps of a product whose packed left operand warpgroups have under way in registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_PACKEDSTEPS_H
#define WEFT_TARGET_PACKEDSTEPS_H

#include <algorithm>
#include <cstdint>

namespace weft::gpu {

/// Lanes that have the same words: an instruction's row is that of four.
inline constexpr int64_t lanesOfPackedRow = 4;

/// How many steps ahead their words are asked for: `held` registers of a thread have sums and unpacked factors, `words`
/// come for each step. What is left of a consumer's registers are addresses.
inline int64_t countPackedSteps(int64_t held, int64_t words) {
  constexpr int64_t registers = 200, mostSteps = 4;
  return std::clamp<int64_t>((registers - held) / std::max<int64_t>(words, 1) - 1, 1, mostSteps);
}

} // namespace weft::gpu

#endif // WEFT_TARGET_PACKEDSTEPS_H
