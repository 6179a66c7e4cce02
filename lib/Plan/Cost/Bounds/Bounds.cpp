// The fewest bytes that any schedule moves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// V(X) by pattern search in the logarithms of the box's sides, every candidate scaled until it touches X bytes; for
// one statement the problem is convex there. An intermediate costs nothing in a box that holds the whole of the
// reductions that make it and of the loops that use it, and its footprint in others: both are tried for each. Then the
// best X by golden section; every X is a valid bound, so nothing hangs on its precision.
#include "weft/Plan/Cost/Bounds.h"

#include <algorithm>
#include <cmath>

using namespace weft::plan;
using Kind = GroupArray::Kind;

namespace {
/// V(X) for one choice of the intermediates that stay within a box.
class BoxSearch {
public:
  /// `inside` has a bit for each array.
  BoxSearch(const AffineGroup &group, uint32_t inside);

  /// Operations of the best box that touches at most `bytes`; 0 if no box does. Keeps the box as the next start.
  double maximise(double bytes);
  const std::vector<double> &getTile() const { return tile; }

private:
  double getFootprint(const std::vector<double> &sides) const;
  double getOperations(const std::vector<double> &sides) const;
  double scale(const std::vector<double> &logs, double bytes, std::vector<double> &sides) const;
  void improve(double bytes, std::vector<double> &logs, double &best, std::vector<double> &bestTile) const;

  const AffineGroup &group;
  std::vector<bool> isCounted, isFull; ///< Arrays; loops at their extent.
  std::vector<double> most;            ///< Logarithms of extents.
  std::vector<double> start, tile;
};
} // namespace

static bool contains(const std::vector<int32_t> &list, int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

static bool hasDim(const GroupArray &array, int32_t dim) {
  return std::any_of(array.axes.begin(), array.axes.end(), [&](const GroupAxis &a) { return contains(a.dims, dim); });
}

BoxSearch::BoxSearch(const AffineGroup &group, uint32_t inside)
    : group(group), isCounted(group.arrays.size(), true), isFull(group.dims.size()) {
  for (const GroupDim &dim : group.dims)
    most.push_back(std::log(double(dim.extent)));
  for (size_t i = 0; i < group.arrays.size(); ++i) {
    if (!(inside >> i & 1))
      continue;
    isCounted[i] = false;
    for (const GroupStatement &statement : group.statements)
      if (statement.result == int32_t(i) || contains(statement.reads, int32_t(i)))
        for (int32_t dim : statement.dims)
          isFull[dim] = isFull[dim] || !hasDim(group.arrays[i], dim);
  }
}

/// Distinct values of stride[0] * a + stride[1] * b for a < side[0], b < side[1], between whole numbers as they lie.
static double getAxisSide(const GroupAxis &axis, const std::vector<double> &sides) {
  double first = sides[axis.dims[0]];
  if (axis.dims.size() == 1)
    return first;
  double second = sides[axis.dims[1]];
  double spread = double(axis.strides[0]) * (first - 1) + double(axis.strides[1]) * (second - 1) + 1;
  return std::min(spread, first * second);
}

static double getArrayElements(const GroupArray &array, const std::vector<double> &sides) {
  double elements = 1;
  for (const GroupAxis &axis : array.axes)
    elements *= getAxisSide(axis, sides);
  return elements;
}

double BoxSearch::getFootprint(const std::vector<double> &sides) const {
  double bytes = 0;
  for (size_t i = 0; i < group.arrays.size(); ++i)
    if (isCounted[i])
      bytes += double(group.arrays[i].elementBytes) * getArrayElements(group.arrays[i], sides);
  return bytes;
}

static double sumOperations(const AffineGroup &group, const std::vector<double> &sides) {
  double sum = 0;
  for (const GroupStatement &statement : group.statements) {
    double operations = 1;
    for (int32_t dim : statement.dims)
      operations *= sides[dim];
    sum += operations;
  }
  return sum;
}

double BoxSearch::getOperations(const std::vector<double> &sides) const { return sumOperations(group, sides); }

/// The box of `logs`, all sides moved by one factor until it touches `bytes`; its operations, 0 if none is small
/// enough.
double BoxSearch::scale(const std::vector<double> &logs, double bytes, std::vector<double> &sides) const {
  sides.resize(logs.size());
  auto place = [&](double shift) {
    for (size_t d = 0; d < logs.size(); ++d)
      sides[d] = std::exp(isFull[d] ? most[d] : std::clamp(logs[d] + shift, 0.0, most[d]));
    return getFootprint(sides);
  };
  double low = -64, high = 64;
  if (place(low) > bytes)
    return 0;
  if (place(high) <= bytes)
    return getOperations(sides);
  for (int i = 0; i < 40; ++i) {
    double middle = (low + high) / 2;
    (place(middle) > bytes ? high : low) = middle;
  }
  place(low);
  return getOperations(sides);
}

/// Moves one side, or one against another, while it helps; steps from 2 to 1/1024 of a factor e.
void BoxSearch::improve(double bytes, std::vector<double> &logs, double &best, std::vector<double> &bestTile) const {
  int dims = int(logs.size());
  std::vector<double> sides, moved;
  best = scale(logs, bytes, bestTile);
  for (double step = 2; step > 1e-3; step /= 2) {
    bool isBetter = true;
    for (int round = 0; isBetter && round < 32; ++round) {
      isBetter = false;
      for (int up = 0; up < dims; ++up)
        for (int down = -1; down < dims; ++down) {
          if (up == down || isFull[up] || (down >= 0 && isFull[down]))
            continue;
          for (double sign : {1.0, -1.0}) {
            moved = logs;
            moved[up] += sign * step;
            if (down >= 0)
              moved[down] -= sign * step;
            double operations = scale(moved, bytes, sides);
            if (operations <= best * (1 + 1e-9))
              continue;
            best = operations;
            for (int d = 0; d < dims; ++d) // Where the sides are, not where clamping hid them.
              logs[d] = std::log(sides[d]);
            bestTile = sides;
            isBetter = true;
          }
        }
    }
  }
}

double BoxSearch::maximise(double bytes) {
  std::vector<std::vector<double>> starts;
  if (!start.empty()) {
    starts.push_back(start);
  } else {
    starts.emplace_back(most.size(), 0.0);
    for (size_t d = 0; d < most.size(); ++d) {
      starts.emplace_back(most.size(), 0.0);
      starts.back()[d] = most[d];
    }
  }
  double best = 0, found;
  std::vector<double> sides;
  for (std::vector<double> &logs : starts) {
    improve(bytes, logs, found, sides);
    if (found > best) {
      best = found;
      start = logs;
      tile = sides;
    }
  }
  return best;
}

bool weft::plan::checkGroup(const AffineGroup &group, std::string &error) {
  int64_t dims = int64_t(group.dims.size()), arrays = int64_t(group.arrays.size()), intermediates = 0;
  if (group.statements.empty() || dims < 1 || dims > 10 || arrays < 1 || arrays > 31)
    error = "expected a group of statements over 1 to 10 loops and 1 to 31 arrays";
  for (const GroupDim &dim : group.dims)
    if (dim.extent < 1 || dim.extent > int64_t(1) << 31)
      error = "loop " + dim.name + ": expected an extent of 1 to 2147483648, got " + std::to_string(dim.extent);
  auto isDim = [&](int32_t dim) { return dim >= 0 && dim < dims; };
  for (const GroupArray &array : group.arrays) {
    intermediates += array.kind == Kind::Intermediate;
    if (array.elementBytes < 1)
      error = "array " + array.name + ": expected elements of at least one byte";
    for (const GroupAxis &axis : array.axes)
      if (axis.dims.empty() || axis.dims.size() > 2 || axis.strides.size() != axis.dims.size() ||
          !std::all_of(axis.dims.begin(), axis.dims.end(), isDim) ||
          !std::all_of(axis.strides.begin(), axis.strides.end(), [](int64_t s) { return s >= 1; }))
        error = "array " + array.name + ": expected axes of one or two of the group's loops, strides of at least 1";
  }
  if (intermediates > 6)
    error = "expected at most 6 intermediates, got " + std::to_string(intermediates);
  std::vector<bool> isUsed(arrays);
  for (const GroupStatement &statement : group.statements) {
    std::vector<int32_t> all = statement.reads;
    all.push_back(statement.result);
    if (!std::all_of(statement.dims.begin(), statement.dims.end(), isDim) ||
        !std::all_of(all.begin(), all.end(), [&](int32_t a) { return a >= 0 && a < arrays; })) {
      error = "expected statements over the group's loops and arrays";
      return false;
    }
    for (int32_t array : all)
      isUsed[array] = true;
  }
  if (error.empty() && contains(std::vector<int32_t>(isUsed.begin(), isUsed.end()), 0))
    error = "expected every array to have a statement that uses it";
  return error.empty();
}

/// Inputs and outputs, whole.
static double getCompulsory(const AffineGroup &group, const std::vector<double> &extents) {
  double bytes = 0;
  for (const GroupArray &array : group.arrays)
    if (array.kind != Kind::Intermediate)
      bytes += double(array.elementBytes) * getArrayElements(array, extents);
  return bytes;
}

bool weft::plan::computeTrafficBound(const AffineGroup &group, double fastBytes, TrafficBound &bound,
                                     std::string &error) {
  error.clear();
  bound = TrafficBound();
  if (!checkGroup(group, error))
    return false;
  if (!(fastBytes >= 1) || fastBytes > 1e15) {
    error = "expected a fast memory of 1 to 1e15 bytes, got " + std::to_string(fastBytes);
    return false;
  }
  std::vector<uint32_t> choices = {0};
  for (size_t i = 0; i < group.arrays.size(); ++i)
    if (group.arrays[i].kind == Kind::Intermediate)
      for (size_t k = choices.size(); k-- > 0;)
        choices.push_back(choices[k] | uint32_t(1) << i);
  std::vector<BoxSearch> searches;
  for (uint32_t inside : choices)
    searches.emplace_back(group, inside);
  std::vector<double> extents;
  for (const GroupDim &dim : group.dims)
    extents.push_back(double(dim.extent));
  double total = sumOperations(group, extents);
  auto evaluate = [&](double logRatio) {
    double part = fastBytes * std::exp(logRatio), most = 0;
    const BoxSearch *winner = nullptr;
    for (BoxSearch &search : searches)
      if (double operations = search.maximise(part); operations > most) {
        most = operations;
        winner = &search;
      }
    double bytes = winner ? (part - fastBytes) * std::max(total / most - 1, 0.0) : 0;
    if (bytes > bound.partition) {
      bound.partition = bytes;
      bound.partBytes = part;
      bound.tile = winner->getTile();
    }
    return bytes;
  };
  // X between 1.1 S and 20 S: 2 S and 3 S are the optima of the known bounds.
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double low = std::log(1.1), high = std::log(20.0), left = high - ratio * (high - low),
         right = low + ratio * (high - low);
  double atLeft = evaluate(left), atRight = evaluate(right);
  for (int i = 0; i < 14; ++i) {
    if (atLeft > atRight) {
      high = right;
      right = left;
      atRight = atLeft;
      atLeft = evaluate(left = high - ratio * (high - low));
    } else {
      low = left;
      left = right;
      atLeft = atRight;
      atRight = evaluate(right = low + ratio * (high - low));
    }
  }
  bound.compulsory = getCompulsory(group, extents);
  bound.bytes = std::max(bound.partition, bound.compulsory);
  return true;
}
