// The e-graph alone: hash-consing, congruence, extraction, cycles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/EGraph.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

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
