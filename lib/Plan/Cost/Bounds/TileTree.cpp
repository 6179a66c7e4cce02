// Bytes of fused statements by how they share the fast memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the way from the root to a statement the loops are l1, l2, ...; a slice of an array is brought as often as the
// loops up to the last one that moves it run, since those further in leave it alone. Under a Sequential node all loops
// above it count: whatever was there is gone when its child begins again. Sums leave each time and come back all but
// the first time.
#include "weft/Plan/Cost/TileTree.h"

#include <algorithm>

using namespace weft::plan;

namespace {
/// The loops above a node, and how many of them are not kept over.
struct Path {
  std::vector<TileLoop> loops;
  size_t dropped = 0; ///< Loops above the innermost Sequential node with several children.

  double count() const {
    double product = 1;
    for (const TileLoop &loop : loops)
      product *= double(loop.count);
    return product;
  }
};

struct Part {
  double resident = 0, operations = 0, time = 0;
};

class Analysis {
public:
  Analysis(const AffineGroup &group, TreeTraffic &traffic, std::string &error)
      : group(group), traffic(traffic), error(error), seen(group.statements.size()) {}

  bool run(const TileNode &root);

private:
  bool check(const TileNode &node, std::vector<int64_t> tile);
  bool visit(const TileNode &node, Path path, Part &part);
  void visitLeaf(const GroupStatement &statement, const Path &path, Part &part);
  bool visitScope(const TileNode &node, const Path &path, Part &part);
  /// Elements of an array's slice under these loops, in bytes.
  double getSlice(int32_t array, const std::vector<TileLoop> &loops) const;
  bool isMovedBy(int32_t array, const TileLoop &loop) const;
  void collect(const TileNode &node, bool wantsResults, std::vector<int32_t> &arrays) const;
  void charge(int32_t array, const Path &path, bool isResult);

  const AffineGroup &group;
  TreeTraffic &traffic;
  std::string &error;
  std::vector<bool> seen;     ///< Statements.
  std::vector<int32_t> inner; ///< Arrays that stay inside, of the nodes above.
};
} // namespace

static bool contains(const std::vector<int32_t> &list, int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Statements once, producers first, counts that divide.
bool Analysis::check(const TileNode &node, std::vector<int64_t> tile) {
  for (const TileLoop &loop : node.loops) {
    if (loop.dim < 0 || loop.dim >= int32_t(tile.size()) || loop.count < 1 || tile[loop.dim] % loop.count != 0) {
      error = "expected loops whose counts divide the extents";
      return false;
    }
    tile[loop.dim] /= loop.count;
  }
  if (node.children.empty()) {
    if (node.statement < 0 || node.statement >= int32_t(seen.size()) || seen[node.statement]) {
      error = "expected each statement once";
      return false;
    }
    seen[node.statement] = true;
    for (size_t i = 0; i < seen.size(); ++i)
      if (!seen[i] && contains(group.statements[node.statement].reads, group.statements[i].result)) {
        error = "expected array " + group.arrays[group.statements[i].result].name + " made before it is read";
        return false;
      }
    return true;
  }
  return std::all_of(node.children.begin(), node.children.end(),
                     [&](const TileNode &child) { return check(child, tile); });
}

double Analysis::getSlice(int32_t array, const std::vector<TileLoop> &loops) const {
  double elements = 1;
  for (const GroupAxis &axis : group.arrays[array].axes) {
    double extent = 1;
    for (size_t i = 0; i < axis.dims.size(); ++i) {
      int64_t tile = group.dims[axis.dims[i]].extent;
      for (const TileLoop &loop : loops)
        tile /= loop.dim == axis.dims[i] ? loop.count : 1;
      extent += double(axis.strides[i]) * double(tile - 1);
    }
    elements *= extent;
  }
  return elements * double(group.arrays[array].elementBytes);
}

bool Analysis::isMovedBy(int32_t array, const TileLoop &loop) const {
  const std::vector<GroupAxis> &axes = group.arrays[array].axes;
  return loop.count > 1 && std::any_of(axes.begin(), axes.end(), [&](const GroupAxis &axis) {
           return std::find(axis.dims.begin(), axis.dims.end(), loop.dim) != axis.dims.end();
         });
}

void Analysis::charge(int32_t array, const Path &path, bool isResult) {
  size_t last = path.dropped;
  double distinct = 1;
  for (size_t i = 0; i < path.loops.size(); ++i)
    if (isMovedBy(array, path.loops[i])) {
      last = std::max(last, i + 1);
      distinct *= double(path.loops[i].count);
    }
  double visits = 1;
  for (size_t i = 0; i < last; ++i)
    visits *= double(path.loops[i].count);
  double moves = isResult ? 2 * visits - distinct : visits; // Sums that come back.
  traffic.bytesByArray[array] += moves * getSlice(array, path.loops);
}

void Analysis::visitLeaf(const GroupStatement &statement, const Path &path, Part &part) {
  part.operations = 1;
  for (int32_t dim : statement.dims)
    part.operations *= double(group.dims[dim].extent);
  // Loops of the tree over other dims run the statement again.
  for (const TileLoop &loop : path.loops)
    if (!contains(statement.dims, loop.dim))
      part.operations *= double(loop.count);
  part.time = part.operations;
  for (int32_t array : statement.reads) {
    if (contains(inner, array))
      continue;
    charge(array, path, false);
    part.resident += getSlice(array, path.loops);
  }
  if (contains(inner, statement.result))
    return;
  charge(statement.result, path, true);
  part.resident += getSlice(statement.result, path.loops);
}

void Analysis::collect(const TileNode &node, bool wantsResults, std::vector<int32_t> &arrays) const {
  for (const TileNode &child : node.children)
    collect(child, wantsResults, arrays);
  if (node.children.empty() && wantsResults)
    arrays.push_back(group.statements[node.statement].result);
  else if (node.children.empty())
    arrays.insert(arrays.end(), group.statements[node.statement].reads.begin(),
                  group.statements[node.statement].reads.end());
}

/// What one child makes and a later one reads, and nobody outside: stays inside where the binding keeps it.
bool Analysis::visitScope(const TileNode &node, const Path &path, Part &part) {
  std::vector<int32_t> made, passed;
  for (const TileNode &child : node.children) {
    std::vector<int32_t> reads;
    collect(child, false, reads);
    for (int32_t array : made)
      if (contains(reads, array) && !contains(passed, array))
        passed.push_back(array);
    collect(child, true, made);
  }
  if (node.binding == Binding::Parallel && !passed.empty()) {
    error = "expected parallel nodes that do not depend on each other, but array " + group.arrays[passed[0]].name +
            " passes between them";
    return false;
  }
  Path below = path;
  if (node.binding == Binding::Sequential && node.children.size() > 1)
    below.dropped = path.loops.size();
  size_t outer = inner.size();
  bool keeps = node.binding == Binding::Shared || node.binding == Binding::Pipelined;
  for (int32_t array : passed) {
    if (!keeps || group.arrays[array].kind != GroupArray::Kind::Intermediate || contains(inner, array))
      continue;
    inner.push_back(array);
    part.resident += (node.binding == Binding::Pipelined ? 2 : 1) * getSlice(array, path.loops);
  }
  bool isTogether = node.binding == Binding::Parallel || node.binding == Binding::Pipelined;
  double longest = 0, most = 0, all = 0;
  for (const TileNode &child : node.children) {
    Part inside;
    if (!visit(child, below, inside))
      return false;
    part.operations += inside.operations;
    longest = std::max(longest, inside.time);
    part.time += inside.time;
    most = std::max(most, inside.resident);
    all += inside.resident;
  }
  inner.resize(outer);
  part.resident += node.binding == Binding::Sequential ? most : all;
  if (isTogether) // A pipeline needs one iteration more for each child behind the first.
    part.time = longest * double(node.children.size()) *
                (node.binding == Binding::Pipelined ? 1 + double(node.children.size() - 1) / path.count() : 1);
  return true;
}

bool Analysis::visit(const TileNode &node, Path path, Part &part) {
  path.loops.insert(path.loops.end(), node.loops.begin(), node.loops.end());
  if (!node.children.empty())
    return visitScope(node, path, part);
  visitLeaf(group.statements[node.statement], path, part);
  return true;
}

bool Analysis::run(const TileNode &root) {
  std::vector<int64_t> extents;
  for (const GroupDim &dim : group.dims)
    extents.push_back(dim.extent);
  traffic.bytesByArray.assign(group.arrays.size(), 0);
  if (!check(root, extents))
    return false;
  if (std::count(seen.begin(), seen.end(), false)) {
    error = "expected each statement once";
    return false;
  }
  Part part;
  if (!visit(root, {}, part))
    return false;
  for (double bytes : traffic.bytesByArray)
    traffic.bytes += bytes;
  traffic.residentBytes = part.resident;
  traffic.operations = part.operations;
  traffic.time = part.time;
  return true;
}

bool weft::plan::computeTreeTraffic(const AffineGroup &group, const TileNode &root, TreeTraffic &traffic,
                                    std::string &error) {
  error.clear();
  traffic = TreeTraffic();
  return Analysis(group, traffic, error).run(root);
}

TileNode weft::plan::makeChainTree(const AffineGroup &chain, Binding binding, int64_t tileM, int64_t tileK,
                                   int64_t tileL, int64_t tileN) {
  auto loop = [&](const char *name, int64_t tile) {
    for (size_t i = 0; i < chain.dims.size(); ++i)
      if (chain.dims[i].name == name)
        return TileLoop{int32_t(i), std::max<int64_t>(chain.dims[i].extent / tile, 1)};
    return TileLoop{};
  };
  TileNode first, second, root;
  first.statement = 0;
  first.loops = {loop("l", tileL), loop("k", tileK)};
  second.statement = 1;
  second.loops = {loop("n", tileN), loop("l", tileL)};
  root.loops = {loop("m", tileM)};
  root.binding = binding;
  root.children = {first, second};
  return root;
}
