// A product of 80 columns and 72 terms in a tile of 128 and a step of 128: instructions are those of 80 columns and five steps of k, and nobody
// keeps the other columns' sums. Right on the emulator, by wgmma and by mma.sync.
// REQUIRES: onnx
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-kernelize))" | FileCheck %s --check-prefix=TILES
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a --emit=ptx | FileCheck %s
// RUN: sed -e 's/sm_90a/sm_80/' -e 's/engine = wgmma/engine = mma/' %s > %t.80.in.mlir
// RUN: weft-opt %t.80.in.mlir --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline))" -o %t.80.mlir
// RUN: weft-compile %t.80.mlir --compile-from=lower --target=sm_80 --emit=ptx | FileCheck %s --check-prefix=MMA
// RUN: %python -c "import numpy as n; g = n.random.default_rng(1); x = g.standard_normal((200, 72)).astype('f2'); w = g.standard_normal((72, 80)).astype('f2'); n.save('%t.x.npy', x); n.save('%t.w.npy', w); n.save('%t.y.npy', (x.astype('f8') @ w.astype('f8')).astype('f2'))"
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=1 --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3
// RUN: weft-compile %t.80.mlir --compile-from=lower --target=sm_80 -o %t.80.weft --quiet
// RUN: weft-run %t.80.weft --device=emu:sm_80,seed=1 --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3

// TILES: tk.dot {{.*}} {live_columns = 80 : i64, live_depth = 72 : i64} : !tk.tile<128x128xf16>, !tk.tile<128x128xf16>, <128x128xf32>

// CHECK-COUNT-5: wgmma.mma_async.sync.aligned.m64n80k16
// CHECK-NOT: wgmma.mma_async

// Four columns of warps have eight columns in turn, three times of four, and five steps of k instead of eight.
// MMA-COUNT-60: mma.sync.aligned.m16n8k16
// MMA-NOT: mma.sync
module {
module @gemm attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 128], stream = [128], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<200x72xf16>, %w: tensor<72x80xf16>) -> tensor<200x80xf16> {
    %y = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<200x72xf16>, tensor<72x80xf16> -> tensor<200x80xf16>
    return %y : tensor<200x80xf16>
  }
}
func.func @main(%x: tensor<200x72xf16> {tg.name = "x"}, %w: tensor<72x80xf16> {tg.name = "w"}) -> (tensor<200x80xf16> {tg.name = "y"}) {
  %0 = tg.dispatch @gemm::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<200x72xf16>, tensor<72x80xf16>) -> tensor<200x80xf16>
  return %0 : tensor<200x80xf16>
}
}
