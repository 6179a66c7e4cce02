// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

// Each op rounds once; constants are built in the map; booleans are bytes in memory; a value without a column is computed once a row.
// CHECK-DAG: #[[GRID:.*]] = affine_map<() -> (1000, 1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0)[s0] -> (s0, d0)>
// CHECK-DAG: #[[IN:.*]] = affine_set<(d0)[s0] : (-d0 + 767 >= 0)>
// CHECK: module attributes {tg.schedule = #tg.schedule<tile = [1, 1024]
// CHECK: func.func @kernel(%[[X:.*]]: !tk.global<tensor<1000x768xf16>>, %[[B:.*]]: !tk.global<tensor<768xf16>>, %[[C:.*]]: !tk.global<tensor<1000x1xi1>>, %[[R:.*]]: !tk.global<tensor<1000x768xf16>>) attributes {tk.warps = 4 : i64}
// CHECK: tk.for_tiles (%[[I:.*]], %{{.*}}) in #[[GRID]] order "row"
// CHECK: %[[CB:.*]] = tk.load %[[C]][%[[I]]] map {{.*}} -> <1xi8>
// CHECK: %[[C1:.*]] = tk.map(%[[CB]] : !tk.tile<1xi8>) -> !tk.tile<1xi1>
// CHECK: %[[XT:.*]] = tk.load %[[X]][%[[I]]] map #[[ROW]] guard #[[IN]] : <tensor<1000x768xf16>> -> <1024xf16>
// CHECK: tk.map(%[[XT]] : !tk.tile<1024xf16>) -> !tk.tile<1024xf16>
// CHECK: arith.extf {{.*}} : f16 to f32
// CHECK: math.exp
// CHECK: arith.truncf {{.*}} : f32 to f16
// CHECK: tk.load %[[B]] map
// CHECK: arith.constant 2.000000e+00 : f16
// CHECK: arith.mulf
// CHECK: %[[CT:.*]] = tk.broadcast %[[C1]] dims [0] : <1xi1> -> <1024xi1>
// CHECK: %[[S:.*]] = tk.map(%[[CT]], %{{.*}}, %[[XT]] :
// CHECK: tk.store %[[S]], %[[R]][%[[I]]] map #[[ROW]] guard #[[IN]]
func.func @kernel(%x: tensor<1000x768xf16>, %b: tensor<768xf16>, %c: tensor<1000x1xi1>) -> tensor<1000x768xf16> {
  %s = tg.constant dense<2.0> : tensor<f16>
  %0 = tg.exp %x : tensor<1000x768xf16>
  %1 = tg.add %0, %b : tensor<1000x768xf16>, tensor<768xf16>
  %2 = tg.mul %1, %s : tensor<1000x768xf16>, tensor<f16>
  %3 = tg.select %c, %2, %x : tensor<1000x1xi1>, tensor<1000x768xf16>, tensor<1000x768xf16>
  return %3 : tensor<1000x768xf16>
}

// -----
// Symbols: the grid is a map of them; the guard reads them.
// CHECK-DAG: #[[GRID:.*]] = affine_map<()[s0] -> (s0 ceildiv 128, 1)>
// CHECK-DAG: #[[IN:.*]] = affine_set<(d0, d1)[s0, s1] : (-d0 + s1 - s0 * 128 - 1 >= 0)>
// CHECK: func.func @kernel(%[[X:.*]]: !tk.global<{{.*}}>, %{{.*}}: !tk.global<{{.*}}>, %[[N:.*]]: index)
// CHECK: tk.for_tiles (%[[I:.*]], %{{.*}}) in #[[GRID]]
// CHECK: tk.load %[[X]][%[[I]], %[[N]]] map {{.*}} guard #[[IN]]
func.func @kernel(%x: tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, %s0: index) -> tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>> {
  %0 = tg.neg %x : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
  return %0 : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
}

// -----
// The schedule's tile, order and warps; tiles that divide the extents need no guard. 8-bit floats are bytes.
// CHECK: attributes {tk.warps = 8 : i64}
// CHECK: tk.for_tiles {{.*}} order "grouped<4>" persistent
// CHECK: tk.load {{.*}} map #{{[a-z0-9]*}} : <tensor<64x64xf8E4M3FN>> -> <16x32xi8>
// CHECK: tk.store {{.*}} map #{{[a-z0-9]*}} : <16x32xf16>
module attributes {tg.schedule = #tg.schedule<tile = [16, 32], engine = simt, warps = 8, stages = 1, order = "grouped<4>", persistent = true, split = 1>} {
func.func @kernel(%x: tensor<64x64xf8E4M3FN>) -> tensor<64x64xf16> {
  %0 = tg.cast %x : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
  return %0 : tensor<64x64xf16>
}
}

// -----
// Indices and small constants; two results of one domain.
// CHECK: tk.affine {{.*}} : <4xi32>
// CHECK: tk.store
// CHECK: tk.affine {{.*}} : <8xi32>
// CHECK: tk.guard
// CHECK: arith.constant 7 : i64
// CHECK: arith.constant 8 : i64
// CHECK: tk.store
func.func @kernel() -> (tensor<4x8xf16>, tensor<4x8xi64>) {
  %c = tg.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi64>
  %0 = tg.iota 0 : tensor<4x8xf16>
  %1 = tg.iota 1 : tensor<4x8xi64>
  %2 = tg.add %1, %c : tensor<4x8xi64>, tensor<8xi64>
  return %0, %2 : tensor<4x8xf16>, tensor<4x8xi64>
}

// -----
// Values of symbols, each at its place.
// CHECK: func.func @kernel(%{{.*}}: !tk.global<tensor<2xi64>>, %[[N:.*]]: index)
// CHECK: tk.affine #{{.*}}[%[[N]]] : <1xi64>
// CHECK: tk.guard
// CHECK: arith.select
func.func @kernel(%s0: index) -> tensor<2xi64> {
  %0 = tg.extents affine_map<()[s0] -> (s0 * 2, 5)>
  return %0 : tensor<2xi64>
}

// -----
// A tensor of rank 0.
// CHECK: tk.load {{.*}} : <tensor<f32>> -> <1xf32>
// CHECK: tk.store {{.*}} : <1xf32>, <tensor<f32>>
func.func @kernel(%x: tensor<f32>) -> tensor<f32> {
  %0 = tg.exp %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----
// Packed elements: words in memory where an operand has whole ones, the result byte by byte.
// CHECK: func.func @kernel(%[[X:.*]]: !tk.global<tensor<15xi32>>, %[[R:.*]]: !tk.global<tensor<60xi8>>)
// CHECK: tk.load %[[X]][%{{.*}}] map
// CHECK: arith.shrui
// CHECK: tk.load %[[X]][%{{.*}}] map
// CHECK: arith.shrui
// CHECK: arith.shli
// CHECK: tk.store %{{.*}}, %[[R]]
func.func @kernel(%x: tensor<4x10x3xui4>) -> tensor<10x4x3xui4> {
  %0 = tg.transpose %x [1, 0, 2] : tensor<4x10x3xui4>
  return %0 : tensor<10x4x3xui4>
}
