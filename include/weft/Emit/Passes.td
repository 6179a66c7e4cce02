// Passes that finish lowered kernel modules before Emit reads them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_PASSES_TD
#define WEFT_EMIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def GpuTensorMaps : Pass<"weft-gpu-tensor-maps", "::mlir::ModuleOp"> {
  let summary = "pass the extents and strides of tensor maps as scalars of the kernel";
  let description = [{
    A bundle describes a tensor map by scalars of the dispatch, so each result of the maps `extents` and `strides` in the
    module's `tk.tensor_maps` must be one. Those that no scalar is yet become i64 parameters of the kernel function, in
    front of the tensor maps, and results of the module's `tk.scalars`. The kernel does not use them. A module without
    tensor maps stays as it is.

    ```mlir
    module @copy attributes {tk.tensor_maps = [{argument = 0 : i64, box = array<i64: 64>, swizzle = 0 : i64,
        extents = affine_map<()[s0] -> (s0 * 8)>, strides = affine_map<() -> ()>} ]} {
      llvm.func @kernel(%x: !llvm.ptr<1>, %n: i64, %map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>}) attributes {nvvm.kernel} {
        llvm.return
      }
    }
    ```
    becomes
    ```mlir
    module @copy attributes {tk.scalars = affine_map<()[s0] -> (s0, s0 * 8)>, tk.tensor_maps = [...]} {
      llvm.func @kernel(%x: !llvm.ptr<1>, %n: i64, %arg2: i64, %map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>}) attributes {nvvm.kernel} {
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // WEFT_EMIT_PASSES_TD
