// Ops of numbers that are data, apart from the others because few rooms know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_TD
#define WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_TD

include "weft/Dialect/TileKernel/IR/TileKernelBase.td"

def TK_LoadIndexOp : Op<TileKernel_Dialect, "load_index", [MemoryEffects<[MemRead]>]> {
  let summary = "an integer of a tensor in global memory, as an index";
  let description = [{
    Every thread reads the one element at `places`, which are in bounds: where a loop starts or ends can depend on data. The tensor has constant extents and elements
    of i32 or i64; each role of a kernel that needs the number reads it for itself. Numbers above 2^30 become 2^30, those below -2^30 become -2^30: indices of kernels
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

#endif // WEFT_DIALECT_TILEKERNEL_IR_SCALAROPS_TD
