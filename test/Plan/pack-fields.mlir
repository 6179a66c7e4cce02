// Narrow weights of products are written anew as words whose fields are neighbours along the sum; scales and zero points follow them.
// RUN: weft-opt %s --split-input-file --weft-pack-fields | FileCheck %s

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

// Two columns of two blocks of eight: a word a block and column. 0x76543210 and 0xFEDCBA98 are the first column's.
// CHECK-DAG: #[[$L:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>
// CHECK-DAG: #[[$R:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d3, d4, d1)>
// CHECK-LABEL: func.func @blocks
// CHECK: %[[W:.*]] = tg.constant dense<{{\[\[\[\[}}1985229328, 286331153]]], {{\[\[\[}}4275878552, 572662306]]]]> : tensor<2x1x1x2xui32>
// CHECK: %[[MOVES:.*]] = tg.constant dense<{{.*}}0{{.*}}4{{.*}}28{{.*}}> : tensor<8x1xui32>
// CHECK: %[[M:.*]] = tg.shr %[[W]], %[[MOVES]] : tensor<2x1x1x2xui32>, tensor<8x1xui32>
// CHECK: %[[N:.*]] = tg.and %[[M]], %{{.*}} : tensor<2x1x8x2xui32>, tensor<ui32>
// CHECK: %[[F:.*]] = tg.cast %[[N]] : tensor<2x1x8x2xui32> to tensor<2x1x8x2xf32>
// CHECK: tg.constant dense<{{\[\[\[\[}}1, 3]]], {{\[\[\[}}2, 4]]]]> : tensor<2x1x1x2xui8>
// CHECK: %[[Z:.*]] = tg.sub %[[F]], %{{.*}} : tensor<2x1x8x2xf32>, tensor<2x1x1x2xf32>
// CHECK: tg.constant dense<{{\[\[\[\[}}1.000000e+00, 4.000000e+00]]], {{\[\[\[}}2.000000e+00, 8.000000e+00]]]]> : tensor<2x1x1x2xf32>
// CHECK: %[[S:.*]] = tg.mul %[[Z]], %{{.*}} : tensor<2x1x8x2xf32>, tensor<2x1x1x2xf32>
// CHECK: %[[A:.*]] = tg.reshape %arg0 : tensor<3x16xf32> to tensor<3x2x1x8xf32>
// CHECK: tg.contract %[[A]], %[[S]] [#[[$L]], #[[$R]], {{.*}} : tensor<3x2x1x8xf32>, tensor<2x1x8x2xf32> -> tensor<3x2xf32>
func.func @blocks(%a: tensor<3x16xf32>) -> tensor<3x2xf32> {
  %w = tg.constant dense<[[[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]], [[1, 1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2, 2, 2]]]> : tensor<2x2x8xui4>
  %z = tg.constant dense<[[[1], [2]], [[3], [4]]]> : tensor<2x2x1xui4>
  %s = tg.constant dense<[[[1.0], [2.0]], [[4.0], [8.0]]]> : tensor<2x2x1xf32>
  %0 = tg.cast %w : tensor<2x2x8xui4> to tensor<2x2x8xf32>
  %1 = tg.cast %z : tensor<2x2x1xui4> to tensor<2x2x1xf32>
  %2 = tg.sub %0, %1 : tensor<2x2x8xf32>, tensor<2x2x1xf32>
  %3 = tg.mul %2, %s : tensor<2x2x8xf32>, tensor<2x2x1xf32>
  %4 = tg.reshape %3 : tensor<2x2x8xf32> to tensor<2x16xf32>
  %5 = tg.contract %a, %4 [#l, #r, #o] : tensor<3x16xf32>, tensor<2x16xf32> -> tensor<3x2xf32>
  return %5 : tensor<3x2xf32>
}

// Signed numbers are moved up by 8, and down again as floats. Five places are no whole word: zeros of the other operand meet the last number again.
// CHECK-LABEL: func.func @signed
// CHECK: tg.constant dense<{{\[\[\[}}2004322062, 3722304989]]]> : tensor<1x1x2xui32>
// CHECK: tg.cast %{{.*}} : tensor<1x8x2xui32> to tensor<1x8x2xf32>
// CHECK: tg.constant dense<8.000000e+00> : tensor<f32>
// CHECK: tg.sub
// CHECK: tg.pad %arg0, %{{.*}} low = [0, 0] high = [0, 3]
// CHECK: tg.reshape %{{.*}} : tensor<3x8xf32> to tensor<3x1x8xf32>
func.func @signed(%a: tensor<3x5xf32>) -> tensor<3x2xf32> {
  %w = tg.constant dense<[[6, -8, -1, 0, -1], [5, 5, 5, 5, 5]]> : tensor<2x5xi4>
  %0 = tg.cast %w : tensor<2x5xi4> to tensor<2x5xf32>
  %1 = tg.contract %a, %0 [#l, #r, #o] : tensor<3x5xf32>, tensor<2x5xf32> -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// A number that is moved up is true where 0 is not.
// CHECK-LABEL: func.func @truth
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x8xf32>, tensor<2x8xf32>
func.func @truth(%a: tensor<3x8xf32>) -> tensor<3x2xf32> {
  %w = tg.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<2x8xi4>
  %0 = tg.cast %w : tensor<2x8xi4> to tensor<2x8xi1>
  %1 = tg.cast %0 : tensor<2x8xi1> to tensor<2x8xf32>
  %2 = tg.contract %a, %1 [#l, #r, #o] : tensor<3x8xf32>, tensor<2x8xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// Zeros times infinity would be no number; 15 times 3e38 is infinite, too.
// CHECK-LABEL: func.func @overflow
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x5xf32>, tensor<2x5xf32>
func.func @overflow(%a: tensor<3x5xf32>) -> tensor<3x2xf32> {
  %w = tg.constant dense<[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]> : tensor<2x5xui4>
  %s = tg.constant dense<[[1.0], [3.0e38]]> : tensor<2x1xf32>
  %0 = tg.cast %w : tensor<2x5xui4> to tensor<2x5xf32>
  %1 = tg.mul %0, %s : tensor<2x5xf32>, tensor<2x1xf32>
  %2 = tg.contract %a, %1 [#l, #r, #o] : tensor<3x5xf32>, tensor<2x5xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @infinite
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x5xf32>, tensor<2x5xf32>
func.func @infinite(%a: tensor<3x5xf32>) -> tensor<3x2xf32> {
  %w = tg.constant dense<[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]> : tensor<2x5xui4>
  %s = tg.constant dense<[[1.0], [0x7F800000]]> : tensor<2x1xf32>
  %0 = tg.cast %w : tensor<2x5xui4> to tensor<2x5xf32>
  %1 = tg.mul %0, %s : tensor<2x5xf32>, tensor<2x1xf32>
  %2 = tg.contract %a, %1 [#l, #r, #o] : tensor<3x5xf32>, tensor<2x5xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
#t = affine_map<(m, n, k) -> (n, m)>

// Bytes are turned, so that columns are neighbours; where they are, nothing changes.
// CHECK-LABEL: func.func @bytes
// CHECK: %[[W:.*]] = tg.constant dense<{{\[\[}}1, -3], [2, 4]]> : tensor<2x2xi8>
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x2xf32>, tensor<2x2xf32>
// CHECK: tg.constant dense<{{\[\[}}5, 6], [7, 8]]> : tensor<2x2xi8>
// CHECK-NEXT: tg.cast
// CHECK-NEXT: tg.contract %arg0
func.func @bytes(%a: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = tg.constant dense<[[1, 2], [-3, 4]]> : tensor<2x2xi8>
  %0 = tg.cast %w : tensor<2x2xi8> to tensor<2x2xf32>
  %1 = tg.contract %a, %0 [#l, #r, #o] : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %v = tg.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi8>
  %2 = tg.cast %v : tensor<2x2xi8> to tensor<2x2xf32>
  %3 = tg.contract %a, %2 [#l, #c, #o] : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %1, %3 : tensor<3x2xf32>, tensor<3x2xf32>
}

// The result's neighbours are the other operand's; a scale for each place is as wide as what it scales; numbers that are no weights.
// CHECK-LABEL: func.func @others
// CHECK: tg.constant dense<{{.*}}> : tensor<2x2xui4>
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x2xf32>, tensor<2x2xf32>
// CHECK: tg.constant dense<{{.*}}> : tensor<2x2xf32>
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x2xf32>, tensor<2x2xf32>
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x2xf32>, tensor<2x2xf32>
func.func @others(%a: tensor<3x2xf32>, %u: tensor<2x2xui4>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = tg.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui4>
  %0 = tg.cast %w : tensor<2x2xui4> to tensor<2x2xf32>
  %1 = tg.contract %a, %0 [#l, #r, #t] : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<2x3xf32>
  %s = tg.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %2 = tg.mul %0, %s : tensor<2x2xf32>, tensor<2x2xf32>
  %3 = tg.contract %a, %2 [#l, #r, #o] : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %4 = tg.cast %u : tensor<2x2xui4> to tensor<2x2xf32>
  %5 = tg.contract %a, %4 [#l, #r, #o] : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %1, %3, %5 : tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>

// Columns in panels of 64: what a kernel reads one after the other. The result has its shape again behind a reshape.
// CHECK-DAG: #[[$P:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
// CHECK-LABEL: func.func @panels
// CHECK: tensor<2x1x1x64xui32>, tensor<8x1xui32>
// CHECK: tg.contract %{{.*}}, %[[W:.*]] [#{{.*}}, #[[$P]], #{{.*}} : tensor<3x1x8xf32>, tensor<2x1x8x64xf32> -> tensor<3x2x64xf32>
// CHECK: tg.reshape %{{.*}} : tensor<3x2x64xf32> to tensor<3x128xf32>
func.func @panels(%a: tensor<3x8xf32>) -> tensor<3x128xf32> {
  %w = tg.constant dense<3> : tensor<8x128xui4>
  %0 = tg.cast %w : tensor<8x128xui4> to tensor<8x128xf32>
  %1 = tg.contract %a, %0 [#l, #r, #o] : tensor<3x8xf32>, tensor<8x128xf32> -> tensor<3x128xf32>
  return %1 : tensor<3x128xf32>
}

// Blocks of 3 places have no whole number of bytes.
// CHECK-LABEL: func.func @narrow_blocks
// CHECK: tg.contract %arg0, %{{.*}} : tensor<3x6xf32>, tensor<6x2xf32>
func.func @narrow_blocks(%a: tensor<3x6xf32>) -> tensor<3x2xf32> {
  %w = tg.constant dense<3> : tensor<2x3x2xui4>
  %s = tg.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %0 = tg.cast %w : tensor<2x3x2xui4> to tensor<2x3x2xf32>
  %1 = tg.mul %0, %s : tensor<2x3x2xf32>, tensor<2x1x2xf32>
  %2 = tg.reshape %1 : tensor<2x3x2xf32> to tensor<6x2xf32>
  %3 = tg.contract %a, %2 [#l, #r, #o] : tensor<3x6xf32>, tensor<6x2xf32> -> tensor<3x2xf32>
  return %3 : tensor<3x2xf32>
}
