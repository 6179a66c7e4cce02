// The cheapest way to cut a region of at most 25 ops into groups: every convex connected set of them is tried.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates are the connected sets without a way out and back in: from each op on, an op next to the set joins it with
// all that lies between (so each such set is found, as all its parts that are closed under this are). Of those the
// legal ones are priced. Then, over the sets D of ops that are computed before all others (downsets):
//
//   cost(D) = min over candidates S outside D, all of whose operands are in D or S, of  price(S) + cost(D + S)
//
// A path through ops outside the region orders its ends too: they are in different groups. Two limits bound the work;
// past one the region keeps the groups it had.
#ifndef WEFT_LIB_PLAN_GROUPS_EXACTSEARCH_H
#define WEFT_LIB_PLAN_GROUPS_EXACTSEARCH_H

#include "Partition.h"

namespace weft::plan {

constexpr unsigned mostRegionOps = 25;

struct SearchResult {
  llvm::SmallVector<Group> groups; ///< Of the region; empty past a limit.
  double before = 0, after = 0;    ///< Seconds, of the groups it had and of the cheapest.
  size_t sets = 0, states = 0;     ///< Closed sets looked at, downsets priced.
};

/// `groups`: those of `partition` that make up the region, at most `mostRegionOps` ops.
SearchResult searchRegion(const Partition &partition, llvm::ArrayRef<Group> groups, const GroupOptions &options);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GROUPS_EXACTSEARCH_H
