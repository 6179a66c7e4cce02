// Contractions of quantised values become contractions of their integers.
// RUN: weft-opt %s --split-input-file --weft-integer-contractions | FileCheck %s

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Both zero points, one of them known at run time only: the sums of the other side, and K times their product.
// CHECK-LABEL: func.func @zeros
// CHECK: %[[S:.*]] = tg.contract %arg0, %arg1 {{.*}} : tensor<8x64xui8>, tensor<64x2xi8> -> tensor<8x2xi32>
// CHECK: %[[ONES:.*]] = tg.constant dense<1> : tensor<64xi8>
// CHECK: %[[COLUMNS:.*]] = tg.contract %arg1, %[[ONES]] {{.*}} : tensor<64x2xi8>, tensor<64xi8> -> tensor<2xi32>
// CHECK: %[[WIDE:.*]] = tg.reshape %[[COLUMNS]] : tensor<2xi32> to tensor<1x2xi32>
// CHECK: tg.mul %[[WIDE]]
// CHECK: tg.sub %[[S]]
// CHECK: tg.contract %arg0, {{.*}} : tensor<8x64xui8>, tensor<64xi8> -> tensor<8xi32>
// CHECK: tg.sub
// CHECK: tg.constant dense<64> : tensor<i32>
// CHECK: tg.add
func.func @zeros(%a: tensor<8x64xui8>, %b: tensor<64x2xi8>, %za: tensor<ui8>) -> tensor<8x2xi32> {
  %zb = tg.constant dense<3> : tensor<1xi8>
  %0 = tg.cast %a : tensor<8x64xui8> to tensor<8x64xi32>
  %1 = tg.cast %za : tensor<ui8> to tensor<i32>
  %2 = tg.sub %0, %1 : tensor<8x64xi32>, tensor<i32>
  %3 = tg.cast %b : tensor<64x2xi8> to tensor<64x2xi32>
  %4 = tg.cast %zb : tensor<1xi8> to tensor<1xi32>
  %5 = tg.sub %3, %4 : tensor<64x2xi32>, tensor<1xi32>
  %r = tg.contract %2, %5 [#l, #r, #o] : tensor<8x64xi32>, tensor<64x2xi32> -> tensor<8x2xi32>
  return %r : tensor<8x2xi32>
}

// -----

#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>

// As DequantizeLinear leaves a convolution: padding is zero after the subtraction, so it is the zero point before it. Zero points of
// weights that are all 0 are none. The scales come after the sum.
// CHECK-LABEL: func.func @convolution
// CHECK: %[[P:.*]] = tg.pad %arg0, %{{.*}} low = [0, 0, 1, 1] {{.*}} : tensor<1x3x8x8xui8>, tensor<ui8>
// CHECK: %[[S:.*]] = tg.contract %[[P]], %arg1 {{.*}} : tensor<1x3x10x10xui8>, tensor<16x3x3x3xi8> -> tensor<1x16x8x8xi32>
// CHECK: tg.contract %arg1, {{.*}} : tensor<16x3x3x3xi8>, tensor<3x3x3xi8> -> tensor<16xi32>
// CHECK: %[[D:.*]] = tg.sub %[[S]]
// CHECK: %[[F:.*]] = tg.mul {{.*}} : tensor<f32>, tensor<1x16x1x1xf32>
// CHECK: %[[X:.*]] = tg.cast %[[D]] : tensor<1x16x8x8xi32> to tensor<1x16x8x8xf32>
// CHECK: tg.mul %[[X]], %[[F]]
func.func @convolution(%a: tensor<1x3x8x8xui8>, %b: tensor<16x3x3x3xi8>, %s: tensor<16x1x1x1xf32>) -> tensor<1x16x8x8xf32> {
  %za = tg.constant dense<115> : tensor<ui8>
  %zb = tg.constant dense<0> : tensor<16xi8>
  %sa = tg.constant dense<0.03> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %0 = tg.cast %a : tensor<1x3x8x8xui8> to tensor<1x3x8x8xf32>
  %1 = tg.cast %za : tensor<ui8> to tensor<f32>
  %2 = tg.sub %0, %1 : tensor<1x3x8x8xf32>, tensor<f32>
  %3 = tg.mul %2, %sa : tensor<1x3x8x8xf32>, tensor<f32>
  %4 = tg.pad %3, %zero low = [0, 0, 1, 1] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<1x3x8x8xf32>, tensor<f32>
  %5 = tg.cast %b : tensor<16x3x3x3xi8> to tensor<16x3x3x3xf32>
  %6 = tg.reshape %zb : tensor<16xi8> to tensor<16x1x1x1xi8>
  %7 = tg.cast %6 : tensor<16x1x1x1xi8> to tensor<16x1x1x1xf32>
  %8 = tg.sub %5, %7 : tensor<16x3x3x3xf32>, tensor<16x1x1x1xf32>
  %9 = tg.mul %8, %s : tensor<16x3x3x3xf32>, tensor<16x1x1x1xf32>
  %r = tg.contract %4, %9 [#x, #w, #y] : tensor<1x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<1x16x8x8xf32>
  return %r : tensor<1x16x8x8xf32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Near misses: a scale along what is summed; a sum that may not fit i32; a zero point for each column; floats that are no integers.
// CHECK-LABEL: func.func @scaled_terms
// CHECK: tg.contract {{.*}} : tensor<8x64xf32>, tensor<64x2xf32>
// CHECK-NOT: i32
func.func @scaled_terms(%a: tensor<8x64xui8>, %b: tensor<64x2xi8>, %s: tensor<64x1xf32>) -> tensor<8x2xf32> {
  %0 = tg.cast %a : tensor<8x64xui8> to tensor<8x64xf32>
  %1 = tg.cast %b : tensor<64x2xi8> to tensor<64x2xf32>
  %2 = tg.mul %1, %s : tensor<64x2xf32>, tensor<64x1xf32>
  %r = tg.contract %0, %2 [#l, #r, #o] : tensor<8x64xf32>, tensor<64x2xf32> -> tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

// CHECK-LABEL: func.func @deep
// CHECK: tg.contract {{.*}} -> tensor<2x2xf32>
func.func @deep(%a: tensor<2x33026xui8>, %b: tensor<33026x2xui8>) -> tensor<2x2xf32> {
  %0 = tg.cast %a : tensor<2x33026xui8> to tensor<2x33026xf32>
  %1 = tg.cast %b : tensor<33026x2xui8> to tensor<33026x2xf32>
  %r = tg.contract %0, %1 [#l, #r, #o] : tensor<2x33026xf32>, tensor<33026x2xf32> -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @zero_of_columns
// CHECK: tg.contract {{.*}} : tensor<8x64xui8>, tensor<64x2xi32> -> tensor<8x2xi32>
func.func @zero_of_columns(%a: tensor<8x64xui8>, %b: tensor<64x2xi8>, %z: tensor<2xi8>) -> tensor<8x2xi32> {
  %0 = tg.cast %b : tensor<64x2xi8> to tensor<64x2xi32>
  %1 = tg.cast %z : tensor<2xi8> to tensor<2xi32>
  %2 = tg.sub %0, %1 : tensor<64x2xi32>, tensor<2xi32>
  %r = tg.contract %a, %2 [#l, #r, #o] : tensor<8x64xui8>, tensor<64x2xi32> -> tensor<8x2xi32>
  return %r : tensor<8x2xi32>
}

// CHECK-LABEL: func.func @floats
// CHECK-NEXT: tg.contract %arg0, %arg1 {{.*}} -> tensor<8x2xf32>
func.func @floats(%a: tensor<8x64xf32>, %b: tensor<64x2xf32>) -> tensor<8x2xf32> {
  %r = tg.contract %a, %b [#l, #r, #o] : tensor<8x64xf32>, tensor<64x2xf32> -> tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

// -----

#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>

// A zero point of weights would need the sums of windows.
// CHECK-LABEL: func.func @sums_of_windows
// CHECK: tg.contract {{.*}} : tensor<1x3x10x10xui8>, tensor<16x3x3x3xi32>
func.func @sums_of_windows(%a: tensor<1x3x10x10xui8>, %b: tensor<16x3x3x3xui8>, %z: tensor<ui8>) -> tensor<1x16x8x8xi32> {
  %0 = tg.cast %b : tensor<16x3x3x3xui8> to tensor<16x3x3x3xi32>
  %1 = tg.cast %z : tensor<ui8> to tensor<i32>
  %2 = tg.sub %0, %1 : tensor<16x3x3x3xi32>, tensor<i32>
  %r = tg.contract %a, %2 [#x, #w, #y] : tensor<1x3x10x10xui8>, tensor<16x3x3x3xi32> -> tensor<1x16x8x8xi32>
  return %r : tensor<1x16x8x8xi32>
}
