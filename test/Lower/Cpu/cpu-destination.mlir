// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-cpu-destination | FileCheck %s

// A dynamic tensor is passed as a bare element and shaped by the symbols; tensor.dim of it becomes the symbol.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[X:.*]]: memref<f32> {llvm.align = 64 : i64, llvm.noalias}, %[[OUT:.*]]: memref<f32> {{.*}}, %[[N:.*]]: index)
// CHECK: %[[IN:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [%{{.*}}, 8], strides: [8, 1] : memref<f32> to memref<?x8xf32>
// CHECK: bufferization.to_tensor %[[IN]] restrict : memref<?x8xf32>
// CHECK-NOT: tensor.dim
// CHECK: bufferization.materialize_in_destination
module @dynamic attributes {tg.operand_dims = [affine_map<()[s0] -> (s0, 8)>], tg.result_dims = [affine_map<()[s0] -> (s0, 8)>]} {
  func.func @kernel(%x: tensor<?x8xf32>, %n: index) -> tensor<?x8xf32> {
    %c0 = arith.constant 0 : index
    %d = tensor.dim %x, %c0 : tensor<?x8xf32>
    %e = tensor.empty(%d) : tensor<?x8xf32>
    %r = linalg.exp ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    return %r : tensor<?x8xf32>
  }
}

// -----

// expected-error@+1 {{operand 0 has no extents in tg.operand_dims}}
module @unknown {
  func.func @kernel(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
    return %x : tensor<?xf32>
  }
}
