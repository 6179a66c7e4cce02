// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file | FileCheck %s
// RUN: weft-opt %s "--weft-lower-to-linalg=selection-limit=2" --split-input-file | FileCheck %s --check-prefix=SORT

// CHECK-LABEL: func.func @scan
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (tensor<4x8xf16>, f32)
// CHECK: %[[NEXT:.*]] = arith.addf
// CHECK: arith.truncf %[[NEXT]] : f32 to f16
// SORT-LABEL: func.func @scan
func.func @scan(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %r = tg.scan add %x axis = 1 : tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}

// -----

// Small k: a pass of selection for each result. Larger k: a merge sort in scratch.
// CHECK-LABEL: func.func @top_k
// CHECK-NOT: scf.while
// CHECK: scf.for {{.*}} -> (tensor<4x3xf32>, tensor<4x3xi64>, f32, index)
// SORT-LABEL: func.func @top_k
// SORT: tensor.empty() : tensor<2x40xi64>
// SORT: scf.while
func.func @top_k(%x: tensor<4x40xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>) {
  %v, %i = tg.top_k %x axis = 1 k = 3 {largest} : tensor<4x40xf32>
  return %v, %i : tensor<4x3xf32>, tensor<4x3xi64>
}
