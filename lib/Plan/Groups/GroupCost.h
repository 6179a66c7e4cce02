// What a group costs, by a model of groups without schedules: planners that weigh groups, and the exact search, ask it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   arithmetic = max(operations / operation rate, 2 * points / product rate)
//   seconds(group) = launch + max(bytes / byte rate, arithmetic)                       on a CPU
//   seconds(group) = kernelSeconds(memory, arithmetic) + prologues                     on a GPU (weft/Plan/ReadTime.h)
//   memory = given / DRAM's rate + between / (the L2's rate if given + between fit it, else DRAM's)
//
// given: bytes of weights, constants and arguments; between: of what other groups make, or read.
// bytes: each value from outside that the group reads, once (of an operand that only slices and gathers read, what they
// take), and each result that is used outside, once. operations: elementwise ones and sums, by instructions an element,
// for as many positions as ask for them: what is read under a broadcast or through a view is computed there. points: of
// the domains of contractions. prologues: what rule G2 prices. Symbols count as `symbolEstimate`. A renaming alone
// costs nothing.
#ifndef WEFT_LIB_PLAN_GROUPS_GROUPCOST_H
#define WEFT_LIB_PLAN_GROUPS_GROUPCOST_H

#include "weft/Plan/Groups.h"

namespace weft::plan {

/// Of a legal group; it may have renamings at its edges.
double estimateSeconds(const Group &group, const GroupOptions &options);

/// Of a plan.
double estimateSeconds(llvm::ArrayRef<Group> groups, const GroupOptions &options);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GROUPS_GROUPCOST_H
