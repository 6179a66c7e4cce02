// RUN: weft-opt %s --split-input-file --weft-cpu-scratch --weft-cpu-grid | FileCheck %s

// A small temporary goes to the stack; one whose size depends on a symbol becomes an argument with a bound over the symbols. The loop of
// the grid runs over linear points.
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> (s0 ceildiv 4)>
// CHECK: #[[PART:.*]] = affine_map<()[s0] -> (s0 * 32)>
// CHECK: module @two attributes {tg.grid = #[[GRID]], tg.scratch_parts = [#[[PART]]]}
// CHECK: func.func @kernel(%{{.*}}: memref<f32>, %[[N:.*]]: index, %[[SCRATCH:.*]]: memref<i8> {llvm.align = 64 : i64, llvm.noalias}, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<4x8xf32>
// CHECK-NOT: scf.forall
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: memref.reinterpret_cast %[[SCRATCH]]
// CHECK: memref.view
// CHECK-NOT: memref.alloc()
module @two {
  func.func @kernel(%out: memref<f32>, %n: index) {
    scf.forall (%i) = (0) to (%n) step (4) {
      %small = memref.alloc() : memref<4x8xf32>
      %large = memref.alloc(%n) : memref<?x8xf32>
      %c0 = arith.constant 0 : index
      %v = memref.load %small[%c0, %c0] : memref<4x8xf32>
      memref.store %v, %large[%c0, %c0] : memref<?x8xf32>
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
