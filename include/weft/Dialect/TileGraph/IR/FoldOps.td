// Folds: streaming reductions with a tuple of states.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_FOLDOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_FOLDOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"

def TG_FoldOp : TG_Op<"fold", [RecursiveMemoryEffects]> {
  let summary = "streaming reduction over one dimension with a tuple of states";
  let description = [{
    The streamed dimension has `extent` places (one result, an expression of the module's symbols). States start as tensors filled with the scalars `init`. `update` takes the states and
    yields the next ones; it is written as if one step took the whole dimension. The ops in it that reduce the streamed dimension (`tg.reduce`,
    `tg.contract`) carry the attribute `tg.streamed`; every other op treats the places of that dimension alike. So a step may
    take any part of the dimension: running `update` on part after part gives what one run on the whole gives, up to rounding (the
    law of the fold; whoever builds one has proved it). `finish` turns the last states into the results.

    The regions may use values from outside. `merge`, if there is one, combines the states of two disjoint parts: its arguments are the states of one, then of the other.

    A fold `in P parts of U` folds each of P parts of the stream for itself, and its results have a leading dimension of P. The stream is cut into units of U places, of which the last
    one may be shorter; with u units, part p has the units from floor(p u / P) up to floor((p + 1) u / P), so parts differ by one unit at most, and are empty (their states are the
    initial ones) where there are fewer units than parts.

    Reference: one step of the whole dimension, or of each part. Source: the cascaded reductions of research note 1.6 (repair function), of which FlashAttention's online softmax
    (Dao et al. 2022; Milakov and Gimelshein 2018) is the case max -> sum, contraction.

    ```mlir
    // log-sum-exp over the rows of %x : tensor<4x64xf32>
    %r = tg.fold over affine_map<() -> (64)> init [0xFF800000 : f32, 0.0 : f32] update {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>):
      %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<4x64xf32>
      %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
      %d = tg.sub %x, %m2 : tensor<4x64xf32>, tensor<4x1xf32>
      %e = tg.exp %d : tensor<4x64xf32>
      %s = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<4x64xf32>
      %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
      %f = tg.exp %c : tensor<4x1xf32>
      %k = tg.mul %l, %f : tensor<4x1xf32>, tensor<4x1xf32>
      %l2 = tg.add %k, %s : tensor<4x1xf32>, tensor<4x1xf32>
      tg.fold_yield %m2, %l2 : tensor<4x1xf32>, tensor<4x1xf32>
    } merge {
    } finish {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>):
      %g = tg.log %l : tensor<4x1xf32>
      %o = tg.add %g, %m : tensor<4x1xf32>, tensor<4x1xf32>
      tg.fold_yield %o : tensor<4x1xf32>
    } : tensor<4x1xf32>
    ```
  }];
  let arguments = (ins AffineMapAttr:$extent, OptionalAttr<I64Attr>:$parts, OptionalAttr<I64Attr>:$unit, ArrayAttr:$init);
  let regions = (region SizedRegion<1>:$update, MaxSizedRegion<1>:$merge, SizedRegion<1>:$finish);
  let results = (outs Variadic<TG_AnyTensor>:$results);
  let assemblyFormat = "`over` $extent (`in` $parts^ `parts` `of` $unit)? `init` $init attr-dict-with-keyword `update` $update `merge` $merge `finish` $finish `:` type($results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// On ops of `update`: reduces the streamed dimension.
    static constexpr ::llvm::StringLiteral streamedAttr = "tg.streamed";

    /// Dimensions that results have in front of those of what `finish` yields.
    unsigned getNumPartDims() { return getParts() ? 1 : 0; }
    /// Units of the stream; its extent for a fold that is not in parts.
    ::mlir::AffineExpr getNumUnits() { return simplify(getExtent().getResult(0).ceilDiv(int64_t(getUnit().value_or(1)))); }
    /// The most elements of a part.
    ::mlir::AffineExpr getPartExtent() {
      return simplify(getNumUnits().ceilDiv(int64_t(getParts().value_or(1))) * int64_t(getUnit().value_or(1)));
    }
  }];
}

def TG_FoldYieldOp : TG_Op<"fold_yield", [Pure, Terminator, HasParent<"FoldOp">]> {
  let summary = "values of a region of a fold";
  let description = [{
    ```mlir
    tg.fold_yield %m : tensor<4x1xf32>
    ```
  }];
  let arguments = (ins Variadic<TG_AnyTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_FOLDOPS_TD
