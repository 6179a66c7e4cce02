// Tiles of 144 columns in lanes of 256 places: boxes of 144 rows come, instructions multiply 144 columns, and lines of 16 columns leave; of weights
// that lie along their columns whole panels of 64 come. Rows of odd length are stored in lines; two CTAs of a cluster copy 72 rows each; what an
// epilogue reads comes whole, and so does what two warpgroups share the columns of. By mma.sync, too, on sm_80. Right on the emulator, whose sanitizer sees what nothing has written, and tiles that store what is another one's.
// REQUIRES: onnx
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-kernelize))" | FileCheck %s --check-prefix=TILES
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.mlir
// RUN: FileCheck %s --check-prefix=MAPS < %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a --emit=ptx | FileCheck %s
// RUN: sed -e 's/sm_90a/sm_80/' -e 's/engine = wgmma/engine = mma/' -e 's/, multicast = 2//' -e 's/tile = .128, 144./tile = [64, 48]/' -e 's/tile = .64, 160./tile = [32, 80]/' -e 's/tile = .128, 208./tile = [64, 112]/' -e 's/persistent = true/persistent = false/' %s > %t.80.in.mlir
// RUN: weft-opt %t.80.in.mlir --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline))" -o %t.80.mlir
// RUN: %python -c "import numpy as n; g = n.random.default_rng(1); x = g.standard_normal((200, 72)).astype('f2'); v = g.standard_normal((432, 72)).astype('f2'); w = g.standard_normal((72, 328)).astype('f2'); u = g.standard_normal((72, 331)).astype('f2'); [n.save('%t.' + k + '.npy', a) for k, a in dict(x=x, v=v, w=w, u=u, a=(x.astype('f8') @ v.T.astype('f8')).astype('f2'), b=(x.astype('f8') @ w.astype('f8')).astype('f2'), c=(x.astype('f8') @ u.astype('f8')).astype('f2'), d=(2 * (x.astype('f8') @ v.T.astype('f8'))).astype('f2'), e=(3 * (x.astype('f8') @ v.T.astype('f8'))).astype('f2')).items()]"
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=1 --input=x=@%t.x.npy --input=v=@%t.v.npy --input=w=@%t.w.npy --input=u=@%t.u.npy --expected-output=a=@%t.a.npy --expected-output=b=@%t.b.npy --expected-output=c=@%t.c.npy --expected-output=d=@%t.d.npy --expected-output=e=@%t.e.npy --rtol=4e-3 --atol=4e-3
// RUN: weft-compile %t.80.mlir --compile-from=lower --target=sm_80 -o %t.80.weft --quiet
// RUN: weft-run %t.80.weft --device=emu:sm_80,seed=1 --input=x=@%t.x.npy --input=v=@%t.v.npy --input=w=@%t.w.npy --input=u=@%t.u.npy --expected-output=a=@%t.a.npy --expected-output=b=@%t.b.npy --expected-output=c=@%t.c.npy --expected-output=d=@%t.d.npy --expected-output=e=@%t.e.npy --rtol=4e-3 --atol=4e-3

// A tile's last columns are none of its own, though they are within the tensor.
// TILES: affine_set<(d0, d1)[s0, s1] : (-d1 + 143 >= 0, -d0 - s1 * 64 + 71 >= 0)>
// TILES: tk.dot {{.*}} {live_columns = 144 : i64} : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, <128x256xf32>
// TILES: tk.dot {{.*}} {live_columns = 160 : i64, live_depth = 72 : i64} : !tk.tile<64x128xf16>, !tk.tile<128x256xf16>, <64x256xf32>

// Half of 144 rows for each CTA of the cluster; three panels of 64 columns.
// MAPS-DAG: argument = 1 : i64, box = array<i64: 64, 72>,
// MAPS-DAG: argument = 2 : i64, box = array<i64: 16, 16>,
// MAPS-DAG: argument = 1 : i64, box = array<i64: 64, 80>,
// MAPS-DAG: argument = 2 : i64, box = array<i64: 32, 16>,

// CHECK: wgmma.mma_async.sync.aligned.m64n144k16
// CHECK-NOT: m64n256k16
// CHECK: wgmma.mma_async.sync.aligned.m64n160k16
// CHECK-NOT: m64n256k16
module {
module @major attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 144], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1, multicast = 2>} {
  func.func @kernel(%x: tensor<200x72xf16>, %v: tensor<432x72xf16>) -> tensor<200x432xf16> {
    %y = tg.contract %x, %v [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<200x72xf16>, tensor<432x72xf16> -> tensor<200x432xf16>
    return %y : tensor<200x432xf16>
  }
}
module @minor attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 160], stream = [128], engine = wgmma, warps = 4, stages = 2, order = "row", persistent = true, split = 1>} {
  func.func @kernel(%x: tensor<200x72xf16>, %w: tensor<72x328xf16>) -> tensor<200x328xf16> {
    %y = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<200x72xf16>, tensor<72x328xf16> -> tensor<200x328xf16>
    return %y : tensor<200x328xf16>
  }
}
module @odd attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 160], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<200x72xf16>, %u: tensor<72x331xf16>) -> tensor<200x331xf16> {
    %y = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<200x72xf16>, tensor<72x331xf16> -> tensor<200x331xf16>
    return %y : tensor<200x331xf16>
  }
}
module @residual attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 208], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = true, split = 1>} {
  func.func @kernel(%x: tensor<200x72xf16>, %v: tensor<432x72xf16>, %r: tensor<200x432xf16>) -> tensor<200x432xf16> {
    %y = tg.contract %x, %v [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<200x72xf16>, tensor<432x72xf16> -> tensor<200x432xf16>
    %z = tg.add %y, %r : tensor<200x432xf16>, tensor<200x432xf16>
    return %z : tensor<200x432xf16>
  }
}
module @groups attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 160], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<200x72xf16>, %v: tensor<432x72xf16>, %r: tensor<200x432xf16>) -> tensor<200x432xf16> {
    %y = tg.contract %x, %v [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<200x72xf16>, tensor<432x72xf16> -> tensor<200x432xf16>
    %z = tg.add %y, %r : tensor<200x432xf16>, tensor<200x432xf16>
    return %z : tensor<200x432xf16>
  }
}
func.func @main(%x: tensor<200x72xf16> {tg.name = "x"}, %v: tensor<432x72xf16> {tg.name = "v"}, %w: tensor<72x328xf16> {tg.name = "w"}, %u: tensor<72x331xf16> {tg.name = "u"}) -> (tensor<200x432xf16> {tg.name = "a"}, tensor<200x328xf16> {tg.name = "b"}, tensor<200x331xf16> {tg.name = "c"}, tensor<200x432xf16> {tg.name = "d"}, tensor<200x432xf16> {tg.name = "e"}) {
  %0 = tg.dispatch @major::@kernel(%x, %v) symbols = affine_map<() -> ()> : (tensor<200x72xf16>, tensor<432x72xf16>) -> tensor<200x432xf16>
  %1 = tg.dispatch @minor::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<200x72xf16>, tensor<72x328xf16>) -> tensor<200x328xf16>
  %2 = tg.dispatch @odd::@kernel(%x, %u) symbols = affine_map<() -> ()> : (tensor<200x72xf16>, tensor<72x331xf16>) -> tensor<200x331xf16>
  %3 = tg.dispatch @residual::@kernel(%x, %v, %0) symbols = affine_map<() -> ()> : (tensor<200x72xf16>, tensor<432x72xf16>, tensor<200x432xf16>) -> tensor<200x432xf16>
  %4 = tg.dispatch @groups::@kernel(%x, %v, %3) symbols = affine_map<() -> ()> : (tensor<200x72xf16>, tensor<432x72xf16>, tensor<200x432xf16>) -> tensor<200x432xf16>
  return %0, %1, %2, %3, %4 : tensor<200x432xf16>, tensor<200x328xf16>, tensor<200x331xf16>, tensor<200x432xf16>, tensor<200x432xf16>
}
}
