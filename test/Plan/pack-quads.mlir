// Contractions of bytes get words of four as their innermost dimension.
// RUN: weft-opt %s --split-input-file --weft-pack-quads | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-pack-quads=vector-bits=256 | FileCheck %s --check-prefix=AVX2
// RUN: weft-opt %s --split-input-file --weft-pack-quads=panels=false | FileCheck %s --check-prefix=WHERE

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// The operand of the run is a view where k is innermost; the constant is written anew, padded with zeros: summed dimensions first.
// CHECK-DAG: #[[$L:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[$R:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d1, d3)>
// CHECK-LABEL: func.func @product
// CHECK: tg.pad %arg0, %{{.*}} high = [0, 2] {{.*}} : tensor<8x6xui8>, tensor<ui8>
// CHECK: %[[A:.*]] = tg.reshape %{{.*}} : tensor<8x8xui8> to tensor<8x2x4xui8>
// CHECK: %[[W:.*]] = tg.constant dense<{{\[\[\[}}1, 2, 3, 4], [7, 8, 9, 10]], {{\[\[}}5, 6, 0, 0], [11, 12, 0, 0]]]> : tensor<2x2x4xi8>
// CHECK: tg.contract %[[A]], %[[W]] [#[[$L]], #[[$R]], {{.*}} : tensor<8x2x4xui8>, tensor<2x2x4xi8> -> tensor<8x2xi32>
func.func @product(%a: tensor<8x6xui8>) -> tensor<8x2xi32> {
  %b = tg.constant dense<[[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]> : tensor<2x6xi8>
  %r = tg.contract %a, %b [#l, #r, #o] : tensor<8x6xui8>, tensor<2x6xi8> -> tensor<8x2xi32>
  return %r : tensor<8x2xi32>
}

// Two bytes are no word, and other types have none.
// CHECK-LABEL: func.func @short
// CHECK-NEXT: tg.contract %arg0, %arg1 {{.*}} : tensor<8x2xui8>, tensor<2x2xi8>
// CHECK-NEXT: tg.contract %arg2, %arg1
func.func @short(%a: tensor<8x2xui8>, %b: tensor<2x2xi8>, %c: tensor<8x2xi32>) -> (tensor<8x2xi32>, tensor<8x2xi32>) {
  %r = tg.contract %a, %b [#l, #r, #o] : tensor<8x2xui8>, tensor<2x2xi8> -> tensor<8x2xi32>
  %s = tg.contract %c, %b [#l, #r, #o] : tensor<8x2xi32>, tensor<2x2xi8> -> tensor<8x2xi32>
  return %r, %s : tensor<8x2xi32>, tensor<8x2xi32>
}

// -----

#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>

// Channels are split, not windows.
// CHECK-LABEL: func.func @convolution
// CHECK: tg.transpose %{{.*}} [0, 1, 3, 4, 2] : tensor<1x2x4x10x10xui8>
// CHECK: tg.contract {{.*}} : tensor<1x2x10x10x4xui8>, tensor<16x2x3x3x4xi8> -> tensor<1x16x8x8xi32>
func.func @convolution(%a: tensor<1x8x10x10xui8>, %b: tensor<16x8x3x3xi8>) -> tensor<1x16x8x8xi32> {
  %r = tg.contract %a, %b [#x, #w, #y] : tensor<1x8x10x10xui8>, tensor<16x8x3x3xi8> -> tensor<1x16x8x8xi32>
  return %r : tensor<1x16x8x8xi32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// Of two signed operands that of the run becomes unsigned; 128 times the constant's sums go. Of two unsigned ones it becomes signed.
// CHECK-LABEL: func.func @signed
// CHECK: %[[SUMS:.*]] = tg.constant dense<[10, 0]> : tensor<2xi32>
// CHECK: tg.constant dense<-128> : tensor<i32>
// CHECK: %[[LESS:.*]] = tg.mul
// CHECK: tg.constant dense<128> : tensor<i32>
// CHECK: %[[A:.*]] = tg.cast {{.*}} : tensor<8x4xi32> to tensor<8x4xui8>
// CHECK: %[[S:.*]] = tg.contract {{.*}} : tensor<8x1x4xui8>, tensor<1x2x4xi8> -> tensor<8x2xi32>
// CHECK: tg.add %[[S]], %[[LESS]]
func.func @signed(%a: tensor<8x4xi8>) -> tensor<8x2xi32> {
  %b = tg.constant dense<[[1, 2, 3, 4], [-1, 2, -3, 2]]> : tensor<2x4xi8>
  %r = tg.contract %a, %b [#l, #r, #o] : tensor<8x4xi8>, tensor<2x4xi8> -> tensor<8x2xi32>
  return %r : tensor<8x2xi32>
}

// CHECK-LABEL: func.func @unsigned
// CHECK: tg.contract %arg1, {{.*}} : tensor<2x4xui8>, tensor<4xi8> -> tensor<2xi32>
// CHECK: tg.contract {{.*}} : tensor<8x1x4xi8>, tensor<2x1x4xui8> -> tensor<8x2xi32>
func.func @unsigned(%a: tensor<8x4xui8>, %b: tensor<2x4xui8>) -> tensor<8x2xi32> {
  %r = tg.contract %a, %b [#l, #r, #o] : tensor<8x4xui8>, tensor<2x4xui8> -> tensor<8x2xi32>
  return %r : tensor<8x2xi32>
}

// -----

#x = affine_map<(n, o, w, c, i) -> (n, c, w + i)>
#w = affine_map<(n, o, w, c, i) -> (o, c, i)>
#y = affine_map<(n, o, w, c, i) -> (n, o, w)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// Weights of a convolution get the order of panels, in f32, too: places of the window, channels that it sums, its own
// channels innermost.
// CHECK-LABEL: func.func @floats
// CHECK: tg.constant dense<{{\[\[\[}}1.000000e+00, 5.000000e+00], [3.000000e+00, 7.000000e+00]], {{\[\[}}2.000000e+00, 6.000000e+00], [4.000000e+00, 8.000000e+00]]]> : tensor<2x2x2xf32>
// CHECK: tg.contract
func.func @floats(%a: tensor<1x2x9xf32>) -> tensor<1x2x8xf32> {
  %b = tg.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>
  %r = tg.contract %a, %b [#x, #w, #y] : tensor<1x2x9xf32>, tensor<2x2x2xf32> -> tensor<1x2x8xf32>
  return %r : tensor<1x2x8xf32>
}

// A product whose neighbours are the constant's keeps it.
// CHECK-LABEL: func.func @columns
// CHECK: tg.constant dense<{{.*}}> : tensor<2x3xf32>
// CHECK-NEXT: tg.contract %arg0, {{.*}} : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
func.func @columns(%a: tensor<8x3xf32>) -> tensor<8x2xf32> {
  %b = tg.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %r = tg.contract %a, %b [#l, #r, #o] : tensor<8x3xf32>, tensor<2x3xf32> -> tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Columns of a constant in panels of 64, before the words; 65 columns are none.
// CHECK-DAG: #[[$P:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
// CHECK-LABEL: func.func @panels
// CHECK: tg.contract %{{.*}}, %{{.*}} [#{{.*}}, #{{.*}}, #{{.*}} : tensor<3x2x4xui8>, tensor<2x2x64x4xi8> -> tensor<3x2x64xi32>
// CHECK: tg.reshape %{{.*}} : tensor<3x2x64xi32> to tensor<3x128xi32>
// CHECK: tg.contract %{{.*}} : tensor<3x2x4xui8>, tensor<2x65x4xi8> -> tensor<3x65xi32>
func.func @panels(%a: tensor<3x8xui8>) -> (tensor<3x128xi32>, tensor<3x65xi32>) {
  %b = tg.constant dense<3> : tensor<8x128xi8>
  %r = tg.contract %a, %b [#l, #r, #o] : tensor<3x8xui8>, tensor<8x128xi8> -> tensor<3x128xi32>
  %c = tg.constant dense<3> : tensor<8x65xi8>
  %s = tg.contract %a, %c [#l, #r, #o] : tensor<3x8xui8>, tensor<8x65xi8> -> tensor<3x65xi32>
  return %r, %s : tensor<3x128xi32>, tensor<3x65xi32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#t = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// Weights of f32 lie in panels of two vectors of columns, in whichever order they were; 48 columns are no whole panels of 32, and stay.
// CHECK-DAG: #[[$W:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
// CHECK-LABEL: func.func @weights
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x2xf32>, tensor<2x2x32xf32> -> tensor<3x2x32xf32>
// CHECK-NEXT: tg.reshape %{{.*}} : tensor<3x2x32xf32> to tensor<3x64xf32>
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x2xf32>, tensor<48x2xf32> -> tensor<3x48xf32>
// An operand of the run stays, too.
// CHECK: tg.contract %arg0, %arg1 {{.*}} -> tensor<3x64xf32>
// Those that stay in the model's file are no panels.
// WHERE-LABEL: func.func @weights
// WHERE-NOT: tg.reshape
// WHERE: return
// AVX2-LABEL: func.func @weights
// AVX2: tensor<3x2xf32>, tensor<4x2x16xf32> -> tensor<3x4x16xf32>
// AVX2: tensor<3x2xf32>, tensor<3x2x16xf32> -> tensor<3x3x16xf32>
func.func @weights(%a: tensor<3x2xf32>, %v: tensor<64x2xf32>) -> (tensor<3x64xf32>, tensor<3x48xf32>, tensor<3x64xf32>) {
  %b = tg.constant dense<3.0> : tensor<64x2xf32>
  %r = tg.contract %a, %b [#l, #t, #o] : tensor<3x2xf32>, tensor<64x2xf32> -> tensor<3x64xf32>
  %c = tg.constant dense<3.0> : tensor<48x2xf32>
  %s = tg.contract %a, %c [#l, #t, #o] : tensor<3x2xf32>, tensor<48x2xf32> -> tensor<3x48xf32>
  %u = tg.contract %a, %v [#l, #t, #o] : tensor<3x2xf32>, tensor<64x2xf32> -> tensor<3x64xf32>
  return %r, %s, %u : tensor<3x64xf32>, tensor<3x48xf32>, tensor<3x64xf32>
}
