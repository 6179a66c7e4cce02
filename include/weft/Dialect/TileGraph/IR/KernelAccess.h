// Which indices of each value a kernel reads: affine functions of one iteration space.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starting from the first result at coordinates (d0, d1, ...), each op asks for its operands at the coordinates that
// its maps give (the recursion that Kernelize runs, without tiles). A reduction adds dimensions of its own. Schedules
// are chosen on this: which dimension is contiguous in which tensor, which reduced dimension runs along one of the
// result; Kernelize stores results where it says. Extents never tell which dimension is which: maps do.
#ifndef WEFT_DIALECT_TILEGRAPH_IR_KERNELACCESS_H
#define WEFT_DIALECT_TILEGRAPH_IR_KERNELACCESS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Block.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace weft::tg {

/// The dimension that an index is, but for a constant that `unit` divides; null if it is none.
mlir::AffineDimExpr getShiftedDim(mlir::AffineExpr place, int64_t unit = 1);

/// A dimension of the kernel's iteration space.
struct KernelDim {
  mlir::AffineExpr extent;            ///< Over the kernel's symbols.
  mlir::Operation *reducer = nullptr; ///< The op that reduces it; null for a dimension of the first result.
  unsigned domainDim = 0;             ///< Its number in the reducer's domain.
  /// The dimension of the result, or else the first reduced one, that runs over the same indices; itself if there is
  /// none. Softmax reads x[i, r] and x[i, j]: r is along j.
  unsigned along = 0;
};

/// A value read at coordinates, one expression over the iteration space (d0, d1, ...) for each dimension of the value;
/// a null expression depends on data.
struct KernelRequest {
  mlir::Value value;
  llvm::SmallVector<mlir::AffineExpr, 4> coordinates;
};

/// For each dimension of a result the dimension of the iteration space that it runs along, or 0 where it has one index;
/// null: it runs along none, and needs a loop of its own.
using ResultPlace = llvm::SmallVector<mlir::AffineExpr, 4>;

struct KernelAccess {
  llvm::SmallVector<KernelDim> dims;         ///< First those of the first result.
  unsigned resultRank = 0;                   ///< How many.
  llvm::SmallVector<KernelRequest> requests; ///< Each once; those of the results first.
  /// By result; none: what is reduced from tiles of the first one (tg::findPartsResult).
  llvm::SmallVector<std::optional<ResultPlace>> results;

  /// The requests of `value`.
  llvm::SmallVector<const KernelRequest *> of(mlir::Value value) const;
  /// The dimension of the first result along which `op` reduces or scans axis `axis` of its operand: softmax reduces
  /// along the dimension of its result. None if the result does not have it.
  std::optional<unsigned> findAlong(mlir::Operation *op, unsigned axis) const;
};

/// Analyses the body of a kernel: of the function of a kernel module, or of a tg.kernel, whose terminator has the
/// results; its ops are primitives of tg. Kernels that ask for more than 4,096 indices are followed no further. What
/// the regions of a fold read is asked for with `entersFolds`: the streamed dimension is one dimension, reduced by the
/// fold.
/// With `isExact` an index that rests on an estimate of a symbol (in a reshape, in a part of a fold) counts as unknown.
KernelAccess analyseAccess(mlir::Block &body, bool entersFolds = false, bool isExact = false);

/// What tg.kernel says of its domain: the attribute, and the maps of `access` (StructureOps.td).
struct KernelDomain {
  DomainAttr domain;
  mlir::ArrayAttr access;
};
KernelDomain describeDomain(KernelOp kernel);

/// Dimensions [fromBegin, fromEnd) of one shape that hold the same elements as [toBegin, toEnd) of another.
struct ReshapeSegment {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
};
/// The smallest segments of two shapes of equally many elements, the last one first. Leading extents of 1 that are left
/// over are in none.
llvm::SmallVector<ReshapeSegment> splitReshape(llvm::ArrayRef<mlir::AffineExpr> from,
                                               llvm::ArrayRef<mlir::AffineExpr> to);

/// The extent as a number: each symbol counts as `symbolEstimate`.
constexpr int64_t symbolEstimate = 256;
int64_t estimateExtent(mlir::AffineExpr extent);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_KERNELACCESS_H
