// Elementwise ops: one record per scalar function. Semantics are the op's `buildScalar` (lib/Dialect/TileGraph/IR/ScalarMath*.cpp).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_POINTWISEOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_POINTWISEOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"
include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.td"

/// Where the element type of an elementwise result comes from.
class TG_ResultElement<string fn> { string function = fn; }
def TG_SameElement : TG_ResultElement<"::weft::tg::detail::sameElement">;
def TG_BoolElement : TG_ResultElement<"::weft::tg::detail::boolElement">;
def TG_LastElement : TG_ResultElement<"::weft::tg::detail::lastElement">;

class TG_Pointwise<string mnemonic, TG_ResultElement element, list<Trait> traits = []>
    : TG_Op<mnemonic, !listconcat(traits, [Pure, InferTypeOpInterface,
                                   DeclareOpInterfaceMethods<TG_TileOpInterface, ["getFlopsPerPoint"]>,
                                   DeclareOpInterfaceMethods<TG_PointwiseOpInterface>])> {
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult inferReturnTypes(::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties,
        ::mlir::RegionRange regions, ::llvm::SmallVectorImpl<::mlir::Type> &results);
  }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      return ::weft::tg::detail::inferPointwise(location, operands, }] # element.function # [{, results);
    }
    ::llvm::SmallVector<::mlir::AffineExpr> $cppClass::getDomainExtents() { return ::weft::tg::detail::resultExtents(*this); }
    ::llvm::SmallVector<::mlir::utils::IteratorType> $cppClass::getDomainIterators() {
      return ::weft::tg::detail::parallelIterators(*this);
    }
    ::std::optional<::mlir::AffineMap> $cppClass::getOperandMap(unsigned operand) {
      return ::weft::tg::detail::broadcastMap(*this, operand);
    }
    ::std::optional<::mlir::AffineMap> $cppClass::getResultMap(unsigned) { return ::weft::tg::detail::identityResultMap(*this); }
    ::weft::tg::MappingType $cppClass::getMappingType(unsigned operand) {
      return ::weft::tg::detail::pointwiseMapping(*this, operand);
    }
    int64_t $cppClass::getFlopsPerPoint() { return 1; }
  }];
  let results = (outs TG_AnyTensor:$result);
  let hasFolder = 0;
}

class TG_Unary<string mnemonic, Type type, string summary_, string formula, TG_ResultElement element = TG_SameElement,
               list<Trait> traits = []> : TG_Pointwise<mnemonic, element, traits> {
  let summary = summary_;
  let description = formula # [{

    ```mlir
    %r = tg.}] # mnemonic # [{ %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins type:$input);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

class TG_Binary<string mnemonic, Type type, string summary_, string formula, TG_ResultElement element = TG_SameElement,
                list<Trait> traits = []> : TG_Pointwise<mnemonic, element, traits> {
  let summary = summary_;
  let description = formula # [{

    ```mlir
    %r = tg.}] # mnemonic # [{ %x, %y : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins type:$lhs, type:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}


// Arithmetic.
def TG_NegOp : TG_Unary<"neg", TG_NumTensor, "negation", "r = -x; integers modulo 2^n.">;
def TG_AbsOp : TG_Unary<"abs", TG_NumTensor, "absolute value", "r = |x|; the least signed integer maps to itself.">;
def TG_SignOp : TG_Unary<"sign", TG_NumTensor, "sign", "r = -1, 0 or 1; NaN gives NaN, zeros give zero.">;
def TG_ReciprocalOp : TG_Unary<"reciprocal", TG_FloatTensor, "reciprocal", "r = 1 / x, correctly rounded.">;
def TG_AddOp : TG_Binary<"add", TG_NumTensor, "sum", "r = x + y; integers modulo 2^n.", TG_SameElement, [Commutative]>;
def TG_SubOp : TG_Binary<"sub", TG_NumTensor, "difference", "r = x - y; integers modulo 2^n.">;
def TG_MulOp : TG_Binary<"mul", TG_NumTensor, "product", "r = x * y; integers modulo 2^n.", TG_SameElement, [Commutative]>;
def TG_DivOp : TG_Binary<"div", TG_NumTensor, "quotient", [{r = x / y; integers round toward zero, division by zero gives 0, and
    the least signed integer divided by -1 gives itself.}]>;
def TG_ModOp : TG_Binary<"mod", TG_NumTensor, "remainder with the divisor's sign",
    "r = x - floor(x / y) * y; with integer y = 0 the result is 0.">;
def TG_FModOp : TG_Binary<"fmod", TG_NumTensor, "remainder with the dividend's sign",
    "r = x - trunc(x / y) * y, exact for floats; with integer y = 0 the result is 0.">;
def TG_MaxOp : TG_Binary<"max", TG_NumTensor, "maximum", "r = max(x, y); NaN if an operand is NaN.", TG_SameElement, [Commutative]>;
def TG_MinOp : TG_Binary<"min", TG_NumTensor, "minimum", "r = min(x, y); NaN if an operand is NaN.", TG_SameElement, [Commutative]>;
def TG_PowOp : TG_Binary<"pow", TG_NumTensor, "power", [{r = x ^ y as C's pow for floats; integers by repeated multiplication modulo
    2^n, a negative integer exponent gives 0 unless |x| = 1. Both operands have one element type.}]>;

// Rounding.
def TG_CeilOp : TG_Unary<"ceil", TG_FloatTensor, "least integer not below", "r = ceil(x).">;
def TG_FloorOp : TG_Unary<"floor", TG_FloatTensor, "greatest integer not above", "r = floor(x).">;
def TG_RoundOp : TG_Unary<"round", TG_FloatTensor, "nearest integer, ties to even", "r = roundeven(x).">;
def TG_TruncOp : TG_Unary<"trunc", TG_FloatTensor, "integer part", "r = trunc(x).">;

// Exponentials, roots, error function.
def TG_ExpOp : TG_Unary<"exp", TG_FloatTensor, "exponential", "r = e^x.">;
def TG_Expm1Op : TG_Unary<"expm1", TG_FloatTensor, "exponential minus one", "r = e^x - 1 without cancellation near 0.">;
def TG_LogOp : TG_Unary<"log", TG_FloatTensor, "natural logarithm", "r = ln x; negative x gives NaN, zero gives -inf.">;
def TG_Log1pOp : TG_Unary<"log1p", TG_FloatTensor, "logarithm of one plus x", "r = ln(1 + x) without cancellation near 0.">;
def TG_SqrtOp : TG_Unary<"sqrt", TG_FloatTensor, "square root", "r = sqrt(x), correctly rounded.">;
def TG_RsqrtOp : TG_Unary<"rsqrt", TG_FloatTensor, "reciprocal square root", "r = 1 / sqrt(x).">;
def TG_ErfOp : TG_Unary<"erf", TG_FloatTensor, "error function", "r = erf(x).">;
def TG_SigmoidOp : TG_Unary<"sigmoid", TG_FloatTensor, "logistic function", "r = 1 / (1 + e^-x), without overflow.">;

// Trigonometry.
def TG_SinOp : TG_Unary<"sin", TG_FloatTensor, "sine", "r = sin(x), x in radians.">;
def TG_CosOp : TG_Unary<"cos", TG_FloatTensor, "cosine", "r = cos(x), x in radians.">;
def TG_TanOp : TG_Unary<"tan", TG_FloatTensor, "tangent", "r = tan(x), x in radians.">;
def TG_AsinOp : TG_Unary<"asin", TG_FloatTensor, "arc sine", "r = asin(x); NaN outside [-1, 1].">;
def TG_AcosOp : TG_Unary<"acos", TG_FloatTensor, "arc cosine", "r = acos(x); NaN outside [-1, 1].">;
def TG_AtanOp : TG_Unary<"atan", TG_FloatTensor, "arc tangent", "r = atan(x).">;
def TG_SinhOp : TG_Unary<"sinh", TG_FloatTensor, "hyperbolic sine", "r = sinh(x).">;
def TG_CoshOp : TG_Unary<"cosh", TG_FloatTensor, "hyperbolic cosine", "r = cosh(x).">;
def TG_TanhOp : TG_Unary<"tanh", TG_FloatTensor, "hyperbolic tangent", "r = tanh(x).">;
def TG_AsinhOp : TG_Unary<"asinh", TG_FloatTensor, "inverse hyperbolic sine", "r = asinh(x).">;
def TG_AcoshOp : TG_Unary<"acosh", TG_FloatTensor, "inverse hyperbolic cosine", "r = acosh(x); NaN below 1.">;
def TG_AtanhOp : TG_Unary<"atanh", TG_FloatTensor, "inverse hyperbolic tangent", "r = atanh(x); NaN outside [-1, 1].">;

// Predicates and logic.
def TG_IsNanOp : TG_Unary<"is_nan", TG_FloatTensor, "test for NaN", "r = (x is NaN).", TG_BoolElement>;
def TG_IsInfOp : TG_Pointwise<"is_inf", TG_BoolElement> {
  let summary = "test for infinity";
  let description = [{
    r = (x is +inf and `positive`) or (x is -inf and `negative`).

    ```mlir
    %r = tg.is_inf %x {negative = true, positive = false} : tensor<4xf32>
    ```
  }];
  let arguments = (ins TG_FloatTensor:$input, DefaultValuedAttr<BoolAttr, "true">:$negative,
                       DefaultValuedAttr<BoolAttr, "true">:$positive);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
def TG_CmpOp : TG_Pointwise<"cmp", TG_BoolElement> {
  let summary = "comparison";
  let description = [{
    r = (x predicate y). Ordered for floats, except `ne`, which holds when an operand is NaN. Booleans compare false < true.

    ```mlir
    %r = tg.cmp lt %x, %y : tensor<4xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins TG_CmpPredicateAttr:$predicate, TG_Tensor:$lhs, TG_Tensor:$rhs);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}
def TG_BitsTensor : RankedTensorOf<[I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def TG_NotOp : TG_Unary<"not", TG_BitsTensor, "bitwise complement", "r = ~x; the logical not of booleans.">;
def TG_AndOp : TG_Binary<"and", TG_BitsTensor, "bitwise and", "r = x & y.", TG_SameElement, [Commutative]>;
def TG_OrOp : TG_Binary<"or", TG_BitsTensor, "bitwise or", "r = x | y.", TG_SameElement, [Commutative]>;
def TG_XorOp : TG_Binary<"xor", TG_BitsTensor, "bitwise exclusive or", "r = x ^ y.", TG_SameElement, [Commutative]>;
def TG_ShlOp : TG_Binary<"shl", TG_IntTensor, "shift left", "r = x << y; 0 when y is not below the width.">;
def TG_ShrOp : TG_Binary<"shr", TG_IntTensor, "shift right",
    "r = x >> y, arithmetic for signed types; 0 (or -1) when y is not below the width.">;

def TG_SelectOp : TG_Pointwise<"select", TG_LastElement> {
  let summary = "choice by a condition";
  let description = [{
    r = condition ? on_true : on_false, all three broadcast together. The values may be of any element type.

    ```mlir
    %r = tg.select %c, %x, %y : tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins TG_BoolTensor:$condition, TG_AnyTensor:$on_true, TG_AnyTensor:$on_false);
  let assemblyFormat = [{$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($on_true) `,`
                         type($on_false)}];
}

def TG_CastOp : TG_Op<"cast", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>,
                               DeclareOpInterfaceMethods<TG_PointwiseOpInterface>]> {
  let summary = "conversion of the element type";
  let description = [{
    Converts values, not bits. Float to float rounds to nearest even; float to integer truncates toward zero, and values outside
    the range (and NaN) saturate (NaN gives 0); integer to integer keeps the low bits; anything to i1 is `x != 0`. To an
    8-bit or narrower float: `saturate` clamps to the largest finite value, else overflow gives NaN (or infinity where the type has
    one). `round_up` selects rounding upward, for f8E8M0FNU only.

    ```mlir
    %r = tg.cast %x : tensor<4xf32> to tensor<4xf16>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input, DefaultValuedAttr<BoolAttr, "true">:$saturate, DefaultValuedAttr<BoolAttr, "false">:$round_up);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType)>];
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_POINTWISEOPS_TD
