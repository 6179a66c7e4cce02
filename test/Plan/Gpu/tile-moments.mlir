// Mean and squared deviations of what a product stores, in parts that its tiles have.
// RUN: weft-opt %s --split-input-file --weft-split-reductions=target=sm_90a --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-plan="gpu=true target=sm_90a" | FileCheck %s --check-prefix=PLAN

// A convolution: parts are the places of its tiles, for each channel; an image of other extents has none.
#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#f = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
// CHECK-LABEL: func.func @convolved
// CHECK: %[[Y:.*]] = tg.contract
// CHECK: %[[WIDE:.*]] = tg.cast %[[Y]] : tensor<2x320x64x64xbf16>
// CHECK: %[[CUT:.*]] = tg.reshape %[[WIDE]] : tensor<2x320x64x64xf32> to tensor<2x320x[[P:[0-9]+]]x[[R:[0-9]+]]xf32>
// CHECK: %[[PS:.*]] = tg.reduce add %[[CUT]] axes = [3] keep_dims : tensor<2x320x[[P]]x[[R]]xf32>
// CHECK: %[[PM:.*]] = tg.div %[[PS]]
// CHECK: %[[PD:.*]] = tg.sub %[[CUT]], %[[PM]]
// CHECK: %[[PQ:.*]] = tg.mul %[[PD]], %[[PD]]
// CHECK: %[[PV:.*]] = tg.reduce add %[[PQ]] axes = [3] keep_dims
// CHECK-DAG: %[[MEANS:.*]] = tg.reshape %[[PM]] : tensor<2x320x[[P]]x1xf32> to tensor<2x32x[[T:[0-9]+]]xf32>
// CHECK-DAG: tg.reshape %[[PV]] : tensor<2x320x[[P]]x1xf32> to tensor<2x32x[[T]]xf32>
// CHECK: tg.reduce add %[[MEANS]] axes = [2] keep_dims : tensor<2x32x[[T]]xf32>
// WHY: us in tiles of {{.*}} elements of a GEMM
// The parts are results of its kernel; the next one merges and normalizes.
// PLAN-LABEL: func.func @convolved
// PLAN: tg.kernel {{.*}} -> tensor<2x320x64x64xbf16>, tensor<2x320x[[P:[0-9]+]]x1xf32>, tensor<2x320x[[P]]x1xf32> {
// PLAN: tg.contract
// PLAN-COUNT-2: tg.reduce
// PLAN: tg.kernel
// PLAN-NOT: tg.kernel
// PLAN: return
func.func @convolved(%x: tensor<2x320x66x66xbf16>, %w: tensor<320x320x3x3xbf16>) -> tensor<2x32x40960xf32> {
  %n = tg.constant dense<40960.0> : tensor<f32>
  %c = tg.contract %x, %w [#x, #f, #y] : tensor<2x320x66x66xbf16>, tensor<320x320x3x3xbf16> -> tensor<2x320x64x64xbf16>
  %0 = tg.reshape %c : tensor<2x320x64x64xbf16> to tensor<2x32x40960xbf16>
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
#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#f = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
// CHECK-LABEL: func.func @odd
// CHECK: tg.reshape %{{.*}} : tensor<2x320x60x60xbf16> to tensor<2x32x
// WHY: parts of axis 2
// PLAN-LABEL: func.func @odd
// PLAN: tg.kernel "copy"
// PLAN-COUNT-3: tg.kernel
// PLAN-NOT: tg.kernel
func.func @odd(%x: tensor<2x320x62x62xbf16>, %w: tensor<320x320x3x3xbf16>) -> tensor<2x32x36000xf32> {
  %n = tg.constant dense<36000.0> : tensor<f32>
  %c = tg.contract %x, %w [#x, #f, #y] : tensor<2x320x62x62xbf16>, tensor<320x320x3x3xbf16> -> tensor<2x320x60x60xbf16>
  %0 = tg.reshape %c : tensor<2x320x60x60xbf16> to tensor<2x32x36000xbf16>
  %1 = tg.cast %0 : tensor<2x32x36000xbf16> to tensor<2x32x36000xf32>
  %2 = tg.reduce add %1 axes = [2] keep_dims : tensor<2x32x36000xf32>
  %3 = tg.div %2, %n : tensor<2x32x1xf32>, tensor<f32>
  %4 = tg.sub %1, %3 : tensor<2x32x36000xf32>, tensor<2x32x1xf32>
  %5 = tg.mul %4, %4 : tensor<2x32x36000xf32>, tensor<2x32x36000xf32>
  %6 = tg.reduce add %5 axes = [2] keep_dims : tensor<2x32x36000xf32>
  %7 = tg.rsqrt %6 : tensor<2x32x1xf32>
  %8 = tg.mul %4, %7 : tensor<2x32x36000xf32>, tensor<2x32x1xf32>
  return %8 : tensor<2x32x36000xf32>
}
