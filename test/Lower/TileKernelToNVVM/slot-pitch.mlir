// A GEMM of 192 terms and 176 columns in a tile of 128 x 256 and a step of 256: of both operands three panels of four are copied, 192 rows of the
// right one, and slots lie as far apart as what is there. What is copied to a slot that has no room for it is refused. Right on the emulator, whose
// sanitizer sees what nobody has written.
// REQUIRES: onnx
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-stage))" | FileCheck %s
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.mlir
// RUN: %python -c "import numpy as n; g = n.random.default_rng(1); x = g.standard_normal((200, 192)).astype('f2'); w = g.standard_normal((192, 176)).astype('f2'); n.save('%t.x.npy', x); n.save('%t.w.npy', w); n.save('%t.y.npy', (x.astype('f8') @ w.astype('f8')).astype('f2'))"
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=1 --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate))" | sed 's/pitch = 49152/pitch = 1024/g' > %t.short.mlir
// RUN: not weft-opt %t.short.mlir --pass-pipeline="builtin.module(builtin.module(weft-lower-tk-pipeline))" 2>&1 | FileCheck %s --check-prefix=SHORT

// CHECK-DAG: tk.alloc : <1 x 128x256xf16, pitch = 49152>
// CHECK-DAG: tk.alloc : <1 x 256x256xf16, pitch = {{[0-9]+}}>
// CHECK-DAG: tk.make_channel engine tma consumers 1 bytes 122880 : <1>
// CHECK-DAG: tk.copy {{.*}} engine tma {live = array<i64: 128, 192>}
// CHECK-DAG: tk.copy {{.*}} engine tma {live = array<i64: 192, 176>}

// SHORT: expected a slot of at least 49152 bytes, got {{.*}}pitch = 1024
module {
module @gemm attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [256], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<200x192xf16>, %w: tensor<192x176xf16>) -> tensor<200x176xf16> {
    %y = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<200x192xf16>, tensor<192x176xf16> -> tensor<200x176xf16>
    return %y : tensor<200x176xf16>
  }
}
func.func @main(%x: tensor<200x192xf16> {tg.name = "x"}, %w: tensor<192x176xf16> {tg.name = "w"}) -> (tensor<200x176xf16> {tg.name = "y"}) {
  %0 = tg.dispatch @gemm::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<200x192xf16>, tensor<192x176xf16>) -> tensor<200x176xf16>
  return %0 : tensor<200x176xf16>
}
}
