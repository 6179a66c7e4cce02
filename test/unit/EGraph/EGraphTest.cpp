// The e-graph alone: hash-consing, congruence, extraction, cycles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/EGraph.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <set>

using weft::EGraph;
using Id = EGraph::Id;

namespace {

enum Op : uint32_t { X, Y, Z, Two, One, Mul, Div, Shl, F, G };

double unit(Id, const EGraph::Node &) { return 1; }

TEST(EGraph, EqualNodesAreOne) {
  EGraph graph;
  Id x = graph.add({X, {}}), y = graph.add({Y, {}});
  EXPECT_NE(x, y);
  EXPECT_EQ(graph.add({X, {}}), x);
  EXPECT_EQ(graph.add({Mul, {x, y}}), graph.add({Mul, {x, y}}));
  EXPECT_NE(graph.add({Mul, {x, y}}), graph.add({Mul, {y, x}}));
  EXPECT_EQ(graph.numNodes(), 4u);
}

TEST(EGraph, MergingMakesUsersEqual) {
  EGraph graph;
  Id x = graph.add({X, {}}), y = graph.add({Y, {}});
  Id fx = graph.add({F, {x}}), fy = graph.add({F, {y}}), gfx = graph.add({G, {fx}}), gfy = graph.add({G, {fy}});
  EXPECT_TRUE(graph.merge(x, y));
  EXPECT_FALSE(graph.merge(y, x));
  graph.rebuild();
  EXPECT_EQ(graph.find(fx), graph.find(fy));
  EXPECT_EQ(graph.find(gfx), graph.find(gfy)); // Two levels up.
  EXPECT_EQ(graph.nodes(fx).size(), 1u);
  EXPECT_EQ(graph.allClasses().size(), 3u);
}

TEST(EGraph, CyclesHaveFiniteTrees) { // x = x * 1
  EGraph graph;
  Id x = graph.add({X, {}}), product = graph.add({Mul, {x, graph.add({One, {}})}});
  graph.merge(x, product);
  graph.rebuild();
  weft::Extraction best = weft::extract(graph, unit);
  EXPECT_EQ(best.cost[graph.find(x)], 1);
  EXPECT_EQ(best.best[graph.find(x)]->op, uint32_t(X));
}

TEST(EGraph, ClassWithoutATreeCostsInfinity) { // a = f(a) and nothing else
  EGraph graph;
  Id x = graph.add({X, {}}), fx = graph.add({F, {x}});
  graph.merge(x, fx);
  graph.rebuild();
  auto onlyF = [](Id, const EGraph::Node &node) {
    return node.op == X ? std::numeric_limits<double>::infinity() : 1.0;
  };
  weft::Extraction best = weft::extract(graph, onlyF);
  EXPECT_TRUE(std::isinf(best.cost[graph.find(x)]));
}

// (x * 2) / 2: greedy strength reduction to (x << 1) / 2 hides that it is x.
TEST(EGraph, FindsWhatGreedyMisses) {
  EGraph graph;
  Id x = graph.add({X, {}}), two = graph.add({Two, {}}), one = graph.add({One, {}});
  Id product = graph.add({Mul, {x, two}}), quotient = graph.add({Div, {product, two}});
  graph.merge(product, graph.add({Shl, {x, one}}));                           // x * 2 = x << 1
  graph.merge(quotient, graph.add({Mul, {x, graph.add({Div, {two, two}})}})); // (x * y) / y = x * (y / y)
  graph.merge(graph.add({Div, {two, two}}), one);
  graph.rebuild();
  graph.merge(graph.add({Mul, {x, one}}), x);
  graph.rebuild();
  EXPECT_EQ(graph.find(quotient), graph.find(x));
  EXPECT_EQ(weft::extract(graph, unit).cost[graph.find(quotient)], 1);
}

double byOp(Id, const EGraph::Node &node) {
  static constexpr double prices[] = {0, 0, 0, 4, 1, 1, 1, 3, 1, 3};
  return node.op < std::size(prices) ? prices[node.op] : 0;
}

// a and b are g (3) or f of what both can share (1 + 4): as trees 3 + 3 is least, as a program (with c) 4 + 1 + 1 + 1.
TEST(EGraph, SharedTermsCountOnce) {
  EGraph graph;
  Id x = graph.add({X, {}}), y = graph.add({Y, {}}), z = graph.add({Z, {}}), two = graph.add({Two, {}});
  std::vector<Id> roots;
  for (Id leaf : {x, y, z}) {
    Id own = graph.add({G, {leaf}});
    graph.merge(own, graph.add({Mul, {leaf, two}}));
    roots.push_back(own);
  }
  graph.rebuild();
  weft::Extraction trees = weft::extract(graph, byOp);
  for (Id root : roots)
    EXPECT_EQ(trees.best[graph.find(root)]->op, uint32_t(G));
  weft::SharedExtraction shared = weft::extractShared(graph, roots, byOp, 1000);
  EXPECT_EQ(shared.cost, 7);
  EXPECT_TRUE(shared.isCheapest);
  for (Id root : roots)
    EXPECT_EQ(shared.best[graph.find(root)]->op, uint32_t(Mul));
}

// Three readers go over to the shared term at once or not at all: one by one they lose. The given program has it.
TEST(EGraph, SharedExtractionStartsFromTheGivenProgram) {
  EGraph graph;
  Id two = graph.add({Two, {}});
  std::vector<Id> roots;
  std::vector<EGraph::Node> wanted;
  for (uint32_t leaf : {X, Y, Z}) {
    Id x = graph.add({leaf, {}}), own = graph.add({F, {x}});
    graph.merge(own, graph.add({Mul, {x, two}}));
    roots.push_back(own);
    wanted.push_back({Mul, {x, two}});
  }
  graph.rebuild();
  auto cost = [](Id, const EGraph::Node &node) {
    return node.op == Two ? 4 : node.op == F ? 2 : node.op == Mul ? 0.5 : 0;
  };
  std::vector<const EGraph::Node *> given(graph.allClasses().back() + 1, nullptr);
  for (size_t i = 0; i < roots.size(); ++i)
    for (const EGraph::Node &node : graph.nodes(roots[i]))
      if (node == wanted[i])
        given[graph.find(roots[i])] = &node;
  EXPECT_EQ(weft::extractShared(graph, roots, cost, 0, given).cost, 5.5);
  EXPECT_EQ(weft::extractShared(graph, roots, cost, 1000).cost, 5.5);
}

TEST(EGraph, SharedExtractionIsBounded) {
  EGraph graph;
  Id x = graph.add({X, {}}), product = graph.add({Mul, {x, graph.add({One, {}})}}), fx = graph.add({F, {x}});
  graph.merge(x, product); // A cycle, which no program may have.
  graph.rebuild();
  weft::SharedExtraction none = weft::extractShared(graph, {fx}, byOp, 0);
  EXPECT_EQ(none.cost, 1);
  EXPECT_FALSE(none.isCheapest);
  EXPECT_EQ(none.best[graph.find(x)]->op, uint32_t(X));
  EXPECT_TRUE(weft::extractShared(graph, {fx, fx, x}, byOp, 100).isCheapest);
  auto never = [](Id, const EGraph::Node &node) {
    return node.op == F ? std::numeric_limits<double>::infinity() : 1.0;
  };
  EXPECT_TRUE(std::isinf(weft::extractShared(graph, {fx}, never, 100).cost));
}

/// The price of the cheapest program by trying all choices of nodes; infinite ones among them.
double tryAllChoices(const EGraph &graph, const std::vector<Id> &roots, std::map<Id, const EGraph::Node *> &choice) {
  std::vector<Id> work(roots.rbegin(), roots.rend());
  std::set<Id> seen;
  std::function<int(Id, std::set<Id> &)> depth = [&](Id id, std::set<Id> &above) -> int {
    id = graph.find(id);
    auto found = choice.find(id);
    if (found == choice.end())
      return 0;
    if (!above.insert(id).second)
      return -1;
    for (Id child : found->second->children)
      if (depth(child, above) < 0)
        return -1;
    above.erase(id);
    return 1;
  };
  while (!work.empty()) {
    Id id = graph.find(work.back());
    work.pop_back();
    if (!seen.insert(id).second)
      continue;
    if (choice.count(id)) {
      for (Id child : choice[id]->children)
        work.push_back(child);
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const EGraph::Node &node : graph.nodes(id)) {
      choice[id] = &node;
      std::set<Id> above;
      if (depth(id, above) >= 0)
        least = std::min(least, tryAllChoices(graph, roots, choice));
      choice.erase(id);
    }
    return least;
  }
  double sum = 0;
  for (Id id : seen)
    sum += byOp(id, *choice[id]);
  return sum;
}

TEST(EGraph, SharedExtractionAgainstAllChoices) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    EGraph graph;
    std::vector<Id> ids{graph.add({X, {}}), graph.add({Y, {}})};
    for (int i = 0; i < 9; ++i) {
      uint32_t op = Two + uint32_t(random() % 7);
      EGraph::Node node{op, {ids[random() % ids.size()]}};
      if (random() % 2)
        node.children.push_back(ids[random() % ids.size()]);
      ids.push_back(graph.add(node));
    }
    for (int i = 0; i < 3; ++i)
      graph.merge(ids[random() % ids.size()], ids[random() % ids.size()]);
    graph.rebuild();
    std::vector<Id> roots{graph.find(ids.back()), graph.find(ids[ids.size() - 2])};
    weft::SharedExtraction shared = weft::extractShared(graph, roots, byOp, 1000000);
    std::map<Id, const EGraph::Node *> choice;
    EXPECT_TRUE(shared.isCheapest) << "trial " << trial;
    EXPECT_EQ(shared.cost, tryAllChoices(graph, roots, choice)) << "trial " << trial;
  }
}

// Congruence against a naive closure over random merges.
TEST(EGraph, RandomMergesAreCongruent) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    EGraph graph;
    std::vector<EGraph::Node> nodes;
    std::vector<Id> ids;
    for (uint32_t leaf = 0; leaf < 6; ++leaf)
      nodes.push_back({100 + leaf, {}});
    for (const EGraph::Node &node : nodes)
      ids.push_back(graph.add(node));
    for (int i = 0; i < 40; ++i) {
      nodes.push_back({uint32_t(random() % 3), {ids[random() % ids.size()], ids[random() % ids.size()]}});
      ids.push_back(graph.add(nodes.back()));
    }
    for (int i = 0; i < 5; ++i)
      graph.merge(ids[random() % ids.size()], ids[random() % ids.size()]);
    graph.rebuild();
    for (size_t a = 0; a < nodes.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        bool alike = nodes[a].op == nodes[b].op && nodes[a].children.size() == nodes[b].children.size();
        for (size_t k = 0; alike && k < nodes[a].children.size(); ++k)
          alike = graph.find(nodes[a].children[k]) == graph.find(nodes[b].children[k]);
        if (alike)
          EXPECT_EQ(graph.find(ids[a]), graph.find(ids[b])) << "trial " << trial;
      }
  }
}

} // namespace
