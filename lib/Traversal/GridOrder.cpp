// A traversal over a grid of any rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of rows and columns, then both numbers taken apart into the dimensions that they go over.
#include "weft/Traversal/GridOrder.h"
#include "weft/Traversal/GridTail.h"

using namespace weft::plan;

static constexpr int64_t mostColDims = 8;

std::string GridOrder::print() const { return traversal.print() + (colDims == 1 ? "" : "@" + std::to_string(colDims)); }

bool weft::plan::parseGridOrder(std::string_view text, GridOrder &result, std::string &error) {
  result = GridOrder();
  GridTail tail; // Of no concern to the order of tiles.
  if (!takeGridTail(text, tail, error))
    return false;
  size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    std::string_view digits = text.substr(at + 1);
    if (digits.size() != 1 || digits[0] < '1' || digits[0] > '0' + mostColDims) {
      error = "traversal: expected 1 to " + std::to_string(mostColDims) + " dimensions of columns behind '@', got '" +
              std::string(digits.substr(0, 40)) + "'";
      return false;
    }
    result.colDims = digits[0] - '0';
    text = text.substr(0, at);
  }
  return parseTraversal(text, result.traversal, error);
}

/// The first dimension of the columns.
static size_t findColumns(const std::vector<int64_t> &counts, int64_t colDims) {
  size_t first = counts.size();
  while (first > 0 && (colDims > 0 || counts[first - 1] == 1))
    colDims -= counts[--first] != 1;
  return first;
}

/// Saturates beyond what any order takes.
static int64_t multiply(const std::vector<int64_t> &counts, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i)
    product = counts[i] > maxTiles / product ? maxTiles + 1 : product * counts[i];
  return product;
}

TileGrid weft::plan::foldGrid(const std::vector<int64_t> &counts, int64_t colDims) {
  size_t first = findColumns(counts, colDims);
  return {multiply(counts, 0, first), multiply(counts, first, counts.size())};
}

namespace {
/// The order of one grid, into a program.
class GridBuilder {
public:
  GridBuilder(const std::vector<int64_t> &counts, IndexProgram &program) : counts(counts), program(program) {}

  IndexProgram::Value countOf(size_t dim) {
    return counts[dim] == countOfLaunch ? program.parameter(int64_t(dim)) : program.constant(counts[dim]);
  }

  /// How many tiles the dimensions have together.
  TileCount countAll(size_t begin, size_t end) {
    std::vector<int64_t> known;
    TileCount all{program.constant(1)};
    for (size_t i = begin; i < end; ++i) {
      all.value = program.mul(all.value, countOf(i));
      if (counts[i] != countOfLaunch)
        known.push_back(counts[i]);
    }
    int64_t product = multiply(known, 0, known.size());
    all.known = known.size() == end - begin ? product : 0;
    all.multiple = product > maxTiles ? 1 : product;
    return all;
  }

  /// The tile along each of the dimensions, of the row-major number of their tile.
  void takeApart(IndexProgram::Value number, size_t begin, size_t end, std::vector<IndexProgram::Value> &places) {
    while (begin < end && counts[begin] == 1)
      places[begin++] = program.constant(0);
    for (size_t i = end; i-- > begin;) {
      if (counts[i] == 1) {
        places[i] = program.constant(0);
        continue;
      }
      places[i] = i == begin ? number : program.rem(number, countOf(i));
      if (i > begin)
        number = program.div(number, countOf(i));
    }
  }

private:
  const std::vector<int64_t> &counts;
  IndexProgram &program;
};
} // namespace

bool weft::plan::buildGridOrder(const GridOrder &order, const std::vector<int64_t> &counts, IndexProgram &program,
                                std::string &error) {
  program = IndexProgram();
  GridBuilder builder(counts, program);
  size_t first = findColumns(counts, order.colDims);
  TileCount rows = builder.countAll(0, first), cols = builder.countAll(first, counts.size());
  if (!buildTraversal(order.traversal, rows, cols, program, error))
    return false;
  std::vector<IndexProgram::Value> places(counts.size()), results = program.getResults();
  builder.takeApart(results[0], 0, first, places);
  builder.takeApart(results[1], first, counts.size(), places);
  program.setResults(places);
  return true;
}
