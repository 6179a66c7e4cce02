// RUN: weft-opt %s --split-input-file --weft-cpu-contract="vector-bits=512 register-rows=8" | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-cpu-contract="vector-bits=256 register-rows=6" | FileCheck %s --check-prefix=AVX2

// The register tile: 8 rows of two vectors, accumulated over K with fused multiply-adds; A is read in place, B packed, and
// whole panels, whose columns are neighbours in C, begin and end there.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref<3x16x32xf32>
// CHECK: memref.alloc() : memref<64x32xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.fma
// AVX2: memref.alloc() : memref<64x16xf32>
// AVX2-COUNT-12: vector.fma {{.*}} : vector<8xf32>
module {
  func.func @kernel(%a: memref<16x64xf32>, %b: memref<64x96xf32>, %c: memref<16x96xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<16x64xf32>, memref<64x96xf32>) outs(%c : memref<16x96xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A convolution: the image is the side with the contiguous dimension, so it is packed (im2col) and the filter is read in place.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK-COUNT-16: vector.fma
module {
  func.func @kernel(%x: memref<1x4x10x10xf32>, %w: memref<8x4x3x3xf32>, %y: memref<1x8x8x8xf32>) {
    linalg.generic {indexing_maps = [affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>,
                                     affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>,
                                     affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>],
                    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x, %w : memref<1x4x10x10xf32>, memref<8x4x3x3xf32>) outs(%y : memref<1x8x8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// The last panel is not whole: its loads and stores are masked, not its inner loop.
// CHECK-LABEL: func.func @kernel
// CHECK: vector.create_mask
// CHECK: vector.maskedload {{.*}} : memref<1099511627776xf32>, vector<16xi1>
// CHECK-COUNT-16: vector.fma
// CHECK-COUNT-16: vector.maskedstore {{.*}} : memref<1099511627776xf32>
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x40xf32>, %c: memref<8x40xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x40xf32>) outs(%c : memref<8x40xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A transposed result: columns are no neighbours in C, so a panel has accumulators, which are added to C at the end.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[sums:.*]] = memref.alloc() : memref<2x8x32xf32>
// CHECK: scf.if
// CHECK-COUNT-16: vector.store {{.*}} : memref<1099511627776xf32>
// CHECK: else
// CHECK-COUNT-16: vector.store {{.*}} %[[sums]][
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x4x10xf32>, %c: memref<10x8x4xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, p, k) -> (m, k)>, affine_map<(m, n, p, k) -> (k, n, p)>, affine_map<(m, n, p, k) -> (p, m, n)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x4x10xf32>) outs(%c : memref<10x8x4xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A depthwise product has no M or N: it stays a generic.
// CHECK-LABEL: func.func @kernel
// CHECK: linalg.generic
// CHECK-NOT: vector.fma
module {
  func.func @kernel(%a: memref<16x64xf32>, %b: memref<16x64xf32>, %c: memref<16xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%a, %b : memref<16x64xf32>, memref<16x64xf32>) outs(%c : memref<16xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}
