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

// -----

// A result that is the updates of memory is stored row by row, at the places that an operand says, if they are within.
// CHECK-LABEL: module @into
// CHECK: func.func @kernel(%{{.*}}: memref<2x4xf32> {{.*}}, %[[P:.*]]: memref<2xi64> {{.*}}, %[[M:.*]]: memref<f32> {{.*}}, %[[N:.*]]: index)
// CHECK: %[[MEMORY:.*]] = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [%{{.*}}, 4]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.load %[[P]]
// CHECK: %[[AT:.*]] = arith.select
// CHECK: arith.cmpi ult, %[[AT]]
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[MEMORY]][%[[AT]], %{{.*}}]
module @into attributes {tg.operand_dims = [affine_map<() -> (2, 4)>, affine_map<() -> (2)>], tg.result_dims = [affine_map<()[s0] -> (s0, 4)>],
    tg.into = {result = 0 : i64, indices = 1 : i64, type = tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>, updates = tensor<2x4xf32>, places = tensor<2xi64>,
               data_map = affine_map<(s, d)[p] -> (p, d)>, index_maps = [affine_map<(s, d) -> (s)>]}} {
  func.func @kernel(%x: tensor<2x4xf32>, %places: tensor<2xi64>, %n: index) -> tensor<2x4xf32> {
    return %x : tensor<2x4xf32>
  }
}
