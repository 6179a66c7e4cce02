// Contractions, reductions, scans, order statistics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_REDUCTIONOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_REDUCTIONOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"
include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.td"

def TG_ContractOp : TG_Op<"contract", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface, ["getCombiner", "getFlopsPerPoint"]>]> {
  let summary = "sum of products over an affine iteration domain";
  let description = [{
    `result[maps[2](d)] = sum over the reduction dimensions of lhs[maps[0](d)] * rhs[maps[1](d)]`. `maps` go from the iteration domain to
    operand and result indices. The result map is a projected permutation; its dimensions are parallel, the others reductions.
    Operand maps may be any affine functions (a convolution reads `oh * 2 + kh`); each domain dimension appears alone in
    at least one operand's or the result's map, which gives its extent. Reads are in bounds.

    Accumulates in f32 (f64 for f64, modulo 2^n for integers of the result's type); operands of an integer contraction are
    extended to the result type by their own signedness. The result rounds once.

    ```mlir
    %r = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins TG_NumTensor:$lhs, TG_NumTensor:$rhs, AffineMapArrayAttr:$maps);
  let results = (outs TG_NumTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs $maps attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let builders = [
    // `einsum` such as "mk,kn->mn": one letter a dimension. Extents come from the operands.
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::StringRef":$einsum, "::mlir::Type":$elementType)>];
  let extraClassDeclaration = [{
    ::mlir::AffineMap getMap(unsigned i) { return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[i]).getValue(); }
  }];
}

def TG_ReduceOp : TG_InferredOp<"reduce", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface, ["getCombiner", "getFlopsPerPoint"]>],
    "return ::weft::tg::detail::inferReduce(location, adaptor.getInput().getType(), adaptor.getAxes(), adaptor.getKeepDims(), results);"> {
  let summary = "reduction over axes";
  let description = [{
    Combines the elements along `axes` (sorted, distinct, not negative) with `kind`, from the monoid's identity: 0, 1, the lowest
    value (-inf), the highest (+inf), true, false. With `keep_dims` the reduced dimensions stay with extent 1. NaN propagates
    through max and min.

    ```mlir
    %r = tg.reduce add %x axes = [1] keep_dims : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_MonoidAttr:$kind, TG_Tensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims);
  let results = (outs TG_Tensor:$result);
  let assemblyFormat = "$kind $input `axes` `=` $axes (`keep_dims` $keep_dims^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TG_ArgReduceOp : TG_InferredOp<"arg_reduce", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface, ["getCombiner", "getFlopsPerPoint"]>],
    [{return ::weft::tg::detail::inferArgReduce(location, adaptor.getInput().getType(), adaptor.getAxis(), adaptor.getKeepDims(),
                                               results);}]> {
  let summary = "index of the extreme element along an axis";
  let description = [{
    The i64 index of the `max` or `min` along `axis`; of equal elements the first, or the last with `select_last`. A NaN wins.

    ```mlir
    %r = tg.arg_reduce max %x axis = 1 keep_dims : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_MonoidAttr:$kind, TG_NumTensor:$input, I64Attr:$axis, UnitAttr:$keep_dims, UnitAttr:$select_last);
  let results = (outs TG_IndexTensor:$result);
  let assemblyFormat = "$kind $input `axis` `=` $axis (`keep_dims` $keep_dims^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def TG_ScanOp : TG_InferredOp<"scan", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface, ["getCombiner", "getFlopsPerPoint"]>],
    "results.push_back(adaptor.getInput().getType()); return ::llvm::success();"> {
  let summary = "prefix reduction along an axis";
  let description = [{
    r[i] = combination of x[0..i] along `axis`, without x[i] if `exclusive`, from the end if `reverse`. Accumulates in order, in
    f32 for f16 and bf16.

    ```mlir
    %r = tg.scan add %x axis = 0 {exclusive} : tensor<8xf32>
    ```
  }];
  let arguments = (ins TG_MonoidAttr:$kind, TG_NumTensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs TG_NumTensor:$result);
  let assemblyFormat = "$kind $input `axis` `=` $axis attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def TG_TopKOp : TG_InferredOp<"top_k", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>],
    "return ::weft::tg::detail::inferTopK(location, adaptor.getInput().getType(), adaptor.getAxis(), adaptor.getK(), results);"> {
  let summary = "the k largest or smallest elements along an axis, in order, with their indices";
  let description = [{
    Values and i64 indices, descending if `largest`, else ascending; of equal elements the one with the lower index first. `k` is
    at most the extent of the axis; k = extent sorts. NaN counts as larger than every number.

    ```mlir
    %v, %i = tg.top_k %x axis = 1 k = 3 {largest} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_NumTensor:$input, I64Attr:$axis, I64Attr:$k, UnitAttr:$largest);
  let results = (outs TG_NumTensor:$values, TG_IndexTensor:$indices);
  let assemblyFormat = "$input `axis` `=` $axis `k` `=` $k attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_REDUCTIONOPS_TD
