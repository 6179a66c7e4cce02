// The `tk` dialect, its attributes and types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_TILEKERNELBASE_TD
#define WEFT_DIALECT_TILEKERNEL_IR_TILEKERNELBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileKernel_Dialect : Dialect {
  let name = "tk";
  let cppNamespace = "::weft::tk";
  let summary = "What one CTA does: tiles in registers and shared memory, and how they move";
  let description = [{
    TileKernel holds one GPU kernel as SSA over tiles, with `scf` for loops and `arith` for scalars. A kernel is a `func.func` whose
    arguments are `!tk.global` tensors (inputs, then outputs) and then `index` symbols; symbol N of a tensor's extents is the
    N-th `index` argument. Its body is one `tk.for_tiles`, or, of several kernels in one launch, one `tk.launch`.

    * **Kernelize** makes tiles without layouts: `tk.load`, `tk.map`, `tk.reduce`, `tk.dot`, `tk.store`, ...
    * **Schedule** gives every register tile a layout (`#tk.layout`, a linear map over bits), puts operands of `tk.dot` into shared memory
      through channels (`tk.channel`, `tk.copy`, ...), pipelines loops and allocates shared memory.
    * **Lower** turns tiles into scalars of a thread and the rest into `nvvm`, `llvm` and `arith`.

    **Tiles** have extents that are powers of two. What lies outside the tensor is masked by guards.

    **Accesses.** `tk.load`, `tk.store`, `tk.copy`, `tk.affine` and `tk.guard` share one form of index arithmetic: an affine map, and a guard (an integer
    set), both over the tile's dimensions (d0 is the place along the tile's first dimension) and then one dimension for each index
    tile, with one symbol for each `index` operand. Operands are tile numbers, loop counters and kernel symbols, unscaled, so that
    divisibility can be read from the map: `(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)`.

    **Numerics.** Tiles hold elements as stored (signless integers; booleans and 8-bit floats are `i8`). Pointwise arithmetic is a
    scalar region (`tk.map`) that Kernelize fills with the `tg` op's own `buildScalar`, between `buildLoad` and `buildStore`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::weft::tg::TileGraphDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerOps();
  }];
}

class TK_Attr<string name, string mnemonic_, list<Trait> traits = []> : AttrDef<TileKernel_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

def TK_LayoutAttr : TK_Attr<"Layout", "layout"> {
  let summary = "a linear map over bits: where each thread's registers, or each element of shared memory, lie in the tile";
  let description = [{
    The text is that of docs/layouts.md. Register layouts map (register, lane, warp) to (dim0, dim1, ...), memory layouts (offset) to the
    same. Printed as bases, parsed from bases or builders.

    ```mlir
    #tk.layout<"mma(m16n8k16, c, f16)">
    ```
  }];
  let parameters = (ins "::weft::layout::LinearLayout":$value);
  let hasCustomAssemblyFormat = 1;
}

class TK_Type<string name, string mnemonic_, list<Trait> traits = []> : TypeDef<TileKernel_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

def TK_GlobalType : TK_Type<"Global", "global"> {
  let summary = "a tensor in global memory, dense and row-major";
  let description = [{
    `tensor` is the tg tensor type; its extents are over the kernel's symbols. The base address is a multiple of 64 bytes.

    ```mlir
    !tk.global<tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def TK_TileType : TK_Type<"Tile", "tile"> {
  let summary = "a tile in the registers of a CTA";
  let description = [{
    Extents are powers of two; the element type is a signless integer of 8 to 64 bits, i1, or f16, bf16, f32, f64. The layout, when there is one,
    maps (register, lane, warp) onto the tile.

    ```mlir
    !tk.tile<128x64xf16>
    !tk.tile<16x8xf32, #tk.layout<"mma(m16n8k16, c, f16)">>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, OptionalParameter<"::weft::tk::LayoutAttr">:$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                                      CArg<"::weft::tk::LayoutAttr", "{}">:$layout), [{
    return $_get(elementType.getContext(), shape, elementType, layout);
  }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getNumElements() const;
    TileType withLayout(LayoutAttr layout) const { return get(getShape(), getElementType(), layout); }
    TileType withElement(::mlir::Type element) const { return get(getShape(), element, getLayout()); }
  }];
}

def TK_SharedType : TK_Type<"Shared", "shared"> {
  let summary = "slots of a tile in shared memory";
  let description = [{
    `slots` buffers of one tile, each with the layout's offsets (in elements) from a base that is a multiple of 1,024 bytes. From one slot to the
    next it is `pitch` bytes: the whole tile without it; less where nobody writes or reads the tile's last elements.

    ```mlir
    !tk.shared<4 x 128x64xf16>
    !tk.shared<2 x 128x256xf16, pitch = 49152>
    !tk.shared<4 x 128x64xf16, #tk.layout<"tma(128x64, order=[1,0], bits=16, bytes=128)">>
    ```
  }];
  let parameters = (ins "int64_t":$slots, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        OptionalParameter<"::weft::tk::LayoutAttr">:$layout, OptionalParameter<"int64_t">:$pitch);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "int64_t":$slots, "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                                      CArg<"::weft::tk::LayoutAttr", "{}">:$layout, CArg<"int64_t", "0">:$pitch), [{
    return $_get(elementType.getContext(), slots, shape, elementType, layout, pitch);
  }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// Bytes of a whole tile, and from one slot to the next.
    int64_t getTileBytes() const;
    int64_t getSlotBytes() const { return getPitch() ? getPitch() : getTileBytes(); }
    SharedType withSlots(int64_t slots) const { return get(slots, getShape(), getElementType(), getLayout(), getPitch()); }
    SharedType withLayout(LayoutAttr layout) const { return get(getSlots(), getShape(), getElementType(), layout, getPitch()); }
  }];
}

def TK_ChannelType : TK_Type<"Channel", "channel"> {
  let summary = "the hand-over of shared-memory slots between a producer and its consumers";
  let description = [{
    Iteration i uses slot i mod `slots`, phase (i div `slots`) mod 2.

    ```mlir
    !tk.channel<4>
    ```
  }];
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_TILEKERNELBASE_TD
