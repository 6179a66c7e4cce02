// A product on sm_90a from tiles to PTX: a producer with TMA, two warpgroups with wgmma, results by TMA; ragged in every dimension, the right
// operand along n. Right on the emulator, whose sanitizer watches barriers, fences and races, at several speeds of what is asynchronous.
// REQUIRES: onnx
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a --emit=ptx | FileCheck %s
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: %python -c "import numpy as n; g = n.random.default_rng(1); x = g.standard_normal((200, 136)).astype('f2'); w = g.standard_normal((136, 392)).astype('f2'); n.save('%t.x.npy', x); n.save('%t.w.npy', w); n.save('%t.y.npy', (x.astype('f8') @ w.astype('f8')).astype('f2'))"
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=1 --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=2,timing=late --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=3,timing=early,order=reverse --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3

// CHECK: .target sm_90a
// CHECK: mbarrier.init.shared.b64
// CHECK: fence.mbarrier_init
// CHECK: setmaxnreg.dec.sync.aligned.u32 40
// CHECK: elect.sync
// CHECK: mbarrier.arrive.expect_tx
// CHECK-COUNT-5: cp.async.bulk.tensor.2d.shared::cluster.global
// CHECK: setmaxnreg.inc.sync.aligned.u32 232
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{.*}}, 1, 1, 0, 1;
// CHECK-NEXT: }
// CHECK: wgmma.commit_group
// CHECK-NOT: mov.{{.}}32
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: stmatrix.sync.aligned.m8n8.x4
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK: cp.async.bulk.wait_group.read 0
module {
module @gemm attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "grouped<8>", persistent = true, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<200x136xf16>>, %w: !tk.global<tensor<136x392xf16>>, %o: !tk.global<tensor<200x392xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (2, 2)> order "grouped<8>" persistent {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 3 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)> guard affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -128 + 199 >= 0, -d1 + s1 * -64 + 135 >= 0)> : !tk.global<tensor<200x136xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)> guard affine_set<(d0, d1)[s0, s1] : (-d1 + s0 * -256 + 391 >= 0, -d0 + s1 * -64 + 135 >= 0)> : !tk.global<tensor<136x392xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)> guard affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -128 + 199 >= 0, -d1 + s1 * -256 + 391 >= 0)> : !tk.tile<128x256xf16>, !tk.global<tensor<200x392xf16>>
      tk.yield
    }
    return
  }
}
func.func @main(%x: tensor<200x136xf16> {tg.name = "x"}, %w: tensor<136x392xf16> {tg.name = "w"}) -> (tensor<200x392xf16> {tg.name = "y"}) {
  %0 = tg.dispatch @gemm::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<200x136xf16>, tensor<136x392xf16>) -> tensor<200x392xf16>
  return %0 : tensor<200x392xf16>
}
}
