// Ops on register tiles, and the loop over a launch's tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_TILEOPS_TD
#define WEFT_DIALECT_TILEKERNEL_IR_TILEOPS_TD

include "weft/Dialect/TileKernel/IR/TileKernelBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"

class TK_Op<string mnemonic, list<Trait> traits = []> : Op<TileKernel_Dialect, mnemonic, traits>;

/// A set as an attribute: `affine_set<...>`.
def TK_GuardAttr : Attr<CPred<"::llvm::isa<::mlir::IntegerSetAttr>($_self)">, "integer set"> {
  let storageType = "::mlir::IntegerSetAttr";
  let returnType = "::mlir::IntegerSet";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::mlir::IntegerSetAttr::get($0)";
}

def TK_ForTilesOp : TK_Op<"for_tiles", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "the tiles of a launch, each computed by one CTA";
  let description = [{
    Runs the region once for each point of the box of `extents` (tile counts, as expressions of the kernel's symbols), the last index fastest
    unless `order` (the text of a traversal, docs/traversal.md: of a grid of any rank, the last extents above 1 are its columns) says otherwise. Points run in any order, on different CTAs or,
    with `persistent`, several on one. Regions of different points write disjoint memory, except through `tk.store` with a combiner.

    ```mlir
    tk.for_tiles (%i, %j) in affine_map<()[s0] -> (s0 ceildiv 128, 6)> { ... }
    ```
  }];
  let arguments = (ins AffineMapAttr:$extents, OptionalAttr<StrAttr>:$order, UnitAttr:$persistent);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::AffineMap":$extents)>];
}

def TK_YieldOp : TK_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "end of a region";
  let description = [{
    ```mlir
    tk.yield %x : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
}

def TK_ConstantOp : TK_Op<"constant", [Pure, ConstantLike]> {
  let summary = "tile of one value";
  let description = [{
    ```mlir
    %0 = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TK_SplatOp : TK_Op<"splat", [Pure]> {
  let summary = "tile of a scalar";
  let description = [{
    ```mlir
    %0 = tk.splat %x : f32 -> !tk.tile<128xf32>
    ```
  }];
  let arguments = (ins AnyType:$scalar);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasVerifier = 1;
}

def TK_AffineOp : TK_Op<"affine", [Pure, AttrSizedOperandSegments]> {
  let summary = "an affine function of the place in a tile, as integers";
  let description = [{
    `map` has one result. The element type is i32 or i64; the function's values fit.

    ```mlir
    %0 = tk.affine affine_map<(d0, d1)[s0] -> (s0 * 64 + d1)> [%j] : !tk.tile<16x64xi32>
    ```
  }];
  let arguments = (ins AffineMapAttr:$map, Variadic<Index>:$symbols, Variadic<TK_TileType>:$indices);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$map (`[` $symbols^ `]`)? (`indices` `(` $indices^ `:` type($indices) `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TK_GuardOp : TK_Op<"guard", [Pure, AttrSizedOperandSegments]> {
  let summary = "which places of a tile lie in an integer set";
  let description = [{
    ```mlir
    %0 = tk.guard affine_set<(d0)[s0, s1] : (s1 - s0 * 64 - d0 - 1 >= 0)> [%j, %n] : !tk.tile<64xi1>
    ```
  }];
  let arguments = (ins TK_GuardAttr:$guard, Variadic<Index>:$symbols, Variadic<TK_TileType>:$indices);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$guard (`[` $symbols^ `]`)? (`indices` `(` $indices^ `:` type($indices) `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TK_LoadOp : TK_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "tile of a tensor in global memory, to registers";
  let description = [{
    r[d] = source[map(d)[symbols]] where `guard` holds (no guard: everywhere), else `fill` (no fill: zero). Where the guard holds, all indices are in bounds. `mask`, a tile of i1,
    restricts the guard further. Index tiles are values that the map sees as further dimensions, place by place: a gather.

    ```mlir
    %0 = tk.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
        guard affine_set<(d0, d1)[s0, s1] : (1000 - s0 * 128 - d0 - 1 >= 0)> : !tk.global<tensor<1000x768xf16>> -> !tk.tile<128x64xf16>
    ```
  }];
  let arguments = (ins TK_GlobalType:$source, Variadic<Index>:$symbols, Variadic<TK_TileType>:$indices, Optional<TK_TileType>:$mask,
                       AffineMapAttr:$map, OptionalAttr<TK_GuardAttr>:$guard, OptionalAttr<TypedAttrInterface>:$fill);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = [{$source (`[` $symbols^ `]`)? `map` $map (`indices` `(` $indices^ `:` type($indices) `)`)? (`guard` $guard^)?
                         (`mask` $mask^ `:` type($mask))? (`fill` $fill^)? attr-dict `:` type($source) `->` type($result)}];
  let hasVerifier = 1;
}

def TK_StoreOp : TK_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "a register tile to global memory";
  let description = [{
    Where `guard` (and `mask`) holds, target[map(d)[symbols]] becomes value[d], or with `combine` (add, max, min) its combination with it,
    atomically and relaxed. Without a combiner no two places of one launch write the same element, except with the same value.

    With `lines` (set by weft-tk-layouts) the tile leaves by way of shared memory: each warp brings some of its lines, which are contiguous in memory from any address
    on, to its part of the op's scratch, as far behind a multiple of 16 bytes as they begin in memory, and stores the whole pieces of 16 bytes between a line's ends by one access each.

    ```mlir
    tk.store %t, %y[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 128 + d1)>
        : !tk.tile<128x128xf16>, !tk.global<tensor<1024x768xf16>>
    ```
  }];
  let arguments = (ins TK_TileType:$value, TK_GlobalType:$target, Variadic<Index>:$symbols, Variadic<TK_TileType>:$indices,
                       Optional<TK_TileType>:$mask, AffineMapAttr:$map, OptionalAttr<TK_GuardAttr>:$guard, OptionalAttr<TG_MonoidAttr>:$combine, UnitAttr:$lines);
  let assemblyFormat = [{$value `,` $target (`[` $symbols^ `]`)? `map` $map (`indices` `(` $indices^ `:` type($indices) `)`)?
                         (`guard` $guard^)? (`mask` $mask^ `:` type($mask))? (`combine` $combine^)? (`lines` $lines^)? attr-dict `:` type($value) `,` type($target)}];
  let hasVerifier = 1;
}

def TK_MapOp : TK_Op<"map", [SingleBlock, RecursiveMemoryEffects, IsolatedFromAbove]> {
  let summary = "a scalar function of tiles, place by place";
  let description = [{
    The region's arguments are the operands' elements, in order; it yields the results' elements. It holds `arith` and `math` ops without side effects.
    Operands and results have one shape (and one layout).

    ```mlir
    %r = tk.map (%x, %y : !tk.tile<64xf16>, !tk.tile<64xf32>) -> !tk.tile<64xf32> {
    ^bb0(%a: f16, %b: f32):
      %0 = arith.extf %a : f16 to f32
      %1 = arith.addf %0, %b : f32
      tk.yield %1 : f32
    }
    ```
  }];
  let arguments = (ins Variadic<TK_TileType>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<TK_TileType>:$results);
  let assemblyFormat = "(`(` $inputs^ `:` type($inputs) `)`)? `->` type($results) attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def TK_BroadcastOp : TK_Op<"broadcast", [Pure]> {
  let summary = "a tile repeated along new or unit dimensions, its dimensions in another place";
  let description = [{
    Dimension i of the operand becomes dimension `dims[i]` of the result; `dims` are distinct. An operand dimension of extent 1 stretches; other extents
    agree. A permutation of all dimensions is a transposition.

    ```mlir
    %0 = tk.broadcast %x dims [0] : !tk.tile<128xf32> -> !tk.tile<128x64xf32>
    ```
  }];
  let arguments = (ins TK_TileType:$input, DenseI64ArrayAttr:$dims);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TK_ReduceOp : TK_Op<"reduce", [SingleBlock, RecursiveMemoryEffects, IsolatedFromAbove]> {
  let summary = "tiles combined along dimensions, by one combiner of a tuple";
  let description = [{
    The region combines two tuples: its arguments are the elements of all operands on the left, then on the right. It is associative and
    commutative (up to rounding). Results lack the dimensions `dims`.

    ```mlir
    %r = tk.reduce (%x : !tk.tile<16x64xf32>) dims [1] -> !tk.tile<16xf32> {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      tk.yield %0 : f32
    }
    ```
  }];
  let arguments = (ins Variadic<TK_TileType>:$inputs, DenseI64ArrayAttr:$dims);
  let regions = (region SizedRegion<1>:$combiner);
  let results = (outs Variadic<TK_TileType>:$results);
  let assemblyFormat = "`(` $inputs `:` type($inputs) `)` `dims` $dims `->` type($results) attr-dict-with-keyword $combiner";
  let hasVerifier = 1;
}

def TK_ScanOp : TK_Op<"scan", [AllTypesMatch<["input", "result"]>, SingleBlock, RecursiveMemoryEffects, IsolatedFromAbove]> {
  let summary = "inclusive prefix combination along a dimension of a tile";
  let description = [{
    The combiner is as in `tk.reduce` with one operand, associative. With `reverse` from the end.

    ```mlir
    %r = tk.scan %x dim 1 : !tk.tile<16x64xf32> {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      tk.yield %0 : f32
    }
    ```
  }];
  let arguments = (ins TK_TileType:$input, I64Attr:$dim, UnitAttr:$reverse);
  let regions = (region SizedRegion<1>:$combiner);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$input `dim` $dim (`reverse` $reverse^)? attr-dict-with-keyword `:` type($input) $combiner";
  let hasVerifier = 1;
}

def TK_SortOp : TK_Op<"sort", [SingleBlock, RecursiveMemoryEffects, IsolatedFromAbove]> {
  let summary = "tuples of tiles sorted along a dimension";
  let description = [{
    The region says whether its left tuple comes before its right one (a strict weak order); it yields one i1.

    ```mlir
    %v, %i = tk.sort (%x, %n : !tk.tile<4x64xf32>, !tk.tile<4x64xi32>) dim 1 -> !tk.tile<4x64xf32>, !tk.tile<4x64xi32> {
    ^bb0(%a: f32, %an: i32, %b: f32, %bn: i32):
      %0 = arith.cmpf ogt, %a, %b : f32
      tk.yield %0 : i1
    }
    ```
  }];
  let arguments = (ins Variadic<TK_TileType>:$inputs, I64Attr:$dim);
  let regions = (region SizedRegion<1>:$before);
  let results = (outs Variadic<TK_TileType>:$results);
  let assemblyFormat = "`(` $inputs `:` type($inputs) `)` `dim` $dim `->` type($results) attr-dict-with-keyword $before";
  let hasVerifier = 1;
}

def TK_DotEngineAttr : EnumAttr<TileKernel_Dialect, TG_Engine, "dot_engine"> {
  let assemblyFormat = "$value";
  let constBuilderCall = "::weft::tk::EngineAttr::get($_builder.getContext(), $0)"; // The enum is of tg.
}

def TK_DotOp : TK_Op<"dot", [AllTypesMatch<["acc", "result"]>, MemoryEffects<[MemRead]>]> {
  let summary = "acc + lhs * rhs";
  let description = [{
    lhs is [m, k], rhs [k, n], acc and the result [m, n]. Operands are register tiles (before Schedule), or, after it, fragments in registers or slots of
    shared memory (`!tk.shared` with `slots` = 1, or a slot of several through `tk.slot`). acc is f32 for f16, bf16 and f32 operands, f64 for f64, i32 for i8; `unsigned_lhs` and `unsigned_rhs` say that i8 operands are unsigned.
    Where acc is [m, n, s], its place (i, j, t) adds up the products of the t-th of s equal parts of k.
    `by` says what multiplies, as the plan chose it: mma (mma.sync; not printed), wgmma or simt (fma). What the instruction does not take (a tile smaller than it, elements
    that it has no form for) is multiplied by the next in this order: wgmma, mma, simt.

    f32 operands are multiplied exactly (fma) unless `tf32`. Where `accumulate` is given and false, acc counts as zero, whatever it holds (the same for
    the whole CTA; only for operands in shared memory that wgmma multiplies).

    Tiles are powers of two, extents are not. `live_columns` says that nobody reads the result's columns from there on (they hold anything), `live_depth` that
    both operands are zero from there on along k. Whole instructions beyond are left out: a width of 80 in a tile of 128 columns is multiplied by m64n80k16.

    Products may be added up in any order, so mma.sync may take any places of k together: bit i of the place within a slice as the instructions count it (those
    of the first instruction, then instruction by instruction) is bit `depth_order[i]` of the tile's. Both operands are in registers then; what a thread has of
    one that is packed in memory can be a whole vector of it.

    ```mlir
    %r = tk.dot %a, %b, %c : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[TK_TileType, TK_SharedType]>:$lhs, AnyTypeOf<[TK_TileType, TK_SharedType]>:$rhs, TK_TileType:$acc,
                       UnitAttr:$tf32, UnitAttr:$unsigned_lhs, UnitAttr:$unsigned_rhs,
                       OptionalAttr<I64Attr>:$live_columns, OptionalAttr<I64Attr>:$live_depth, OptionalAttr<DenseI64ArrayAttr>:$depth_order,
                       DefaultValuedOptionalAttr<TK_DotEngineAttr, "::weft::tg::Engine::Mma">:$engine, Optional<I1>:$accumulate);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc (`by` $engine^)? (`accumulate` $accumulate^)? attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$acc), [{
    $_state.addOperands({lhs, rhs, acc});
    $_state.addTypes(acc.getType());
  }]>];
  let extraClassDeclaration = [{
    /// Columns of the result that somebody may read, and elements of k that are not known to be zero.
    int64_t countLiveColumns();
    int64_t countLiveDepth();
    /// The parts of k that have sums of their own.
    int64_t getSlices() { return getAcc().getType().getRank() == 3 ? getAcc().getType().getShape()[2] : 1; }
  }];
}

def TK_RelabelOp : TK_Op<"relabel", [Pure]> {
  let summary = "a tile with other coordinates for the elements of each thread";
  let description = [{
    Register r of a thread holds the same element in the operand and in the result; the two layouts say at which places. So a dimension that lanes
    share can become two, one of a thread's registers and one of lanes. Both have equally many registers, lanes and warps. Costs nothing.

    ```mlir
    %1 = tk.relabel %0 : !tk.tile<16x8xf32, #tk.layout<"...">> -> !tk.tile<16x2x4xf32, #tk.layout<"...">>
    ```
  }];
  let arguments = (ins TK_TileType:$input);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TK_ConvertOp : TK_Op<"convert", [Pure]> {
  let summary = "the same tile in another layout";
  let description = [{
    Costs what docs/layouts.md says of the pair: nothing, moves within a thread, shuffles, or a pass through shared memory.

    ```mlir
    %1 = tk.convert %0 : !tk.tile<16x8xf16, #tk.layout<"...">> -> !tk.tile<16x8xf16, #tk.layout<"...">>
    ```
  }];
  let arguments = (ins TK_TileType:$input);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_TILEOPS_TD
