// Arithmetic notation for handlers: an Expr is a value that builds elementwise ops with C++ operators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As with NodeContext's builders, null operands give null results, so a formula needs one check at its end. Number
// operands become rank-0 constants of the other operand's element type.
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_EXPR_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_EXPR_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

class Expr {
public:
  Expr(NodeContext &context, mlir::Value value) : context(&context), value(value) {}

  operator mlir::Value() const { return value; }
  explicit operator bool() const { return static_cast<bool>(value); }
  NodeContext &ctx() const { return *context; }

  /// A constant of this expression's element type.
  Expr like(double number) const {
    if (!value)
      return *this;
    mlir::Type element = context->elementType(value);
    bool isFloat = mlir::isa<mlir::FloatType>(element);
    return {*context,
            isFloat ? context->scalar(number, element) : context->scalarInt(static_cast<int64_t>(number), element)};
  }
  template <typename OpTy> Expr unary() const { return {*context, context->make<OpTy>(value)}; }
  template <typename OpTy> Expr binary(Expr other) const { return {*context, context->make<OpTy>(value, other.value)}; }
  template <typename OpTy> Expr binary(double other) const { return binary<OpTy>(like(other)); }
  Expr cast(mlir::Type element) const { return {*context, context->cast(value, element)}; }
  Expr reshape(llvm::ArrayRef<mlir::AffineExpr> dims) const { return {*context, context->reshape(value, dims)}; }

  friend Expr operator+(Expr x, Expr y) { return x.binary<tg::AddOp>(y); }
  friend Expr operator-(Expr x, Expr y) { return x.binary<tg::SubOp>(y); }
  friend Expr operator*(Expr x, Expr y) { return x.binary<tg::MulOp>(y); }
  friend Expr operator/(Expr x, Expr y) { return x.binary<tg::DivOp>(y); }
  friend Expr operator+(Expr x, double y) { return x.binary<tg::AddOp>(y); }
  friend Expr operator-(Expr x, double y) { return x.binary<tg::SubOp>(y); }
  friend Expr operator*(Expr x, double y) { return x.binary<tg::MulOp>(y); }
  friend Expr operator/(Expr x, double y) { return x.binary<tg::DivOp>(y); }
  friend Expr operator-(double x, Expr y) { return y.like(x).binary<tg::SubOp>(y); }
  friend Expr operator/(double x, Expr y) { return y.like(x).binary<tg::DivOp>(y); }
  friend Expr operator&(Expr x, Expr y) { return x.binary<tg::AndOp>(y); }
  friend Expr operator|(Expr x, Expr y) { return x.binary<tg::OrOp>(y); }

  template <typename Other> Expr max(Other other) const { return binary<tg::MaxOp>(other); }
  template <typename Other> Expr min(Other other) const { return binary<tg::MinOp>(other); }
  Expr clamp(double low, double high) const { return max(low).min(high); }
  Expr compare(tg::CmpPredicate predicate, Expr other) const {
    return {*context, context->make<tg::CmpOp>(predicate, value, other.value)};
  }
  Expr compare(tg::CmpPredicate predicate, double other) const { return compare(predicate, like(other)); }
  /// This condition ? x : y.
  Expr select(Expr x, Expr y) const { return {*context, context->make<tg::SelectOp>(value, x.value, y.value)}; }
  Expr select(Expr x, double y) const { return select(x, x.like(y)); }

private:
  NodeContext *context;
  mlir::Value value;
};

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_EXPR_H
