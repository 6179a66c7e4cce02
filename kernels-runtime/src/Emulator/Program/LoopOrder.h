// Weak topological order of a graph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An order of the nodes in which every loop is contiguous and begins with its header, and every edge goes forward but
// those to the header of a loop that contains their source. Loops are those of the loop nesting forest (Havlak's, which
// also gives irreducible regions a header), found in almost linear time with Ramalingam's treatment of cross edges.
#ifndef WEFT_EMULATOR_PROGRAM_LOOPORDER_H
#define WEFT_EMULATOR_PROGRAM_LOOPORDER_H

#include <cstdint>
#include <vector>

namespace weft::emu {

/// Successors in compressed form: those of node n are targets[first[n]] to targets[first[n + 1] - 1].
struct Graph {
  std::vector<uint32_t> first = {0};
  std::vector<uint32_t> targets;

  uint32_t size() const { return uint32_t(first.size() - 1); }
  void add(uint32_t target) { targets.push_back(target); }
  /// Ends the list of the node that is being written.
  void close() { first.push_back(uint32_t(targets.size())); }
};

struct LoopOrder {
  /// Nodes in order, beginning with node 0. Nodes that cannot be reached from it follow, in the order of their numbers.
  std::vector<uint32_t> order;
  /// By node: its position in `order`.
  std::vector<uint32_t> position;
  /// By node: header of the innermost loop around it (for a header: around its loop), or ptx::kNone.
  std::vector<uint32_t> parent;
  /// By node: header of the innermost loop that contains it: itself if it is one.
  std::vector<uint32_t> loop;
  uint32_t reachable = 0; ///< Count of nodes that can be reached.

  explicit LoopOrder(const Graph &graph);
  bool isReachable(uint32_t node) const { return position[node] < reachable; }
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_PROGRAM_LOOPORDER_H
