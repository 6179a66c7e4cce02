// Which order of a weight other programs of the same bundle have chosen.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_WEIGHTORDER_H
#define WEFT_PLAN_WEIGHTORDER_H

#include "llvm/ADT/StringRef.h"

namespace weft::plan {

/// Of a tg.weight, for --weft-plan-layouts: the dimension that is to be innermost in memory. Where it cannot be, the
/// weight stays as it is.
inline constexpr llvm::StringLiteral innermostAttr = "tg.innermost";

} // namespace weft::plan

#endif // WEFT_PLAN_WEIGHTORDER_H
