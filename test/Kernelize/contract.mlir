// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-kernelize=allow-tf32 | FileCheck %s --check-prefix=TF32
// TF32: tk.dot {{.*}} {tf32} : {{.*}}xf32>

// A matrix product with an epilogue: operands come as [m, k] and [k, n], zero past the ends.
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0 + s0 * 64, d1 + s1 * 32)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0 + s0 * 32, d1 + s1 * 64)>
// CHECK: tk.for_tiles (%[[I:.*]], %[[J:.*]]) in
// CHECK: %[[Z:.*]] = tk.constant 0.000000e+00 : f32 : <64x64xf32>
// CHECK: %[[S:.*]] = scf.for %[[K:.*]] = %c0 to %c4 step %c1 iter_args(%[[ACC:.*]] = %[[Z]])
// CHECK: %[[L:.*]] = tk.load %arg0[%[[I]], %[[K]]] map #[[A]] guard {{.*}} -> <64x32xf16>
// CHECK: %[[R:.*]] = tk.load %arg1[%[[K]], %[[J]]] map #[[B]] guard {{.*}} -> <32x64xf16>
// CHECK: tk.dot %[[L]], %[[R]], %[[ACC]]
// CHECK: tk.map(%[[S]]
// CHECK: arith.truncf
// CHECK: tk.load %arg2[%[[J]]]
// CHECK: tk.store
func.func @kernel(%a: tensor<200x100xf16>, %b: tensor<100x300xf16>, %c: tensor<300xf16>) -> tensor<200x300xf16> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<200x100xf16>, tensor<100x300xf16> -> tensor<200x300xf32>
  %1 = tg.cast %0 : tensor<200x300xf32> to tensor<200x300xf16>
  %2 = tg.add %1, %c : tensor<200x300xf16>, tensor<300xf16>
  return %2 : tensor<200x300xf16>
}

// -----
// A convolution: the places of an image are one dimension of the dot, the filter is its left operand.
// CHECK: affine_map<(d0, d1)[s0, s1, s2, s3] -> (s0, d0 + (s1 floordiv 9) * 16, {{.*}}d1 floordiv 16{{.*}}d1 mod 16
// CHECK: scf.for {{.*}} to %c36
// CHECK: tk.load %arg1[{{.*}} -> <32x16xf16>
// CHECK: tk.load %arg0[{{.*}} -> <16x64xf16>
// CHECK: tk.dot {{.*}}, <32x64xf32>
module attributes {tg.schedule = #tg.schedule<tile = [1, 32, 4, 16], stream = [16, 1, 1], engine = mma, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<2x64x30x30xf16>, %w: tensor<128x64x3x3xf16>) -> tensor<2x128x28x28xf16> {
  %0 = tg.contract %x, %w [affine_map<(n, o, h, w, c, kh, kw) -> (n, c, h + kh, w + kw)>, affine_map<(n, o, h, w, c, kh, kw) -> (o, c, kh, kw)>, affine_map<(n, o, h, w, c, kh, kw) -> (n, o, h, w)>]
      : tensor<2x64x30x30xf16>, tensor<128x64x3x3xf16> -> tensor<2x128x28x28xf16>
  return %0 : tensor<2x128x28x28xf16>
}
}

// -----
// A padded input is the guard of its load.
// CHECK: tk.load %arg0[{{.*}} guard {{.*}} -> <16x64xf16>
// CHECK-NOT: tk.guard
// CHECK: tk.dot
module attributes {tg.schedule = #tg.schedule<tile = [1, 32, 4, 16], stream = [16, 1, 1], engine = mma, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<2x60x28x28xf16>, %w: tensor<128x60x3x3xf16>) -> tensor<2x128x28x28xf16> {
  %v = tg.constant dense<0.0> : tensor<f16>
  %p = tg.pad %x, %v low = [0, 0, 1, 1] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<2x60x28x28xf16>, tensor<f16>
  %0 = tg.contract %p, %w [affine_map<(n, o, h, w, c, kh, kw) -> (n, c, h + kh, w + kw)>, affine_map<(n, o, h, w, c, kh, kw) -> (o, c, kh, kw)>, affine_map<(n, o, h, w, c, kh, kw) -> (n, o, h, w)>]
      : tensor<2x60x30x30xf16>, tensor<128x60x3x3xf16> -> tensor<2x128x28x28xf16>
  return %0 : tensor<2x128x28x28xf16>
}
}

// -----
// Depthwise: both operands read the channel, and no lane of reduced places; products are summed in place. The nine
// taps of the window stand one behind the other, so that their loads are under way together.
// CHECK: func.func @kernel({{.*}}tensor<2x64x30x30xf16>
// CHECK-NOT: scf.for
// CHECK-NOT: tk.dot
// CHECK-COUNT-9: math.fma
// CHECK-NOT: math.fma
// CHECK-NOT: tk.reduce
// CHECK: tk.store
module attributes {tg.schedule = #tg.schedule<tile = [1, 1, 4, 16], stream = [1, 1], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<2x64x30x30xf16>, %w: tensor<64x3x3xf16>) -> tensor<2x64x28x28xf16> {
  %0 = tg.contract %x, %w [affine_map<(n, o, h, w, kh, kw) -> (n, o, h + kh, w + kw)>, affine_map<(n, o, h, w, kh, kw) -> (o, kh, kw)>, affine_map<(n, o, h, w, kh, kw) -> (n, o, h, w)>]
      : tensor<2x64x30x30xf16>, tensor<64x3x3xf16> -> tensor<2x64x28x28xf16>
  return %0 : tensor<2x64x28x28xf16>
}
}

// -----
// Vector times matrix: sums over the lanes of k after the loop.
// CHECK: scf.for {{.*}} to %c16 {{.*}} -> (!tk.tile<16x64xf32>)
// CHECK: math.fma
// CHECK: tk.reduce({{.*}}) dims [1] -> !tk.tile<16xf32>
module attributes {tg.schedule = #tg.schedule<tile = [1, 16], stream = [64], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%a: tensor<1x1000xf16>, %b: tensor<1000x300xf16>) -> tensor<1x300xf16> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<1x1000xf16>, tensor<1000x300xf16> -> tensor<1x300xf16>
  return %0 : tensor<1x300xf16>
}
}

// -----
// Thin tiles: products in registers where they fit.
// CHECK: scf.for {{.*}} -> (!tk.tile<4x16x8xf32>)
// CHECK: math.fma
// CHECK: tk.reduce({{.*}}) dims [1] -> !tk.tile<4x8xf32>
module attributes {tg.schedule = #tg.schedule<tile = [4, 8], stream = [16], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%a: tensor<4x1000xf16>, %b: tensor<1000x300xf16>) -> tensor<4x300xf16> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x1000xf16>, tensor<1000x300xf16> -> tensor<4x300xf16>
  return %0 : tensor<4x300xf16>
}
}

// -----
// A prologue: the computed operand is zero past the end of k, by a select; batches are scalars.
// CHECK: tk.for_tiles (%[[B:.*]], %{{.*}}, %{{.*}}) in
// CHECK: scf.for
// CHECK: tk.load %arg0[%[[B]]
// CHECK: math.exp
// CHECK: tk.guard
// CHECK: arith.select
// CHECK: tk.dot
module attributes {tg.schedule = #tg.schedule<tile = [1, 64, 32], stream = [32], engine = mma, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%a: tensor<3x128x100xf32>, %b: tensor<3x64x100xf32>) -> tensor<3x128x64xf32> {
  %e = tg.exp %a : tensor<3x128x100xf32>
  %0 = tg.contract %e, %b [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      : tensor<3x128x100xf32>, tensor<3x64x100xf32> -> tensor<3x128x64xf32>
  return %0 : tensor<3x128x64xf32>
}
}

// -----
// Integers: 8-bit operands as they are, with their signedness.
// CHECK: tk.dot {{.*}} {unsigned_lhs} : !tk.tile<64x32xi8>, !tk.tile<32x64xi8>, <64x64xi32>
func.func @kernel(%a: tensor<64x32xui8>, %b: tensor<32x64xi8>) -> tensor<64x64xi32> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<64x32xui8>, tensor<32x64xi8> -> tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
}

// -----
// The same with the operands the other way round: the signedness goes with them.
// CHECK: tk.dot {{.*}} {unsigned_rhs} : !tk.tile<64x32xi8>, !tk.tile<32x64xi8>, <64x64xi32>
func.func @kernel(%a: tensor<64x32xui8>, %b: tensor<32x64xi8>) -> tensor<64x64xi32> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>]
      : tensor<64x32xui8>, tensor<32x64xi8> -> tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
}

// -----
// The operand whose dimension comes first in the result is on the left.
// CHECK: tk.load %arg1 map {{.*}} -> <64x32xf16>
// CHECK: tk.load %arg0[{{.*}} -> <32x64xf16>
// CHECK: tk.dot
func.func @kernel(%a: tensor<128x32xf16>, %b: tensor<32x64xf16>) -> tensor<64x128xf16> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<128x32xf16>, tensor<32x64xf16> -> tensor<128x64xf16>
  %1 = tg.transpose %0 [1, 0] : tensor<128x64xf16>
  return %1 : tensor<64x128xf16>
}
