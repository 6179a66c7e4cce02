// Gaussian elimination over F2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/F2.h"

namespace weft::layout {

/// XOR with a row clears its leading bit exactly if that makes the number smaller.
std::pair<uint64_t, uint64_t> Span::reduce(uint64_t vector) const {
  uint64_t coordinates = 0;
  for (const Row &row : rows)
    if ((vector ^ row.value) < vector) {
      vector ^= row.value;
      coordinates ^= row.coordinates;
    }
  return {vector, coordinates};
}

bool Span::insert(uint64_t vector) {
  auto [rest, coordinates] = reduce(vector);
  coordinates ^= count < 64 ? uint64_t(1) << count : 0;
  ++count;
  if (rest == 0) {
    kernel.push_back(coordinates);
    return false;
  }
  auto at = rows.begin(); // Descending values: a row is applied before those with lower leading bits.
  while (at != rows.end() && at->value > rest)
    ++at;
  rows.insert(at, {rest, coordinates});
  return true;
}

std::optional<uint64_t> Span::solve(uint64_t vector) const {
  auto [rest, coordinates] = reduce(vector);
  if (rest != 0)
    return std::nullopt;
  return coordinates;
}

Vectors Span::basis() const {
  Vectors result;
  for (const Row &row : rows)
    result.push_back(row.value);
  return result;
}

Vectors intersect(const Vectors &a, const Vectors &b) {
  Vectors left = extend({}, a), both = left;
  for (uint64_t vector : extend({}, b))
    both.push_back(vector);
  Span span(both);
  Vectors result; // Each relation says: a part of `left` equals a part of b.
  for (uint64_t relation : span.relations())
    result.push_back(combine(left, relation & ((uint64_t(1) << left.size()) - 1)));
  return result;
}

Vectors extend(const Vectors &base, const Vectors &candidates) {
  Span span(base);
  Vectors result;
  for (uint64_t vector : candidates)
    if (!span.contains(vector)) {
      span.insert(vector);
      result.push_back(vector);
    }
  return result;
}

Vectors unitVectors(unsigned bits) {
  Vectors result;
  for (unsigned bit = 0; bit < bits; ++bit)
    result.push_back(uint64_t(1) << bit);
  return result;
}

uint64_t combine(const Vectors &columns, uint64_t coordinates) {
  uint64_t sum = 0;
  for (size_t i = 0; i < columns.size(); ++i)
    if (coordinates >> i & 1)
      sum ^= columns[i];
  return sum;
}

} // namespace weft::layout
