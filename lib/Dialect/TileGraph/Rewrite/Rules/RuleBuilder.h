// What building replacements needs: generic ops, constants, reduced shapes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_RULEBUILDER_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_RULEBUILDER_H

#include "Pattern.h"
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"

namespace weft::tg {

/// The parsed left side of a rule, and the right side of one without `build`.
const Pattern &getBefore(const Rule &rule);
const Pattern &getAfter(const Rule &rule);

/// Whether `op` is of the kind that a pattern's op node names.
bool isOfKind(mlir::Operation *op, llvm::StringRef name);
/// Whether all elements of the constant `value` are `number`.
bool isNumber(mlir::Value value, double number);

/// The op `tg.NAME` on `operands`, its type inferred, or an equal op that is already before the builder's position.
/// Null if its types do not fit. Adds nothing in that case.
mlir::Value buildPointwise(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                           mlir::ValueRange operands);
/// A constant of rank 0; null if `number` is not a value of the type.
mlir::Value buildNumber(mlir::OpBuilder &builder, mlir::Location loc, double number, mlir::Type element);
/// `value` under `dims`; itself if it has them.
mlir::Value buildReshape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, const Dims &dims);

/// For each dimension of `to` the neighbouring ones of `from` that it holds; none if one of `from` is divided.
std::optional<llvm::SmallVector<llvm::SmallVector<int64_t>>> findMergedDims(llvm::ArrayRef<mlir::AffineExpr> from,
                                                                            llvm::ArrayRef<mlir::AffineExpr> to);

/// Axes of `reduce`, counted from the last dimension, for an operand of another rank; none if one of them is missing.
std::optional<llvm::SmallVector<int64_t>> alignAxes(ReduceOp reduce, int64_t rank);
/// Whether `value` broadcasts along all axes of `reduce`: has extent 1 there, or no such dimension.
bool isUniform(mlir::Value value, ReduceOp reduce);
/// A uniform value in the shape in which it broadcasts with the reduction's result.
mlir::Value buildReduced(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, ReduceOp reduce);
/// The reduction of `value` like `reduce`, by `kind`; null if `value` lacks an axis.
mlir::Value buildReduce(mlir::OpBuilder &builder, mlir::Location loc, Monoid kind, mlir::Value value, ReduceOp reduce);
/// Elements that each result of `reduce` combines, if that is static.
std::optional<int64_t> getReducedCount(ReduceOp reduce);

/// Rules whose right side is code.
void addReductionRules(std::vector<Rule> &rules);
void addContractionRules(std::vector<Rule> &rules);
/// Rules that follow from the table of properties.
void addDerivedRules(std::vector<Rule> &rules);
/// Canonical rules.
void addIdentityRules(std::vector<Rule> &rules);
void addViewRules(std::vector<Rule> &rules);
void addSliceRules(std::vector<Rule> &rules);
/// Rules as data.
void addPointwiseRules(std::vector<Rule> &rules);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_RULEBUILDER_H
