// Mean and squared deviations of few long rows in parts; others stay.
// RUN: weft-opt %s --split-input-file --weft-split-reductions=target=sm_90a --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

// 64 rows of 40,960 places: what is stored is cut, and the normalization reads it again.
// CHECK-LABEL: func.func @groups
// CHECK-DAG: %[[ROW:.*]] = tg.reshape %arg0 : tensor<2x320x64x64xbf16> to tensor<2x32x40960xbf16>
// CHECK-DAG: %[[CUT:.*]] = tg.reshape %arg0 : tensor<2x320x64x64xbf16> to tensor<2x32x10x4096xbf16>
// CHECK-DAG: %[[N:.*]] = tg.constant dense<4.096000e+03> : tensor<f32>
// CHECK-DAG: %[[P:.*]] = tg.cast %[[CUT]]
// CHECK: %[[PS:.*]] = tg.reduce add %[[P]] axes = [3] keep_dims : tensor<2x32x10x4096xf32>
// CHECK: %[[PM:.*]] = tg.div %[[PS]], %[[N]]
// CHECK: %[[PD:.*]] = tg.sub %[[P]], %[[PM]]
// CHECK: %[[PQ:.*]] = tg.mul %[[PD]], %[[PD]]
// CHECK: %[[PV:.*]] = tg.reduce add %[[PQ]] axes = [3] keep_dims
// CHECK-DAG: %[[MEANS:.*]] = tg.reshape %[[PM]] : tensor<2x32x10x1xf32> to tensor<2x32x10xf32>
// CHECK-DAG: %[[SQUARES:.*]] = tg.reshape %[[PV]] : tensor<2x32x10x1xf32> to tensor<2x32x10xf32>
// CHECK: %[[T:.*]] = tg.reduce add %[[MEANS]] axes = [2] keep_dims : tensor<2x32x10xf32>
// CHECK: %[[S:.*]] = tg.constant dense<1.000000e+01> : tensor<f32>
// CHECK: %[[M:.*]] = tg.div %[[T]], %[[S]]
// CHECK: %[[A:.*]] = tg.sub %[[MEANS]], %[[M]]
// CHECK: %[[AA:.*]] = tg.mul %[[A]], %[[A]]
// CHECK: %[[NAA:.*]] = tg.mul %[[AA]], %[[N]]
// CHECK: %[[Q:.*]] = tg.add %[[NAA]], %[[SQUARES]]
// CHECK: %[[V:.*]] = tg.reduce add %[[Q]] axes = [2] keep_dims
// CHECK: %[[D:.*]] = tg.sub %{{.*}}, %[[M]] : tensor<2x32x40960xf32>, tensor<2x32x1xf32>
// CHECK-NOT: tg.reduce
// CHECK: %[[R:.*]] = tg.rsqrt %[[V]]
// CHECK: tg.mul %[[D]], %[[R]]
// WHY: [Passed] split {{.*}}moments: {{.*}} us whole, {{.*}} us in 10 parts of axis 2
func.func @groups(%x: tensor<2x320x64x64xbf16>) -> tensor<2x32x40960xf32> {
  %n = tg.constant dense<40960.0> : tensor<f32>
  %0 = tg.reshape %x : tensor<2x320x64x64xbf16> to tensor<2x32x40960xbf16>
  %1 = tg.cast %0 : tensor<2x32x40960xbf16> to tensor<2x32x40960xf32>
  %2 = tg.reduce add %1 axes = [2] keep_dims : tensor<2x32x40960xf32>
  %3 = tg.div %2, %n : tensor<2x32x1xf32>, tensor<f32>
  %4 = tg.sub %1, %3 : tensor<2x32x40960xf32>, tensor<2x32x1xf32>
  %5 = tg.mul %4, %4 : tensor<2x32x40960xf32>, tensor<2x32x40960xf32>
  %6 = tg.reduce add %5 axes = [2] keep_dims : tensor<2x32x40960xf32>
  %7 = tg.rsqrt %6 : tensor<2x32x1xf32>
  %8 = tg.mul %4, %7 : tensor<2x32x40960xf32>, tensor<2x32x1xf32>
  return %8 : tensor<2x32x40960xf32>
}

// -----
// Several axes, the outermost that has the parts; a variance alone reads its rows once.
// CHECK-LABEL: func.func @axes
// CHECK: tg.reshape %arg0 : tensor<4x256x64x32xf32> to tensor<4x32x8x64x32xf32>
// CHECK: tg.reduce add %{{.*}} axes = [2, 3, 4] keep_dims
// CHECK: tg.reshape %{{.*}} : tensor<4x32x1x1x1xf32> to tensor<4x32x1x1xf32>
// CHECK: tg.reduce add %{{.*}} axes = [1] keep_dims : tensor<4x32x1x1xf32>
// CHECK-NOT: tensor<4x256x64x32xf32>, tensor<4x1x1x1xf32>
// WHY: in 32 parts of axis 1
func.func @axes(%x: tensor<4x256x64x32xf32>) -> tensor<4x1x1x1xf32> {
  %n = tg.constant dense<524288.0> : tensor<f32>
  %2 = tg.reduce add %x axes = [1, 2, 3] keep_dims : tensor<4x256x64x32xf32>
  %3 = tg.div %2, %n : tensor<4x1x1x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<4x256x64x32xf32>, tensor<4x1x1x1xf32>
  %5 = tg.mul %4, %4 : tensor<4x256x64x32xf32>, tensor<4x256x64x32xf32>
  %6 = tg.reduce add %5 axes = [1, 2, 3] keep_dims : tensor<4x256x64x32xf32>
  return %6 : tensor<4x1x1x1xf32>
}

// -----
// Cast before its rows are cut out (GroupNormalization), and a mean that is a product, since there are 2^16 places: what is stored is
// cut, and each kernel casts for itself.
// CHECK-LABEL: func.func @castFirst
// CHECK: %[[CUT:.*]] = tg.reshape %arg0 : tensor<2x256x128x64xf16> to tensor<2x32x8x1x128x64xf16>
// CHECK: %[[P:.*]] = tg.cast %[[CUT]]
// CHECK: tg.reduce add %[[P]] axes = [3, 4, 5] keep_dims
// CHECK: tg.reduce add %{{.*}} axes = [2] keep_dims : tensor<2x32x8x1x1xf32>
// WHY: us whole, {{.*}} us in 8 parts of axis 2
func.func @castFirst(%x: tensor<2x256x128x64xf16>) -> tensor<2x32x8x128x64xf32> {
  %n = tg.constant dense<1.52587890625e-05> : tensor<f32>
  %0 = tg.cast %x : tensor<2x256x128x64xf16> to tensor<2x256x128x64xf32>
  %1 = tg.reshape %0 : tensor<2x256x128x64xf32> to tensor<2x32x8x128x64xf32>
  %2 = tg.reduce add %1 axes = [2, 3, 4] keep_dims : tensor<2x32x8x128x64xf32>
  %3 = tg.mul %2, %n : tensor<2x32x1x1x1xf32>, tensor<f32>
  %4 = tg.sub %1, %3 : tensor<2x32x8x128x64xf32>, tensor<2x32x1x1x1xf32>
  %5 = tg.mul %4, %4 : tensor<2x32x8x128x64xf32>, tensor<2x32x8x128x64xf32>
  %6 = tg.reduce add %5 axes = [2, 3, 4] keep_dims : tensor<2x32x8x128x64xf32>
  %7 = tg.rsqrt %6 : tensor<2x32x1x1x1xf32>
  %8 = tg.mul %4, %7 : tensor<2x32x8x128x64xf32>, tensor<2x32x1x1x1xf32>
  return %8 : tensor<2x32x8x128x64xf32>
}

// -----
// Rows that no CTA holds, however many: each would be read three times.
// CHECK-LABEL: func.func @many
// CHECK: tg.reshape %arg0 : tensor<224x168507xbf16> to tensor<224x27x6241xbf16>
// WHY: us whole, {{.*}} us in 27 parts of axis 1
func.func @many(%y: tensor<224x168507xbf16>) -> tensor<224x1xf32> {
  %n = tg.constant dense<168507.0> : tensor<f32>
  %x = tg.cast %y : tensor<224x168507xbf16> to tensor<224x168507xf32>
  %2 = tg.reduce add %x axes = [1] keep_dims : tensor<224x168507xf32>
  %3 = tg.div %2, %n : tensor<224x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<224x168507xf32>, tensor<224x1xf32>
  %5 = tg.mul %4, %4 : tensor<224x168507xf32>, tensor<224x168507xf32>
  %6 = tg.reduce add %5 axes = [1] keep_dims : tensor<224x168507xf32>
  return %6 : tensor<224x1xf32>
}

// -----
// Parts that a CTA holds, though they are more than a warp's lanes: 42 of 9,409 places.
// CHECK-LABEL: func.func @parts
// CHECK: tg.reshape %arg0 : tensor<176x42x97x97xbf16> to tensor<176x42x1x97x97xbf16>
// WHY: us whole, {{.*}} us in 42 parts of axis 1
func.func @parts(%y: tensor<176x42x97x97xbf16>) -> tensor<176x1x1x1xf32> {
  %n = tg.constant dense<395178.0> : tensor<f32>
  %x = tg.cast %y : tensor<176x42x97x97xbf16> to tensor<176x42x97x97xf32>
  %2 = tg.reduce add %x axes = [1, 2, 3] keep_dims : tensor<176x42x97x97xf32>
  %3 = tg.div %2, %n : tensor<176x1x1x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<176x42x97x97xf32>, tensor<176x1x1x1xf32>
  %5 = tg.mul %4, %4 : tensor<176x42x97x97xf32>, tensor<176x42x97x97xf32>
  %6 = tg.reduce add %5 axes = [1, 2, 3] keep_dims : tensor<176x42x97x97xf32>
  return %6 : tensor<176x1x1x1xf32>
}

// -----
// Rows for all SMs, which CTAs hold; short rows, a read of which is little; another divisor; order that must be kept; a row that a
// kernel computes on its way.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: tg.reshape
// CHECK-LABEL: func.func @short
// CHECK-NOT: tg.reshape
// CHECK-LABEL: func.func @divisor
// CHECK-NOT: tg.reshape
// CHECK-LABEL: func.func @exact
// CHECK-NOT: tg.reshape
// CHECK-LABEL: func.func @computed
// CHECK-NOT: tg.reshape
// WHY-NOT: moments
func.func @rows(%x: tensor<512x32768xf32>) -> tensor<512x1xf32> {
  %n = tg.constant dense<32768.0> : tensor<f32>
  %2 = tg.reduce add %x axes = [1] keep_dims : tensor<512x32768xf32>
  %3 = tg.div %2, %n : tensor<512x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<512x32768xf32>, tensor<512x1xf32>
  %5 = tg.mul %4, %4 : tensor<512x32768xf32>, tensor<512x32768xf32>
  %6 = tg.reduce add %5 axes = [1] keep_dims : tensor<512x32768xf32>
  return %6 : tensor<512x1xf32>
}
func.func @short(%x: tensor<16x8192xf32>) -> tensor<16x1xf32> {
  %n = tg.constant dense<8192.0> : tensor<f32>
  %2 = tg.reduce add %x axes = [1] keep_dims : tensor<16x8192xf32>
  %3 = tg.div %2, %n : tensor<16x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<16x8192xf32>, tensor<16x1xf32>
  %5 = tg.mul %4, %4 : tensor<16x8192xf32>, tensor<16x8192xf32>
  %6 = tg.reduce add %5 axes = [1] keep_dims : tensor<16x8192xf32>
  return %6 : tensor<16x1xf32>
}
func.func @divisor(%x: tensor<64x40960xf32>) -> tensor<64x1xf32> {
  %n = tg.constant dense<40959.0> : tensor<f32>
  %2 = tg.reduce add %x axes = [1] keep_dims : tensor<64x40960xf32>
  %3 = tg.div %2, %n : tensor<64x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<64x40960xf32>, tensor<64x1xf32>
  %5 = tg.mul %4, %4 : tensor<64x40960xf32>, tensor<64x40960xf32>
  %6 = tg.reduce add %5 axes = [1] keep_dims : tensor<64x40960xf32>
  return %6 : tensor<64x1xf32>
}
func.func @exact(%x: tensor<64x40960xf32>) -> tensor<64x1xf32> {
  %n = tg.constant dense<40960.0> : tensor<f32>
  %2 = tg.reduce add %x axes = [1] keep_dims {tg.numerics = "exact"} : tensor<64x40960xf32>
  %3 = tg.div %2, %n : tensor<64x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<64x40960xf32>, tensor<64x1xf32>
  %5 = tg.mul %4, %4 : tensor<64x40960xf32>, tensor<64x40960xf32>
  %6 = tg.reduce add %5 axes = [1] keep_dims : tensor<64x40960xf32>
  return %6 : tensor<64x1xf32>
}
func.func @computed(%y: tensor<64x40960xf32>, %z: tensor<64x40960xf32>) -> tensor<64x1xf32> {
  %n = tg.constant dense<40960.0> : tensor<f32>
  %x = tg.add %y, %z : tensor<64x40960xf32>, tensor<64x40960xf32>
  %2 = tg.reduce add %x axes = [1] keep_dims : tensor<64x40960xf32>
  %3 = tg.div %2, %n : tensor<64x1xf32>, tensor<f32>
  %4 = tg.sub %x, %3 : tensor<64x40960xf32>, tensor<64x1xf32>
  %5 = tg.mul %4, %4 : tensor<64x40960xf32>, tensor<64x40960xf32>
  %6 = tg.reduce add %5 axes = [1] keep_dims : tensor<64x40960xf32>
  return %6 : tensor<64x1xf32>
}
