// Products whose left operand's rows are 64 and 32 bytes in shared memory: tensor maps and descriptors of narrower swizzles.
// REQUIRES: onnx
// RUN: %python -c "import numpy as n; g = n.random.default_rng(1); x = g.standard_normal((64, 96)).astype('f2'); w = g.standard_normal((96, 64)).astype('f2'); n.save('%t.x.npy', x); n.save('%t.w.npy', w); n.save('%t.y.npy', (x.astype('f8') @ w.astype('f8')).astype('f4'))"
// RUN: sed 's/STEP/32/g; s/TRIPS/3/' %s > %t.64.mlir
// RUN: weft-opt %t.64.mlir --pass-pipeline="builtin.module(builtin.module(weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.mlir
// RUN: FileCheck %s --check-prefix=LINES64 < %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=1e-4 --atol=1e-4
// RUN: sed 's/STEP/16/g; s/TRIPS/6/' %s > %t.32.mlir
// RUN: weft-opt %t.32.mlir --pass-pipeline="builtin.module(builtin.module(weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.mlir
// RUN: FileCheck %s --check-prefix=LINES32 < %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --input=x=@%t.x.npy --input=w=@%t.w.npy --expected-output=y=@%t.y.npy --rtol=1e-4 --atol=1e-4

// LINES64: box = array<i64: 32, 64>{{.*}} swizzle = 64 : i64
// LINES32: box = array<i64: 16, 64>{{.*}} swizzle = 32 : i64
module {
module @gemm attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 64], stream = [STEP], engine = wgmma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>, tg.grid = affine_map<() -> (1)>} {
  func.func @kernel(%x: !tk.global<tensor<64x96xf16>>, %w: !tk.global<tensor<96x64xf16>>, %o: !tk.global<tensor<64x64xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (1, 1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant TRIPS : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<64x64xf32>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<64x64xf32>) {
        %p = tk.load %x[%i, %k] map affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * STEP + d1)> : !tk.global<tensor<64x96xf16>> -> !tk.tile<64xSTEPxf16>
        %q = tk.load %w[%j, %k] map affine_map<(d0, d1)[s0, s1] -> (s1 * STEP + d0, s0 * 64 + d1)> : !tk.global<tensor<96x64xf16>> -> !tk.tile<STEPx64xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<64xSTEPxf16>, !tk.tile<STEPx64xf16>, !tk.tile<64x64xf32>
        scf.yield %d : !tk.tile<64x64xf32>
      }
      tk.store %sum, %o[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)> : !tk.tile<64x64xf32>, !tk.global<tensor<64x64xf32>>
      tk.yield
    }
    return
  }
}
func.func @main(%x: tensor<64x96xf16> {tg.name = "x"}, %w: tensor<96x64xf16> {tg.name = "w"}) -> (tensor<64x64xf32> {tg.name = "y"}) {
  %0 = tg.dispatch @gemm::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<64x96xf16>, tensor<96x64xf16>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
}
