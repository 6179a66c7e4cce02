// A launch of any tiles as JSON: the arrays, and the boxes of them that a tile touches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_COST_REPORT_TILESLAUNCH_H
#define WEFT_LIB_PLAN_COST_REPORT_TILESLAUNCH_H

#include "Fields.h"
#include "weft/Plan/Cost/Configuration.h"

namespace weft::plan {

/// Reads launch and group of the problem's kind `tiles`.
void readTilesLaunch(Fields &fields, Configuration &result, std::string &error);

/// The problem's `group`; fails (`error`) for one that the bounds refuse.
AffineGroup readGroup(const llvm::json::Object *object, std::string &error);
llvm::json::Object writeGroup(const AffineGroup &group);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_COST_REPORT_TILESLAUNCH_H
