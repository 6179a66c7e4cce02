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
