// Scales of a row's norm behind the products that read it; where that is right and pays.
// RUN: weft-opt %s --split-input-file --weft-delay-scales=target=sm_90a --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: not weft-opt %s --split-input-file --weft-delay-scales=target=sm_10 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: expected a target of sm_80, {{.*}}, got 'sm_10'

#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// RMSNorm as exporters write it, in front of two products of equal extents, which share what is kept and the scale, and
// of a third, which gets its own.
// CHECK-LABEL: func.func @norm
// CHECK-DAG: %[[X:.*]] = tg.cast %arg0 : tensor<1x512xf16> to tensor<1x512xf32>
// CHECK-DAG: %[[G:.*]] = tg.cast %arg1 : tensor<512xf16> to tensor<512xf32>
// CHECK: %[[A:.*]] = tg.mul %{{.*}}, %{{.*}} : tensor<{{.*}}512xf32>, tensor<{{.*}}512xf32>
// CHECK: %[[R:.*]] = tg.rsqrt
// CHECK: %[[W:.*]] = tg.cast %arg2 : tensor<512x768xf16> to tensor<512x768xf32>
// CHECK: %[[Y:.*]] = tg.contract %[[KEPT:.*]], %[[W]] {{.*}} -> tensor<1x768xf32>
// CHECK: %[[S:.*]] = tg.mul %[[Y]], %[[SCALE:.*]] : tensor<1x768xf32>, tensor<1x1xf32>
// CHECK: tg.cast %[[S]] : tensor<1x768xf32> to tensor<1x768xf16>
// CHECK: %[[Y2:.*]] = tg.contract %[[KEPT]], %{{.*}} -> tensor<1x768xf32>
// CHECK: tg.mul %[[Y2]], %[[SCALE]] :
// CHECK: %[[Y3:.*]] = tg.contract %[[KEPT3:.*]], %{{.*}} -> tensor<1x64xf32>
// CHECK-NOT: %[[SCALE]] :
// CHECK: return
// WHY: [Passed] delayed-scale {{.*}}scale of a row of 512 behind 3 GEMMs: {{.*}} us in their kernels, {{.*}} us for one fewer kernel
func.func @norm(%x: tensor<1x512xf16>, %g: tensor<512xf16>, %w1: tensor<512x768xf16>, %w2: tensor<512x768xf16>, %w3: tensor<512x64xf16>)
    -> (tensor<1x768xf16>, tensor<1x768xf16>, tensor<1x64xf16>) {
  %c = tg.constant dense<0.001953125> : tensor<f32>
  %xf = tg.cast %x : tensor<1x512xf16> to tensor<1x512xf32>
  %sq = tg.mul %xf, %xf : tensor<1x512xf32>, tensor<1x512xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<1x512xf32>
  %m = tg.mul %s, %c : tensor<1x1xf32>, tensor<f32>
  %r = tg.rsqrt %m : tensor<1x1xf32>
  %n = tg.mul %xf, %r : tensor<1x512xf32>, tensor<1x1xf32>
  %h = tg.cast %n : tensor<1x512xf32> to tensor<1x512xf16>
  %a = tg.mul %g, %h : tensor<512xf16>, tensor<1x512xf16>
  %y1 = tg.contract %a, %w1 [#x, #w, #y] : tensor<1x512xf16>, tensor<512x768xf16> -> tensor<1x768xf16>
  %y2 = tg.contract %a, %w2 [#x, #w, #y] : tensor<1x512xf16>, tensor<512x768xf16> -> tensor<1x768xf16>
  %y3 = tg.contract %a, %w3 [#x, #w, #y] : tensor<1x512xf16>, tensor<512x64xf16> -> tensor<1x64xf16>
  return %y1, %y2, %y3 : tensor<1x768xf16>, tensor<1x768xf16>, tensor<1x64xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// A divisor, and one factor alone: it stays as it is.
// CHECK-LABEL: func.func @quotient
// CHECK: %[[Q:.*]] = tg.sqrt
// CHECK: %[[Y:.*]] = tg.contract %arg0, %arg1
// CHECK: %[[D:.*]] = tg.div %[[Y]], %[[Q]] : tensor<1x768xf32>, tensor<1x1xf32>
// CHECK: return %[[D]]
func.func @quotient(%x: tensor<1x512xf32>, %w: tensor<512x768xf32>) -> tensor<1x768xf32> {
  %sq = tg.mul %x, %x : tensor<1x512xf32>, tensor<1x512xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<1x512xf32>
  %q = tg.sqrt %s : tensor<1x1xf32>
  %a = tg.div %x, %q : tensor<1x512xf32>, tensor<1x1xf32>
  %y1 = tg.contract %a, %w [#x, #w, #y] : tensor<1x512xf32>, tensor<512x768xf32> -> tensor<1x768xf32>
  return %y1 : tensor<1x768xf32>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Sixty-four rows; the norm is a result; a scale of other extents; of an exact product; a mean that is subtracted is no
// factor.
// CHECK-LABEL: func.func @refused
// CHECK: tg.contract %[[A:.*]], %arg1 {{.*}}
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: none makes them
func.func @refused(%x: tensor<64x512xf32>, %w: tensor<512x768xf32>) -> tensor<64x768xf32> {
  %sq = tg.mul %x, %x : tensor<64x512xf32>, tensor<64x512xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<64x512xf32>
  %a = tg.mul %x, %s : tensor<64x512xf32>, tensor<64x1xf32>
  %y1 = tg.contract %a, %w [#x, #w, #y] : tensor<64x512xf32>, tensor<512x768xf32> -> tensor<64x768xf32>
  return %y1 : tensor<64x768xf32>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @read_twice
// CHECK: tg.contract %[[A:.*]], %arg1 {{.*}}
// CHECK-NEXT: return %[[A]]
// WHY: [Missed] no-delayed-scale {{.*}}ops other than GEMMs read it
func.func @read_twice(%x: tensor<1x512xf32>, %w: tensor<512x768xf32>) -> (tensor<1x512xf32>, tensor<1x768xf32>) {
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<1x512xf32>
  %a = tg.mul %x, %s : tensor<1x512xf32>, tensor<1x1xf32>
  %y1 = tg.contract %a, %w [#x, #w, #y] : tensor<1x512xf32>, tensor<512x768xf32> -> tensor<1x768xf32>
  return %a, %y1 : tensor<1x512xf32>, tensor<1x768xf32>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @exact
// CHECK: tg.contract %[[A:.*]], %arg1 {{.*}} {tg.numerics = "exact"}
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}a GEMM's licence is exact
func.func @exact(%x: tensor<1x512xf32>, %w: tensor<512x768xf32>) -> tensor<1x768xf32> {
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<1x512xf32>
  %a = tg.mul %x, %s : tensor<1x512xf32>, tensor<1x1xf32>
  %y1 = tg.contract %a, %w [#x, #w, #y] {tg.numerics = "exact"} : tensor<1x512xf32>, tensor<512x768xf32> -> tensor<1x768xf32>
  return %y1 : tensor<1x768xf32>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @other_extents
// CHECK: tg.mul %arg0, %{{.*}}
// CHECK-NEXT: tg.contract
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}its scale needs a reduction of other extents
func.func @other_extents(%x: tensor<1x512xf32>, %z: tensor<1x2048xf32>, %w: tensor<512x768xf32>) -> tensor<1x768xf32> {
  %s = tg.reduce add %z axes = [1] keep_dims : tensor<1x2048xf32>
  %t = tg.reduce add %x axes = [1] keep_dims : tensor<1x512xf32>
  %u = tg.mul %s, %t : tensor<1x1xf32>, tensor<1x1xf32>
  %a = tg.mul %x, %u : tensor<1x512xf32>, tensor<1x1xf32>
  %y1 = tg.contract %a, %w [#x, #w, #y] : tensor<1x512xf32>, tensor<512x768xf32> -> tensor<1x768xf32>
  return %y1 : tensor<1x768xf32>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (j, k)>
#y = affine_map<(i, j, k) -> (i, j)>

// A matrix of 4 bits: it is unpacked for rows of 16 bits, which have no sum in f32 beside them (carry-sums-packed.mlir).
// CHECK-LABEL: func.func @packed
// CHECK: tg.contract %{{.*}}, %{{.*}} : tensor<1x512xf16>, tensor<768x512xf16> -> tensor<1x768xf16>
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: none makes them
func.func @packed(%x: tensor<1x512xf16>, %w: tensor<768x16x32xui4>, %scales: tensor<768x16x1xf16>) -> tensor<1x768xf16> {
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<1x512xf16>
  %a = tg.mul %x, %s : tensor<1x512xf16>, tensor<1x1xf16>
  %0 = tg.cast %w : tensor<768x16x32xui4> to tensor<768x16x32xf16>
  %1 = tg.mul %0, %scales : tensor<768x16x32xf16>, tensor<768x16x1xf16>
  %2 = tg.reshape %1 : tensor<768x16x32xf16> to tensor<768x512xf16>
  %r = tg.contract %a, %2 [#x, #w, #y] : tensor<1x512xf16>, tensor<768x512xf16> -> tensor<1x768xf16>
  return %r : tensor<1x768xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Large matrices: their stream loses more than a launch takes.
// CHECK-LABEL: func.func @large
// CHECK: tg.mul %arg0, %{{.*}}
// CHECK-NEXT: tg.contract
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}scale of a row of 4096 behind 1 GEMMs: {{.*}} us in their kernels, {{.*}} us for one fewer kernel
func.func @large(%x: tensor<1x4096xf32>, %w: tensor<4096x14336xf32>) -> tensor<1x14336xf32> {
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<1x4096xf32>
  %a = tg.mul %x, %s : tensor<1x4096xf32>, tensor<1x1xf32>
  %y1 = tg.contract %a, %w [#x, #w, #y] : tensor<1x4096xf32>, tensor<4096x14336xf32> -> tensor<1x14336xf32>
  return %y1 : tensor<1x14336xf32>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Rows of the matrix along the sum, of an input and of a weight that will be stored so: reading g from the L2 is all.
// CHECK-LABEL: func.func @rows_of_matrix
// CHECK: tg.contract %arg0, %arg1
// CHECK: tg.contract %arg0, %{{.*}}
// CHECK: return
// WHY: [Passed] delayed-scale {{.*}}scale of a row of 4096 behind 2 GEMMs: 2.5 us in their kernels, 3.0 us for one fewer kernel
func.func @rows_of_matrix(%x: tensor<1x4096xf32>, %w: tensor<7168x4096xf32>) -> (tensor<1x7168xf32>, tensor<1x7168xf32>) {
  %stored = tg.weight <"w", 0, 117440512> : tensor<4096x7168xf32>
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<1x4096xf32>
  %a = tg.mul %x, %s : tensor<1x4096xf32>, tensor<1x1xf32>
  %y1 = tg.contract %a, %w [#x, affine_map<(i, j, k) -> (j, k)>, #y] : tensor<1x4096xf32>, tensor<7168x4096xf32> -> tensor<1x7168xf32>
  %y2 = tg.contract %a, %stored [#x, #w, #y] : tensor<1x4096xf32>, tensor<4096x7168xf32> -> tensor<1x7168xf32>
  return %y1, %y2 : tensor<1x7168xf32>, tensor<1x7168xf32>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Each product casts the common scale for itself, whichever of them comes first.
// CHECK-LABEL: func.func @casts
// CHECK: %[[Y:.*]] = tg.contract {{.*}} -> tensor<1x64xf32>
// CHECK: %[[A:.*]] = tg.cast %[[R:.*]] : tensor<1x1xf16> to tensor<1x1xf32>
// CHECK: tg.div %[[Y]], %[[A]]
// CHECK: %[[Z:.*]] = tg.contract {{.*}} -> tensor<1x64xf32>
// CHECK: %[[B:.*]] = tg.cast %[[R]] : tensor<1x1xf16> to tensor<1x1xf32>
// CHECK: tg.div %[[Z]], %[[B]]
// WHY: [Passed] delayed-scale {{.*}}scale of a row of 512 behind 2 GEMMs
func.func @casts(%x: tensor<1x512xf16>, %w1: tensor<512x64xf16>, %w2: tensor<512x64xf16>) -> (tensor<1x64xf16>, tensor<1x64xf16>) {
  %q = tg.mul %x, %x : tensor<1x512xf16>, tensor<1x512xf16>
  %s = tg.reduce add %q axes = [1] keep_dims : tensor<1x512xf16>
  %r = tg.sqrt %s : tensor<1x1xf16>
  %n = tg.div %x, %r : tensor<1x512xf16>, tensor<1x1xf16>
  %y1 = tg.contract %n, %w1 [#x, #w, #y] : tensor<1x512xf16>, tensor<512x64xf16> -> tensor<1x64xf16>
  %y2 = tg.contract %n, %w2 [#x, #w, #y] : tensor<1x512xf16>, tensor<512x64xf16> -> tensor<1x64xf16>
  return %y1, %y2 : tensor<1x64xf16>, tensor<1x64xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// What is no scale of the row says nothing: a difference, a constant.
// CHECK-LABEL: func.func @silent
// CHECK-COUNT-2: tg.contract
// CHECK-NEXT: return
// WHY-NOT: delayed-scale
func.func @silent(%x: tensor<1x512xf32>, %c: tensor<f32>, %w: tensor<512x768xf32>) -> (tensor<1x768xf32>, tensor<1x768xf32>) {
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<1x512xf32>
  %d = tg.sub %x, %s : tensor<1x512xf32>, tensor<1x1xf32>
  %a = tg.mul %d, %c : tensor<1x512xf32>, tensor<f32>
  %b = tg.mul %x, %c : tensor<1x512xf32>, tensor<f32>
  %y1 = tg.contract %a, %w [#x, #w, #y] : tensor<1x512xf32>, tensor<512x768xf32> -> tensor<1x768xf32>
  %y2 = tg.contract %b, %w [#x, #w, #y] : tensor<1x512xf32>, tensor<512x768xf32> -> tensor<1x768xf32>
  return %y1, %y2 : tensor<1x768xf32>, tensor<1x768xf32>
}
