// RUN: weft-opt %s --weft-cpu-scratch --split-input-file | FileCheck %s

// A small temporary goes to the stack; one whose size depends on a symbol becomes an argument with a bound over the symbols.
// CHECK: #[[PART:.*]] = affine_map<()[s0] -> (s0 * 32)>
// CHECK: module @two attributes {tg.scratch_parts = [#[[PART]]]}
// CHECK: func.func @kernel(%{{.*}}: memref<f32>, %{{.*}}: index, %[[SCRATCH:.*]]: memref<i8> {llvm.align = 64 : i64, llvm.noalias})
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<4x8xf32>
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

// An extent that is a quotient of symbols, whose divisor is kept from being 0.
// CHECK: #[[QUOTIENT:.*]] = affine_map<()[s0, s1] -> ((s1 floordiv s0) * 32)>
// CHECK: module @quotient attributes {tg.scratch_parts = [#[[QUOTIENT]]]}
module @quotient {
  func.func @kernel(%out: memref<f32>, %n: index, %m: index) {
    %c1 = arith.constant 1 : index
    %divisor = arith.maxsi %n, %c1 : index
    %size = arith.floordivsi %m, %divisor : index
    scf.forall (%i) = (0) to (%n) step (4) {
      %large = memref.alloc(%size) : memref<?x8xf32>
      %c0 = arith.constant 0 : index
      %v = memref.load %out[] : memref<f32>
      memref.store %v, %large[%c0, %c0] : memref<?x8xf32>
    }
    return
  }
}
