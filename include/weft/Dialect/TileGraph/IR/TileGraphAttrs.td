// Attributes and enums of the `tg` dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHATTRS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHATTRS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "mlir/IR/TensorEncoding.td"

class TG_Attr<string name, string mnemonic_, list<Trait> traits = []> : AttrDef<TileGraph_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

def TG_DimsAttr : TG_Attr<"Dims", "dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "extents of a tensor as expressions of the module's symbols";
  let description = [{
    Tensor encoding. `map` has no dimensions and one result per tensor dimension; symbol N of the map is entry N of the
    module attribute `tg.symbols`. The result of a static dimension is its constant.

    ```mlir
    tensor<?x?x768xf32, #tg.dims<()[s0, s1] -> (s0, s1, 768)>>
    ```
  }];
  let parameters = (ins "::mlir::AffineMap":$map);
  let assemblyFormat = "`<` $map `>`";
}

def TG_DataAttr : TG_Attr<"Data", "data"> {
  let summary = "bytes of a weight: a range of a named source";
  let description = [{
    `source` names an entry of the dialect's `WeightStore` (a mapped file or a buffer), `offset` and `size` are in bytes. The
    bytes are little-endian, row-major; sub-byte elements are packed, low bits first.

    ```mlir
    #tg.data<"model.weights.bin", 4096, 2359296>
    ```
  }];
  let parameters = (ins StringRefParameter<"source name">:$source, "int64_t":$offset, "int64_t":$size);
  let assemblyFormat = "`<` $source `,` $offset `,` $size `>`";
  let genVerifyDecl = 1;
}

def TG_DomainAttr : TG_Attr<"Domain", "domain"> {
  let summary = "iteration domain of a kernel";
  let description = [{
    Dimensions d0, d1, ... with their extents, expressions of the module's symbols, and kinds: first those of the kernel's first result, which are
    `parallel`, then those that its ops `reduce`. A reduced dimension may run `along` another one: over the same places of what both read. Softmax reads
    x[d0, d2] for its sums and x[d0, d1] for its result:

    ```mlir
    #tg.domain<d0: s0 parallel, d1: 768 parallel, d2: 768 reduce along d1>
    ```
  }];
  let parameters = (ins "::mlir::AffineMap":$extents, "int64_t":$numParallel, ArrayRefParameter<"int64_t">:$along);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TG_MonoidAdd : I32EnumAttrCase<"Add", 0, "add">;
def TG_MonoidMul : I32EnumAttrCase<"Mul", 1, "mul">;
def TG_MonoidMax : I32EnumAttrCase<"Max", 2, "max">;
def TG_MonoidMin : I32EnumAttrCase<"Min", 3, "min">;
def TG_MonoidAnd : I32EnumAttrCase<"And", 4, "and">;
def TG_MonoidOr  : I32EnumAttrCase<"Or", 5, "or">;
def TG_Monoid : I32EnumAttr<"Monoid", "associative, commutative combiner of a reduction, scan or scatter",
                            [TG_MonoidAdd, TG_MonoidMul, TG_MonoidMax, TG_MonoidMin, TG_MonoidAnd, TG_MonoidOr]> {
  let cppNamespace = "::weft::tg";
  let genSpecializedAttr = 0;
}
def TG_MonoidAttr : EnumAttr<TileGraph_Dialect, TG_Monoid, "monoid"> { let assemblyFormat = "$value"; }

def TG_CmpEq : I32EnumAttrCase<"Eq", 0, "eq">;
def TG_CmpNe : I32EnumAttrCase<"Ne", 1, "ne">;
def TG_CmpLt : I32EnumAttrCase<"Lt", 2, "lt">;
def TG_CmpLe : I32EnumAttrCase<"Le", 3, "le">;
def TG_CmpGt : I32EnumAttrCase<"Gt", 4, "gt">;
def TG_CmpGe : I32EnumAttrCase<"Ge", 5, "ge">;
def TG_CmpPredicate : I32EnumAttr<"CmpPredicate", "comparison; with a NaN operand only `ne` holds",
                                  [TG_CmpEq, TG_CmpNe, TG_CmpLt, TG_CmpLe, TG_CmpGt, TG_CmpGe]> {
  let cppNamespace = "::weft::tg";
  let genSpecializedAttr = 0;
}
def TG_CmpPredicateAttr : EnumAttr<TileGraph_Dialect, TG_CmpPredicate, "cmp"> { let assemblyFormat = "$value"; }

// DNNFusion (PLDI'21), table 2, with Many-to-Many refined.
def TG_MapOneToOne : I32EnumAttrCase<"OneToOne", 0, "one_to_one">;
def TG_MapOneToMany : I32EnumAttrCase<"OneToMany", 1, "one_to_many">;
def TG_MapReorganize : I32EnumAttrCase<"Reorganize", 2, "reorganize">;
def TG_MapShuffle : I32EnumAttrCase<"Shuffle", 3, "shuffle">;
def TG_MapContraction : I32EnumAttrCase<"Contraction", 4, "contraction">;
def TG_MapReduction : I32EnumAttrCase<"Reduction", 5, "reduction">;
def TG_MapWindow : I32EnumAttrCase<"Window", 6, "window">;
def TG_MapOpaque : I32EnumAttrCase<"Opaque", 7, "opaque">;
def TG_MappingType : I32EnumAttr<"MappingType", "how elements of one operand map to elements of the result",
    [TG_MapOneToOne, TG_MapOneToMany, TG_MapReorganize, TG_MapShuffle, TG_MapContraction, TG_MapReduction, TG_MapWindow,
     TG_MapOpaque]> {
  let cppNamespace = "::weft::tg";
  let genSpecializedAttr = 0;
}

def TG_EngineSimt : I32EnumAttrCase<"Simt", 0, "simt">;
def TG_EngineMma : I32EnumAttrCase<"Mma", 1, "mma">;
def TG_EngineWgmma : I32EnumAttrCase<"Wgmma", 2, "wgmma">;
def TG_Engine : I32EnumAttr<"Engine", "what multiplies in a kernel", [TG_EngineSimt, TG_EngineMma, TG_EngineWgmma]> {
  let cppNamespace = "::weft::tg";
  let genSpecializedAttr = 0;
}

def TG_ScheduleAttr : TG_Attr<"Schedule", "schedule"> {
  let summary = "how a GPU computes a kernel: what the plan decides and Kernelize obeys";
  let description = [{
    `tile`: extent, a power of two, of a CTA's tile along each dimension of the kernel's result (of the first one, if it has several; absent for a scalar).
    `stream`: extent, a power of two, of a step along each reduced dimension that the result does not have: the reduction dimensions of the
    contraction in the order of its domain, or the axes of the reductions. A reduced dimension that the result has is covered by its `tile`; if that is
    less than the dimension's extent, the rows are streamed. With wgmma a step has several places along the dimension of the longest step only; along others
    (of a window) it is as many products, one for each place, of which there may be any number that divides the extent: what their operands have in common is read once.

    `engine` multiplies; `warps` of a CTA (for wgmma the consumers only); `stages` of the channels; `order` is the traversal of the tile
    grid, of any rank (docs/traversal.md: `grouped<8>`, `each<b,ORDER>`, `ORDER@2`); `persistent` CTAs take several tiles; `split` parts of the streamed dimensions go to different CTAs.

    Of wgmma, where they are not 1 and false: `multicast` CTAs of a cluster have tiles side by side and read once what these have in common (1, if the grid
    has no dimension of several tiles, a multiple of as many or with a last one that is not whole); with `turns`, in loops whose dots overlap the maps between them, the dots of the warpgroups follow each
    other, so that one's maps run beside another's dots (`tk.take_turn`).

    ```mlir
    #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "grouped<8>", persistent = true, split = 1, multicast = 2>
    ```
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$tile, OptionalArrayRefParameter<"int64_t">:$stream,
                        EnumParameter<TG_Engine>:$engine, "int64_t":$warps, "int64_t":$stages, StringRefParameter<"traversal">:$order,
                        "bool":$persistent, "int64_t":$split, DefaultValuedParameter<"int64_t", "1">:$multicast,
                        DefaultValuedParameter<"bool", "false">:$turns);
  let assemblyFormat = [{`<` (`tile` `=` `[` $tile^ `]` `,` ` `)? (`stream` `=` `[` $stream^ `]` `,` ` `)? `engine` `=` $engine `,` `warps` `=` $warps `,`
                         `stages` `=` $stages `,` `order` `=` $order `,` `persistent` `=` $persistent `,` `split` `=` $split ``
                         custom<Clusters>($multicast, $turns) `>`}];
  let genVerifyDecl = 1;
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPHATTRS_TD
