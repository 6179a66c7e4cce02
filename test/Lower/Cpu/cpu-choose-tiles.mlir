// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-cpu-fuse --weft-cpu-destination --weft-cpu-choose-tiles | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// Of the kernel's loops, about 16 Ki places, in even pieces.
// CHECK-LABEL: module @chosen attributes {{.*}}tg.tile_sizes = array<i64: 29, 0>
module @chosen {
  func.func @kernel(%x: tensor<200x512xf32>) -> tensor<200x512xf32> {
    %e = tensor.empty() : tensor<200x512xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<200x512xf32>) outs(%e : tensor<200x512xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<200x512xf32>
    return %r : tensor<200x512xf32>
  }
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Those of the plan stay.
// CHECK-LABEL: module @given attributes {{.*}}tg.tile_sizes = array<i64: 5, 7>
module @given attributes {tg.tile_sizes = array<i64: 5, 7>} {
  func.func @kernel(%x: tensor<200x512xf32>) -> tensor<200x512xf32> {
    %e = tensor.empty() : tensor<200x512xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<200x512xf32>) outs(%e : tensor<200x512xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<200x512xf32>
    return %r : tensor<200x512xf32>
  }
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// expected-error @below {{tg.tile_sizes: expected 2 tile sizes of at least 0, one for each loop of kernel negative, got array<i64: 5, -7>}}
module @negative attributes {tg.tile_sizes = array<i64: 5, -7>} {
  func.func @kernel(%x: tensor<200x512xf32>) -> tensor<200x512xf32> {
    %e = tensor.empty() : tensor<200x512xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<200x512xf32>) outs(%e : tensor<200x512xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<200x512xf32>
    return %r : tensor<200x512xf32>
  }
}

// -----

#x = affine_map<(c, h, w, i, j) -> (h + i, w + j, c)>
#w = affine_map<(c, h, w, i, j) -> (i, j, c)>
#y = affine_map<(c, h, w, i, j) -> (h, w, c)>

// A window over each channel alone is cut as its result lies in memory: rows of the image, with all channels.
// CHECK-LABEL: module @depthwise attributes {{.*}}tg.tile_sizes = array<i64: 0, 4, 0, 0, 0>
module @depthwise {
  func.func @kernel(%x: tensor<39x39x100xf32>, %w: tensor<3x3x100xf32>) -> tensor<37x37x100xf32> {
    %e = tensor.empty() : tensor<37x37x100xf32>
    %z = arith.constant 0.0 : f32
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<37x37x100xf32>) -> tensor<37x37x100xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<39x39x100xf32>, tensor<3x3x100xf32>) outs(%f : tensor<37x37x100xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    } -> tensor<37x37x100xf32>
    return %r : tensor<37x37x100xf32>
  }
}
