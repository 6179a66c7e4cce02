// What a product does ahead of its wait for the kernels before: barriers, registers, and the first copies of its weights, %w, which no kernel writes.
// RUN: weft-opt %s --split-input-file --weft-tk-stage --weft-tk-roles --weft-tk-pipeline --weft-tk-layouts --weft-tk-allocate --weft-lower-tk=dependent-launch=true | FileCheck %s

// The copying thread fills the slots that there are with weights; behind the wait it copies %x, and weights from then on. The barriers of all slots are made
// in one pass. Those who compute wait ahead of their store.
// CHECK-LABEL: llvm.func @kernel
// CHECK-COUNT-8: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier0
// CHECK-NOT: nvvm.barrier0
// CHECK: nvvm.elect.sync
// CHECK: scf.for
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-4: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, %arg3,
// CHECK-NOT: nvvm.cp.async.bulk.tensor
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK-NEXT: "fence.proxy.async.global;", "~{memory}"
// CHECK-NEXT: "griddepcontrol.launch_dependents;"
// CHECK: scf.for
// CHECK: %[[LEFT:.*]] = arith.cmpi sge
// CHECK: scf.if %[[LEFT]] {
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-4: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, %arg3,
// CHECK: }
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, %arg4,
// CHECK: wgmma.mma_async
// CHECK-NOT: griddepcontrol
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK-NOT: launch_dependents
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1>, tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<256x1024xf16>>, %w: !tk.global<tensor<1024x512xf16>>, %o: !tk.global<tensor<256x512xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (2, 2)> order "row" {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 16 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)> : !tk.global<tensor<256x1024xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)> : !tk.global<tensor<1024x512xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)> : !tk.tile<128x256xf16>, !tk.global<tensor<256x512xf16>>
      tk.yield
    }
    return
  }
}

// -----

// Slots for all steps: behind the wait the loop copies %x alone.
// CHECK-LABEL: llvm.func @kernel
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, %arg4,
// CHECK: wgmma.mma_async
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1>, tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<256x256xf16>>, %w: !tk.global<tensor<256x512xf16>>, %o: !tk.global<tensor<256x512xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (2, 2)> order "row" {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)> : !tk.global<tensor<256x256xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)> : !tk.global<tensor<256x512xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)> : !tk.tile<128x256xf16>, !tk.global<tensor<256x512xf16>>
      tk.yield
    }
    return
  }
}

// -----

// A persistent CTA does so in its first tile.
// CHECK-LABEL: llvm.func @kernel
// CHECK: nvvm.elect.sync
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK: scf.for
// CHECK: "griddepcontrol.wait;"
// CHECK: %[[LATER:.*]] = arith.xori %[[FIRST]]
// CHECK: arith.ori %[[LATER]]
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1>, tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = true, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<256x1024xf16>>, %w: !tk.global<tensor<1024x512xf16>>, %o: !tk.global<tensor<256x512xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (2, 2)> order "row" persistent {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 16 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)> : !tk.global<tensor<256x1024xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)> : !tk.global<tensor<1024x512xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)> : !tk.tile<128x256xf16>, !tk.global<tensor<256x512xf16>>
      tk.yield
    }
    return
  }
}

// -----

// cp.async: the loop's prologue of weights moves ahead, with the bias.
// CHECK-LABEL: llvm.func @kernel
// CHECK-NOT: cp.async.bulk.prefetch
// CHECK: llvm.getelementptr %arg2
// CHECK: llvm.load
// CHECK-COUNT-8: cp.async.cg.shared.global
// CHECK-NOT: cp.async.cg
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK-NEXT: "griddepcontrol.launch_dependents;"
// CHECK-COUNT-4: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK-COUNT-4: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK: scf.for
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1, 2>, tg.schedule = #tg.schedule<tile = [32, 32], stream = [64], engine = mma, warps = 2, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<64x512xf16>>, %w: !tk.global<tensor<64x512xf16>>, %b: !tk.global<tensor<64xf16>>, %o: !tk.global<tensor<64x64xf16>>) attributes {tk.warps = 2 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (2, 2)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 8 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<32x32xf32>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<32x32xf32>) {
        %p = tk.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 32 + d0, s1 * 64 + d1)> : !tk.global<tensor<64x512xf16>> -> !tk.tile<32x64xf16>
        %q = tk.load %w[%j, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 32 + d1, s1 * 64 + d0)> : !tk.global<tensor<64x512xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, !tk.tile<32x32xf32>
        scf.yield %d : !tk.tile<32x32xf32>
      }
      %c = tk.load %b[%j] map affine_map<(d0, d1)[s0] -> (s0 * 32 + d1)> : !tk.global<tensor<64xf16>> -> !tk.tile<32x32xf16>
      %h = tk.map (%sum, %c : !tk.tile<32x32xf32>, !tk.tile<32x32xf16>) -> !tk.tile<32x32xf16> {
      ^bb0(%v: f32, %u: f16):
        %t = arith.truncf %v : f32 to f16
        %s = arith.addf %t, %u : f16
        tk.yield %s : f16
      }
      tk.store %h, %o[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 32 + d0, s1 * 32 + d1)> : !tk.tile<32x32xf16>, !tk.global<tensor<64x64xf16>>
      tk.yield
    }
    return
  }
}
