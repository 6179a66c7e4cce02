// Bytes of a chain of contractions by the order of its block loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search treats tiles as real numbers, moved in their logarithms; the best of each order is rounded to whole blocks
// that share their extent evenly and counted exactly.
#include "weft/Plan/Cost/BlockOrder.h"

#include <algorithm>
#include <cmath>

using namespace weft::plan;
using Kind = GroupArray::Kind;

static constexpr size_t kMostLoops = 6;

static bool contains(const std::vector<int32_t> &list, int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

static bool indexes(const GroupArray &array, int32_t dim) {
  return std::any_of(array.axes.begin(), array.axes.end(), [&](const GroupAxis &a) { return contains(a.dims, dim); });
}

namespace {

struct Traffic {
  double bytes = 0, resident = 0;
};

/// Counts what orders and tiles move. Blocks along a loop are whole ones, or (relaxed) extent / tile.
class Chain {
public:
  Chain(const AffineGroup &group, bool isExact) : group(group), isExact(isExact) {}

  Traffic count(const std::vector<int32_t> &loops, const std::vector<double> &tile,
                std::vector<double> *byArray = nullptr) const;
  /// Whether no statement reads a sum before it is complete: loops that only earlier statements have are inside of
  /// those they share. And whether each is computed once: loops that only later ones have are inside of its own.
  bool isComplete(const std::vector<int32_t> &loops) const;
  bool isComputedOnce(const std::vector<int32_t> &loops) const;

private:
  /// Whether statement `s` or a later one has the loop.
  bool isNeeded(int32_t loop, size_t s) const {
    return std::any_of(group.statements.begin() + std::ptrdiff_t(s), group.statements.end(),
                       [&](const GroupStatement &each) { return contains(each.dims, loop); });
  }
  /// Whether loop `i` of the order is around statement `s`: needed by it or later ones, with a loop of its own inside.
  bool isBelow(size_t s, const std::vector<int32_t> &loops, size_t i) const {
    return isNeeded(loops[i], s) && std::any_of(loops.begin() + std::ptrdiff_t(i), loops.end(),
                                                [&](int32_t loop) { return contains(group.statements[s].dims, loop); });
  }
  double blocksOf(int32_t dim, const std::vector<double> &tile) const {
    double blocks = double(group.dims[dim].extent) / tile[dim];
    return std::max(isExact ? std::ceil(blocks) : blocks, 1.0);
  }
  double footprint(const GroupArray &array, const std::vector<double> &tile) const;

  const AffineGroup &group;
  bool isExact;
};

} // namespace

bool Chain::isComplete(const std::vector<int32_t> &loops) const {
  for (size_t s = 0; s + 1 < group.statements.size(); ++s) {
    bool hasOwn = false;
    for (int32_t loop : loops) {
      if (!contains(group.statements[s].dims, loop))
        continue;
      bool isOwn = !isNeeded(loop, s + 1);
      if (hasOwn && !isOwn)
        return false;
      hasOwn |= isOwn;
    }
  }
  return true;
}

bool Chain::isComputedOnce(const std::vector<int32_t> &loops) const {
  for (size_t s = 0; s + 1 < group.statements.size(); ++s)
    for (size_t i = 0; i < loops.size(); ++i)
      if (group.dims[loops[i]].extent > 1 && !contains(group.statements[s].dims, loops[i]) && isBelow(s, loops, i))
        return false;
  return true;
}

double Chain::footprint(const GroupArray &array, const std::vector<double> &tile) const {
  double bytes = double(array.elementBytes);
  for (const GroupAxis &axis : array.axes) {
    double span = 1;
    for (size_t i = 0; i < axis.dims.size(); ++i)
      span += double(axis.strides[i]) * (std::min(tile[axis.dims[i]], double(group.dims[axis.dims[i]].extent)) - 1);
    bytes *= span;
  }
  return bytes;
}

Traffic Chain::count(const std::vector<int32_t> &loops, const std::vector<double> &tile,
                     std::vector<double> *byArray) const {
  Traffic traffic;
  size_t statements = group.statements.size();
  std::vector<double> held(statements); // Below each statement: its own blocks, and those that others keep.
  for (size_t s = 0; s < statements; ++s) {
    std::vector<int32_t> arrays = group.statements[s].reads;
    arrays.push_back(group.statements[s].result);
    for (int32_t number : arrays) {
      const GroupArray &array = group.arrays[number];
      double block = footprint(array, tile), bytes = block;
      held[s] += block;
      if (array.kind == Kind::Intermediate)
        continue;
      std::vector<bool> isHeld(statements);
      bool isKept = true;
      for (size_t i = loops.size(); i-- > 0;) {
        double blocks = isBelow(s, loops, i) ? blocksOf(loops[i], tile) : 1;
        if (blocks <= 1)
          continue;
        isKept &= !indexes(array, loops[i]);
        if (!isKept)
          bytes *= blocks;
        else // There again in the next round, so also while the loop's other statements run.
          for (size_t other = 0; other < statements; ++other)
            isHeld[other] = isHeld[other] || (other != s && isBelow(other, loops, i));
      }
      for (size_t other = 0; other < statements; ++other)
        held[other] += isHeld[other] ? block : 0;
      traffic.bytes += bytes;
      if (byArray)
        (*byArray)[number] += bytes;
    }
  }
  traffic.resident = *std::max_element(held.begin(), held.end());
  return traffic;
}

static bool checkChain(const AffineGroup &group, std::string &error) {
  error.clear();
  if (!checkGroup(group, error))
    return false;
  for (size_t s = 1; s < group.statements.size(); ++s)
    if (!contains(group.statements[s].reads, group.statements[s - 1].result)) {
      error = "expected a chain, got statement " + std::to_string(s) + " that does not read the result before it";
      return false;
    }
  return true;
}

bool weft::plan::computeBlockTraffic(const AffineGroup &group, BlockOrder &order, std::string &error) {
  if (!checkChain(group, error))
    return false;
  std::vector<int32_t> sorted = order.loops;
  std::sort(sorted.begin(), sorted.end());
  bool isOrder = sorted.size() == group.dims.size() && order.tile.size() == group.dims.size();
  for (size_t i = 0; isOrder && i < sorted.size(); ++i)
    isOrder = sorted[i] == int32_t(i) && order.tile[i] >= 1;
  Chain chain(group, /*isExact=*/true);
  if (!isOrder)
    error = "expected an order of all loops and a tile of at least 1 for each";
  else if (!chain.isComplete(order.loops))
    error = "the order reads sums before they are complete";
  else if (!chain.isComputedOnce(order.loops))
    error = "the order computes an intermediate several times";
  if (!error.empty())
    return false;
  order.bytesByArray.assign(group.arrays.size(), 0);
  Traffic traffic = chain.count(order.loops, {order.tile.begin(), order.tile.end()}, &order.bytesByArray);
  order.bytes = traffic.bytes;
  order.residentBytes = traffic.resident;
  return true;
}

namespace {

/// Tiles of one order by pattern search.
class TileSearch {
public:
  TileSearch(const AffineGroup &group, const std::vector<int32_t> &loops, double fastBytes, int64_t leastTile)
      : relaxed(group, false), exact(group, true), group(group), loops(loops), fastBytes(fastBytes) {
    for (const GroupDim &dim : group.dims)
      least.push_back(double(std::min(leastTile, dim.extent)));
  }

  /// The best whole tiles; infinite bytes if not even the least fit.
  double run(std::vector<double> &best) {
    double fewest = HUGE_VAL;
    // From the least tiles, and from those with some loops taken whole: fast memories have optima of all these kinds.
    for (size_t whole = 0; whole < size_t(1) << loops.size(); ++whole) {
      std::vector<double> tile = least;
      for (size_t i = 0; i < loops.size(); ++i)
        if (whole >> i & 1)
          tile[loops[i]] = double(group.dims[loops[i]].extent);
      if (cost(relaxed, tile) == HUGE_VAL)
        continue;
      improve(tile);
      round(tile, best, fewest);
    }
    return fewest;
  }

private:
  double cost(const Chain &chain, const std::vector<double> &tile) const {
    Traffic traffic = chain.count(loops, tile);
    return traffic.resident <= fastBytes ? traffic.bytes : HUGE_VAL;
  }

  /// One side by a factor, or one up and another down.
  void improve(std::vector<double> &tile) const {
    double best = cost(relaxed, tile);
    for (double factor = 4; factor > 1.01; factor = std::sqrt(factor)) {
      bool isBetter = true;
      for (int round = 0; isBetter && round < 64; ++round) {
        isBetter = false;
        for (int32_t up : loops)
          for (int32_t down : loops) {
            std::vector<double> moved = tile;
            moved[up] = std::min(tile[up] * factor, double(group.dims[up].extent));
            if (down != up)
              moved[down] = std::max(tile[down] / factor, least[down]);
            for (int twice = 0; twice < 2; ++twice) {
              if (double bytes = cost(relaxed, moved); bytes < best * (1 - 1e-9)) {
                best = bytes, tile = moved, isBetter = true;
                break;
              }
              moved[down] = tile[down];
            }
          }
      }
    }
  }

  /// Each tile as it is cut to whole numbers, or to that many equal blocks, one more or one less.
  void round(const std::vector<double> &tile, std::vector<double> &best, double &fewest) const {
    std::vector<double> rounded = tile;
    auto visit = [&](auto &&self, size_t i) -> void {
      if (i == loops.size()) {
        if (double bytes = cost(exact, rounded); bytes < fewest)
          fewest = bytes, best = rounded;
        return;
      }
      int32_t dim = loops[i];
      double extent = double(group.dims[dim].extent), blocks = std::ceil(extent / tile[dim]), last = 0;
      for (double each : {std::max(std::floor(tile[dim]), least[dim]), std::ceil(extent / blocks),
                          std::ceil(extent / std::max(blocks - 1, 1.0))}) {
        if (each == last || each < least[dim])
          continue;
        rounded[dim] = last = each;
        self(self, i + 1);
      }
    };
    visit(visit, 0);
  }

  Chain relaxed, exact;
  const AffineGroup &group;
  const std::vector<int32_t> &loops;
  double fastBytes;
  std::vector<double> least;
};

} // namespace

/// Loops of several iterations that are to be ordered; the others, and those that index every array (a batch), are
/// outermost with single iterations.
static std::vector<int32_t> splitLoops(const AffineGroup &group, std::vector<int32_t> &outer) {
  std::vector<int32_t> ordered;
  for (int32_t dim = 0; dim < int32_t(group.dims.size()); ++dim) {
    bool isBatch = std::all_of(group.arrays.begin(), group.arrays.end(),
                               [&](const GroupArray &array) { return indexes(array, dim); });
    (group.dims[dim].extent == 1 || isBatch ? outer : ordered).push_back(dim);
  }
  return ordered;
}

bool weft::plan::chooseBlockOrder(const AffineGroup &group, double fastBytes, int64_t leastTile, BlockOrder &best,
                                  std::string &error) {
  if (!checkChain(group, error))
    return false;
  std::vector<int32_t> outer, ordered = splitLoops(group, outer);
  if (ordered.size() > kMostLoops) {
    error = "expected at most " + std::to_string(kMostLoops) + " loops, got " + std::to_string(ordered.size());
    return false;
  }
  // One batch element is searched; its loops are around all.
  AffineGroup one = group;
  for (int32_t dim : outer)
    one.dims[dim].extent = 1;
  Chain chain(one, /*isExact=*/false);
  double fewest = HUGE_VAL;
  std::vector<double> tile;
  std::vector<int32_t> loops = ordered;
  do {
    if (!chain.isComplete(loops) || !chain.isComputedOnce(loops))
      continue;
    std::vector<double> found;
    if (double bytes = TileSearch(one, loops, fastBytes, leastTile).run(found); bytes < fewest * (1 - 1e-9)) {
      fewest = bytes;
      tile = found;
      best.loops = outer;
      best.loops.insert(best.loops.end(), loops.begin(), loops.end());
    }
  } while (std::next_permutation(loops.begin(), loops.end()));
  if (tile.empty()) {
    error = "expected a fast memory that holds the least tiles";
    return false;
  }
  best.tile.assign(tile.begin(), tile.end());
  return computeBlockTraffic(group, best, error);
}
