// RUN: weft-opt %s --split-input-file --weft-derive-folds | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-derive-folds --remarks-filter=fold --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#s = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]

// Attention: max, sum, accumulator; the division is delayed; the sums are repaired by exp of the difference of maxima.
// CHECK-LABEL: func.func @attention
// CHECK:      %[[R:.*]] = tg.fold over #{{.*}} init [0xFF800000 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32] attributes {tg.numerics = "reassociating"} update {
// CHECK-NEXT: ^bb0(%[[M:.*]]: tensor<4x1xf32>, %[[L:.*]]: tensor<4x1xf32>, %[[ACC:.*]]: tensor<4x8xf32>):
// CHECK-NEXT:   %[[S:.*]] = tg.contract %arg0, %arg1
// CHECK-NEXT:   %[[MB:.*]] = tg.reduce max %[[S]] axes = [1] keep_dims {tg.streamed}
// CHECK-NEXT:   %[[M2:.*]] = tg.max %[[M]], %[[MB]]
// CHECK:        tg.is_inf %[[M2]] {positive = false}
// CHECK:        %[[SAFE:.*]] = tg.select
// CHECK-NEXT:   tg.sub %[[S]], %[[SAFE]]
// CHECK-NEXT:   %[[E:.*]] = tg.exp
// CHECK-NEXT:   %[[LB:.*]] = tg.reduce add %[[E]] axes = [1] keep_dims {tg.streamed}
// CHECK-NEXT:   tg.sub %[[M]], %[[SAFE]]
// CHECK-NEXT:   %[[Q:.*]] = tg.exp
// CHECK-NEXT:   %[[LQ:.*]] = tg.mul %[[L]], %[[Q]]
// CHECK-NEXT:   %[[L2:.*]] = tg.add %[[LQ]], %[[LB]]
// CHECK-NEXT:   %[[AB:.*]] = tg.contract %[[E]], %arg2 {{.*}} {tg.streamed}
// CHECK:        tg.mul %[[ACC]]
// CHECK-NEXT:   %[[A2:.*]] = tg.add %{{.*}}, %[[AB]]
// CHECK-NEXT:   tg.fold_yield %[[M2]], %[[L2]], %[[A2]]
// CHECK:      } merge {
// CHECK:      } finish {
// CHECK:        tg.div
// CHECK:      return %[[R]]
func.func @attention(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// f16 with a mask, a scale after the scores, the exporter's guard of masked rows, heads moved in the result: states in f32.
// CHECK-LABEL: func.func @guarded
// CHECK:      tg.fold over #{{.*}} init [0xFC00 : f16, 0.000000e+00 : f32, 0.000000e+00 : f32]
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x4x1xf16>, %{{.*}}: tensor<2x4x1xf32>, %{{.*}}: tensor<4x2x8xf32>):
// CHECK:      tg.contract %{{.*}}, %arg2 {{.*}} {tg.streamed} : tensor<2x4x16xf16>, tensor<2x16x8xf16> -> tensor<4x2x8xf32>
// CHECK:      } finish {
// CHECK:        %[[D:.*]] = tg.div
// CHECK:        tg.is_nan
// CHECK:        tg.cmp eq
// CHECK:        tg.select
// CHECK:        tg.cast %{{.*}} : tensor<4x2x8xf32> to tensor<4x2x8xf16>
func.func @guarded(%q: tensor<2x4x8xf16>, %k: tensor<2x16x8xf16>, %v: tensor<2x16x8xf16>, %mask: tensor<4x16xf16>) -> tensor<4x2x8xf16> {
  %zero = tg.constant dense<0.0> : tensor<f16>
  %scale = tg.constant dense<0.5> : tensor<f16>
  %s = tg.contract %q, %k [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      : tensor<2x4x8xf16>, tensor<2x16x8xf16> -> tensor<2x4x16xf16>
  %t = tg.mul %s, %scale : tensor<2x4x16xf16>, tensor<f16>
  %u = tg.add %t, %mask : tensor<2x4x16xf16>, tensor<4x16xf16>
  %m = tg.reduce max %u axes = [2] keep_dims : tensor<2x4x16xf16>
  %c = tg.sub %u, %m : tensor<2x4x16xf16>, tensor<2x4x1xf16>
  %e = tg.exp %c : tensor<2x4x16xf16>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<2x4x16xf16>
  %p = tg.div %e, %l : tensor<2x4x16xf16>, tensor<2x4x1xf16>
  %n = tg.is_nan %p : tensor<2x4x16xf16>
  %g = tg.select %n, %zero, %p : tensor<2x4x16xi1>, tensor<f16>, tensor<2x4x16xf16>
  %o = tg.contract %g, %v [affine_map<(h, i, n, j) -> (h, i, j)>, affine_map<(h, i, n, j) -> (h, j, n)>, affine_map<(h, i, n, j) -> (i, h, n)>]
      : tensor<2x4x16xf16>, tensor<2x16x8xf16> -> tensor<4x2x8xf16>
  return %o : tensor<4x2x8xf16>
}

// -----

// REMARK: Remark="no operand depends on a reduction of the same dimension"
func.func @plain(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %o = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// REMARK: Remark="the streamed operand is not made by one contraction"
func.func @norm(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %xx = tg.mul %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
  %ss = tg.reduce add %xx axes = [1] keep_dims : tensor<4x8xf32>
  %r = tg.rsqrt %ss : tensor<4x1xf32>
  %y = tg.mul %x, %r : tensor<4x8xf32>, tensor<4x1xf32>
  %o = tg.contract %y, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// REMARK: Remark="the contraction reduces several dimensions"
func.func @several(%x: tensor<4x8x8xf32>, %w: tensor<8x8xf32>) -> tensor<4xf32> {
  %o = tg.contract %x, %w [affine_map<(m, j, k) -> (m, j, k)>, affine_map<(m, j, k) -> (j, k)>, affine_map<(m, j, k) -> (m)>]
      : tensor<4x8x8xf32>, tensor<8x8xf32> -> tensor<4xf32>
  return %o : tensor<4xf32>
}

// -----

// REMARK: Remark="expected at most 256 columns of the contraction and terms of the one before it, so that one tile holds them"
func.func @wide(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x512xf32>) -> tensor<4x512xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %o = tg.contract %e, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x512xf32> -> tensor<4x512xf32>
  return %o : tensor<4x512xf32>
}

// -----

// REMARK: Remark="the streamed operand's contraction has other consumers"
func.func @shared(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<16x4xf32>) {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %c, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %t = tg.transpose %s [1, 0] : tensor<4x16xf32>
  return %o, %t : tensor<4x8xf32>, tensor<16x4xf32>
}

// -----

// REMARK: Remark="'sin' of a value that depends on a reduction: it neither separates nor can it be repaired"
func.func @unknown(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.sin %c : tensor<4x16xf32>
  %o = tg.contract %e, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// REMARK: Remark="'sin' of a value that depends on a reduction: it neither separates nor can it be repaired"
func.func @nosum(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.sin %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %s, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// REMARK: Remark="a reduction that is neither a sum nor a maximum"
func.func @product(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %l = tg.reduce mul %s axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %s, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A maximum of differences with a maximum is the maximum, less what is subtracted; the sum would need two states.
// REMARK: Remark="a fold of several moments is not known to pay"
func.func @twice(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %n = tg.reduce max %c axes = [1] keep_dims : tensor<4x16xf32>
  %e = tg.sub %c, %n : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %e, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Guards of rows that are masked as a whole come at the end; probabilities are rounded to the type of what they multiply.
// CHECK-LABEL: @guarded_by_maximum
// CHECK: tg.fold
// CHECK: tg.cast %{{.*}} : tensor<4x16xf32> to tensor<4x16xf16>
// CHECK: tg.contract %{{.*}} {tg.streamed} : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf32>
// CHECK: finish
// CHECK: tg.div
// CHECK: tg.select
func.func @guarded_by_maximum(%q: tensor<4x8xf16>, %k: tensor<16x8xf16>, %v: tensor<16x8xf16>) -> tensor<4x8xf16> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf16>, tensor<16x8xf16> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %b = tg.cmp eq %m, %inf : tensor<4x1xf32>, tensor<f32>
  %g = tg.select %b, %zero, %p : tensor<4x1xi1>, tensor<f32>, tensor<4x16xf32>
  %o = tg.contract %g, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf16> -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}

// -----

// CHECK-LABEL: @guarded_after_rounding
// CHECK: tg.fold
// CHECK: finish
// CHECK: tg.is_nan
func.func @guarded_after_rounding(%q: tensor<4x8xf16>, %k: tensor<16x8xf16>, %v: tensor<16x8xf16>) -> tensor<4x8xf16> {
  %zero = tg.constant dense<0.0> : tensor<f16>
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf16>, tensor<16x8xf16> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %h = tg.cast %p : tensor<4x16xf32> to tensor<4x16xf16>
  %n = tg.is_nan %h : tensor<4x16xf16>
  %g = tg.select %n, %zero, %h : tensor<4x16xi1>, tensor<f16>, tensor<4x16xf16>
  %o = tg.contract %g, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}

// -----
// A positive scale goes behind the mask and the maximum: it is left to rows, and to the difference with the maximum.
// CHECK-LABEL: func.func @scaled
// CHECK: tg.fold
// CHECK: %[[S:.*]] = tg.contract
// CHECK-NEXT: %[[X:.*]] = tg.select %{{.*}}, %[[S]], %{{.*}}
// CHECK: %[[M:.*]] = tg.reduce max %[[X]]
// CHECK: tg.mul %[[M]], %[[C:.*]] : tensor<4x1xf32>, tensor<f32>
// CHECK: %[[SCALED:.*]] = tg.mul %[[X]], %[[C]] : tensor<4x16xf32>, tensor<f32>
// CHECK: tg.sub %[[SCALED]]
func.func @scaled(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>, %keep: tensor<4x16xi1>) -> tensor<4x8xf32> {
  %scale = tg.constant dense<0.125> : tensor<f32>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %t = tg.mul %s, %scale : tensor<4x16xf32>, tensor<f32>
  %x = tg.select %keep, %t, %inf : tensor<4x16xi1>, tensor<4x16xf32>, tensor<f32>
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %x, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// What the delayed scale leaves behind is no probability: it may be too large for f16.
// REMARK: Remark="without its scale the streamed operand may not fit f16, the type of what it is multiplied with"
func.func @linear(%q: tensor<4x8xf16>, %k: tensor<16x8xf16>, %v: tensor<16x8xf16>) -> tensor<4x8xf16> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf16>, tensor<16x8xf16> -> tensor<4x16xf32>
  %l = tg.reduce add %s axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %s, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf16> -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}

// -----

// The difference of two softmaxes: a maximum, a sum and an accumulator of each, where they fit the registers of one.
// CHECK-LABEL: func.func @differential
// CHECK: tg.fold over #{{.*}} init [0xFF800000 : f32, 0.000000e+00 : f32, 0xFF800000 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32]
// CHECK-COUNT-2: {tg.streamed} : tensor<4x16xf32>, tensor<16x64xf32>
// REMARK: Remark="expected at most 128 columns of all accumulators"
func.func @differential(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %r: tensor<4x8xf32>, %j: tensor<16x8xf32>, %v: tensor<16x64xf32>) -> tensor<4x64xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %s2 = tg.contract %r, %j [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m2 = tg.reduce max %s2 axes = [1] keep_dims : tensor<4x16xf32>
  %c2 = tg.sub %s2, %m2 : tensor<4x16xf32>, tensor<4x1xf32>
  %e2 = tg.exp %c2 : tensor<4x16xf32>
  %l2 = tg.reduce add %e2 axes = [1] keep_dims : tensor<4x16xf32>
  %p2 = tg.div %e2, %l2 : tensor<4x16xf32>, tensor<4x1xf32>
  %d = tg.sub %p, %p2 : tensor<4x16xf32>, tensor<4x16xf32>
  %o = tg.contract %d, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x64xf32> -> tensor<4x64xf32>
  return %o : tensor<4x64xf32>
}
func.func @differential_wide(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %r: tensor<4x8xf32>, %j: tensor<16x8xf32>, %v: tensor<16x128xf32>) -> tensor<4x128xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %s2 = tg.contract %r, %j [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m2 = tg.reduce max %s2 axes = [1] keep_dims : tensor<4x16xf32>
  %c2 = tg.sub %s2, %m2 : tensor<4x16xf32>, tensor<4x1xf32>
  %e2 = tg.exp %c2 : tensor<4x16xf32>
  %l2 = tg.reduce add %e2 axes = [1] keep_dims : tensor<4x16xf32>
  %p2 = tg.div %e2, %l2 : tensor<4x16xf32>, tensor<4x1xf32>
  %d = tg.sub %p, %p2 : tensor<4x16xf32>, tensor<4x16xf32>
  %o = tg.contract %d, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x128xf32> -> tensor<4x128xf32>
  return %o : tensor<4x128xf32>
}

// -----

// Scores of f16 that are scaled, masked by -inf and widened: none of these rounds, and the scale goes behind the maximum.
// CHECK-LABEL: @widened
// CHECK: tg.fold
// CHECK: %[[S:.*]] = tg.contract %{{.*}}, %{{.*}} : tensor<4x8xf16>, tensor<16x8xf16> -> tensor<4x16xf32>
// CHECK-NOT: tensor<4x16xf16>
// CHECK: %[[T:.*]] = tg.select %{{.*}}, %[[S]], %{{.*}} : tensor<4x16xi1>, tensor<4x16xf32>, tensor<f32>
// CHECK: tg.reduce max %[[T]]
// CHECK: merge
// A mask that is added rounds: beside -65504 all scores of a row are equal.
// CHECK-LABEL: @added
// CHECK: tg.fold
// CHECK: tg.contract {{.*}} -> tensor<4x16xf16>
// CHECK: tg.add {{.*}} : tensor<4x16xf16>, tensor<4x16xf16>
// CHECK: tg.cast {{.*}} : tensor<4x16xf16> to tensor<4x16xf32>
#qk = affine_map<(i, j, d) -> (i, d)>
#kk = affine_map<(i, j, d) -> (j, d)>
#sk = affine_map<(i, j, d) -> (i, j)>
#pv = affine_map<(i, n, j) -> (i, j)>
#vv = affine_map<(i, n, j) -> (j, n)>
#ov = affine_map<(i, n, j) -> (i, n)>
func.func @widened(%q: tensor<4x8xf16>, %k: tensor<16x8xf16>, %v: tensor<16x8xf16>, %keep: tensor<4x16xi1>) -> tensor<4x8xf16> {
  %c = tg.constant dense<0.5> : tensor<f16>
  %low = tg.constant dense<0xFC00> : tensor<f16>
  %0 = tg.contract %q, %k [#qk, #kk, #sk] : tensor<4x8xf16>, tensor<16x8xf16> -> tensor<4x16xf16>
  %1 = tg.mul %0, %c : tensor<4x16xf16>, tensor<f16>
  %2 = tg.select %keep, %1, %low : tensor<4x16xi1>, tensor<4x16xf16>, tensor<f16>
  %s = tg.cast %2 : tensor<4x16xf16> to tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %d = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %d : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %w = tg.cast %p : tensor<4x16xf32> to tensor<4x16xf16>
  %o = tg.contract %w, %v [#pv, #vv, #ov] : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}
func.func @added(%q: tensor<4x8xf16>, %k: tensor<16x8xf16>, %v: tensor<16x8xf16>, %mask: tensor<4x16xf16>) -> tensor<4x8xf16> {
  %0 = tg.contract %q, %k [#qk, #kk, #sk] : tensor<4x8xf16>, tensor<16x8xf16> -> tensor<4x16xf16>
  %2 = tg.add %0, %mask : tensor<4x16xf16>, tensor<4x16xf16>
  %s = tg.cast %2 : tensor<4x16xf16> to tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %d = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %d : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %w = tg.cast %p : tensor<4x16xf32> to tensor<4x16xf16>
  %o = tg.contract %w, %v [#pv, #vv, #ov] : tensor<4x16xf16>, tensor<16x8xf16> -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}
