// Layouts as linear maps over F2. A layout sends the bits of named input dimensions (register, lane, warp, block; or
// offset, in elements, for memory) to the bits of named output dimensions (dim0, dim1, ... of a tensor tile). The image
// of an index is the XOR of the images of its bits, so the images of the bits, the bases, are the whole layout. All
// extents are powers of two; padding between rows is not linear and outside the algebra. A zero basis is a broadcast:
// two indices that hold the same element. Input and output have 60 bits at most. Names are unique on each side. Nothing
// here depends on LLVM or MLIR.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_LAYOUT_LINEARLAYOUT_H
#define WEFT_DIALECT_TILEKERNEL_LAYOUT_LINEARLAYOUT_H

#include "weft/Dialect/TileKernel/Layout/F2.h"

#include <string>
#include <string_view>

namespace weft::layout {

/// A named dimension of 2^bits values.
struct Dim {
  std::string name;
  unsigned bits = 0;
  bool operator==(const Dim &other) const { return name == other.name && bits == other.bits; }
};
using Dims = std::vector<Dim>;
using Index = std::vector<uint64_t>; ///< One value for each dimension of a side, in its order.
using Names = std::vector<std::string>;

unsigned countBits(const Dims &dims);

class LinearLayout {
public:
  static constexpr unsigned maxBits = 60;

  LinearLayout() = default; ///< No dimensions: the unit of the product.
  /// `columns`: the image of each input bit, first dimension's lowest bit first, as a flat output (first dimension in
  /// the low bits). Nothing if the number of columns, a column, a name or the number of bits does not fit.
  static std::optional<LinearLayout> make(Dims ins, Dims outs, Vectors columns);
  /// in -> out, bit by bit.
  static LinearLayout identity(const std::string &in, const std::string &out, unsigned bits);
  /// All 2^bits values of `in` go to zero of `outs`: a broadcast.
  static LinearLayout zeros(const std::string &in, unsigned bits, Dims outs);

  const Dims &ins() const { return inDims; }
  const Dims &outs() const { return outDims; }
  const Vectors &columns() const { return bases; }
  unsigned inBits() const { return bases.size(); }
  unsigned outBits() const { return countBits(outDims); }
  /// 0 for a dimension that is not there.
  unsigned inBits(std::string_view name) const;
  unsigned outBits(std::string_view name) const;
  /// The flat images of the bits of one input dimension; empty if it is not there.
  Vectors basesOf(std::string_view in) const;

  uint64_t applyFlat(uint64_t in) const { return combine(bases, in); }
  /// `in` in the order of ins(); missing trailing values are zero.
  Index apply(const Index &in) const;
  uint64_t flattenIn(const Index &in) const;
  uint64_t flattenOut(const Index &out) const;
  Index unflattenIn(uint64_t in) const;
  Index unflattenOut(uint64_t out) const;

  /// The direct sum: this layout on the low bits of every dimension, `high` on the bits above. Nothing above 60 bits.
  std::optional<LinearLayout> product(const LinearLayout &high) const;
  /// outer(this(x)). The outputs must be the inputs of `outer`, in any order.
  std::optional<LinearLayout> compose(const LinearLayout &outer) const;
  /// C with this = low x C, if `low` is a factor on the low bits.
  std::optional<LinearLayout> divide(const LinearLayout &low) const;
  /// The inverse; nothing unless the layout is a bijection.
  std::optional<LinearLayout> inverse() const;
  /// G with A G A = A. A right inverse when A is onto, a left inverse when A is one to one; broadcast bits become 0.
  LinearLayout pseudoInverse() const;
  /// C with outer C = this, i.e. where in `outer` the elements of this layout are; nothing if some are not there.
  /// Broadcast bits of `outer` become 0. The outputs must be the same dimensions, in any order.
  std::optional<LinearLayout> invertAndCompose(const LinearLayout &outer) const;

  unsigned rank() const { return Span(bases).rank(); }
  bool isInjective() const { return rank() == inBits(); }
  bool isSurjective() const { return rank() == outBits(); }
  /// A basis of the flat inputs that go to zero.
  Vectors kernel() const { return Span(bases).relations(); }
  /// A basis of the flat outputs that are reached.
  Vectors image() const { return Span(bases).basis(); }

  /// The part from these inputs to these outputs, in the order given. Nothing if a name is not there.
  std::optional<LinearLayout> sublayout(const Names &ins, const Names &outs) const;
  /// The same map with its dimensions in another order; nothing unless the names are a permutation.
  std::optional<LinearLayout> transposed(const Names &ins, const Names &outs) const;
  /// The inputs of both side by side (same outputs), (x, y) -> A(x) + B(y); nothing if they share a name.
  std::optional<LinearLayout> concatenateIns(const LinearLayout &other) const;
  /// The outputs of both side by side (same inputs), x -> (A(x), B(x)); nothing if they share a name.
  std::optional<LinearLayout> concatenateOuts(const LinearLayout &other) const;
  /// Dimensions of no bits dropped, the others sorted by name: equal for layouts that differ only in the order of
  /// dimensions.
  LinearLayout canonical() const;

  bool operator==(const LinearLayout &other) const {
    return inDims == other.inDims && outDims == other.outDims && bases == other.bases;
  }
  bool operator!=(const LinearLayout &other) const { return !(*this == other); }

private:
  LinearLayout(Dims ins, Dims outs, Vectors columns)
      : inDims(std::move(ins)), outDims(std::move(outs)), bases(std::move(columns)) {}

  Dims inDims, outDims;
  Vectors bases;
};

} // namespace weft::layout

#endif // WEFT_DIALECT_TILEKERNEL_LAYOUT_LINEARLAYOUT_H
