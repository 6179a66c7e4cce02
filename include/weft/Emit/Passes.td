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
  let summary = "start kernels that do not need each other, and chains of kernels, as one";
  let description = [{
    For a program of lowered GPU kernels: dispatches of one level (the longest chain of kernels in front of them) become one dispatch of a merged kernel,
    which has the CTAs of its parts one part after the other. Operands, results, scalars and tensor maps are those of the parts in turn; the CTA has the
    most warps and the most shared memory of a part. A part stays alone where it or another one would lose CTAs of an SM that it can fill, where
    registers do not suffice beside more warps, and where its grid depends on symbols or it has a cluster. Exact.

    With `chains`, a launch also goes behind the launch whose results it reads, if no other kernel has to run between them: a chain. What a part reads of
    another one is no operand, but its result's buffer, read coherently. CTAs begin in the order of their numbers, and a CTA waits for parts in front of
    its own, whose CTAs have all begun by then: so it never waits for what cannot run. A part that is read raises a counter for each of its CTAs when what
    that wrote can be seen. Where both parts go by rows (`tk.tile_rows`, from `--weft-kernelize`), there is a counter for each block of rows, and a CTA waits
    for those that hold what it reads. The CTAs of a chain of two then have an order, `chain<g>`: g blocks of the first, then the rows of the second that
    need them. g is the one of the fewest bytes by the simulation of both parts' CTAs in the L2, if it moves 5 % fewer than all of the first before the
    second in no more time (the remark `chain-order`, category `plan`, has the numbers); `chain-height` sets it. A program without such a chain is an error
    then.

    Each merged launch gets a remark `merged` of category `fusion`, each pair that was refused `not-merged` with the reason.

    ```mlir
    %0 = tg.dispatch @query::@kernel(%x, %wq) ...
    %1 = tg.dispatch @key::@kernel(%x, %wk) ...
    ```
    becomes
    ```mlir
    %0:2 = tg.dispatch @launch_query::@kernel(%x, %wq, %x, %wk) ...
    ```
  }];
  let options = [
    Option<"deviceName", "device", "std::string", /*default=*/"\"\"", "architecture, or device of the table in lib/Target (none: the kernels' target)">,
    Option<"chainMode", "chains", "std::string", /*default=*/"\"model\"", "kernels that read each other's results: none, where the model says that it pays (model), or all that can (all)">,
    Option<"chainHeight", "chain-height", "int64_t", /*default=*/"0", "blocks of rows of the first kernel of a chain of two that are followed by the rows of the second which need them; 0: as the simulation says">,
  ];
  let statistics = [Statistic<"numMerged", "merged", "launches of several kernels that do not need each other">,
                    Statistic<"numChains", "chains", "launches of kernels that wait for each other">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::weft::tg::TileGraphDialect"];
}

#endif // WEFT_EMIT_PASSES_TD
