// Passes from tk with layouts to llvm and nvvm.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_TILEKERNELTONVVM_PASSES_TD
#define WEFT_LOWER_TILEKERNELTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTk : Pass<"weft-lower-tk", "::mlir::ModuleOp"> {
  let summary = "tiles become scalars of a thread";
  let description = [{
    On a kernel module of `tk` ops with layouts. A `!tk.tile` becomes one scalar for each register, in register order; `@kernel` becomes an
    `llvm.func` with the attribute `nvvm.kernel`, and the module gets the attributes that docs/kernel-module.md lists. Left are `scf`, `arith`, `math`, `vector`, `nvvm` and `llvm`;
    index arithmetic stays in `index`.

    On sm_90a, with `dependent-launch`, each thread waits for the kernels before (`griddepcontrol.wait`) ahead of the first op of its role that reads or
    writes something else than `tg.steady_operands`; copies of those into shared memory go ahead of it, as far as there are slots, or they are prefetched to
    L2. Behind the wait, or at once where that pays, the kernel lets its successor start.

    Errors: a tile without a layout, a layout that an op cannot take, a type that memory cannot hold.
  }];
  let options = [Option<"dependentLaunch", "dependent-launch", "bool", /*default=*/"false",
                        "sm_90 and up: start while the kernel before still runs, and wait for it">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def TkToLLVM : Pass<"weft-tk-to-llvm", "::mlir::ModuleOp"> {
  let summary = "arith, math, vector, scf and cf of a lowered kernel become llvm";
  let description = [{
    `index` becomes i32 where the module says that 32 bits hold every offset (`tk.index_bits`), else i64. Equal predicated loads of global memory in a block, without a write
    between them, become one.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif // WEFT_LOWER_TILEKERNELTONVVM_PASSES_TD
