// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

// Gather: the index tile, wrapped and clamped, is a dimension of the load's map.
// CHECK-DAG: #[[MAP:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK: %[[I:.*]] = tk.load %arg1
// CHECK: tk.map(%[[I]] : !tk.tile<8x2xi64>) -> !tk.tile<8x2xi32>
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: %[[B:.*]] = tk.broadcast %{{.*}} dims [0, 1] : <8x2xi32> -> <8x2x64xi32>
// CHECK: tk.load %arg0 map #[[MAP]] indices(%[[B]]
func.func @kernel(%d: tensor<1000x64xf16>, %i: tensor<20x2xi64>) -> tensor<20x2x64xf16> {
  %0 = tg.gather %d, %i data_map = affine_map<(a, b, c)[s] -> (s, c)> index_maps = [affine_map<(a, b, c) -> (a, b)>] : tensor<1000x64xf16>, tensor<20x2xi64> -> tensor<20x2x64xf16>
  return %0 : tensor<20x2x64xf16>
}

// -----
// Scatter: each place goes through the updates in their order.
// CHECK: %[[D:.*]] = tk.load %arg0
// CHECK: scf.for %[[U:.*]] = %c0 to %c20 step %c1 iter_args(%{{.*}} = %[[D]])
// CHECK: tk.load %arg1[%[[U]]]
// CHECK: arith.cmpi eq
// CHECK: tk.load %arg2[%[[U]]]
// CHECK: arith.addf
// CHECK: arith.select
func.func @kernel(%d: tensor<1000x64xf16>, %i: tensor<20xi64>, %u: tensor<20x64xf16>) -> tensor<1000x64xf16> {
  %0 = tg.scatter %d, %i, %u data_map = affine_map<(a, c)[s] -> (s, c)> index_maps = [affine_map<(a, c) -> (a)>] {kind = #tg<monoid add>} : tensor<1000x64xf16>, tensor<20xi64>, tensor<20x64xf16>
  return %0 : tensor<1000x64xf16>
}

// -----
// A scan within the tile; an exclusive one reads the neighbour, with the identity at the end.
// CHECK: affine_map<(d0, d1)[s0] -> (d0 + s0 * 8, d1 + 1)>
// CHECK: tk.load
// CHECK: tk.scan %{{.*}} dim 1 reverse : <8x128xf32>
// CHECK: arith.addf
func.func @kernel(%d: tensor<10x100xf16>) -> tensor<10x100xf16> {
  %0 = tg.scan add %d axis = 1 {exclusive, reverse} : tensor<10x100xf16>
  return %0 : tensor<10x100xf16>
}

// -----
// A scan along a symbolic axis: each place combines those before it.
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: tk.scan
// CHECK: arith.mulf
// CHECK: tk.store
func.func @kernel(%d: tensor<?xf32, #tg.dims<()[s0] -> (s0)>>, %s0: index) -> tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {
  %0 = tg.scan mul %d axis = 0 : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
  return %0 : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
}

// -----
// Top k: a sort of (element, index), once for both results.
// CHECK: tk.load {{.*}} fill 0xFC00 : f16
// CHECK: tk.sort({{.*}}) dim 0
// CHECK-NOT: tk.sort
// CHECK: tk.store {{.*}} : <128xf16>, <tensor<10x3xf16>>
// CHECK: tk.store {{.*}} : <128xi64>, <tensor<10x3xi64>>
func.func @kernel(%d: tensor<10x100xf16>) -> (tensor<10x3xf16>, tensor<10x3xi64>) {
  %0, %1 = tg.top_k %d axis = 1 k = 3 {largest} : tensor<10x100xf16>
  return %0, %1 : tensor<10x3xf16>, tensor<10x3xi64>
}

// -----
// The first of all is a reduction. NaN comes last of the smallest.
// CHECK: tk.load {{.*}} fill 0x7E00 : f16
// CHECK-NOT: tk.sort
// CHECK: tk.reduce
// CHECK: tk.store
func.func @kernel(%d: tensor<10x100xf16>) -> (tensor<10x1xf16>, tensor<10x1xi64>) {
  %0, %1 = tg.top_k %d axis = 1 k = 1 : tensor<10x100xf16>
  return %0, %1 : tensor<10x1xf16>, tensor<10x1xi64>
}
