// E-graphs: union-find, deferred congruence, extraction.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/EGraph.h"
#include <algorithm>
#include <limits>

namespace weft {

EGraph::Id EGraph::find(Id id) const {
  while (parent[id] != id)
    id = parent[id] = parent[parent[id]];
  return id;
}

EGraph::Node EGraph::canonical(Node node) const {
  for (Id &child : node.children)
    child = find(child);
  return node;
}

EGraph::Id EGraph::add(Node node) {
  node = canonical(std::move(node));
  auto found = known.find(node);
  if (found != known.end())
    return find(found->second);
  Id id = Id(parent.size());
  parent.push_back(id);
  classes.push_back({node});
  known.emplace(std::move(node), id);
  return id;
}

bool EGraph::merge(Id a, Id b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return false;
  if (classes[a].size() < classes[b].size())
    std::swap(a, b);
  parent[b] = a;
  classes[a].insert(classes[a].end(), classes[b].begin(), classes[b].end());
  classes[b].clear();
  return true;
}

void EGraph::rebuild() {
  for (bool changed = true; changed;) {
    changed = false;
    std::map<Node, Id> renewed;
    for (Id id = 0; id < classes.size(); ++id) {
      std::vector<Node> nodes = classes[id]; // Merging moves nodes between classes.
      for (Node &node : nodes) {
        auto [place, isNew] = renewed.emplace(canonical(std::move(node)), find(id));
        if (!isNew)
          changed |= merge(place->second, id);
      }
    }
    known = std::move(renewed);
  }
  for (std::vector<Node> &nodes : classes) {
    for (Node &node : nodes)
      node = canonical(std::move(node));
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }
}

std::vector<EGraph::Id> EGraph::allClasses() const {
  std::vector<Id> ids;
  for (Id id = 0; id < classes.size(); ++id)
    if (find(id) == id)
      ids.push_back(id);
  return ids;
}

size_t EGraph::numNodes() const {
  size_t count = 0;
  for (const std::vector<Node> &nodes : classes)
    count += nodes.size();
  return count;
}

Extraction extract(const EGraph &graph, llvm::function_ref<double(EGraph::Id, const EGraph::Node &)> cost) {
  std::vector<EGraph::Id> ids = graph.allClasses();
  Extraction found;
  size_t size = ids.empty() ? 0 : ids.back() + 1;
  found.cost.assign(size, std::numeric_limits<double>::infinity());
  found.best.assign(size, nullptr);
  // Bellman and Ford: costs only fall, and a cheapest tree repeats no class.
  for (bool changed = true; changed;) {
    changed = false;
    for (EGraph::Id id : ids)
      for (const EGraph::Node &node : graph.nodes(id)) {
        double sum = cost(id, node);
        for (EGraph::Id child : node.children)
          sum += found.cost[graph.find(child)];
        if (sum >= found.cost[id])
          continue;
        found.cost[id] = sum;
        found.best[id] = &node;
        changed = true;
      }
  }
  return found;
}

} // namespace weft
