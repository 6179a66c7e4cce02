// Where numbers that are added to scores, or take their place, mask them: as functions of indices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKCONDITIONS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKCONDITIONS_H

#include "GraphBuilder.h"
#include "IndexForms.h"
#include "MaskTables.h"

namespace weft::tg {

/// A part of a mask that no form says: a number that is added, or a condition for a position to be kept, or masked.
struct MaskTerm {
  enum class Kind { Number, Kept, Masked } kind;
  mlir::Value value;
  Places at;
};

/// The conditions of positions that a mask implies.
struct MaskConditions {
  llvm::SmallVector<PlaceForm> forms; ///< Each is at least 0 wherever a position is kept.
  /// What the value is where they all hold; null: a number far below everywhere.
  mlir::Value rest;
  llvm::SmallVector<MaskTerm> terms;                        ///< Of `rest`, but for numbers where those mask.
  double largest = std::numeric_limits<double>::infinity(); ///< That the types of the sum can tell from infinity.
  double masked = -std::numeric_limits<double>::infinity(); ///< What masked positions are, at most.
  std::optional<int64_t> emptyRow;                          ///< Of a constant: a row that keeps nothing.
  bool isTable = false;                                     ///< A tensor of numbers is read otherwise.
  /// What is added to scores is a choice of `rest` where the forms hold, exactly `masked` elsewhere: nothing but
  /// choices between that number and others.
  bool isChoice = true;
  std::string refused; ///< Why a constant is not understood.
};

/// Reads values over the indices of the masked scores, whose last dimension the softmax runs along.
class MaskReader {
public:
  MaskReader(Tables &tables, const SymbolFacts &facts, mlir::OpBuilder builder, llvm::ArrayRef<mlir::AffineExpr> dims)
      : tables(tables), facts(facts), builder(builder), dims(dims) {}

  /// The conditions under which the number `value` is not far below.
  MaskConditions read(mlir::Value value);
  /// Erases what was made for `rest`.
  void undo();

private:
  mlir::Value readNumber(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at, unsigned depth);
  mlir::Value readParts(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at, unsigned depth);
  mlir::Value readSelect(SelectOp op, llvm::ArrayRef<mlir::AffineExpr> at, unsigned depth);
  mlir::Value readProduct(MulOp op, llvm::ArrayRef<mlir::AffineExpr> at, unsigned depth);
  std::optional<Places> findPlaces(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> at) const;
  mlir::Value cloneView(mlir::Operation *op, mlir::Value value);
  mlir::Value readView(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> at, unsigned depth);
  mlir::Value readCondition(mlir::Value condition, bool holds, llvm::ArrayRef<mlir::AffineExpr> at, unsigned depth);
  bool readNonZero(mlir::Value value, bool holds, llvm::ArrayRef<mlir::AffineExpr> at, unsigned depth);
  bool addComparison(CmpOp op, bool holds, llvm::ArrayRef<mlir::AffineExpr> at);
  bool addForm(mlir::AffineExpr form);
  mlir::AffineExpr addData(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at);
  bool addTable(const std::optional<Table> &table, llvm::ArrayRef<mlir::AffineExpr> at);
  void noteNumber(double number);

  Tables &tables;
  const SymbolFacts &facts;
  mlir::OpBuilder builder;
  llvm::ArrayRef<mlir::AffineExpr> dims;
  llvm::SmallVector<mlir::Operation *> made;
  std::optional<double> chosen;     ///< The number of all choices so far.
  llvm::SmallVector<DataTerm> data; ///< Number i is the dimension behind those of indices, and i.
  MaskConditions found;
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKCONDITIONS_H
