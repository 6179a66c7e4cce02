// A kernel says over which domain it iterates, and where each value is wanted in it.
// RUN: weft-opt %s --split-input-file --weft-form-kernels="gpu target=H100" --weft-set-domains | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-form-kernels="gpu target=H100" --weft-set-domains | weft-opt --split-input-file | FileCheck %s

// CHECK-DAG: #[[$TILE:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$SUMMED:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1, d2) -> (d0, 0)>
// CHECK-LABEL: func.func @main
module attributes {tg.symbols = ["n"]} {
func.func @main(%x: tensor<?x64xf32, #tg.dims<()[s0] -> (s0 * 2, 64)>>, %t: tensor<8x?xf32, #tg.dims<()[s0] -> (8, s0)>>)
    -> (tensor<?x64xf32, #tg.dims<()[s0] -> (s0 * 2, 64)>>, tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>) {
  // The sum is along the result's columns, since both read x.
  // CHECK: tg.kernel {{.*}} domain <d0: s0 * 2 parallel, d1: 64 parallel, d2: 64 reduce along d1>
  // CHECK-SAME: access {{\[}}[#[[$TILE]], #[[$SUMMED]]], {{.*}}[#[[$ROW]]]
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<?x64xf32, #tg.dims<()[s0] -> (s0 * 2, 64)>>
  %r = tg.div %x, %s : tensor<?x64xf32, #tg.dims<()[s0] -> (s0 * 2, 64)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0 * 2, 1)>>
  // CHECK: tg.kernel {{.*}} domain <d0: s0 parallel, d1: 8 parallel> access
  %e = tg.exp %t : tensor<8x?xf32, #tg.dims<()[s0] -> (8, s0)>>
  %u = tg.transpose %e [1, 0] : tensor<8x?xf32, #tg.dims<()[s0] -> (8, s0)>>
  return %r, %u : tensor<?x64xf32, #tg.dims<()[s0] -> (s0 * 2, 64)>>, tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
}
}

// -----

// Sums within divisions are read back as they were printed, from the left: the second part begins at column 4.
// CHECK-DAG: affine_map<(d0, d1) -> (((d0 * 4 + d1 - 4) floordiv 33) floordiv 2, ((d0 * 4 + d1 - 4) floordiv 33) mod 2, (d0 * 4 + d1 - 4) mod 33)>
// CHECK-LABEL: func.func @parts
module attributes {tg.symbols = []} {
func.func @parts(%x: tensor<12x2x33xf32>) -> tensor<198x12xi64> {
  // CHECK: tg.kernel {{.*}} domain <d0: 198 parallel, d1: 12 parallel> access
  %0 = tg.cast %x : tensor<12x2x33xf32> to tensor<12x2x33xi64>
  %1 = tg.reshape %0 : tensor<12x2x33xi64> to tensor<198x4xi64>
  %2 = tg.concat %1, %1, %1 axis = 1 : tensor<198x4xi64>, tensor<198x4xi64>, tensor<198x4xi64>
  return %2 : tensor<198x12xi64>
}
}
