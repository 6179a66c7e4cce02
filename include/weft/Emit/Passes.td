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

def GpuMergeLaunches : Pass<"weft-gpu-merge-launches", "::mlir::ModuleOp"> {
  let summary = "start kernels as one, as the plan says";
  let description = [{
    For a program of lowered GPU kernels: the dispatches of one launch (`tg.launch`, of `--weft-choose-launches` or by hand) become one dispatch of a merged
    kernel, which has the CTAs of its parts one part after the other. Operands, results, scalars and tensor maps are those of the parts in turn; the CTA has
    the most warps and the most shared memory of a part. Exact.

    What a part reads of another one is no operand, but its result's buffer, read coherently. CTAs begin in the order of their numbers, and a CTA waits for
    parts in front of its own, whose CTAs have all begun by then: so it never waits for what cannot run. A part that is read raises a counter for each of its
    CTAs when what that wrote can be seen. Where both parts go by rows (`tk.tile_rows`, from `--weft-kernelize`), there is a counter for each block of rows,
    and a CTA waits for those that hold what it reads. `tg.launch_order = "chain<g>"` of the first of two: g blocks of the first one's rows, then the rows of
    the second that need them.

    It decides nothing: a launch that cannot be made is an error at a dispatch. Each merged launch gets a remark `merged` of category `fusion`.

    ```mlir
    %0 = tg.dispatch @query::@kernel(%x, %wq) {tg.launch = array<i64: 0, 0>} ...
    %1 = tg.dispatch @key::@kernel(%x, %wk) {tg.launch = array<i64: 0, 1>} ...
    ```
    becomes
    ```mlir
    %0:2 = tg.dispatch @launch_query::@kernel(%x, %wq, %x, %wk) ...
    ```
  }];
  let statistics = [Statistic<"numMerged", "merged", "launches of several kernels that do not need each other">,
                    Statistic<"numChains", "chains", "launches of kernels that wait for each other">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::weft::tg::TileGraphDialect"];
}

#endif // WEFT_EMIT_PASSES_TD
