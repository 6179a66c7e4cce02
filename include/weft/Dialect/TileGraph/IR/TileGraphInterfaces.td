// Op interfaces of the `tg` dialect: what planning, tiling and code generation ask of an op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHINTERFACES_TD
#define WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHINTERFACES_TD

include "mlir/IR/OpBase.td"

def TG_TileOpInterface : OpInterface<"TileOpInterface"> {
  let cppNamespace = "::weft::tg";
  let description = [{
    An op over an iteration domain: a box whose extents are symbol expressions, each dimension parallel or a reduction. Maps go from
    the domain to the elements of an operand or result; an operand that is read at data-dependent places has no map. From these
    follow the mapping type per operand (DNNFusion), the region of an operand that a tile of the result needs, FLOPs and bytes.
  }];
  let methods = [
    InterfaceMethod<"extents of the iteration domain, expressions of the module's symbols",
      "::llvm::SmallVector<::mlir::AffineExpr>", "getDomainExtents", (ins)>,
    InterfaceMethod<"kind of each domain dimension", "::llvm::SmallVector<::mlir::utils::IteratorType>", "getDomainIterators", (ins)>,
    InterfaceMethod<"map from the domain to operand `operand`, or none where the access depends on data",
      "::std::optional<::mlir::AffineMap>", "getOperandMap", (ins "unsigned":$operand)>,
    InterfaceMethod<"map from the domain to result `result`, or none where the access depends on data",
      "::std::optional<::mlir::AffineMap>", "getResultMap", (ins "unsigned":$result)>,
    InterfaceMethod<"mapping type of operand `operand`", "::weft::tg::MappingType", "getMappingType", (ins "unsigned":$operand)>,
    InterfaceMethod<"the combiner of the reduction dimensions, if there are any", "::std::optional<::weft::tg::Monoid>", "getCombiner",
      (ins), "", "return std::nullopt;">,
    InterfaceMethod<"arithmetic operations per point of the domain (a multiply-add is 2)", "int64_t", "getFlopsPerPoint", (ins),
      "", "return 0;">,
    InterfaceMethod<"bytes of all distinct operands and results, an expression of the module's symbols", "::mlir::AffineExpr", "getBytes",
      (ins), "", "return ::weft::tg::detail::defaultBytes($_op);">,
  ];
}

def TG_PointwiseOpInterface : OpInterface<"PointwiseOpInterface"> {
  let cppNamespace = "::weft::tg";
  let description = [{
    An op that computes each element of its result from the operands' elements at the same (broadcast) place. `buildScalar` is the
    op's only definition: constant folding, the Reference, the CPU path and the GPU path call it.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the op on scalars with `arith` and `math` ops and returns the result scalar. Float scalars come in `computeType`
        (f32 for f16, bf16 and f32 tensors, f64 for f64; the Reference passes f64 for all) and so does a float result; integers
        and booleans come and go as signless integers of their own width.
      }], "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$scalars, "::mlir::FloatType":$computeType)>,
  ];
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHINTERFACES_TD
