// A lowered program for a GPU: to PTX, to a bundle, and run on the emulator. Both dispatches use one kernel.
// RUN: weft-compile %s --compile-from=lower --target=sm_80 --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %s --compile-from=lower --target=sm_80 -o %t.weft 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: weft-run %t.weft --device=emu:sm_80 --input=x="3xf32=1 2 3" --input=b="3xf32=2 2 2" | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:H100 --dim=n=300 --input=x="rand:uniform:1:3:3" --input=b="rand:uniform:1:1:1" --output-max-element-count=300 | FileCheck %s --check-prefix=LONG
// RUN: not weft-run %t.weft --input=x="3xf32=1 2 3" --input=b="3xf32=2 2 2" 2>&1 | FileCheck %s --check-prefix=CPU

// PTX: .version 7.0
// PTX-NEXT: .target sm_80
// PTX-NEXT: .address_size 64
// PTX-NOT: .version
// PTX: .visible .entry k0(
// PTX: .param .u64 {{.*}}k0_param_0,
// PTX: .param .u64 {{.*}}k0_param_1,
// PTX: .param .u64 {{.*}}k0_param_2,
// PTX: .param .u64 k0_param_3
// PTX: .reqntid 64
// PTX: add.rn.f32
// PTX: .visible .entry k1(
// PTX: mul.rn.f32

// SUMMARY: placement 3 dispatches on sm_80 (A100-80)
// SUMMARY: kernels   3 dispatches of 2 distinct kernels

// RESULT: 3xf32=[25 36 49]
// LONG: 300xf32=[25 25 25
// CPU: error: expected code for cpu, the bundle has sm_80; compile the model with --target=cpu

!t = tensor<?xf32, #tg.dims<()[s0] -> (s0)>>

module attributes {tg.symbols = ["n"]} {
  module @add attributes {tk.target = "sm_80", tk.warps = 2 : i64, tg.grid = affine_map<()[s0] -> (s0 ceildiv 64)>} {
    llvm.func @kernel(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} {
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %size = llvm.mlir.constant(64 : i32) : i32
      %first = llvm.mul %cta, %size : i32
      %index32 = llvm.add %first, %tid : i32
      %index = llvm.sext %index32 : i32 to i64
      %inside = llvm.icmp "slt" %index, %n : i64
      llvm.cond_br %inside, ^body, ^end
    ^body:
      %pa = llvm.getelementptr %a[%index] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %pb = llvm.getelementptr %b[%index] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %py = llvm.getelementptr %y[%index] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %va = llvm.load %pa : !llvm.ptr<1> -> f32
      %vb = llvm.load %pb : !llvm.ptr<1> -> f32
      %sum = llvm.fadd %va, %vb : f32
      llvm.store %sum, %py : f32, !llvm.ptr<1>
      llvm.br ^end
    ^end:
      llvm.return
    }
  }
  // Squares by way of dynamic shared memory, in a grid of at most two CTAs.
  module @square attributes {tk.target = "sm_80", tk.warps = 1 : i64, tk.shared_bytes = 128 : i64,
                             tg.grid = affine_map<()[s0] -> (s0 ceildiv 32, 2)>} {
    llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
    llvm.func @kernel(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} {
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %ctas32 = nvvm.read.ptx.sreg.nctaid.x : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
      %place = llvm.getelementptr %smem[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %size = llvm.mlir.constant(32 : i32) : i32
      %first = llvm.mul %cta, %size : i32
      %index32 = llvm.add %first, %tid : i32
      %start = llvm.sext %index32 : i32 to i64
      %step32 = llvm.mul %ctas32, %size : i32
      %step = llvm.sext %step32 : i32 to i64
      llvm.br ^loop(%start : i64)
    ^loop(%index: i64):
      %inside = llvm.icmp "slt" %index, %n : i64
      llvm.cond_br %inside, ^body, ^end
    ^body:
      %px = llvm.getelementptr %x[%index] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %py = llvm.getelementptr %y[%index] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %v = llvm.load %px : !llvm.ptr<1> -> f32
      llvm.store %v, %place : f32, !llvm.ptr<3>
      %again = llvm.load volatile %place : !llvm.ptr<3> -> f32
      %square = llvm.fmul %v, %again : f32
      llvm.store %square, %py : f32, !llvm.ptr<1>
      %next = llvm.add %index, %step : i64
      llvm.br ^loop(%next : i64)
    ^end:
      llvm.return
    }
  }
  func.func @main(%x: !t {tg.name = "x"}, %b: !t {tg.name = "b"}) -> (!t {tg.name = "y"}) {
    %0 = tg.dispatch @add::@kernel(%x, %b) symbols = affine_map<()[s0] -> (s0)> : (!t, !t) -> !t
    %1 = tg.dispatch @add::@kernel(%0, %b) symbols = affine_map<()[s0] -> (s0)> : (!t, !t) -> !t
    %2 = tg.dispatch @square::@kernel(%1) symbols = affine_map<()[s0] -> (s0)> : (!t) -> !t
    return %2 : !t
  }
}
