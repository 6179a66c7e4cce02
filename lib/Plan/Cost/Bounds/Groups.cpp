// Groups with names, and the bounds that have closed forms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products, chains of two and attention as affine groups; the chain's formulas.
#include "weft/Plan/Cost/Bounds.h"

#include <algorithm>
#include <cmath>

using namespace weft::plan;
using Kind = GroupArray::Kind;

static GroupArray makeArray(std::string name, Kind kind, int64_t elementBytes, const std::vector<int32_t> &dims) {
  GroupArray array{std::move(name), kind, elementBytes, {}};
  for (int32_t dim : dims)
    array.axes.push_back({{dim}, {1}});
  return array;
}

AffineGroup weft::plan::makeGemmGroup(int64_t m, int64_t n, int64_t k, int64_t elementBytes, int64_t batch) {
  AffineGroup group;
  group.dims = {{"m", m}, {"n", n}, {"k", k}, {"batch", batch}};
  group.arrays = {makeArray("A", Kind::Input, elementBytes, {3, 0, 2}),
                  makeArray("B", Kind::Input, elementBytes, {3, 2, 1}),
                  makeArray("C", Kind::Output, elementBytes, {3, 0, 1})};
  group.statements = {{{0, 1, 2, 3}, {0, 1}, 2}};
  return group;
}

AffineGroup weft::plan::makeChainGroup(int64_t m, int64_t k, int64_t l, int64_t n, int64_t elementBytes,
                                       int64_t batch) {
  AffineGroup group;
  group.dims = {{"m", m}, {"k", k}, {"l", l}, {"n", n}, {"batch", batch}};
  group.arrays = {
      makeArray("A", Kind::Input, elementBytes, {4, 0, 1}), makeArray("B", Kind::Input, elementBytes, {4, 1, 2}),
      makeArray("C", Kind::Intermediate, elementBytes, {4, 0, 2}), makeArray("D", Kind::Input, elementBytes, {4, 2, 3}),
      makeArray("E", Kind::Output, elementBytes, {4, 0, 3})};
  group.statements = {{{0, 1, 2, 4}, {0, 1}, 2}, {{0, 2, 3, 4}, {2, 3}, 4}};
  return group;
}

AffineGroup weft::plan::makeAttentionGroup(int64_t heads, int64_t group, int64_t queries, int64_t keys, int64_t headDim,
                                           bool isCausal, int64_t elementBytes) {
  int64_t shared = std::min(group, heads), reached = isCausal ? (keys + 1) / 2 : keys;
  return makeChainGroup(queries * shared, headDim, reached, headDim, elementBytes, heads / shared);
}

ChainTraffic weft::plan::computeChainTraffic(int64_t m, int64_t k, int64_t l, int64_t n, double fastElements,
                                             int64_t elementBytes) {
  double M = double(m), K = double(k), L = double(l), N = double(n), root = std::sqrt(fastElements);
  auto product = [&](double rows, double inner, double cols) {
    return std::max(2 * rows * inner * cols / root + rows * cols, rows * inner + inner * cols + rows * cols);
  };
  double b = double(elementBytes), compulsory = M * K + K * L + L * N + M * N;
  ChainTraffic traffic;
  traffic.unfused = b * (product(M, K, L) + product(M, L, N));
  traffic.tileWise = b * 2 * M * L * (K + N) / root;
  traffic.rowResident = b * (M * K + M * N + M * L * (K + N) * (K + N) / fastElements);
  traffic.fused = std::max(b * compulsory, std::min(traffic.tileWise, traffic.rowResident));
  return traffic;
}
