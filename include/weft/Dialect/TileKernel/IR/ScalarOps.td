// Ops of numbers that are data and of offsets in shared memory, apart from the others because few rooms know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_TD
#define WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_TD

include "weft/Dialect/TileKernel/IR/TileKernelBase.td"

def TK_LoadIndexOp : Op<TileKernel_Dialect, "load_index", [MemoryEffects<[MemRead]>]> {
  let summary = "an integer of a tensor in global memory, as an index";
  let description = [{
    Every thread reads the one element at `places`, which are in bounds: where a loop starts or ends can depend on data. The tensor has constant extents behind the first, and
    elements of i32 or i64; each role of a kernel that needs the number reads it for itself. Numbers above 2^30 become 2^30, those below -2^30 become -2^30: indices of kernels
    have 32 bits.

    ```mlir
    %0 = tk.load_index %first[%i, %j] : !tk.global<tensor<8x1xi64>>
    ```
  }];
  let arguments = (ins TK_GlobalType:$source, Variadic<Index>:$places);
  let results = (outs Index:$result);
  let assemblyFormat = "$source `[` $places `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def TK_LocalReadOp : Op<TileKernel_Dialect, "local_read", [MemoryEffects<[MemRead]>]> {
  let summary = "places of a buffer in shared memory, by a map, to registers";
  let description = [{
    r[d] = buffer[map(d)[symbols]], in the buffer's first slot. Overlapping parts of a box that a CTA fetches once (`tk.local_store`) are read so: the terms
    of a window. Places past a dimension's extent are what row-major order has there; inside the whole buffer they must be, all its slots counted,
    and written.

    ```mlir
    %t = tk.local_read %s map affine_map<(d0, d1) -> (d0 + 2, d1)> : !tk.shared<1 x 32x8xf32> -> !tk.tile<16x8xf32>
    ```
  }];
  let arguments = (ins TK_SharedType:$buffer, Variadic<Index>:$symbols, AffineMapAttr:$map);
  let results = (outs TK_TileType:$result);
  let assemblyFormat = "$buffer (`[` $symbols^ `]`)? `map` $map attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_TD
