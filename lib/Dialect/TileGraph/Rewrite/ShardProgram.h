// One program of the ranks from one of the whole; see the pass `weft-shard`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDPROGRAM_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDPROGRAM_H

#include "ShardAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::tg {

/// What the values of a rank are made of, as its own program goes along.
class ShardedValues {
public:
  ShardedValues(mlir::OpBuilder &builder, int64_t ranks) : builder(builder), ranks(ranks) {}

  /// `value` of the whole program is `local` on a rank: whole, split, or, with `partial`, to be combined.
  void set(mlir::Value value, mlir::Value local, Share share, std::optional<Monoid> partial = std::nullopt);
  /// As it was made, or as --shard says.
  Share getShare(mlir::Value value) const;
  std::optional<Monoid> getPartial(mlir::Value value) const;
  mlir::Value getLocal(mlir::Value value) const { return states.lookup(value).local; }
  /// The value in `share`, made here if it is not there; `loc`: for whom.
  mlir::Value get(mlir::Value value, Share share, mlir::Location loc);

private:
  struct State {
    mlir::Value local;
    Share share;
    std::optional<Monoid> partial;
  };

  mlir::Value splitFree(mlir::Value value, int64_t dim);
  mlir::Value splitWeight(mlir::Value value, llvm::StringRef source, int64_t offset, int64_t dim);
  mlir::Value toParts(mlir::Value whole, int64_t dim, mlir::Location loc);
  mlir::Value fromParts(mlir::Value parts, int64_t dim, mlir::Location loc);
  mlir::Value convert(const State &state, Share share, mlir::Location loc);

  mlir::OpBuilder &builder;
  int64_t ranks;
  llvm::DenseMap<mlir::Value, State> states;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> made;
};

/// Whether these are weights or a constant, which cost nothing in any share.
bool isFree(mlir::Value value);
/// Estimated bytes of a tensor.
double estimateBytes(mlir::Type type);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDPROGRAM_H
