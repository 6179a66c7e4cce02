// Contractions of quantised values: integers are multiplied as integers, scales come after the sum.
// RUN: weft-opt %s --split-input-file --weft-rewrite=licence=exact --remarks-filter=rewrite --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-rewrite=licence=reassociating | FileCheck %s --check-prefix=LOOSE

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Sums below 2^24 are exact in any order.
// CHECK-LABEL: func.func @exact
// CHECK: %[[S:.*]] = tg.contract %arg0, %arg1 {{.*}} : tensor<8x512xi8>, tensor<512x16xui8> -> tensor<8x16xi32>
// CHECK: tg.cast %[[S]] : tensor<8x16xi32> to tensor<8x16xf32>
func.func @exact(%a: tensor<8x512xi8>, %b: tensor<512x16xui8>) -> tensor<8x16xf32> {
  %x = tg.cast %a : tensor<8x512xi8> to tensor<8x512xf32>
  %y = tg.cast %b : tensor<512x16xui8> to tensor<512x16xf32>
  %r = tg.contract %x, %y [#l, #r, #o] : tensor<8x512xf32>, tensor<512x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Larger sums round in f32, once in i32: with a licence.
// CHECK-LABEL: func.func @wide
// CHECK: tg.contract {{.*}} -> tensor<8x16xf32>
// WHY: Remark="integer-contraction: expected sum-exact(a)"
// LOOSE-LABEL: func.func @wide
// LOOSE: tg.contract {{.*}} -> tensor<8x16xi32>
func.func @wide(%a: tensor<8x2048xi8>, %b: tensor<2048x16xi8>) -> tensor<8x16xf32> {
  %x = tg.cast %a : tensor<8x2048xi8> to tensor<8x2048xf32>
  %y = tg.cast %b : tensor<2048x16xi8> to tensor<2048x16xf32>
  %r = tg.contract %x, %y [#l, #r, #o] : tensor<8x2048xf32>, tensor<2048x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// As DequantizeLinear leaves it: a zero point, scales of both sides, the sums of the weights.
// CHECK-LABEL: func.func @dequantised
// LOOSE-LABEL: func.func @dequantised
// LOOSE: %[[SUMS:.*]] = tg.reduce add %{{.*}} axes = [0] keep_dims : tensor<64x2xf32>
// LOOSE: %[[ZERO:.*]] = tg.mul %[[SUMS]]
// LOOSE: %[[S:.*]] = tg.contract %arg0, %{{.*}} : tensor<8x64xui8>, tensor<64x2xi8> -> tensor<8x2xi32>
// LOOSE: %[[X:.*]] = tg.cast %[[S]]
// LOOSE: %[[D:.*]] = tg.sub %[[X]], %[[ZERO]]
// LOOSE: tg.mul %[[D]], %{{.*}} : tensor<8x2xf32>, tensor<1x2xf32>
func.func @dequantised(%a: tensor<8x64xui8>) -> tensor<8x2xf32> {
  %b = tg.constant dense<2> : tensor<64x2xi8>
  %three = tg.constant dense<3.0> : tensor<f32>
  %left = tg.constant dense<0.25> : tensor<f32>
  %right = tg.constant dense<[[0.5, 0.125]]> : tensor<1x2xf32>
  %x = tg.cast %a : tensor<8x64xui8> to tensor<8x64xf32>
  %d = tg.sub %x, %three : tensor<8x64xf32>, tensor<f32>
  %s = tg.mul %d, %left : tensor<8x64xf32>, tensor<f32>
  %y = tg.cast %b : tensor<64x2xi8> to tensor<64x2xf32>
  %t = tg.mul %y, %right : tensor<64x2xf32>, tensor<1x2xf32>
  %r = tg.contract %s, %t [#l, #r, #o] : tensor<8x64xf32>, tensor<64x2xf32> -> tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// A scale of f16 rows leaves the contraction: the sum stays in f32 until it is scaled.
// LOOSE-LABEL: func.func @narrow
// LOOSE: %[[S:.*]] = tg.contract %arg0, %arg2 {{.*}} : tensor<8x512xf16>, tensor<512x16xf16> -> tensor<8x16xf32>
// LOOSE: %[[F:.*]] = tg.cast %arg1 : tensor<8x1xf16> to tensor<8x1xf32>
// LOOSE: %[[P:.*]] = tg.mul %[[S]], %[[F]]
// LOOSE: tg.cast %[[P]] : tensor<8x16xf32> to tensor<8x16xf16>
func.func @narrow(%a: tensor<8x512xf16>, %s: tensor<8x1xf16>, %b: tensor<512x16xf16>) -> tensor<8x16xf16> {
  %x = tg.mul %a, %s : tensor<8x512xf16>, tensor<8x1xf16>
  %r = tg.contract %x, %b [#l, #r, #o] : tensor<8x512xf16>, tensor<512x16xf16> -> tensor<8x16xf16>
  return %r : tensor<8x16xf16>
}
