// Weak topological orders against their definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On random graphs, reducible and not: the order is a permutation, loops are contiguous and strongly connected, and
// only edges to the header of a loop around their source go backward. The set of nodes on cycles is checked by brute
// force.
#include "Emulator/Program/LoopOrder.h"

#include "Emulator/Ptx/Ast.h"

#include <chrono>
#include <gtest/gtest.h>
#include <random>

using namespace weft::emu;
using ptx::kNone;

namespace {

Graph makeGraph(const std::vector<std::vector<uint32_t>> &successors) {
  Graph graph;
  for (const auto &list : successors) {
    for (uint32_t target : list)
      graph.add(target);
    graph.close();
  }
  return graph;
}

/// reach[a][b]: a path of at least one edge leads from a to b.
std::vector<std::vector<bool>> closure(const Graph &graph) {
  uint32_t count = graph.size();
  std::vector<std::vector<bool>> reach(count, std::vector<bool>(count, false));
  for (uint32_t a = 0; a < count; ++a)
    for (uint32_t e = graph.first[a]; e < graph.first[a + 1]; ++e)
      reach[a][graph.targets[e]] = true;
  for (uint32_t k = 0; k < count; ++k)
    for (uint32_t a = 0; a < count; ++a)
      for (uint32_t b = 0; reach[a][k] && b < count; ++b)
        if (reach[k][b])
          reach[a][b] = true;
  return reach;
}

/// True if `header` is the header of a loop that contains `node`.
bool isAround(const LoopOrder &loops, uint32_t header, uint32_t node) {
  for (uint32_t at = loops.loop[node]; at != kNone; at = loops.parent[at])
    if (at == header)
      return true;
  return false;
}

void checkEdges(const Graph &graph, const LoopOrder &loops) {
  for (uint32_t a = 0; a < graph.size(); ++a)
    for (uint32_t e = graph.first[a]; loops.isReachable(a) && e < graph.first[a + 1]; ++e) {
      uint32_t b = graph.targets[e];
      ASSERT_TRUE(loops.isReachable(b));
      if (loops.position[b] <= loops.position[a]) {
        EXPECT_TRUE(isAround(loops, b, a)) << "edge " << a << " -> " << b;
      }
    }
}

void checkLoops(const Graph &graph, const LoopOrder &loops) {
  auto reach = closure(graph);
  for (uint32_t header = 0; header < graph.size(); ++header) {
    if (!loops.isReachable(header)) {
      EXPECT_EQ(loops.loop[header], kNone);
      continue;
    }
    EXPECT_EQ(loops.loop[header] != kNone, reach[header][header]) << "node " << header;
    uint32_t first = kNone, last = 0, count = 0;
    for (uint32_t node = 0; node < graph.size(); ++node)
      if (isAround(loops, header, node)) {
        first = std::min(first, loops.position[node]);
        last = std::max(last, loops.position[node]);
        ++count;
        EXPECT_TRUE(reach[node][header] && reach[header][node]);
      }
    if (count > 0) {
      EXPECT_EQ(first, loops.position[header]);
      EXPECT_EQ(last - first + 1, count);
    }
  }
}

void check(const Graph &graph) {
  LoopOrder loops(graph);
  ASSERT_EQ(loops.order.size(), graph.size());
  auto reach = closure(graph);
  for (uint32_t node = 0; node < graph.size(); ++node) {
    ASSERT_EQ(loops.order[loops.position[node]], node);
    EXPECT_EQ(loops.isReachable(node), node == 0 || reach[0][node]);
  }
  EXPECT_EQ(loops.position[0], 0u);
  checkEdges(graph, loops);
  checkLoops(graph, loops);
}

TEST(LoopOrder, RandomGraphs) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 4000; ++round) {
    uint32_t count = 1 + random() % 14;
    std::vector<std::vector<uint32_t>> successors(count);
    for (uint32_t node = 0; node < count; ++node)
      for (unsigned edges = random() % 4; edges > 0; --edges)
        successors[node].push_back(random() % count);
    check(makeGraph(successors));
    if (HasFailure())
      FAIL() << "round " << round;
  }
}

TEST(LoopOrder, JoinFollowsBothSidesAndExitFollowsLoop) {
  // 0 -> 1 | 4; 1 -> 2; 2 -> 1 (back) | 3; 3: exit; 4 -> 3.
  LoopOrder loops(makeGraph({{1, 4}, {2}, {1, 3}, {}, {3}}));
  EXPECT_EQ(loops.position[2], loops.position[1] + 1);
  EXPECT_GT(loops.position[3], loops.position[4]);
  EXPECT_GT(loops.position[3], loops.position[2]);
  EXPECT_EQ(loops.loop[2], 1u);
  EXPECT_EQ(loops.loop[3], kNone);
}

TEST(LoopOrder, ExitInsideALoopIsBehindIt) {
  // 1 is a header, 2 leaves to 4 which ends; 3 closes the loop or leaves to 5.
  LoopOrder loops(makeGraph({{1}, {2}, {4, 3}, {1, 5}, {}, {}}));
  EXPECT_GT(loops.position[4], loops.position[3]);
}

TEST(LoopOrder, LargeGraphsTakeLinearTime) {
  constexpr uint32_t count = 200000;
  auto start = std::chrono::steady_clock::now();
  std::vector<std::vector<uint32_t>> nested(count), ladder(count);
  for (uint32_t node = 0; node < count; ++node) { // node i closes a loop whose header is its mirror image
    if (node + 1 < count)
      nested[node].push_back(node + 1);
    nested[node].push_back(node >= count / 2 ? count - 1 - node : count - 1 - node);
    if (node + 1 < count)
      ladder[node].push_back(node + 1);
    ladder[node].push_back(node / 2);
    ladder[node].push_back((node * 7919u) % count);
  }
  EXPECT_EQ(LoopOrder(makeGraph(nested)).reachable, count);
  EXPECT_EQ(LoopOrder(makeGraph(ladder)).reachable, count);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20.0);
}

} // namespace
