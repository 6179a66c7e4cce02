// A fold in parts: the tile of a part takes its share of the steps, inside of what a mask leaves; any number of places, known or not.
// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

// 300 places are 5 units of 64, in 3 parts: steps 0, 1 and 3 to 5, two in each of 32.
// CHECK-LABEL: func.func @kernel
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[C5:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[C10:.*]] = arith.constant 10 : index
// CHECK: tk.for_tiles (%[[PART:.*]], %{{.*}}, %{{.*}}) in
// CHECK: %[[NEXT:.*]] = arith.addi %[[PART]], %c1
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %[[C5]]
// CHECK: %[[UNIT:.*]] = arith.divui %[[FIRST]], %[[C3]]
// CHECK: %[[FROM:.*]] = arith.muli %[[UNIT]], %c2
// CHECK: %[[LAST:.*]] = arith.muli %[[NEXT]], %[[C5]]
// CHECK: arith.divui %[[LAST]], %[[C3]]
// CHECK: %[[TO:.*]] = arith.minsi %{{.*}}, %[[C10]]
// CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]]
// CHECK: tk.store {{.*}} <tensor<3x16x32xf32>>
module attributes {tg.schedule = #tg.schedule<tile = [1, 16, 32], stream = [32], engine = mma, warps = 1, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<16x300xf16>, %v: tensor<300x32xf16>) -> tensor<3x16x32xf32> {
  %r = tg.fold over affine_map<() -> (300)> in 3 parts of 64 init [0.0 : f32] update {
  ^bb0(%a: tensor<16x32xf32>):
    %o = tg.contract %x, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<16x300xf16>, tensor<300x32xf16> -> tensor<16x32xf32>
    %b = tg.add %a, %o : tensor<16x32xf32>, tensor<16x32xf32>
    tg.fold_yield %b : tensor<16x32xf32>
  } merge {
  } finish {
  ^bb0(%a: tensor<16x32xf32>):
    tg.fold_yield %a : tensor<16x32xf32>
  } : tensor<3x16x32xf32>
  return %r : tensor<3x16x32xf32>
}
}

// -----
// Counted at run time: ceil(s0 / 64) units.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[S:[a-z0-9]+]]: index)
// CHECK: %[[MORE:.*]] = arith.addi %[[S]], %c63
// CHECK: %[[UNITS:.*]] = arith.divui %[[MORE]], %c64
// CHECK: tk.for_tiles (%[[PART:.*]], %{{.*}}, %{{.*}}) in
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %[[UNITS]]
// CHECK: arith.divui %[[FIRST]], %c7
// CHECK: scf.for
module attributes {tg.schedule = #tg.schedule<tile = [1, 16, 32], stream = [64], engine = mma, warps = 1, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<16x?xf16, #tg.dims<()[s0] -> (16, s0)>>, %v: tensor<?x32xf16, #tg.dims<()[s0] -> (s0, 32)>>, %s: index) -> tensor<7x16x32xf32> {
  %r = tg.fold over affine_map<()[s0] -> (s0)> in 7 parts of 64 init [0.0 : f32] update {
  ^bb0(%a: tensor<16x32xf32>):
    %o = tg.contract %x, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<16x?xf16, #tg.dims<()[s0] -> (16, s0)>>, tensor<?x32xf16, #tg.dims<()[s0] -> (s0, 32)>> -> tensor<16x32xf32>
    %b = tg.add %a, %o : tensor<16x32xf32>, tensor<16x32xf32>
    tg.fold_yield %b : tensor<16x32xf32>
  } merge {
  } finish {
  ^bb0(%a: tensor<16x32xf32>):
    tg.fold_yield %a : tensor<16x32xf32>
  } : tensor<7x16x32xf32>
  return %r : tensor<7x16x32xf32>
}
}

// -----
// 512 places are 8 units, two in each of 4 parts: the same number of steps for all parts, so a loop of 4 and no border.
// CHECK: #[[$PLACES:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0, d1 + s0 * 128 + s1 * 32)>
// CHECK-LABEL: func.func @kernel
// CHECK: tk.for_tiles (%[[PART:.*]], %{{.*}}, %{{.*}}) in
// CHECK: scf.for %[[STEP:.*]] = %c0 to %c4
// CHECK: tk.load %arg0[%[[PART]], %[[STEP]]] map #[[$PLACES]]
module attributes {tg.schedule = #tg.schedule<tile = [1, 16, 32], stream = [32], engine = mma, warps = 1, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<16x512xf16>, %v: tensor<512x32xf16>) -> tensor<4x16x32xf32> {
  %r = tg.fold over affine_map<() -> (512)> in 4 parts of 64 init [0.0 : f32] update {
  ^bb0(%a: tensor<16x32xf32>):
    %o = tg.contract %x, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<16x512xf16>, tensor<512x32xf16> -> tensor<16x32xf32>
    %b = tg.add %a, %o : tensor<16x32xf32>, tensor<16x32xf32>
    tg.fold_yield %b : tensor<16x32xf32>
  } merge {
  } finish {
  ^bb0(%a: tensor<16x32xf32>):
    tg.fold_yield %a : tensor<16x32xf32>
  } : tensor<4x16x32xf32>
  return %r : tensor<4x16x32xf32>
}
}
