//===- GridOrder.cpp - A traversal over a grid of any rank --------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// The order of rows and columns, then both numbers taken apart into the dimensions that they go over.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "weft/Plan/Traversal/GridOrder.h"

using namespace weft::plan;

static constexpr int64_t mostColDims = 8;

std::string GridOrder::print() const { return traversal.print() + (colDims == 1 ? "" : "@" + std::to_string(colDims)); }

bool weft::plan::parseGridOrder(std::string_view text, GridOrder &result, std::string &error) {
  result = GridOrder();
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
    colDims -= counts[--first] > 1;
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

bool weft::plan::buildGridOrder(const GridOrder &order, const std::vector<int64_t> &counts, IndexProgram &program,
                                std::string &error) {
  if (!buildTraversal(order.traversal, {foldGrid(counts, order.colDims)}, program, error))
    return false;
  std::vector<IndexProgram::Value> places(counts.size());
  size_t first = findColumns(counts, order.colDims);
  auto takeApart = [&](IndexProgram::Value number, size_t begin, size_t end) {
    for (size_t i = end; i-- > begin;) {
      bool isOutermost = multiply(counts, begin, i) == 1;
      IndexProgram::Value count = program.constant(counts[i]);
      places[i] = counts[i] == 1 ? program.constant(0) : isOutermost ? number : program.rem(number, count);
      if (counts[i] > 1 && !isOutermost)
        number = program.div(number, count);
    }
  };
  std::vector<IndexProgram::Value> results = program.getResults();
  takeApart(results[0], 0, first);
  takeApart(results[1], first, counts.size());
  program.setResults(places);
  return true;
}
