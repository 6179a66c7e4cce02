// What Emit refuses of a kernel module, each with the kernel's name; and targets that do not fit.
// RUN: split-file %s %t
// RUN: not weft-compile %t/warps.mlir --compile-from=lower --target=sm_80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not weft-compile %t/shared.mlir --compile-from=lower --target=sm_80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not weft-compile %t/signature.mlir --compile-from=lower --target=sm_80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=SIGNATURE
// RUN: not weft-compile %t/maps.mlir --compile-from=lower --target=sm_90a --emit=ptx 2>&1 | FileCheck %s --check-prefix=MAPS
// RUN: not weft-compile %t/extent.mlir --compile-from=lower --target=sm_90a --emit=ptx 2>&1 | FileCheck %s --check-prefix=EXTENT
// RUN: not weft-compile %t/math.mlir --compile-from=lower --target=sm_80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=MATH
// RUN: not weft-compile %t/call.mlir --compile-from=lower --target=sm_80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not weft-compile %t/call.mlir --compile-from=lower --target=sm_90a 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not weft-compile %t/call.mlir --compile-from=lower --target=sm_80,sm_90a 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not weft-compile %t/call.mlir --target=H100,sm_90a 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not weft-compile %t/call.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTX
// RUN: not weft-compile %t/call.mlir --target=sm_80 --emit=asm 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not weft-compile %t/buffers.mlir --compile-from=lower --target=sm_80 -o %t/x.weft 2>&1 | FileCheck %s --check-prefix=BUFFERS

// WARPS: error: kernel copy: expected tk.warps from 1 to 32, got 33
// SHARED: error: kernel copy: expected tk.shared_bytes from 0 to 166912, got 166913
// SIGNATURE: error: kernel copy: expected pointers, then i64, then tensor maps by value as parameters, got i32 as parameter 1
// MAPS: error: kernel copy: expected 1 entries of tk.tensor_maps, one for each tensor map parameter and at most 16, got 0
// EXTENT: error: kernel copy: tensor map 0: extents: s0 * 2 is not a scalar of the kernel; run --weft-gpu-tensor-maps
// MATH: error: kernel copy: expected math that the GPU has instructions for, got llvm.exp.f32; run --weft-gpu-math
// CALL: error: kernel copy: calls the function 'expf', which the module does not define
// TARGET: error: --target: expected sm_80, which kernel copy was planned for, got sm_90a
// TWO: error: --target: expected one target for a program that is planned already
// TWICE: error: --target: expected each target once, got sm_90a twice
// PTX: error: --emit=ptx: expected a GPU in --target, got `cpu`
// ASM: error: --emit=asm: expected cpu in --target, got `sm_80`
// BUFFERS: error: kernel copy: expected 1 buffers, the dispatch gives 2

//--- warps.mlir
module @copy attributes {tk.target = "sm_80"} {
  module @copy attributes {tk.target = "sm_80", tk.warps = 33 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @kernel(%x: !llvm.ptr<1>) attributes {nvvm.kernel} { llvm.return }
  }
}
//--- shared.mlir
module {
  module @copy attributes {tk.target = "sm_80", tk.warps = 1 : i64, tk.shared_bytes = 166913 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @kernel(%x: !llvm.ptr<1>) attributes {nvvm.kernel} { llvm.return }
  }
}
//--- signature.mlir
module {
  module @copy attributes {tk.target = "sm_80", tk.warps = 1 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @kernel(%x: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} { llvm.return }
  }
}
//--- maps.mlir
module {
  module @copy attributes {tk.target = "sm_90a", tk.warps = 1 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @kernel(%x: !llvm.ptr<1>, %m: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}) attributes {nvvm.kernel} { llvm.return }
  }
}
//--- extent.mlir
module {
  module @copy attributes {tk.target = "sm_90a", tk.warps = 1 : i64, tg.grid = affine_map<() -> (1)>,
      tk.tensor_maps = [{argument = 0 : i64, box = array<i64: 64>, swizzle = 0 : i64, extents = affine_map<()[s0] -> (s0 * 2)>, strides = affine_map<() -> ()>}]} {
    llvm.func @kernel(%x: !llvm.ptr<1>, %n: i64, %m: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}) attributes {nvvm.kernel} { llvm.return }
  }
}
//--- math.mlir
module {
  module @copy attributes {tk.target = "sm_80", tk.warps = 1 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @kernel(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %0 = llvm.load %x : !llvm.ptr<1> -> f32
      %1 = llvm.intr.exp(%0) : (f32) -> f32
      llvm.store %1, %x : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}
//--- call.mlir
module {
  module @copy attributes {tk.target = "sm_80", tk.warps = 1 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @expf(f32) -> f32
    llvm.func @kernel(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %0 = llvm.load %x : !llvm.ptr<1> -> f32
      %1 = llvm.call @expf(%0) : (f32) -> f32
      llvm.store %1, %x : f32, !llvm.ptr<1>
      llvm.return
    }
  }
}
//--- buffers.mlir
module {
  module @copy attributes {tk.target = "sm_80", tk.warps = 1 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @kernel(%x: !llvm.ptr<1>) attributes {nvvm.kernel} { llvm.return }
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tg.dispatch @copy::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
