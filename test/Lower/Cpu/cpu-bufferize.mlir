// RUN: weft-opt %s --weft-cpu-bufferize | FileCheck %s

// The result is written where it belongs; what is copied becomes a generic.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[X:.*]]: memref<4x8xf32>, %[[Y:.*]]: memref<4x8xf32>)
// CHECK-NOT: memref.copy
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<4x8xf32>) outs(%[[Y]] : memref<4x8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @kernel(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %t = bufferization.to_tensor %x restrict : memref<4x8xf32> to tensor<4x8xf32>
  bufferization.materialize_in_destination %t in restrict writable %y : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  return
}
