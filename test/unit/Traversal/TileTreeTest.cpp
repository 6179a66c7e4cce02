// Tile trees: the closed form against a walk over every tile, what is known of chains, what is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/TileTree.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace weft::plan;

namespace {
/// Walks over all tiles with the slices that are there, one for each statement and array.
class Walk {
public:
  Walk(const AffineGroup &group) : group(group) {}

  double run(const TileNode &root) {
    std::vector<std::pair<int64_t, int64_t>> ranges; // First, extent.
    for (const GroupDim &dim : group.dims)
      ranges.push_back({0, dim.extent});
    walk(root, 0, ranges, {});
    drop();
    return bytes;
  }

private:
  using Ranges = std::vector<std::pair<int64_t, int64_t>>;
  using Slice = std::vector<int64_t>;

  void walk(const TileNode &node, size_t loop, Ranges ranges, std::set<int32_t> kept) {
    if (loop < node.loops.size()) {
      auto &[first, extent] = ranges[node.loops[loop].dim];
      extent /= node.loops[loop].count;
      for (int64_t i = 0; i < node.loops[loop].count; ++i, first += extent)
        walk(node, loop + 1, ranges, kept);
      return;
    }
    if (node.children.empty())
      return compute(node.statement, ranges, kept);
    for (size_t i = 0; i < node.children.size(); ++i)
      for (size_t k = i + 1; k < node.children.size(); ++k)
        if (node.binding == Binding::Shared || node.binding == Binding::Pipelined)
          for (int32_t made : results(node.children[i]))
            if (reads(node.children[k]).count(made))
              kept.insert(made);
    for (const TileNode &child : node.children) {
      if (node.binding == Binding::Sequential && node.children.size() > 1)
        drop();
      walk(child, 0, ranges, kept);
    }
  }

  void compute(int32_t number, const Ranges &ranges, const std::set<int32_t> &kept) {
    const GroupStatement &statement = group.statements[number];
    for (int32_t array : statement.reads)
      if (Slice now = getSlice(array, ranges); !kept.count(array) && there[{number, array}] != now) {
        bytes += size(array, now);
        there[{number, array}] = now;
      }
    if (kept.count(statement.result))
      return;
    Slice now = getSlice(statement.result, ranges), &before = sums[{number, statement.result}];
    if (before == now)
      return;
    if (!before.empty())
      bytes += size(statement.result, before);
    if (!stored.insert({statement.result, now}).second)
      bytes += size(statement.result, now);
    before = now;
  }

  /// Everything leaves.
  void drop() {
    there.clear();
    for (const auto &[place, slice] : sums)
      if (!slice.empty())
        bytes += size(place.second, slice);
    sums.clear();
  }

  std::set<int32_t> results(const TileNode &node) const {
    if (node.children.empty())
      return {group.statements[node.statement].result};
    std::set<int32_t> all;
    for (const TileNode &child : node.children)
      all.merge(results(child));
    return all;
  }
  std::set<int32_t> reads(const TileNode &node) const {
    if (node.children.empty())
      return {group.statements[node.statement].reads.begin(), group.statements[node.statement].reads.end()};
    std::set<int32_t> all;
    for (const TileNode &child : node.children)
      all.merge(reads(child));
    return all;
  }

  Slice getSlice(int32_t array, const Ranges &ranges) const {
    Slice slice;
    for (const GroupAxis &axis : group.arrays[array].axes) {
      slice.push_back(ranges[axis.dims[0]].first);
      slice.push_back(ranges[axis.dims[0]].second);
    }
    return slice;
  }
  double size(int32_t array, const Slice &slice) const {
    double elements = 1;
    for (size_t i = 1; i < slice.size(); i += 2)
      elements *= double(slice[i]);
    return elements * double(group.arrays[array].elementBytes);
  }

  const AffineGroup &group;
  double bytes = 0;
  std::map<std::pair<int32_t, int32_t>, Slice> there, sums; ///< By statement and array.
  std::set<std::pair<int32_t, Slice>> stored;
};

TreeTraffic compute(const AffineGroup &group, const TileNode &root) {
  TreeTraffic traffic;
  std::string error;
  EXPECT_TRUE(computeTreeTraffic(group, root, traffic, error)) << error;
  return traffic;
}
} // namespace

TEST(TileTree, IsTheWalkOverAllTiles) {
  std::mt19937 rng(7);
  AffineGroup chain = makeChainGroup(8, 8, 8, 8);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> left = {8, 8, 8, 8};
    auto makeLoops = [&](std::vector<int32_t> dims) {
      std::vector<TileLoop> loops;
      std::shuffle(dims.begin(), dims.end(), rng);
      for (int32_t dim : dims)
        if (int64_t count = int64_t(1) << rng() % 3; left[dim] % count == 0) {
          loops.push_back({dim, count});
          left[dim] /= count;
        }
      return loops;
    };
    TileNode root, first, second;
    root.loops = makeLoops({0, 2}); // Of both: m and l.
    root.binding = std::array{Binding::Sequential, Binding::Shared, Binding::Pipelined}[rng() % 3];
    std::vector<int64_t> above = left;
    first.statement = 0;
    first.loops = makeLoops({0, 1, 2});
    left = above;
    second.statement = 1;
    second.loops = makeLoops({0, 2, 3});
    root.children = {first, second};
    ASSERT_EQ(compute(chain, root).bytes, Walk(chain).run(root)) << "round " << round;
  }
}

TEST(TileTree, BindingsOfAChain) {
  int64_t m = 4096, k = 4096, l = 14336, n = 4096, tile = 512;
  AffineGroup chain = makeChainGroup(m, k, l, n);
  double a = 2.0 * double(m * k), b = 2.0 * double(k * l), c = 2.0 * double(m * l), d = 2.0 * double(l * n),
         e = 2.0 * double(m * n), rows = double(m / tile);
  // Whole rows: each weight once for every block of rows, activations once; the intermediate crosses twice or not.
  TreeTraffic sequential = compute(chain, makeChainTree(chain, Binding::Sequential, tile, k, l, n));
  EXPECT_EQ(sequential.bytes, a + e + rows * (b + d) + 2 * c);
  TreeTraffic shared = compute(chain, makeChainTree(chain, Binding::Shared, tile, k, l, n));
  EXPECT_EQ(shared.bytes, a + e + b + d) << "all of both weights stay";
  EXPECT_EQ(shared.residentBytes, a / rows + e / rows + b + d + c / rows);
  // Weights by tiles: in every block of rows again.
  TreeTraffic streamed = compute(chain, makeChainTree(chain, Binding::Shared, tile, k, 512, n));
  EXPECT_EQ(streamed.bytes, a + e + rows * (b + d));
  TreeTraffic pipelined = compute(chain, makeChainTree(chain, Binding::Pipelined, tile, k, 512, n));
  EXPECT_EQ(pipelined.bytes, streamed.bytes);
  EXPECT_EQ(pipelined.residentBytes, streamed.residentBytes + c / rows) << "the writer is a block ahead";
  // Equal halves of the processors, one block of rows to fill.
  EXPECT_EQ(streamed.time, double(m * k * l + m * l * n));
  EXPECT_DOUBLE_EQ(pipelined.time, streamed.time * (1 + 1 / rows));
  // What a schedule moves is no less than the bound for the memory that it takes.
  for (const TreeTraffic &traffic : {sequential, shared, streamed}) {
    TrafficBound bound;
    std::string error;
    ASSERT_TRUE(computeTrafficBound(chain, traffic.residentBytes, bound, error)) << error;
    EXPECT_GE(traffic.bytes, 0.999 * bound.bytes);
  }
}

TEST(TileTree, ParallelProducts) {
  // Two products of one input: at the same time on halves, each brings the input.
  AffineGroup group = makeGemmGroup(64, 64, 64);
  GroupArray weight = group.arrays[1], result = group.arrays[2];
  group.arrays.push_back(weight);
  group.arrays.push_back(result);
  GroupStatement second = group.statements[0];
  for (int32_t &array : second.reads)
    array = array == 1 ? 3 : array;
  second.result = 4;
  group.statements.push_back(second);
  TileNode root, first, other;
  first.statement = 0;
  other.statement = 1;
  root.binding = Binding::Parallel;
  root.loops = {{0, 4}};
  root.children = {first, other};
  TreeTraffic parallel = compute(group, root);
  EXPECT_EQ(parallel.bytes, 2 * 3 * 64 * 64 * 2.0);
  EXPECT_EQ(parallel.time, parallel.operations);
  EXPECT_EQ(parallel.residentBytes, 2 * (16 * 64 + 64 * 64 + 16 * 64) * 2.0);
}

TEST(TileTree, Refuses) {
  AffineGroup chain = makeChainGroup(8, 8, 8, 8);
  auto refuse = [&](const TileNode &root) {
    TreeTraffic traffic;
    std::string error;
    EXPECT_FALSE(computeTreeTraffic(chain, root, traffic, error));
    return error;
  };
  TileNode root = makeChainTree(chain, Binding::Parallel, 4, 8, 8, 8);
  EXPECT_EQ(refuse(root), "expected parallel nodes that do not depend on each other, but array C passes between them");
  root.binding = Binding::Shared;
  root.loops[0].count = 3;
  EXPECT_EQ(refuse(root), "expected loops whose counts divide the extents");
  root.loops[0].count = 2;
  std::swap(root.children[0], root.children[1]);
  EXPECT_EQ(refuse(root), "expected array C made before it is read");
  root.children.pop_back();
  EXPECT_NE(refuse(root), "");
  root.children = {makeChainTree(chain, Binding::Shared, 4, 8, 8, 8).children[0]};
  EXPECT_EQ(refuse(root), "expected each statement once");
}
