// Whether a wait inside of a launch is cheaper than another launch, and how its two kernels take turns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_LAUNCHES_CHAINMODEL_H
#define WEFT_LIB_PLAN_LAUNCHES_CHAINMODEL_H

#include "weft/Schedule/LaunchPart.h"

namespace weft::plan {

/// Why parts should start by a launch of their own instead of waiting in the launch whose results they read, with the
/// numbers; empty if the wait is cheaper.
std::string findLoss(const Device &device);

/// How two parts of a launch take turns: `height` blocks of the first (0: all of it, then the second), with what
/// decided.
struct Turns {
  int64_t height = 0;
  std::string numbers; ///< Empty: nothing could be chosen, for `reason`.
  std::string reason;
};

/// The height of the fewest bytes between the L2 and DRAM, by the simulation of both parts
/// (weft/Plan/Cost/ChainOrder.h) with as many CTAs on an SM as their launch has.
Turns chooseTurns(llvm::ArrayRef<schedule::Part> parts, llvm::ArrayRef<schedule::Wire> wires, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAUNCHES_CHAINMODEL_H
