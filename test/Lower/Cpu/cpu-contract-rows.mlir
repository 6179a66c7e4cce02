// RUN: weft-opt %s --weft-cpu-contract="vector-bits=512 register-rows=8" | FileCheck %s

// Rows are counted when the kernel runs: up to three are streamed one after the other, with the bias; more have register tiles.
// CHECK-LABEL: func.func @counted_rows
// CHECK: %[[FEW:.*]] = arith.cmpi ule, %{{.*}}, %{{.*}} : index
// CHECK: scf.if %[[FEW]] {
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK-COUNT-6: vector.fma
// CHECK: } else {
// CHECK: memref.alloc() : memref<64x32xf32>
// CHECK-NOT: linalg.generic
// Vectors along K would add up in another order.
// CHECK-LABEL: func.func @along_depth
// CHECK-NOT: scf.if
// CHECK: memref.alloc() : memref<64x32xf32>
module {
  func.func @counted_rows(%a: memref<?x64xf32>, %b: memref<64x96xf32>, %d: memref<96xf32>, %c: memref<?x96xf32>, %m: index) {
    %z = arith.constant 0.0 : f32
    %s = memref.alloc(%m) : memref<?x96xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} outs(%s : memref<?x96xf32>) {
    ^bb0(%o: f32):
      linalg.yield %z : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<?x64xf32>, memref<64x96xf32>) outs(%s : memref<?x96xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %o, %p : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
        ins(%s, %d : memref<?x96xf32>, memref<96xf32>) outs(%c : memref<?x96xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %t = arith.addf %x, %y : f32
      linalg.yield %t : f32
    }
    return
  }
  func.func @along_depth(%a: memref<?x64xf32>, %b: memref<96x64xf32>, %c: memref<?x96xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<?x64xf32>, memref<96x64xf32>) outs(%c : memref<?x96xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}
