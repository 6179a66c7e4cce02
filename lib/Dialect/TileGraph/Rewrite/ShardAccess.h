// Which splits of tensors a split of an op's iteration asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rule for every op, from its access maps. A dimension k of the domain of extent E is split into n blocks of
// L = E / n; block p is what rank p computes. A tensor of extents F is read (or written) at map(d); where
//
//     map(d + p L e_k) = map(d)                    each rank needs the same elements: the tensor is whole,
//     map(d + p L e_k) = map(d) + p (F_j / n) e_j  rank p needs block p of dimension j, which is split,
//
// and block 0 stays inside of its block. What fits neither cannot be split along k. Results without k hold what a
// rank's part of a reduction gives, and are combined.
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDACCESS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDACCESS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

/// How a tensor lies on the ranks: whole on each, or split along a dimension.
struct Share {
  int64_t dim = -1;
  bool isSplit() const { return dim >= 0; }
  bool operator==(Share other) const { return dim == other.dim; }
  bool operator!=(Share other) const { return dim != other.dim; }
};

/// What splitting an op along one dimension of its domain means.
struct Split {
  unsigned dim = 0; ///< Of the domain.
  llvm::SmallVector<Share> operands, results;
  std::optional<Monoid> combiner; ///< Results are parts that it combines.
  /// Of a gather: the dimension of its data that is split though indices say where it is read. Each rank has the rows
  /// that are its own, and zeros for the others.
  std::optional<int64_t> rows;
};

/// The op's indices in its tensors. Gathers read their data at indices that are known but for the indices' values.
class ShardAccess {
public:
  /// Of an op that has maps.
  static std::optional<ShardAccess> get(mlir::Operation *op);

  unsigned getNumDims() const { return extents.size(); }
  mlir::AffineExpr getExtent(unsigned dim) const { return extents[dim]; }
  /// Points of the domain; symbols count as estimated.
  double countPoints() const;
  /// The split of dimension `dim` for `ranks` ranks; or none, with the reason.
  std::optional<Split> split(unsigned dim, int64_t ranks, std::string &reason) const;
  /// Of a gather: the split of the rows that its indices choose; or none, with the reason.
  std::optional<Split> splitRows(int64_t ranks, std::string &reason) const;

private:
  /// Of one tensor: all of them hold.
  using Maps = llvm::SmallVector<mlir::AffineMap, 1>;
  std::optional<Share> findShare(const Maps &maps, mlir::Type tensor, unsigned dim, int64_t ranks,
                                 std::string &reason) const;

  mlir::Operation *op = nullptr;
  Dims extents;
  llvm::SmallVector<Maps> operands, results;
  llvm::SmallVector<bool> isSplittable; ///< By dimension.
  bool reduces = false;                 ///< Results may be parts of a reduction.
};

/// `type` with dimension `dim` divided by `ranks`; it is a multiple.
mlir::RankedTensorType getPartType(mlir::Type type, int64_t dim, int64_t ranks);
/// Whether dimension `dim` is static and a multiple of `ranks`; else the reason.
bool isDivisible(mlir::Type type, int64_t dim, int64_t ranks, std::string &reason);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDACCESS_H
