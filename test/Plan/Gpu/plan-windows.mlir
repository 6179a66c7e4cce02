// Contractions that others read: windows of depthwise convolutions, and the vectors of a squeeze.
// RUN: weft-opt %s --split-input-file '--weft-plan=gpu=true target=sm_90a' --remark-policy=all --remarks-filter=fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file '--weft-plan=gpu=true target=sm_90a' --weft-outline --weft-collapse-dims --weft-plan-gpu=target=sm_90a --remark-policy=all --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: weft-opt %s --split-input-file '--weft-plan=gpu=true target=sm_80' | FileCheck %s --check-prefix=SM80

#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>
#p = affine_map<(n, h, w, o, c) -> (n, h, w, c)>
#u = affine_map<(n, h, w, o, c) -> (o, c)>
#q = affine_map<(n, h, w, o, c) -> (n, h, w, o)>

// A depthwise convolution of few places: each warp has its own, and a vector of channels a thread.
// CHECK-LABEL: @main
// PLAN: schedule{{.*}}Remark="windows of 9 terms: 784 CTAs, 1 elements of each thread share what they read{{.*}}tile = [4, 1, 32], stream = [1, 1], engine = simt, warps = 1
func.func @main(%x: tensor<1x30x30x128xf32>, %f: tensor<3x3x128xf32>) -> tensor<1x28x28x128xf32> {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<1x30x30x128xf32>, tensor<3x3x128xf32> -> tensor<1x28x28x128xf32>
  return %0 : tensor<1x28x28x128xf32>
}

// -----
#x = affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>
#f = affine_map<(n, c, h, w, i, j) -> (c, i, j)>
#y = affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>

// One of many: eight places of a column to a thread, which read 14 rows together, not 56; columns that leave few lanes without work.
// CHECK-LABEL: @main
// PLAN: schedule{{.*}}Remark="windows of 49 terms: 27600 CTAs, 8 elements of each thread share what they read{{.*}}tile = [1, 8, 8, 16], stream = [1, 1]
func.func @main(%x: tensor<46x320x44x44xf16>, %f: tensor<320x7x7xf16>) -> tensor<46x320x38x38xf16> {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<46x320x44x44xf16>, tensor<320x7x7xf16> -> tensor<46x320x38x38xf16>
  return %0 : tensor<46x320x38x38xf16>
}

// -----
#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>

// With the mean of its channels: a CTA has whole images of the channels of a sector.
// CHECK-LABEL: @main
// CHECK: tg.kernel {{.*}} -> tensor<1x14x14x480xf32>, tensor<1x1x1x480xf32>
// CHECK-NOT: tg.kernel
// PLAN: schedule{{.*}}Remark="480 rows of 256 elements in one pass: 120 CTAs of 16x16x4"
func.func @main(%x: tensor<1x16x16x480xf32>, %f: tensor<3x3x480xf32>) -> (tensor<1x14x14x480xf32>, tensor<1x1x1x480xf32>) {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<1x16x16x480xf32>, tensor<3x3x480xf32> -> tensor<1x14x14x480xf32>
  %1 = tg.sigmoid %0 : tensor<1x14x14x480xf32>
  %2 = tg.reduce add %1 axes = [1, 2] keep_dims : tensor<1x14x14x480xf32>
  return %1, %2 : tensor<1x14x14x480xf32>, tensor<1x1x1x480xf32>
}

// -----
#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>

// Not of large images: no CTA holds them.
// CHECK-LABEL: @main
// CHECK-COUNT-2: tg.kernel
// WHY: G3: rows of windows that do not fit a CTA
func.func @main(%x: tensor<1x114x114x96xf32>, %f: tensor<3x3x96xf32>) -> (tensor<1x112x112x96xf32>, tensor<1x1x1x96xf32>) {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<1x114x114x96xf32>, tensor<3x3x96xf32> -> tensor<1x112x112x96xf32>
  %1 = tg.reduce add %0 axes = [1, 2] keep_dims : tensor<1x112x112x96xf32>
  return %0, %1 : tensor<1x112x112x96xf32>, tensor<1x1x1x96xf32>
}

// -----
#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>

// Many terms are read from shared memory.
// CHECK-LABEL: @main
// CHECK: tg.kernel {{.*}} -> tensor<1x28x28x240xf32>, tensor<1x1x1x240xf32>
// CHECK-NOT: tg.kernel
// PLAN: schedule{{.*}}Remark="240 rows of 1024 elements in one pass: 120 CTAs of 32x32x2"
func.func @main(%x: tensor<1x32x32x240xf32>, %f: tensor<5x5x240xf32>) -> (tensor<1x28x28x240xf32>, tensor<1x1x1x240xf32>) {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<1x32x32x240xf32>, tensor<5x5x240xf32> -> tensor<1x28x28x240xf32>
  %1 = tg.reduce add %0 axes = [1, 2] keep_dims : tensor<1x28x28x240xf32>
  return %0, %1 : tensor<1x28x28x240xf32>, tensor<1x1x1x240xf32>
}

// -----
#x = affine_map<(n, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>

// Not with a stride: a CTA fetches four times the image, and its lanes read every second place.
// CHECK-LABEL: @main
// CHECK-COUNT-2: tg.kernel
// WHY: G3: windows of whole rows in a CTA cost 3 us, and a kernel for their sum costs 2 us
func.func @main(%x: tensor<1x59x59x144xf32>, %f: tensor<5x5x144xf32>) -> (tensor<1x28x28x144xf32>, tensor<1x1x1x144xf32>) {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<1x59x59x144xf32>, tensor<5x5x144xf32> -> tensor<1x28x28x144xf32>
  %1 = tg.reduce add %0 axes = [1, 2] keep_dims : tensor<1x28x28x144xf32>
  return %0, %1 : tensor<1x28x28x144xf32>, tensor<1x1x1x144xf32>
}

// -----
#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>
#p = affine_map<(n, h, w, o, c) -> (n, h, w, c)>
#u = affine_map<(n, h, w, o, c) -> (o, c)>
#q = affine_map<(n, h, w, o, c) -> (n, h, w, o)>

// In front of a pointwise convolution: its tiles compute the windows, two CTAs half of the channels each.
// CHECK-LABEL: @main
// CHECK: tg.kernel "depthwise_gemm_max"
// CHECK-NOT: tg.kernel
// PLAN: contraction 1 x 784 x 32 x 192: {{.*}} bound by latency; clusters of 2 CTAs share a tile's steps{{.*}}stream = [128]
func.func @main(%x: tensor<1x30x30x192xbf16>, %f: tensor<3x3x192xbf16>, %w: tensor<32x192xbf16>) -> tensor<1x28x28x32xbf16> {
  %z = tg.constant dense<0.0> : tensor<bf16>
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<1x30x30x192xbf16>, tensor<3x3x192xbf16> -> tensor<1x28x28x192xbf16>
  %1 = tg.max %0, %z : tensor<1x28x28x192xbf16>, tensor<bf16>
  %2 = tg.contract %1, %w [#p, #u, #q] : tensor<1x28x28x192xbf16>, tensor<32x192xbf16> -> tensor<1x28x28x32xbf16>
  return %2 : tensor<1x28x28x32xbf16>
}

// -----
#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>
#p = affine_map<(n, h, w, o, c) -> (n, h, w, c)>
#u = affine_map<(n, h, w, o, c) -> (o, c)>
#q = affine_map<(n, h, w, o, c) -> (n, h, w, o)>

// Not where many tiles of output channels would compute them again.
// CHECK-LABEL: @main
// CHECK-COUNT-2: tg.kernel
// WHY: G2: computing 'contract' again for each tile costs
func.func @main(%x: tensor<8x30x30x960xbf16>, %f: tensor<3x3x960xbf16>, %w: tensor<2048x960xbf16>) -> tensor<8x28x28x2048xbf16> {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<8x30x30x960xbf16>, tensor<3x3x960xbf16> -> tensor<8x28x28x960xbf16>
  %1 = tg.contract %0, %w [#p, #u, #q] : tensor<8x28x28x960xbf16>, tensor<2048x960xbf16> -> tensor<8x28x28x2048xbf16>
  return %1 : tensor<8x28x28x2048xbf16>
}

// -----
#x = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>
#p = affine_map<(n, h, w, o, c) -> (n, h, w, c)>
#u = affine_map<(n, h, w, o, c) -> (o, c)>
#q = affine_map<(n, h, w, o, c) -> (n, h, w, o)>

// In several steps where the CTAs of a cluster take one each; one after the other, the weights of each come from memory when it needs them.
// CHECK-LABEL: @main
// CHECK: tg.kernel
// CHECK-NOT: tg.kernel
// PLAN: contraction 1 x 196 x 96 x 576: {{.*}}; clusters of 8 CTAs share a tile's steps
// SM80-LABEL: func.func @main(%arg0: tensor<1x16x16x576xf16>
// SM80-COUNT-2: tg.kernel
func.func @main(%x: tensor<1x16x16x576xf16>, %f: tensor<3x3x576xf16>, %u: tensor<96x576xf16>) -> tensor<1x14x14x96xf16> {
  %0 = tg.contract %x, %f [#x, #f, #y] : tensor<1x16x16x576xf16>, tensor<3x3x576xf16> -> tensor<1x14x14x576xf16>
  %1 = tg.contract %0, %u [#p, #u, #q] : tensor<1x14x14x576xf16>, tensor<96x576xf16> -> tensor<1x14x14x96xf16>
  return %1 : tensor<1x14x14x96xf16>
}

// -----
#v = affine_map<(n, o, c) -> (n, c)>
#w = affine_map<(n, o, c) -> (o, c)>
#r = affine_map<(n, o, c) -> (n, o)>

// Two small products one after the other, and the scale that they make: each CTA makes the vectors.
// CHECK-LABEL: @main
// CHECK: tg.kernel
// CHECK-NOT: tg.kernel
// PLAN: vector in each CTA: 32 columns, 8 elements a thread, 15 CTAs
func.func @main(%x: tensor<49x480xf32>, %m: tensor<1x480xf32>, %a: tensor<20x480xf32>, %b: tensor<480x20xf32>) -> tensor<49x480xf32> {
  %0 = tg.contract %m, %a [#v, #w, #r] : tensor<1x480xf32>, tensor<20x480xf32> -> tensor<1x20xf32>
  %1 = tg.sigmoid %0 : tensor<1x20xf32>
  %2 = tg.mul %0, %1 : tensor<1x20xf32>, tensor<1x20xf32>
  %3 = tg.contract %2, %b [#v, #w, #r] : tensor<1x20xf32>, tensor<480x20xf32> -> tensor<1x480xf32>
  %4 = tg.sigmoid %3 : tensor<1x480xf32>
  %5 = tg.mul %x, %4 : tensor<49x480xf32>, tensor<1x480xf32>
  return %5 : tensor<49x480xf32>
}

// -----
#v = affine_map<(n, o, c) -> (n, c)>
#w = affine_map<(n, o, c) -> (o, c)>
#r = affine_map<(n, o, c) -> (n, o)>

// Larger matrices are not for one CTA, and a scale of many places is not one wave of them.
// CHECK-LABEL: @main
// CHECK-COUNT-3: tg.kernel
// WHY: G2: computing 'sigmoid' again for each tile costs
// WHY: G2: the contraction's result would be computed again under a broadcast
func.func @main(%x: tensor<4096x1024xf32>, %m: tensor<1x1024xf32>, %a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = tg.contract %m, %a [#v, #w, #r] : tensor<1x1024xf32>, tensor<1024x1024xf32> -> tensor<1x1024xf32>
  %1 = tg.sigmoid %0 : tensor<1x1024xf32>
  %2 = tg.contract %1, %b [#v, #w, #r] : tensor<1x1024xf32>, tensor<1024x1024xf32> -> tensor<1x1024xf32>
  %3 = tg.mul %x, %2 : tensor<4096x1024xf32>, tensor<1x1024xf32>
  return %3 : tensor<4096x1024xf32>
}

// -----
#p = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#q = affine_map<(m, n, k) -> (m, n)>

// The mean of a product's rows, where a tile has them all.
// CHECK-LABEL: @main
// CHECK: tg.kernel "gemm_max"
// CHECK-NOT: tg.kernel
// PLAN: accumulators of a GEMM 49 x 1280 x 320: 80 tiles of all rows, 16 columns, steps of
func.func @main(%x: tensor<49x320xf32>, %w: tensor<1280x320xf32>) -> tensor<1280xf32> {
  %z = tg.constant dense<0.0> : tensor<f32>
  %0 = tg.contract %x, %w [#p, #u, #q] : tensor<49x320xf32>, tensor<1280x320xf32> -> tensor<49x1280xf32>
  %1 = tg.max %0, %z : tensor<49x1280xf32>, tensor<f32>
  %2 = tg.reduce add %1 axes = [0] : tensor<49x1280xf32>
  return %2 : tensor<1280xf32>
}

// -----
#p = affine_map<(m, n, k) -> (m, k)>
#u = affine_map<(m, n, k) -> (n, k)>
#q = affine_map<(m, n, k) -> (m, n)>

// Not of more rows.
// CHECK-LABEL: @main
// CHECK-COUNT-2: tg.kernel
// WHY: G2: 'reduce' after a contraction
func.func @main(%x: tensor<196x320xf32>, %w: tensor<1280x320xf32>) -> tensor<1280xf32> {
  %0 = tg.contract %x, %w [#p, #u, #q] : tensor<196x320xf32>, tensor<1280x320xf32> -> tensor<196x1280xf32>
  %1 = tg.reduce add %0 axes = [0] : tensor<196x1280xf32>
  return %1 : tensor<1280xf32>
}
