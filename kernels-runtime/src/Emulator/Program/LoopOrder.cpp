// Weak topological order of a graph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three steps, none of them recursive: a depth-first search that classifies edges; the loop forest, from the last node
// in preorder to the first; and the layout. In the layout the members of a loop (nodes and inner loops, which stand
// where their headers stand) follow in reverse post-order. This is a weak topological order: an edge into the middle of
// an inner loop from outside cannot come from a later member, because a node below the header in the search tree that
// reaches the loop would belong to it.
#include "Emulator/Program/LoopOrder.h"

#include "Emulator/Ptx/Ast.h"

#include <algorithm>

namespace weft::emu {

using ptx::kNone;

namespace {

/// Disjoint sets with path halving; the representative is the one that the others were merged into.
class Sets {
public:
  explicit Sets(size_t count) : parent(count) {
    for (size_t i = 0; i < count; ++i)
      parent[i] = uint32_t(i);
  }
  uint32_t find(uint32_t x) {
    while (parent[x] != x)
      x = parent[x] = parent[parent[x]];
    return x;
  }
  void merge(uint32_t x, uint32_t into) { parent[x] = into; }

private:
  std::vector<uint32_t> parent;
};

/// Lists of edges by node, linked through one pool.
class EdgeLists {
public:
  explicit EdgeLists(size_t count) : heads(count, kNone) {}
  struct Edge {
    uint32_t from, to, next;
  };
  void add(uint32_t list, uint32_t from, uint32_t to) {
    pool.push_back({from, to, heads[list]});
    heads[list] = uint32_t(pool.size() - 1);
  }
  uint32_t head(uint32_t list) const { return heads[list]; }
  const Edge &operator[](uint32_t i) const { return pool[i]; }

private:
  std::vector<uint32_t> heads;
  std::vector<Edge> pool;
};

class Builder {
public:
  Builder(const Graph &graph, LoopOrder &result)
      : graph(graph), result(result), predecessors(graph.size()), backEdges(graph.size()), crossEdges(graph.size()),
        state(graph.size(), 0), loops(graph.size()), ancestors(graph.size()) {}
  void run() {
    search();
    for (size_t i = preorder.size(); i-- > 0;)
      findLoop(preorder[i]);
    layOut();
  }

private:
  void search();
  void visitEdge(uint32_t from, uint32_t to, std::vector<std::pair<uint32_t, uint32_t>> &stack);
  void findLoop(uint32_t header);
  void layOut();

  enum : uint8_t { Unseen, Active, Finished };
  const Graph &graph;
  LoopOrder &result;
  EdgeLists predecessors; ///< By representative: tree edges, and cross and forward edges once they count.
  EdgeLists backEdges;    ///< By header.
  EdgeLists crossEdges;   ///< Cross and forward edges, by the lowest common ancestor of their ends.
  std::vector<uint8_t> state;
  Sets loops;     ///< Nodes of a loop that has been found are merged into its header.
  Sets ancestors; ///< During the search: finished nodes are merged into their parents.
  std::vector<uint32_t> preorder, postorder;
};

void Builder::visitEdge(uint32_t from, uint32_t to, std::vector<std::pair<uint32_t, uint32_t>> &stack) {
  if (state[to] == Unseen) {
    state[to] = Active;
    preorder.push_back(to);
    predecessors.add(to, from, to);
    stack.push_back({to, graph.first[to + 1]});
  } else if (state[to] == Active) {
    backEdges.add(to, from, to);
  } else {
    crossEdges.add(ancestors.find(to), from, to);
  }
}

/// Successors are visited last to first, so that the first (the one in the text's order) leads in reverse post-order.
void Builder::search() {
  std::vector<std::pair<uint32_t, uint32_t>> stack; // node, end of the successors not yet visited
  state[0] = Active;
  preorder.push_back(0);
  stack.push_back({0, graph.first[1]});
  while (!stack.empty()) {
    auto &[node, edge] = stack.back();
    if (edge > graph.first[node]) {
      --edge;
      visitEdge(node, graph.targets[edge], stack);
      continue;
    }
    uint32_t finished = node;
    state[finished] = Finished;
    postorder.push_back(finished);
    stack.pop_back();
    if (!stack.empty())
      ancestors.merge(finished, stack.back().first);
  }
}

/// The loop with this header, if there is one: what reaches its back edges without passing the header.
void Builder::findLoop(uint32_t header) {
  for (uint32_t i = crossEdges.head(header); i != kNone; i = crossEdges[i].next)
    predecessors.add(loops.find(crossEdges[i].to), crossEdges[i].from, crossEdges[i].to);
  std::vector<uint32_t> body;
  auto add = [&](uint32_t node) {
    node = loops.find(node);
    if (node == header || result.parent[node] == header)
      return;
    result.parent[node] = header;
    body.push_back(node);
  };
  bool isLoop = false;
  for (uint32_t i = backEdges.head(header); i != kNone; i = backEdges[i].next) {
    add(backEdges[i].from);
    isLoop = true;
  }
  for (size_t next = 0; next < body.size(); ++next)
    for (uint32_t i = predecessors.head(body[next]); i != kNone; i = predecessors[i].next)
      add(predecessors[i].from);
  for (uint32_t node : body)
    loops.merge(node, header);
  if (isLoop)
    result.loop[header] = header;
}

void Builder::layOut() {
  uint32_t count = graph.size();
  // Members of each loop in reverse post-order; list `count` is what is in no loop.
  std::vector<uint32_t> start(count + 2, 0), members(postorder.size());
  auto listOf = [&](uint32_t node) { return result.parent[node] == kNone ? count : result.parent[node]; };
  for (uint32_t node : postorder)
    ++start[listOf(node) + 1];
  for (uint32_t i = 0; i <= count; ++i)
    start[i + 1] += start[i];
  std::vector<uint32_t> fill(start.begin(), start.end() - 1);
  for (size_t i = postorder.size(); i-- > 0;)
    members[fill[listOf(postorder[i])]++] = postorder[i];
  std::vector<std::pair<uint32_t, uint32_t>> stack = {{count, start[count]}};
  while (!stack.empty()) {
    auto &[list, next] = stack.back();
    if (next == start[list + 1]) {
      stack.pop_back();
      continue;
    }
    uint32_t node = members[next++];
    result.order.push_back(node);
    if (start[node + 1] > start[node])
      stack.push_back({node, start[node]});
  }
}

} // namespace

LoopOrder::LoopOrder(const Graph &graph) : parent(graph.size(), kNone), loop(graph.size(), kNone) {
  if (graph.size() == 0)
    return;
  Builder(graph, *this).run();
  reachable = uint32_t(order.size());
  position.assign(graph.size(), kNone);
  for (uint32_t i = 0; i < reachable; ++i)
    position[order[i]] = i;
  for (uint32_t node = 0; node < graph.size(); ++node)
    if (position[node] == kNone) {
      position[node] = uint32_t(order.size());
      order.push_back(node);
    }
  for (uint32_t node : order)
    if (loop[node] == kNone)
      loop[node] = parent[node];
}

} // namespace weft::emu
