// What only a program has: checks of order, symbols that are data, loops and branches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_PROGRAMOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_PROGRAMOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"
include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def TG_AssumeAtMostOp : TG_Op<"assume_at_most", []> {
  let summary = "run-time check that symbol expressions do not fall";
  let description = [{
    Each result of `map` must be at most the next one when the model runs; else the run fails with `message`. Import emits it where a
    window must fit, a slice must lie inside, and an extent must not be negative.

    ```mlir
    tg.assume_at_most affine_map<()[s0] -> (3, s0 + 2)>, "window along `height`"
    ```
  }];
  let arguments = (ins AffineMapAttr:$map, StrAttr:$message);
  let assemblyFormat = "$map `,` $message attr-dict";
  let hasVerifier = 1;
}

def TG_BindSymbolsOp : TG_Op<"bind_symbols", []> {
  let summary = "symbols whose values are data";
  let description = [{
    Symbol `symbols[i]` has the value of element i of `values`, which must be at least 0; else the run fails with `message`. What mentions
    the symbol, in a type or a map, runs after this op: it is of a later stage of the program (`weft::tg::Stages`), and no kernel holds ops
    of two stages. A symbol is bound once, and is no extent of an argument.

    ```mlir
    tg.bind_symbols %count as [2], "number of elements that are not zero" : tensor<1xi64>
    ```
  }];
  let arguments = (ins TG_IndexTensor:$values, DenseI64ArrayAttr:$symbols, StrAttr:$message);
  let assemblyFormat = "$values `as` $symbols `,` $message attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def TG_LoopOp : TG_Op<"loop", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "turns of a body function";
  let description = [{
    Runs `body` `trips` times (a map with one result; not at all if that is negative). Its arguments are `carried`, at first the operands and then what
    the turn before returned; for each of `scanned` the element of dimension 0 whose number is the turn, counted from the end where
    `scanned_reversed` says so; and `captured`. It returns the values to carry and one piece for each result that is collected. The
    results are the values carried last, then the pieces of all turns along a new dimension 0 (in reverse where `collected_reversed` says so).

    With `condition` the body returns, in front, whether there is another turn, and the loop ends before a turn for which that (at first
    `condition`) is false. What is collected has room for `trips` turns; pieces of turns that did not run are undefined. Where the condition
    holds after the last turn and `endless` is there, the run fails with it.

    ```mlir
    %last, %all = tg.loop @step trips affine_map<()[s0] -> (s0)> carry(%h : tensor<1x8xf32>) scan(%x : tensor<?x1x8xf32, #tg.dims<()[s0] -> (s0, 1, 8)>>)
        capture(%w : tensor<8x8xf32>) {scanned_reversed = array<i1: false>, collected_reversed = array<i1: false>}
        -> tensor<1x8xf32>, tensor<?x1x8xf32, #tg.dims<()[s0] -> (s0, 1, 8)>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, AffineMapAttr:$trips, Optional<TG_AnyTensor>:$condition, Variadic<TG_AnyTensor>:$carried,
                       Variadic<TG_AnyTensor>:$scanned, Variadic<TG_AnyTensor>:$captured, DenseBoolArrayAttr:$scanned_reversed,
                       DenseBoolArrayAttr:$collected_reversed, OptionalAttr<StrAttr>:$endless);
  let results = (outs Variadic<TG_AnyTensor>:$results);
  let assemblyFormat = [{
    $body `trips` $trips (`while` `(` $condition^ `:` type($condition) `)`)? (`carry` `(` $carried^ `:` type($carried) `)`)?
    (`scan` `(` $scanned^ `:` type($scanned) `)`)? (`capture` `(` $captured^ `:` type($captured) `)`)? attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
}

def TG_IfOp : TG_Op<"if", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "results of one of two body functions";
  let description = [{
    The results of `then_body` of `then_captured` where `condition`, of one element, is true, else those of `else_body` of `else_captured`. The
    other one does not run.

    ```mlir
    %r = tg.if %c then @big(%x : tensor<4xf32>) else @small() : tensor<i1> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$condition, FlatSymbolRefAttr:$then_body, Variadic<TG_AnyTensor>:$then_captured,
                       FlatSymbolRefAttr:$else_body, Variadic<TG_AnyTensor>:$else_captured);
  let results = (outs Variadic<TG_AnyTensor>:$results);
  let assemblyFormat = [{
    $condition `then` $then_body `(` ($then_captured^ `:` type($then_captured))? `)` `else` $else_body `(`
    ($else_captured^ `:` type($else_captured))? `)` attr-dict `:` type($condition) (`->` type($results)^)?
  }];
  let hasVerifier = 1;
}

def TG_VariantsOp : TG_Op<"variants", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "results of the variant of a program that was planned for an interval of a symbol";
  let description = [{
    The bodies compute the same, by other plans. Runs the first one whose interval, `low[i]` to `high[i]` with both ends, holds the one result of
    `value`, an expression of symbols; else the last one, which has no interval and is right for all values. Intervals rise and do not overlap. A
    body may have static extents where the others have the symbol, if its interval is one value.

    Only `@main` of a program that went through Plan has it (`weft/Pipelines/Variants.h`): up to Lower each variant is a program of its own.

    ```mlir
    %y = tg.variants affine_map<()[s0] -> (s0)> from [1, 2] to [1, 63] [@main_0, @main_1, @main_2] (%x) :
      (tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>) -> tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
    ```
  }];
  let arguments = (ins AffineMapAttr:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "functions">:$bodies, Variadic<TG_AnyTensor>:$arguments);
  let results = (outs Variadic<TG_AnyTensor>:$results);
  let assemblyFormat = [{
    $value `from` $low `to` $high $bodies `(` $arguments `)` attr-dict `:` functional-type($arguments, $results)
  }];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_PROGRAMOPS_TD
