// Short names for building `tg` ops in decompositions. All at one location, that of the composite.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_GRAPHBUILDER_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_GRAPHBUILDER_H

#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

struct GraphBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename OpTy, typename... Args> mlir::Value op(Args &&...args) const {
    return OpTy::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }
  static mlir::Type elementOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  }
  static int64_t rankOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()).getRank(); }

  /// A constant of rank 0, rounded to the float type `element`.
  mlir::Value scalar(double value, mlir::Type element) const {
    auto attr = mlir::FloatAttr::get(element, value);
    return op<ConstantOp>(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, element), attr.getValue()));
  }
  mlir::Value cast(mlir::Value value, mlir::Type element) const {
    return elementOf(value) == element ? value : op<CastOp>(value, element);
  }
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> dims) const {
    mlir::Type type = getTensorType(dims, elementOf(value));
    return value.getType() == type ? value : op<ReshapeOp>(type, value);
  }
  /// Over `axes`, which stay with extent 1.
  mlir::Value reduce(Monoid kind, mlir::Value value, llvm::ArrayRef<int64_t> axes) const {
    return op<ReduceOp>(kind, value, axes, /*keepDims=*/true);
  }
  /// Number of elements along `axes` of `value`, of rank 0 and type `element`.
  mlir::Value count(mlir::Value value, llvm::ArrayRef<int64_t> axes, mlir::Type element) const {
    mlir::AffineExpr product = builder.getAffineConstantExpr(1);
    for (int64_t axis : axes)
      product = product * getDim(value.getType(), axis);
    product = simplify(product);
    if (std::optional<int64_t> constant = getConstant(product))
      return scalar(double(*constant), element);
    unsigned symbols = 0;
    product.walk([&](mlir::AffineExpr e) {
      if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
    mlir::Value extent = op<ExtentsOp>(mlir::AffineMap::get(0, symbols, product));
    return cast(reshape(extent, {}), element);
  }
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> axes) const {
    return op<DivOp>(reduce(Monoid::Add, value, axes), count(value, axes, elementOf(value)));
  }
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_GRAPHBUILDER_H
