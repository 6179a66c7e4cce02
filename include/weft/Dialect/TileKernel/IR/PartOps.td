// Ops of CTAs that share a tile's steps, apart from the others because few rooms know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_TD
#define WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_TD

include "weft/Dialect/TileKernel/IR/TileKernelBase.td"

def TK_TilePartOp : Op<TileKernel_Dialect, "tile_part", [Pure]> {
  let summary = "which part of its tile the CTA computes";
  let description = [{
    Where the order of the enclosing `tk.for_tiles` is `tail<w,p,ORDER>` (docs/traversal.md), p CTAs have each tile from number w on: part `part` of `parts`, and its
    `number` among all parts of such tiles (those of a tile are neighbours). A tile ahead of them has one part, and number 0.

    ```mlir
    %number, %part, %parts = tk.tile_part
    ```
  }];
  let results = (outs Index:$number, Index:$part, Index:$parts);
  let assemblyFormat = "attr-dict";
  let builders = [OpBuilder<(ins), [{
    ::mlir::Type index = $_builder.getIndexType();
    build($_builder, $_state, index, index, index);
  }]>];
}

def TK_PartSendOp : Op<TileKernel_Dialect, "part_send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what a CTA has of a tile's sums to the one that merges them";
  let description = [{
    Where several CTAs have a tile (see `tk.tile_part`, whose results are the operands) the values go to a variable of the module, which has room for `slots` parts; a tile has
    `most`. The CTA that comes last gets `most` as `turns`, all others 0: nobody waits for anybody. Where the CTA has the tile for itself nothing is sent,
    and `turns` is 0. `stores`: the CTA has the tile's results in the end, being the last one or the only one. Elements have 32 bits. All threads of the role execute the op.
    Of values of two dimensions only the first `live` columns count.

    ```mlir
    %turns, %stores = tk.part_send %max, %sum part (%number, %part, %parts) of 96 x 4 live 48 : !tk.tile<64xf32>, !tk.tile<64x64xf32>
    ```
  }];
  let arguments = (ins Variadic<TK_TileType>:$values, Index:$number, Index:$part, Index:$parts, I64Attr:$slots, I64Attr:$most,
                       OptionalAttr<I64Attr>:$live);
  let results = (outs Index:$turns, I1:$stores);
  let assemblyFormat = "$values `part` `(` $number `,` $part `,` $parts `)` `of` $slots `x` $most (`live` $live^)? attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def TK_PartReceiveOp : Op<TileKernel_Dialect, "part_receive", [MemoryEffects<[MemRead]>]> {
  let summary = "what a CTA has sent of a tile's sums";
  let description = [{
    The values that part number `number` has sent (`tk.part_send`, whose values have the same types).

    ```mlir
    %max, %sum = tk.part_receive %number of 96 live 48 : !tk.tile<64xf32>, !tk.tile<64x64xf32>
    ```
  }];
  let arguments = (ins Index:$number, I64Attr:$slots, OptionalAttr<I64Attr>:$live);
  let results = (outs Variadic<TK_TileType>:$values);
  let assemblyFormat = "$number `of` $slots (`live` $live^)? attr-dict `:` type($values)";
}

def TK_PartSumOp : Op<TileKernel_Dialect, "part_sum", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the sum of a tile over the CTAs that have parts of its steps";
  let description = [{
    Where several CTAs have a tile (see `tk.tile_part`, whose results are the operands) their values pass through a variable of the module, which has room for `slots` parts; a tile
    has `most`. Elements have 32 bits, and of two dimensions only the first `live` columns count. All threads of the role execute the op. Where the CTA has the tile for itself the
    result is the value, `stores` is true, and `share` is `most`.

    Without `piece` the CTA that comes last adds up all parts, in their order: nobody waits for anybody. It alone `stores`.

    With `piece` the registers of each thread are pieces of so many, dealt to the parts in their order: `share` is the CTA's part, and the result has the sums of its pieces, while the
    others hold partial sums, which nobody reads (`tk.store_box` with that share leaves them out). Each CTA sends what it does not add up, and waits for all other parts of the tile:
    those have neighbouring numbers, and CTAs begin in the order of their numbers.

    ```mlir
    %sum, %stores, %share = tk.part_sum %acc part (%number, %part, %parts) of 96 x 4 live 48 in pieces of 32 : !tk.tile<64x64xf32>
    ```
  }];
  let arguments = (ins TK_TileType:$value, Index:$number, Index:$part, Index:$parts, I64Attr:$slots, I64Attr:$most, OptionalAttr<I64Attr>:$live,
                       OptionalAttr<I64Attr>:$piece);
  let results = (outs TK_TileType:$result, I1:$stores, Index:$share);
  let assemblyFormat = [{$value `part` `(` $number `,` $part `,` $parts `)` `of` $slots `x` $most (`live` $live^)? (`in` `pieces` `of` $piece^)? attr-dict
                         `:` type($value)}];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_PARTOPS_TD
