// What speaks against having kernels in one launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_LAUNCHES_OBSTACLES_H
#define WEFT_LIB_PLAN_LAUNCHES_OBSTACLES_H

#include "weft/Schedule/LaunchPart.h"

namespace weft::plan {

/// Why the last of `parts` is better off in a launch of its own than behind the others; empty if it is not: together
/// some part has fewer CTAs on an SM than it can fill, or there are more parameters than a launch takes. What memory
/// bounds may have fewer where its bytes then take less time more than a launch; a map's do where too few are under
/// way.
std::string findObstacle(llvm::ArrayRef<schedule::Part> parts, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAUNCHES_OBSTACLES_H
