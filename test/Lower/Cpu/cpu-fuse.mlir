// RUN: weft-opt %s --split-input-file --weft-cpu-fuse | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#vec = affine_map<(d0) -> (d0)>

// A chain becomes one op; a broadcast does not make its expensive producer run again for every column.
// CHECK-LABEL: module @broadcast
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK: math.rsqrt
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK: arith.mulf
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
module @broadcast {
  func.func @kernel(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
    %e0 = tensor.empty() : tensor<4xf32>
    %e1 = tensor.empty() : tensor<4x8xf32>
    %s = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]} ins(%v : tensor<4xf32>) outs(%e0 : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %r = math.rsqrt %a : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    %m = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %s : tensor<4x8xf32>, tensor<4xf32>) outs(%e1 : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %r = arith.mulf %a, %b : f32
      linalg.yield %r : f32
    } -> tensor<4x8xf32>
    %n = linalg.negf ins(%m : tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %n : tensor<4x8xf32>
  }
}

// -----

// A pad becomes a generic that reads inside or yields the constant, and its elementwise producer is computed where it is read.
// CHECK-LABEL: module @pad
// CHECK: linalg.generic
// CHECK: arith.cmpi ult
// CHECK: tensor.extract
// CHECK: arith.negf
// CHECK: arith.select
// CHECK-NOT: tensor.pad
// CHECK-NOT: linalg.generic
module @pad {
  func.func @kernel(%x: tensor<4x8xf32>) -> tensor<4x10xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8xf32>
    %n = linalg.negf ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %p = tensor.pad %n low[0, 1] high[0, 1] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<4x8xf32> to tensor<4x10xf32>
    return %p : tensor<4x10xf32>
  }
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Eight ops that unpack a quarter of the bytes that they would write are repeated for each row; the same on as many bytes are not.
// CHECK-LABEL: module @unpacked
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK-LABEL: module @stored
// CHECK-COUNT-2: linalg.generic
module @unpacked {
  func.func @kernel(%a: tensor<4x16xf32>, %b: tensor<16x8xi8>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<16x8xf32>
    %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<16x8xi8>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%x: i8, %o: f32):
      %0 = arith.sitofp %x : i8 to f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %1, %0 : f32
      %3 = arith.mulf %2, %0 : f32
      %4 = arith.addf %3, %0 : f32
      %5 = arith.mulf %4, %0 : f32
      %6 = arith.addf %5, %0 : f32
      %7 = arith.mulf %6, %0 : f32
      linalg.yield %7 : f32
    } -> tensor<16x8xf32>
    %r = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}
module @stored {
  func.func @kernel(%a: tensor<4x16xf32>, %b: tensor<16x8xi32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<16x8xf32>
    %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<16x8xi32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%x: i32, %o: f32):
      %0 = arith.sitofp %x : i32 to f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %1, %0 : f32
      %3 = arith.mulf %2, %0 : f32
      %4 = arith.addf %3, %0 : f32
      %5 = arith.mulf %4, %0 : f32
      %6 = arith.addf %5, %0 : f32
      %7 = arith.mulf %6, %0 : f32
      linalg.yield %7 : f32
    } -> tensor<16x8xf32>
    %r = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}
