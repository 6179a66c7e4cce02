// Reductions of many places to few elements, in parts; others stay.
// RUN: weft-opt %s --split-input-file --weft-split-reductions=target=sm_90a --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: not weft-opt %s --split-input-file --weft-split-reductions=target=sm_10 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: expected a target of sm_80, {{.*}}, got 'sm_10'

// Sums of narrow floats are f32 until the end.
// CHECK-LABEL: func.func @sum
// CHECK: %[[W:.*]] = tg.cast %arg0 : tensor<16777216xbf16> to tensor<16777216xf32>
// CHECK: %[[P:.*]] = tg.reshape %[[W]] : tensor<16777216xf32> to tensor<512x32768xf32>
// CHECK: %[[S:.*]] = tg.reduce add %[[P]] axes = [1] : tensor<512x32768xf32>
// CHECK: %[[T:.*]] = tg.reduce add %[[S]] axes = [0] : tensor<512xf32>
// CHECK: %[[R:.*]] = tg.cast %[[T]] : tensor<f32> to tensor<bf16>
// CHECK: return %[[R]]
// WHY: reduction: {{.*}} us whole, {{.*}} us in 512 parts of axis 0
func.func @sum(%x: tensor<16777216xbf16>) -> tensor<bf16> {
  %r = tg.reduce add %x axes = [0] : tensor<16777216xbf16>
  return %r : tensor<bf16>
}

// -----
// Two axes, kept: the outer one is cut. A maximum needs no wider type.
// CHECK-LABEL: func.func @max
// CHECK: tg.reshape %arg0 : tensor<4x1024x8192xf16> to tensor<4x128x8x8192xf16>
// CHECK: tg.reduce max %{{.*}} axes = [2, 3] : tensor<4x128x8x8192xf16>
// CHECK: tg.reduce max %{{.*}} axes = [1] : tensor<4x128xf16>
// CHECK: tg.reshape %{{.*}} : tensor<4xf16> to tensor<4x1x1xf16>
// WHY: in 128 parts of axis 1
func.func @max(%x: tensor<4x1024x8192xf16>) -> tensor<4x1x1xf16> {
  %r = tg.reduce max %x axes = [1, 2] keep_dims : tensor<4x1024x8192xf16>
  return %r : tensor<4x1x1xf16>
}

// -----
// Rows enough, and too little to do.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: tg.reshape
// WHY-NOT: reduction:
func.func @rows(%x: tensor<4096x8192xf16>, %y: tensor<8x4096xf32>) -> (tensor<4096xf16>, tensor<8xf32>) {
  %r = tg.reduce add %x axes = [1] : tensor<4096x8192xf16>
  %s = tg.reduce add %y axes = [1] : tensor<8x4096xf32>
  return %r, %s : tensor<4096xf16>, tensor<8xf32>
}
