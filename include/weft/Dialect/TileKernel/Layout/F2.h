// Vectors over F2 as bit masks, and Gaussian elimination: the span of up to 64 vectors, membership, coordinates,
// relations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_LAYOUT_F2_H
#define WEFT_DIALECT_TILEKERNEL_LAYOUT_F2_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weft::layout {

using Vectors = std::vector<uint64_t>;

/// The span of the vectors inserted so far, in echelon form, with each row's coordinates in the first 64 of them.
class Span {
public:
  Span() = default;
  explicit Span(const Vectors &vectors) {
    for (uint64_t vector : vectors)
      insert(vector);
  }

  /// Adds a vector; false if it was in the span already (the relation is kept).
  bool insert(uint64_t vector);
  bool contains(uint64_t vector) const { return reduce(vector).first == 0; }
  /// Coordinates of `vector`: bit i stands for the i-th inserted vector. Dependent vectors get coordinate 0.
  std::optional<uint64_t> solve(uint64_t vector) const;
  unsigned rank() const { return rows.size(); }
  /// A basis of the span.
  Vectors basis() const;
  /// A basis of the coordinates that sum to zero: the kernel of the map whose columns were inserted.
  const Vectors &relations() const { return kernel; }

private:
  struct Row {
    uint64_t value, coordinates;
  };
  std::pair<uint64_t, uint64_t> reduce(uint64_t vector) const;

  std::vector<Row> rows; // Each leading bit occurs as the leading bit of one row only.
  Vectors kernel;
  unsigned count = 0;
};

/// A basis of span(a) intersected with span(b); a and b have 64 vectors together at most.
Vectors intersect(const Vectors &a, const Vectors &b);
/// The vectors of `candidates` that extend the span of `base`, in order: base + result spans both.
Vectors extend(const Vectors &base, const Vectors &candidates);
/// e0 ... e(bits-1).
Vectors unitVectors(unsigned bits);
/// The sum of those `columns` whose bit is set in `coordinates`.
uint64_t combine(const Vectors &columns, uint64_t coordinates);

} // namespace weft::layout

#endif // WEFT_DIALECT_TILEKERNEL_LAYOUT_F2_H
