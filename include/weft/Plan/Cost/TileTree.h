// Bytes of fused statements by how they share the fast memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mapping of a group of affine statements (Bounds.h) is a tree: loops over tiles, outermost first, and below them one
// statement, or several nodes that are bound to each other. The analysis counts what crosses between a managed fast
// memory and the one behind it: a slice of an array is there until its memory is needed for another slice of that
// array, so loops that do not move a slice load it once. Closed form; slices of windows that overlap are loaded whole.
#ifndef WEFT_PLAN_COST_TILETREE_H
#define WEFT_PLAN_COST_TILETREE_H

#include "weft/Plan/Cost/Bounds.h"

namespace weft::plan {

/// How nodes below the same loops share the fast memory, in each iteration of those loops:
enum class Binding : uint8_t {
  Sequential, ///< One after the other, each with all of it: nothing of one is there when the next begins.
  Shared,     ///< One after the other; the slices of all stay, what one makes for another never leaves.
  Parallel,   ///< At the same time, each on its part of the processors; none reads what another makes.
  Pipelined,  ///< At the same time, a reader one iteration behind the writer: two slices of what passes between them.
};

/// `count` tiles along a loop of the group; counts of one loop, from the root down, divide its extent.
struct TileLoop {
  int32_t dim = 0;
  int64_t count = 1;
};

struct TileNode {
  std::vector<TileLoop> loops;
  int32_t statement = -1; ///< Of a leaf; else -1.
  Binding binding = Binding::Sequential;
  std::vector<TileNode> children;
};

struct TreeTraffic {
  double bytes = 0;                 ///< Loads and stores.
  std::vector<double> bytesByArray; ///< The same by array.
  double residentBytes = 0;         ///< What the fast memory must hold.
  double operations = 0;
  /// Operations, those at the same time on halves (thirds, ...) of the processors, that the slowest path takes.
  double time = 0;
};

/// Fails (false, `error`) for a tree that does not hold every statement once, counts that do not divide, an array read
/// by a statement in front of its producer, and Parallel nodes that depend on each other.
bool computeTreeTraffic(const AffineGroup &group, const TileNode &root, TreeTraffic &traffic, std::string &error);

/// A chain's two products (makeChainGroup) under a loop over m in tiles of tileM, bound as told; inner tiles tileK,
/// tileL, tileN. The counts are those of extents rounded up to whole tiles, which the group must have.
TileNode makeChainTree(const AffineGroup &chain, Binding binding, int64_t tileM, int64_t tileK, int64_t tileL,
                       int64_t tileN);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_TILETREE_H
