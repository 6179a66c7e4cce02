// Short names for building scalar `arith` ops, shared by the ScalarMath*.cpp files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_IR_SCALAREMITTER_H
#define WEFT_LIB_DIALECT_TILEGRAPH_IR_SCALAREMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace weft::tg::detail {

/// Builds at one position. Constants take the type of the value they go with.
struct ScalarEmitter {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename OpTy, typename... Args> mlir::Value op(Args &&...args) const {
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }
  mlir::Value integer(mlir::Type type, const llvm::APInt &value) const {
    return op<mlir::arith::ConstantOp>(builder.getIntegerAttr(type, value));
  }
  /// `value` modulo 2^width.
  mlir::Value integer(mlir::Type type, uint64_t value) const {
    return integer(type, llvm::APInt(type.getIntOrFloatBitWidth(), value, false, /*implicitTrunc=*/true));
  }
  /// `value` must be exact in `type`, or a NaN or infinity.
  mlir::Value real(mlir::Type type, double value) const {
    return op<mlir::arith::ConstantOp>(builder.getFloatAttr(type, value));
  }
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse) const {
    return op<mlir::arith::SelectOp>(condition, onTrue, onFalse);
  }
  mlir::Value cmpI(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) const {
    return op<mlir::arith::CmpIOp>(predicate, a, b);
  }
  mlir::Value cmpF(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) const {
    return op<mlir::arith::CmpFOp>(predicate, a, b);
  }
  mlir::Value isNaN(mlir::Value x) const { return cmpF(mlir::arith::CmpFPredicate::UNO, x, x); }
  mlir::Value isZero(mlir::Value x) const {
    return cmpI(mlir::arith::CmpIPredicate::eq, x, integer(x.getType(), uint64_t(0)));
  }
  mlir::Value isNegative(mlir::Value x) const {
    return cmpI(mlir::arith::CmpIPredicate::slt, x, integer(x.getType(), uint64_t(0)));
  }
};

} // namespace weft::tg::detail

#endif // WEFT_LIB_DIALECT_TILEGRAPH_IR_SCALAREMITTER_H
