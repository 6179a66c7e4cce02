// Composites become primitives: their shape of computation, the type they compute in, and where they round.
// RUN: weft-opt %s --weft-decompose-composites --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @gelu_erf(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-DAG: %[[C:.*]] = tg.constant dense<0.707106769> : tensor<f32>
// CHECK: %[[ARG:.*]] = tg.mul %[[X]], %[[C]]
// CHECK: %[[ERF:.*]] = tg.erf %[[ARG]]
// CHECK: %[[HALF:.*]] = tg.mul %[[X]], %{{.*}}
// CHECK: %[[ONE:.*]] = tg.add %[[ERF]], %{{.*}}
// CHECK: %[[R:.*]] = tg.mul %[[HALF]], %[[ONE]]
// CHECK: return %[[R]]
func.func @gelu_erf(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = tg.gelu %x : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// f16 is computed in f32 and rounded once, at the end.
// CHECK-LABEL: func.func @gelu_tanh_f16(
// CHECK: tg.cast %{{.*}} : tensor<8xf16> to tensor<8xf32>
// CHECK-NOT: tg.cast
// CHECK: tg.tanh %{{.*}} : tensor<8xf32>
// CHECK: %[[R:.*]] = tg.cast %{{.*}} : tensor<8xf32> to tensor<8xf16>
// CHECK-NEXT: return %[[R]]
func.func @gelu_tanh_f16(%x: tensor<8xf16>) -> tensor<8xf16> {
  %r = tg.gelu %x {tanh} : tensor<8xf16>
  return %r : tensor<8xf16>
}

// -----

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf64>
// CHECK: %[[MAX:.*]] = tg.reduce max %[[X]] axes = [1] keep_dims
// CHECK: %[[SHIFTED:.*]] = tg.sub %[[X]], %[[MAX]]
// CHECK: %[[E:.*]] = tg.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = tg.reduce add %[[E]] axes = [1] keep_dims
// CHECK: %[[R:.*]] = tg.div %[[E]], %[[SUM]]
// CHECK: return %[[R]]
func.func @softmax(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  %r = tg.softmax %x axis = 1 : tensor<4x8xf64>
  return %r : tensor<4x8xf64>
}

// -----

// CHECK-LABEL: func.func @log_softmax(
// CHECK: %[[SHIFTED:.*]] = tg.sub
// CHECK: %[[E:.*]] = tg.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = tg.reduce add %[[E]] axes = [0] keep_dims
// CHECK: %[[LOG:.*]] = tg.log %[[SUM]]
// CHECK: tg.sub %[[SHIFTED]], %[[LOG]]
func.func @log_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = tg.softmax %x axis = 0 {log} : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

module attributes {tg.symbols = ["n"]} {
// The number of elements of a symbolic dimension is computed at run time.
// CHECK-LABEL: func.func @layer_norm_symbolic(
// CHECK-SAME: %[[X:.*]]: tensor<4x?xf16
// CHECK: %[[WIDE:.*]] = tg.cast %[[X]]
// CHECK: %[[SUM:.*]] = tg.reduce add %[[WIDE]] axes = [1] keep_dims
// CHECK: %[[N:.*]] = tg.extents #{{.*}}
// CHECK: %[[RANK0:.*]] = tg.reshape %[[N]] : tensor<1xi64> to tensor<i64>
// CHECK: %[[COUNT:.*]] = tg.cast %[[RANK0]] : tensor<i64> to tensor<f32>
// CHECK: %[[MEAN:.*]] = tg.div %[[SUM]], %[[COUNT]]
// CHECK: %[[D:.*]] = tg.sub %[[WIDE]], %[[MEAN]]
// CHECK: %[[SQ:.*]] = tg.mul %[[D]], %[[D]]
// CHECK: %[[INV:.*]] = tg.rsqrt %{{.*}} : tensor<4x1xf32>
// The normalised value rounds to f16 before it is scaled.
// CHECK: %[[NORMAL:.*]] = tg.mul %[[D]], %[[INV]]
// CHECK: tg.cast %[[NORMAL]] : {{.*}} to tensor<4x?xf16
// CHECK: return %{{.*}}, %[[MEAN]], %[[INV]]
func.func @layer_norm_symbolic(%x: tensor<4x?xf16, #tg.dims<()[s0] -> (4, s0)>>, %s: tensor<?xf16, #tg.dims<()[s0] -> (s0)>>)
    -> (tensor<4x?xf16, #tg.dims<()[s0] -> (4, s0)>>, tensor<4x1xf32>, tensor<4x1xf32>) {
  %r, %m, %i = tg.layer_norm %x, %s axis = 1 epsilon = 1.0e-5 stash = f32
      : tensor<4x?xf16, #tg.dims<()[s0] -> (4, s0)>>, tensor<?xf16, #tg.dims<()[s0] -> (s0)>>
  return %r, %m, %i : tensor<4x?xf16, #tg.dims<()[s0] -> (4, s0)>>, tensor<4x1xf32>, tensor<4x1xf32>
}
}

// -----

// CHECK-LABEL: func.func @rms_norm(
// CHECK-NOT: tg.sub
// CHECK: tg.rsqrt
// CHECK-NOT: tg.cast
// CHECK: return
func.func @rms_norm(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %r = tg.rms_norm %x, %s axis = 1 epsilon = 1.0e-5 stash = f32 : tensor<4x8xf32>, tensor<8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @group_norm(
// CHECK: tg.reshape %{{.*}} : tensor<2x6x5x5xf32> to tensor<2x3x2x5x5xf32>
// CHECK: tg.reduce add %{{.*}} axes = [2, 3, 4] keep_dims
// CHECK: tg.reshape %{{.*}} : tensor<6xf32> to tensor<3x2x1x1xf32>
// CHECK: tg.reshape %{{.*}} : tensor<2x3x2x5x5xf32> to tensor<2x6x5x5xf32>
func.func @group_norm(%x: tensor<2x6x5x5xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<2x6x5x5xf32> {
  %r = tg.group_norm %x, %s, %b groups = 3 epsilon = 1.0e-5 stash = f32 : tensor<2x6x5x5xf32>, tensor<6xf32>, tensor<6xf32>
  return %r : tensor<2x6x5x5xf32>
}

// -----

// CHECK-LABEL: func.func @instance_norm(
// CHECK-NOT: tg.reshape %{{.*}} : tensor<2x6x5x5xf32>
// CHECK: tg.reduce add %{{.*}} axes = [2, 3] keep_dims
// CHECK: tg.reshape %{{.*}} : tensor<6xf32> to tensor<6x1x1xf32>
func.func @instance_norm(%x: tensor<2x6x5x5xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<2x6x5x5xf32> {
  %r = tg.group_norm %x, %s, %b groups = 6 epsilon = 1.0e-5 stash = f32 : tensor<2x6x5x5xf32>, tensor<6xf32>, tensor<6xf32>
  return %r : tensor<2x6x5x5xf32>
}

// -----

// Grouped heads: the query's heads split, keys and values are not repeated.
// CHECK-LABEL: func.func @attention(
// CHECK: tg.reshape %{{.*}} : tensor<1x8x4x16xf32> to tensor<1x2x4x4x16xf32>
// CHECK: %[[S:.*]] = tg.contract %{{.*}} -> tensor<1x2x4x4x6xf32>
// CHECK: tg.iota 0 : tensor<4x1xi64>
// CHECK: tg.iota 1 : tensor<1x6xi64>
// CHECK: tg.cmp le
// CHECK: tg.select
// CHECK: %[[MAX:.*]] = tg.reduce max %{{.*}} axes = [4] keep_dims
// CHECK: %[[P:.*]] = tg.div
// CHECK: %[[EMPTY:.*]] = tg.cmp eq %[[MAX]], %{{.*}}
// CHECK: %[[Q:.*]] = tg.select %[[EMPTY]], %{{.*}}, %[[P]]
// CHECK: %[[R:.*]] = tg.contract %[[Q]], %{{.*}} -> tensor<1x2x4x4x16xf32>
// CHECK: tg.reshape %[[R]] : tensor<1x2x4x4x16xf32> to tensor<1x8x4x16xf32>
func.func @attention(%q: tensor<1x8x4x16xf32>, %k: tensor<1x2x6x16xf32>, %v: tensor<1x2x6x16xf32>) -> tensor<1x8x4x16xf32> {
  %r, %s = tg.attention %q, %k, %v scale = 0.5 softmax = f32 {causal_offset = 0 : i64, zero_masked_rows}
      : tensor<1x8x4x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x16xf32>
  return %r : tensor<1x8x4x16xf32>
}
