// GEMMs whose results all ranks add up, in parts of rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part's collective can run while the next part's GEMM does. Rows are those of the outermost dimension of the result
// that has an extent: a part of them lies in one piece, so that the parts' collectives write to one tensor, and whoever
// reads it does not know of parts. Which rows of its operands an op needs follows from its access maps, as for ranks.
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_ROWPARTS_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_ROWPARTS_H

#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/Rewrite/LayoutRates.h"

namespace weft::tg {

class RowParts {
public:
  /// Of an all_reduce behind a GEMM, with nothing but elementwise ops and views between; or none, with the reason.
  static std::optional<RowParts> find(AllReduceOp op, std::string &reason);

  int64_t getRows() const { return rows; }
  /// Parts have a multiple of so many, but for the last one: each begins at a buffer's alignment.
  int64_t getMultiple() const { return multiple; }
  /// Seconds of what makes so many rows, and of their collective. `copies`: rows of operands are copied first.
  double estimateWork(int64_t count, const LayoutRates &rates, bool copies) const;
  double estimateCollective(int64_t count, const LayoutRates &rates) const;
  /// Replaces the op; part i ends at row ends[i].
  void split(llvm::ArrayRef<int64_t> ends) const;

private:
  bool collect(mlir::Value value, int64_t dim, std::string &reason);
  mlir::Value makePart(mlir::OpBuilder &builder, mlir::Value value, int64_t dim, int64_t begin, int64_t end) const;

  AllReduceOp op;
  int64_t dim = 0, rows = 0, multiple = 1;
  bool hasContract = false;
  /// What is done for each part, and along which dimension of each operand (-1: it is whole).
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> perPart;
};

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_ROWPARTS_H
