// Which dimensions of a kernel's values hang together: the partition that --weft-collapse-dims applies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every value has one node for each dimension (mode Drop) or for each pair of neighbouring dimensions, named by the
// first (mode Merge). Ops relate nodes: what happens to one must happen to the other, or to none ("blocked"). A class
// of related nodes that nothing blocks is dropped (its dimensions have extent 1) or merged. Domains of ops with
// indexing maps have nodes too.
#ifndef WEFT_LIB_PLAN_GPU_DIMRELATIONS_H
#define WEFT_LIB_PLAN_GPU_DIMRELATIONS_H

#include "mlir/IR/AffineMap.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"

namespace weft::plan {

/// For each new dimension the old ones it holds, in order; a dropped dimension is in none.
using Reassociation = llvm::SmallVector<llvm::SmallVector<unsigned, 4>>;

/// A tensor that an op reads (or makes) at affine indices of its domain, by one map or, as a gather's indices, several.
struct MappedValue {
  mlir::Value value;
  llvm::SmallVector<mlir::AffineMap> maps;
};

class DimRelations {
public:
  enum class Mode { Drop, Merge };

  /// Relates the dimensions of all values of `block`, ops of tg.
  DimRelations(mlir::Block &block, Mode mode);

  Reassociation get(mlir::Value value) const;
  /// Of the domain of a contraction, gather or scatter.
  Reassociation getDomain(mlir::Operation *op) const;

private:
  using Extents = llvm::ArrayRef<mlir::AffineExpr>;

  unsigned node(const void *of, unsigned d, unsigned rank);
  unsigned node(mlir::Value value, unsigned d);
  void unite(unsigned a, unsigned b) { edges.emplace_back(a, b); }
  void block(unsigned node) { blocked.push_back(node); }
  void blockAll(mlir::Value value);
  /// Blocks what involves dimension `d`: its node, or both pairs that it is in.
  void blockDim(mlir::Value value, unsigned d);
  Reassociation collect(const void *of, unsigned rank) const;
  bool isUnit(mlir::AffineExpr extent) const { return tg::getConstant(extent) == 1; }

  void relate(mlir::Operation *op);
  void relateBroadcast(mlir::Value operand, mlir::Value result);
  void relateReshape(tg::ReshapeOp op);
  void relateTranspose(tg::TransposeOp op);
  /// Slices and pads: `isWhole(d)` if the dimension is taken as it is, `isPlain(d)` if its part is one contiguous run.
  void relateBox(mlir::Value operand, mlir::Value result, llvm::function_ref<bool(unsigned)> isWhole,
                 llvm::function_ref<bool(unsigned)> isPlain);
  void relateConcat(tg::ConcatOp op);
  void relateWindow(tg::WindowOp op);
  /// Reductions along `axes`; the result keeps them with extent 1 if `keepDims`.
  void relateReduction(mlir::Value operand, mlir::Value result, llvm::ArrayRef<int64_t> axes, bool keepDims);
  /// Ops that keep the rank and treat `axis` in their own way.
  void relateAlong(mlir::Value operand, mlir::Value result, int64_t axis);
  void relateMapped(mlir::Operation *op);
  void dropMapped(mlir::Operation *op, llvm::ArrayRef<MappedValue> values, Extents domain);
  void mergeMapped(mlir::Operation *op, llvm::ArrayRef<MappedValue> values, Extents domain);

  Mode mode;
  llvm::DenseMap<const void *, std::pair<unsigned, unsigned>> first; ///< First node and number of dimensions.
  unsigned numNodes = 0;
  llvm::SmallVector<std::pair<unsigned, unsigned>> edges;
  llvm::SmallVector<unsigned> blocked;
  llvm::IntEqClasses classes;
  llvm::SmallVector<bool> isBlocked; ///< By class.
};

/// The tensors of a contraction, gather or scatter with their maps, and the domain's extents.
llvm::SmallVector<MappedValue> getMappedValues(mlir::Operation *op);
tg::Dims getMappedDomain(mlir::Operation *op);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_DIMRELATIONS_H
