// Bytes of a chain of contractions by the order of its block loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All statements of a group (Bounds.h) run below one nest of loops over blocks (Chimera's analysis). An input or output
// is moved again by every loop from the innermost one on that indexes it: loops inside of that one find its block where
// it is, and so do loops of one block. Intermediates stay in the fast memory and are computed once. A loop that only
// earlier statements have (their reductions) does not multiply what later ones move, and lies inside of all loops that
// they share; loops that only later ones have lie inside of those.
//
// What the fast memory holds is the most that one statement does: the blocks of its arrays, and those of others that
// are kept across it.
#ifndef WEFT_PLAN_COST_BLOCKORDER_H
#define WEFT_PLAN_COST_BLOCKORDER_H

#include "weft/Plan/Cost/Bounds.h"

namespace weft::plan {

struct BlockOrder {
  std::vector<int32_t> loops; ///< Every loop of the group once, outermost first.
  std::vector<int64_t> tile;  ///< By loop of the group: iterations of one block.

  double bytes = 0;                 ///< Moved between the fast memory and the level behind it.
  std::vector<double> bytesByArray; ///< The same by array; 0 for intermediates.
  double residentBytes = 0;         ///< What the fast memory holds at most.
};

/// Fills in what `order` moves and holds. Fails (false, `error`) for a malformed group or order, statements that are
/// not a chain (each but the first reads what the one before it makes), and orders that read sums before they are
/// complete, or
/// compute intermediates several times.
bool computeBlockTraffic(const AffineGroup &group, BlockOrder &order, std::string &error);

/// The order and tiles that move the fewest bytes through a fast memory of `fastBytes`, tiles being at least
/// `leastTile` (or the extent). Orders are enumerated, tiles found by pattern search. Fails as above, for more than six
/// loops of more than one iteration, and where even the least tiles do not fit.
bool chooseBlockOrder(const AffineGroup &group, double fastBytes, int64_t leastTile, BlockOrder &best,
                      std::string &error);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_BLOCKORDER_H
