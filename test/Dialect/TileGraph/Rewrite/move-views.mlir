// RUN: weft-opt %s --weft-move-views | FileCheck %s
// RUN: weft-opt %s --weft-move-views --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: [Passed] rewrite | Category:rewrite | Remark="slice-before-arithmetic: flops
// REMARK: [Passed] rewrite | Category:rewrite | Remark="movement-behind-arithmetic: flops
// REMARK: [Missed] no-rewrite | Category:rewrite | Remark="movement-behind-arithmetic: expected others-scalar"
// REMARK: [Missed] no-rewrite {{.*}}"movement-behind-arithmetic: expected no-wider"
// REMARK: [Missed] no-rewrite {{.*}}"movement-behind-arithmetic: expected one-reader"
// CHECK-DAG: #[[$GATE:.*]] = affine_map<(d0, d1, d2) -> (d2, d1, 0)>
// CHECK-DAG: #[[$VALUE:.*]] = affine_map<(d0, d1, d2) -> (d2, d1, 1)>

// The scale comes first, then one transposition for three movements.
// CHECK-LABEL: func.func @keys
// CHECK-NEXT: %[[S:.*]] = tg.mul %arg0, %arg1 : tensor<2x8x4x16xf16>, tensor<f16>
// CHECK-NEXT: %[[T:.*]] = tg.transpose %[[S]] [0, 2, 3, 1] : tensor<2x8x4x16xf16>
// CHECK-NEXT: return %[[T]]
func.func @keys(%x: tensor<2x8x4x16xf16>, %c: tensor<f16>) -> tensor<2x4x16x8xf16> {
  %0 = tg.transpose %x [0, 2, 1, 3] : tensor<2x8x4x16xf16>
  %1 = tg.reshape %0 : tensor<2x4x8x16xf16> to tensor<8x8x16xf16>
  %2 = tg.transpose %1 [0, 2, 1] : tensor<8x8x16xf16>
  %3 = tg.reshape %2 : tensor<8x16x8xf16> to tensor<2x4x16x8xf16>
  %4 = tg.mul %3, %c : tensor<2x4x16x8xf16>, tensor<f16>
  return %4 : tensor<2x4x16x8xf16>
}

// A contraction takes the transposition that was in front of the scale.
// CHECK-LABEL: func.func @scores
// CHECK-NEXT: %[[S:.*]] = tg.mul %arg0, %arg2
// CHECK-NEXT: tg.contract %[[S]], %arg1
// CHECK-NEXT: return
func.func @scores(%x: tensor<8x4x16xf16>, %k: tensor<4x8x16xf16>, %c: tensor<f16>) -> tensor<4x8x8xf16> {
  %0 = tg.transpose %x [1, 0, 2] : tensor<8x4x16xf16>
  %1 = tg.mul %0, %c : tensor<4x8x16xf16>, tensor<f16>
  %2 = tg.contract %1, %k [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      : tensor<4x8x16xf16>, tensor<4x8x16xf16> -> tensor<4x8x8xf16>
  return %2 : tensor<4x8x8xf16>
}

// Movements stay before a sum with another tensor, before a widening, where others read them, and where they follow arithmetic.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-3: tg.transpose
// CHECK: tg.reshape
// CHECK: tg.transpose
func.func @stay(%x: tensor<8x4xf16>, %y: tensor<4xf16>, %z: tensor<8x4xf16>, %c: tensor<f16>, %r: tensor<2x4x3xf16>)
    -> (tensor<4x8xf16>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf16>, tensor<3x8xf16>) {
  %0 = tg.transpose %x [1, 0] : tensor<8x4xf16>
  %1 = tg.add %0, %0 : tensor<4x8xf16>, tensor<4x8xf16>
  %2 = tg.transpose %z [1, 0] : tensor<8x4xf16>
  %3 = tg.cast %2 : tensor<4x8xf16> to tensor<4x8xf32>
  %w = tg.neg %z : tensor<8x4xf16>
  %4 = tg.transpose %w [1, 0] : tensor<8x4xf16>
  %5 = tg.mul %4, %c : tensor<4x8xf16>, tensor<f16>
  %n = tg.neg %r : tensor<2x4x3xf16>
  %6 = tg.reshape %n : tensor<2x4x3xf16> to tensor<8x3xf16>
  %7 = tg.transpose %6 [1, 0] : tensor<8x3xf16>
  return %1, %3, %4, %5, %7 : tensor<4x8xf16>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf16>, tensor<3x8xf16>
}

// The transposed tensor is stored in any case: the contraction reads that one.
// CHECK-LABEL: func.func @cache
// CHECK: %[[V:.*]] = tg.neg
// CHECK-NEXT: %[[T:.*]] = tg.transpose %[[V]] [1, 0]
// CHECK-NEXT: %[[P:.*]] = tg.contract %arg1, %[[T]] [#{{.*}}, #[[READ:.*]], #{{.*}}]
// CHECK: return %[[T]], %[[P]]
func.func @cache(%x: tensor<8x4xf16>, %p: tensor<16x8xf16>) -> (tensor<4x8xf16>, tensor<16x4xf16>) {
  %v = tg.neg %x : tensor<8x4xf16>
  %0 = tg.contract %p, %v [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<16x8xf16>, tensor<8x4xf16> -> tensor<16x4xf16>
  %1 = tg.transpose %v [1, 0] : tensor<8x4xf16>
  return %1, %0 : tensor<4x8xf16>, tensor<16x4xf16>
}

// Slices come first: of a norm whose tokens but the first go on the rest is not computed.
// CHECK-LABEL: func.func @tokens
// CHECK-NEXT: %[[X:.*]] = tg.slice %arg0 offsets = [0, 1, 0] strides = [1, 1, 1] : tensor<2x9x8xf32> to tensor<2x8x8xf32>
// CHECK-NEXT: %[[M:.*]] = tg.reduce max %[[X]] axes = [2] keep_dims
// CHECK-NEXT: %[[D:.*]] = tg.sub %[[X]], %[[M]]
// CHECK-NEXT: %[[S:.*]] = tg.mul %[[D]], %arg1 : tensor<2x8x8xf32>, tensor<8xf32>
// CHECK-NEXT: return %[[S]]
func.func @tokens(%x: tensor<2x9x8xf32>, %w: tensor<8xf32>) -> tensor<2x8x8xf32> {
  %0 = tg.reduce max %x axes = [2] keep_dims : tensor<2x9x8xf32>
  %1 = tg.sub %x, %0 : tensor<2x9x8xf32>, tensor<2x9x1xf32>
  %2 = tg.mul %1, %w : tensor<2x9x8xf32>, tensor<8xf32>
  %3 = tg.slice %2 offsets = [0, 1, 0] strides = [1, 1, 1] : tensor<2x9x8xf32> to tensor<2x8x8xf32>
  return %3 : tensor<2x8x8xf32>
}

// The halves of a product meet again: it becomes two products. Three parts that do not meet stay parts of one, and so do a part of
// what is a result, too, and parts that have elements in common.
// CHECK-LABEL: func.func @gates
// CHECK-COUNT-2: tg.contract {{.*}} -> tensor<4x6xf16>
// CHECK-NOT: tg.contract
// CHECK: return
func.func @gates(%x: tensor<4x8xf16>, %w: tensor<8x12xf16>, %b: tensor<12xf16>) -> tensor<4x6xf16> {
  %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf16>, tensor<8x12xf16> -> tensor<4x12xf16>
  %1 = tg.add %0, %b : tensor<4x12xf16>, tensor<12xf16>
  %2 = tg.slice %1 offsets = [0, 0] strides = [1, 1] : tensor<4x12xf16> to tensor<4x6xf16>
  %3 = tg.slice %1 offsets = [0, 6] strides = [1, 1] : tensor<4x12xf16> to tensor<4x6xf16>
  %4 = tg.sigmoid %2 : tensor<4x6xf16>
  %5 = tg.mul %2, %4 : tensor<4x6xf16>, tensor<4x6xf16>
  %6 = tg.mul %5, %3 : tensor<4x6xf16>, tensor<4x6xf16>
  return %6 : tensor<4x6xf16>
}

// Gates and values in turn, as [.., 6, 2]: the weight is read as one of [K, 6, 2], once, each product at its place of the two.
// CHECK-LABEL: func.func @in_turn
// CHECK: %[[W:.*]] = tg.weight <"w", 0, 192> : tensor<8x6x2xf16>
// CHECK: tg.contract %arg0, %[[W]] [#{{.*}}, #[[$GATE]], #{{.*}}] {{.*}} -> tensor<4x6xf16>
// CHECK: tg.contract %arg0, %[[W]] [#{{.*}}, #[[$VALUE]], #{{.*}}] {{.*}} -> tensor<4x6xf16>
// CHECK-NOT: tg.contract
// CHECK: return
func.func @in_turn(%x: tensor<4x8xf16>) -> tensor<4x6xf16> {
  %w = tg.weight <"w", 0, 192> : tensor<8x12xf16>
  %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf16>, tensor<8x12xf16> -> tensor<4x12xf16>
  %1 = tg.reshape %0 : tensor<4x12xf16> to tensor<4x6x2xf16>
  %2 = tg.slice %1 offsets = [0, 0, 0] strides = [1, 1, 1] : tensor<4x6x2xf16> to tensor<4x6x1xf16>
  %3 = tg.slice %1 offsets = [0, 0, 1] strides = [1, 1, 1] : tensor<4x6x2xf16> to tensor<4x6x1xf16>
  %4 = tg.reshape %2 : tensor<4x6x1xf16> to tensor<4x6xf16>
  %5 = tg.reshape %3 : tensor<4x6x1xf16> to tensor<4x6xf16>
  %6 = tg.sigmoid %4 : tensor<4x6xf16>
  %7 = tg.mul %6, %5 : tensor<4x6xf16>, tensor<4x6xf16>
  return %7 : tensor<4x6xf16>
}

// The last token behind a norm, which the contraction reads by its map: nothing is computed of the others.
// CHECK-LABEL: func.func @last
// CHECK: %[[X:.*]] = tg.slice %arg0 offsets = [0, 6, 0] strides = [1, 1, 1] : tensor<2x7x8xf16> to tensor<2x1x8xf16>
// CHECK-NOT: tensor<2x7x
// CHECK: return
func.func @last(%x: tensor<2x7x8xf16>, %w: tensor<8x12xf16>) -> tensor<2x12xf16> {
  %0 = tg.reduce max %x axes = [2] keep_dims : tensor<2x7x8xf16>
  %1 = tg.sub %x, %0 : tensor<2x7x8xf16>, tensor<2x7x1xf16>
  %2 = tg.exp %1 : tensor<2x7x8xf16>
  %3 = tg.contract %2, %w [affine_map<(m, n, k) -> (m, 6, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<2x7x8xf16>, tensor<8x12xf16> -> tensor<2x12xf16>
  return %3 : tensor<2x12xf16>
}

// CHECK-LABEL: func.func @heads
// CHECK: tg.contract {{.*}} -> tensor<4x12xf16>
// CHECK: tg.contract {{.*}} -> tensor<4x12xf16>
// CHECK: tg.contract {{.*}} -> tensor<4x12xf16>
// CHECK-NOT: tg.contract
// CHECK: return
func.func @heads(%x: tensor<4x8xf16>, %w: tensor<8x12xf16>, %v: tensor<8x12xf16>, %u: tensor<8x12xf16>)
    -> (tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x12xf16>, tensor<4x4xf16>, tensor<4x6xf16>) {
  %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf16>, tensor<8x12xf16> -> tensor<4x12xf16>
  %1 = tg.slice %0 offsets = [0, 0] strides = [1, 1] : tensor<4x12xf16> to tensor<4x4xf16>
  %2 = tg.slice %0 offsets = [0, 4] strides = [1, 1] : tensor<4x12xf16> to tensor<4x4xf16>
  %3 = tg.slice %0 offsets = [0, 8] strides = [1, 1] : tensor<4x12xf16> to tensor<4x4xf16>
  %q = tg.exp %1 : tensor<4x4xf16>
  %k = tg.exp %2 : tensor<4x4xf16>
  %4 = tg.contract %x, %v [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf16>, tensor<8x12xf16> -> tensor<4x12xf16>
  %5 = tg.slice %4 offsets = [0, 0] strides = [1, 1] : tensor<4x12xf16> to tensor<4x4xf16>
  %6 = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf16>, tensor<8x12xf16> -> tensor<4x12xf16>
  %7 = tg.slice %6 offsets = [0, 0] strides = [1, 1] : tensor<4x12xf16> to tensor<4x6xf16>
  %8 = tg.slice %6 offsets = [0, 4] strides = [1, 1] : tensor<4x12xf16> to tensor<4x6xf16>
  %9 = tg.mul %7, %8 : tensor<4x6xf16>, tensor<4x6xf16>
  return %q, %k, %3, %4, %5, %9 : tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x12xf16>, tensor<4x4xf16>, tensor<4x6xf16>
}
