// What the ranks of a program do together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_COLLECTIVEOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_COLLECTIVEOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"

/// An op that all ranks of a program do together, in the same order. The values of a rank are its own: the same op has
/// other contents on each. Where parts of ranks meet in one tensor, its dimension 0 is the rank: views move them there
/// and back, which kernels read at no cost.
class TG_CollectiveOp<string mnemonic, list<Trait> traits = []> : TG_Op<mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
}

def TG_AllReduceOp : TG_CollectiveOp<"all_reduce", [SameOperandsAndResultType]> {
  let summary = "combination of a tensor of all ranks";
  let description = [{
    Each of `ranks` ranks has the combination by `kind` (add, mul, max or min) of the operands of all. Floats narrower than f32 may be rounded
    after each combination, whose order is unspecified; all ranks have the same bits.

    ```mlir
    %r = tg.all_reduce add %x ranks = 4 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_MonoidAttr:$kind, TG_NumTensor:$input, I64Attr:$ranks);
  let results = (outs TG_NumTensor:$result);
  let assemblyFormat = "$kind $input `ranks` `=` $ranks attr-dict `:` type($input)";
}

def TG_AllGatherOp : TG_CollectiveOp<"all_gather"> {
  let summary = "the tensors of all ranks";
  let description = [{
    r[p] on each rank is the operand of rank p.

    ```mlir
    %r = tg.all_gather %x : tensor<4x8xf32> -> tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def TG_ReduceScatterOp : TG_CollectiveOp<"reduce_scatter"> {
  let summary = "a rank's part of the combination of a tensor of all ranks";
  let description = [{
    On rank p the combination by `kind` of x[p] of all ranks: part p of `tg.all_reduce`, whose numerics it has.

    ```mlir
    %r = tg.reduce_scatter add %x : tensor<2x4x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_MonoidAttr:$kind, TG_NumTensor:$input);
  let results = (outs TG_NumTensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
}

def TG_AllToAllOp : TG_CollectiveOp<"all_to_all", [SameOperandsAndResultType]> {
  let summary = "parts for each rank against parts of each rank";
  let description = [{
    On rank p, r[q] is x[p] of rank q. The ranks are the extent of dimension 0.

    ```mlir
    %r = tg.all_to_all %x : tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def TG_OwnPartOp : TG_CollectiveOp<"own_part"> {
  let summary = "a rank's part of a tensor that it has whole";
  let description = [{
    x[p] on rank p. Nothing goes from rank to rank: this is where a program says which rank it is.

    ```mlir
    %r = tg.own_part %x : tensor<2x4x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_COLLECTIVEOPS_TD
