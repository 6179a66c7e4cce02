// RUN: weft-opt %s --split-input-file --weft-cpu-grid | FileCheck %s

// The loop of the grid runs over linear points; their number is an expression of the symbols.
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> ((s0 ceildiv 4) * 2)>
// CHECK: module @two attributes {tg.grid = #[[GRID]]}
// CHECK: func.func @kernel(%{{.*}}: memref<f32>, %[[N:.*]]: index, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-NOT: scf.forall
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.remui
// CHECK: arith.divui
module @two {
  func.func @kernel(%out: memref<f32>, %n: index) {
    %zero = arith.constant 0.0 : f32
    scf.forall (%i, %j) = (0, 0) to (%n, 16) step (4, 8) {
      memref.store %zero, %out[] : memref<f32>
    }
    return
  }
}

// -----

// Work outside the loop: one grid point.
// CHECK: #[[ONE:.*]] = affine_map<() -> (1)>
// CHECK: tg.grid = #[[ONE]]
// CHECK-NOT: scf.forall
module @serial {
  func.func @kernel(%out: memref<16xf32>) {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    memref.store %zero, %out[%c0] : memref<16xf32>
    scf.forall (%i) = (0) to (16) step (4) {
      memref.store %zero, %out[%i] : memref<16xf32>
    }
    return
  }
}
