// Scalars of the elementwise ops: their types, their way from and to storage, and the monoids as scalar functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scalar of a float tensor travels in the compute type, as a value: for f8 and f4 storage too. A scalar of an integer
// or boolean tensor is a signless integer of the tensor's width. `buildLoad` makes a scalar of a stored element and
// `buildStore` rounds one to storage; whoever calls `PointwiseOpInterface::buildScalar` puts them around it, so that
// each op rounds once to its element type. All functions build branch-free `arith` and `math` ops that are defined for
// every input.
#ifndef WEFT_DIALECT_TILEGRAPH_IR_SCALARMATH_H
#define WEFT_DIALECT_TILEGRAPH_IR_SCALARMATH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace weft::tg {

enum class Monoid : uint32_t;

/// Whether integers of tensor element type `element` are unsigned (booleans are).
bool isUnsignedElement(mlir::Type element);
/// f8 and f4 types: stored, never computed in.
bool isStorageFloat(mlir::Type element);
/// f64 for f64 elements, else f32 (integers too: what a cast to or from them uses).
mlir::FloatType getComputeType(mlir::Type element);
/// The wider of the compute types of an op's operands and results (their element types).
mlir::FloatType getComputeType(mlir::Operation *op);
/// Type of a scalar of element type `element`: `computeType`, or a signless integer.
mlir::Type getScalarType(mlir::Type element, mlir::FloatType computeType);
/// Type that holds an element in memory: signless integers for integers and for f8 and f4 floats, else `element`.
mlir::Type getStorageType(mlir::Type element);

/// The scalar of a stored element. `stored` has type `element` (signless for integers) or the storage type.
mlir::Value buildLoad(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored, mlir::Type element,
                      mlir::FloatType computeType);
/// The element, of the storage type, for a scalar. f64, f32, f16 and bf16 round to nearest even. An f8 or f4 scalar
/// must be a value of its type already, as `tg.cast` yields (other values give one of the neighbouring codes or a wrong
/// one).
mlir::Value buildStore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Type element);

/// The combination of two scalars of element type `element`; null if the monoid is not defined on it (and, or of
/// floats).
mlir::Value buildCombine(mlir::OpBuilder &builder, mlir::Location loc, Monoid kind, mlir::Value lhs, mlir::Value rhs,
                         mlir::Type element);
/// The monoid's identity as a scalar: 0, 1, the lowest value (-inf), the highest (+inf), all bits set, 0. Null as
/// above.
mlir::Value buildIdentity(mlir::OpBuilder &builder, mlir::Location loc, Monoid kind, mlir::Type element,
                          mlir::FloatType computeType);

namespace detail {
/// Rounds the float `value` to the nearest value of the storage float type `target`, ties to even, and returns it in
/// the type it came in. Overflow: the largest finite value if `saturate`, else infinity where `target` has one, else
/// NaN. f4E2M1FN has neither: it always saturates, and NaN gives 0. f8E8M0FNU rounds to a power of two, ties up, or
/// upward if `roundUp`; negative numbers give NaN; below 2^-127 (0 too) and above 2^127: the end of the range if
/// `saturate`, else NaN.
mlir::Value buildRoundToStorageFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type target,
                                     bool saturate, bool roundUp);
} // namespace detail

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_SCALARMATH_H
