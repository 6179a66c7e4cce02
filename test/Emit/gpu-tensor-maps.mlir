// Extents and strides of tensor maps become scalars, once each; then a copy by TMA runs on the emulator.
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-gpu-tensor-maps))" -o %t.mlir && FileCheck %s < %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --input=x="2x4xf32=1 2 3 4 5 6 7 8" | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a --dim=n=100 --output-max-element-count=0 | FileCheck %s --check-prefix=MANY

// CHECK: module @copy attributes {{.*}}tk.scalars = #[[MAP:.*]], tk.target
// CHECK: llvm.func @kernel(%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %[[N:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr {
// RESULT: 2x4xf32=[1 2 3 4][5 6 7 8]
// MANY: 100x4xf32

!t = tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>

module attributes {tg.symbols = ["n"]} {
  module @copy attributes {tk.target = "sm_90a", tk.warps = 1 : i64, tk.shared_bytes = 1024 : i64,
      tg.grid = affine_map<()[s0] -> (s0 ceildiv 8)>,
      tk.tensor_maps = [{argument = 0 : i64, box = array<i64: 4, 8>, swizzle = 0 : i64,
                         extents = affine_map<()[s0] -> (4, s0)>, strides = affine_map<()[s0] -> (16)>}]} {
    llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
    llvm.func @kernel(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i64,
                      %map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant})
        attributes {nvvm.kernel} {
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %zero = llvm.mlir.constant(0 : i32) : i32
      %one = llvm.mlir.constant(1 : i32) : i32
      %eight = llvm.mlir.constant(8 : i32) : i32
      %bytes = llvm.mlir.constant(128 : i32) : i32
      %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
      %barrier = llvm.getelementptr %smem[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %leader = llvm.icmp "eq" %tid, %zero : i32
      %row = llvm.mul %cta, %eight : i32
      llvm.cond_br %leader, ^load, ^wait
    ^load:
      nvvm.mbarrier.init %barrier, %one : !llvm.ptr<3>, i32
      llvm.inline_asm has_side_effects "fence.mbarrier_init.release.cluster;", "" : () -> ()
      nvvm.mbarrier.arrive.expect_tx %barrier, %bytes : !llvm.ptr<3>, i32
      %cluster = llvm.addrspacecast %smem : !llvm.ptr<3> to !llvm.ptr<7>
      nvvm.cp.async.bulk.tensor.shared.cluster.global %cluster, %map, %barrier, box[%zero, %row] : !llvm.ptr<7>, !llvm.ptr
      llvm.br ^wait
    ^wait:
      nvvm.barrier0
      nvvm.mbarrier.try_wait.parity %barrier, %zero, %bytes : !llvm.ptr<3>, i32, i32
      %place = llvm.getelementptr %smem[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %v = llvm.load %place : !llvm.ptr<3> -> f32
      %size = llvm.mlir.constant(32 : i32) : i32
      %first = llvm.mul %cta, %size : i32
      %index32 = llvm.add %first, %tid : i32
      %index = llvm.sext %index32 : i32 to i64
      %two = llvm.mlir.constant(2 : i64) : i64
      %count = llvm.shl %n, %two : i64
      %inside = llvm.icmp "slt" %index, %count : i64
      llvm.cond_br %inside, ^store, ^end
    ^store:
      %py = llvm.getelementptr %y[%index] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      llvm.store %v, %py : f32, !llvm.ptr<1>
      llvm.br ^end
    ^end:
      llvm.return
    }
  }
  func.func @main(%x: !t {tg.name = "x"}) -> (!t {tg.name = "y"}) {
    %0 = tg.dispatch @copy::@kernel(%x) symbols = affine_map<()[s0] -> (s0)> : (!t) -> !t
    return %0 : !t
  }
}
