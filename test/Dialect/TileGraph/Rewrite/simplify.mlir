// Exact rewrites, and their near misses, which must stay.
// RUN: weft-opt %s --weft-simplify --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-simplify --split-input-file --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// Each rewrite says its rule and what it saves.
// REMARK: [Passed] rewrite | Category:rewrite | Remark="zero-subtracted: flops 4 -> 0, bytes 36 -> 0 ({{.*}} fused)"
// REMARK: [Passed] rewrite {{.*}}"cast-of-cast: flops 0 -> 0, bytes 24 -> 16 ({{.*}} fused)"
// REMARK: [Passed] rewrite {{.*}}"slice-of-slice:
// Each match that stays says the guard that it failed by, once the others are rewritten.
// RUN: weft-opt %s --weft-simplify --split-input-file --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSED
// MISSED: [Missed] no-rewrite | Category:rewrite | Remark="zero-added: expected no-addend(z)"
// MISSED: [Missed] no-rewrite {{.*}}"divisor-power-of-two: expected power-of-two(c)"
// MISSED: [Missed] no-rewrite {{.*}}"absolute-of-negated: expected signed"
// MISSED: [Missed] no-rewrite {{.*}}"cast-of-cast: expected lossless(a)"
// MISSED: [Missed] no-rewrite {{.*}}"reduce-of-one: expected no-sum"

// CHECK-LABEL: func.func @neutral(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<4xi32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[N]], %[[N]], %[[N]]
func.func @neutral(%x: tensor<4xf32>, %n: tensor<4xi32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %minus_zero = tg.constant dense<-0.0> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %one = tg.constant dense<1.0> : tensor<1xf32>
  %izero = tg.constant dense<0> : tensor<i32>
  %ione = tg.constant dense<1> : tensor<i32>
  %0 = tg.add %x, %minus_zero : tensor<4xf32>, tensor<f32>
  %1 = tg.sub %x, %zero : tensor<4xf32>, tensor<f32>
  %2 = tg.mul %one, %x : tensor<1xf32>, tensor<4xf32>
  %3 = tg.div %x, %one : tensor<4xf32>, tensor<1xf32>
  %4 = tg.pow %x, %one : tensor<4xf32>, tensor<1xf32>
  %5 = tg.add %n, %izero : tensor<4xi32>, tensor<i32>
  %6 = tg.div %n, %ione : tensor<4xi32>, tensor<i32>
  %7 = tg.max %n, %n : tensor<4xi32>, tensor<4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7
    : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// -----

// x + 0.0 and x - (-0.0) change -0.0; x * 0 is not 0 for NaN; a larger constant makes the result larger.
// CHECK-LABEL: func.func @not_neutral(
// CHECK: tg.add
// CHECK: tg.sub
// CHECK: tg.mul
// CHECK: tg.mul
func.func @not_neutral(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) {
  %minus_zero = tg.constant dense<-0.0> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %ones = tg.constant dense<1.0> : tensor<2x1xf32>
  %0 = tg.add %x, %zero : tensor<4xf32>, tensor<f32>
  %1 = tg.sub %x, %minus_zero : tensor<4xf32>, tensor<f32>
  %2 = tg.mul %x, %zero : tensor<4xf32>, tensor<f32>
  %3 = tg.mul %x, %ones : tensor<4xf32>, tensor<2x1xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @division(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-DAG: %[[EIGHTH:.*]] = tg.constant dense<1.250000e-01> : tensor<f32>
// CHECK-DAG: %[[THREE:.*]] = tg.constant dense<3.000000e+00> : tensor<f32>
// CHECK-DAG: %[[HUGE:.*]] = tg.constant dense<{{.*}}> : tensor<f32>
// CHECK: tg.mul %[[X]], %[[EIGHTH]]
// CHECK: tg.div %[[X]], %[[THREE]]
// CHECK: tg.div %[[X]], %{{.*}}
func.func @division(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %eight = tg.constant dense<8.0> : tensor<f32>
  %three = tg.constant dense<3.0> : tensor<f32>
  %huge = tg.constant dense<1.7014118e+38> : tensor<f32> // 2^127: its inverse is subnormal.
  %0 = tg.div %x, %eight : tensor<4xf32>, tensor<f32>
  %1 = tg.div %x, %three : tensor<4xf32>, tensor<f32>
  %2 = tg.div %x, %huge : tensor<4xf32>, tensor<f32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @powers(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<4xi32>
// CHECK: tg.mul %[[X]], %[[X]]
// CHECK: tg.reciprocal %[[X]]
// CHECK: tg.pow %[[X]]
// CHECK: tg.mul %[[N]], %[[N]]
// CHECK: tg.pow %[[N]]
func.func @powers(%x: tensor<4xf32>, %n: tensor<4xi32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) {
  %two = tg.constant dense<2.0> : tensor<f32>
  %minus_one = tg.constant dense<-1.0> : tensor<f32>
  %half = tg.constant dense<0.5> : tensor<f32>
  %itwo = tg.constant dense<2> : tensor<i32>
  %iminus_one = tg.constant dense<-1> : tensor<i32>
  %0 = tg.pow %x, %two : tensor<4xf32>, tensor<f32>
  %1 = tg.pow %x, %minus_one : tensor<4xf32>, tensor<f32>
  %2 = tg.pow %x, %half : tensor<4xf32>, tensor<f32>
  %3 = tg.pow %n, %itwo : tensor<4xi32>, tensor<i32>
  %4 = tg.pow %n, %iminus_one : tensor<4xi32>, tensor<i32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: func.func @signs(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xi1>
// CHECK: %[[A:.*]] = tg.abs %[[X]]
// CHECK-NEXT: return %[[X]], %[[B]], %[[A]]
func.func @signs(%x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %0 = tg.neg %x : tensor<4xf32>
  %1 = tg.neg %0 : tensor<4xf32>
  %2 = tg.not %b : tensor<4xi1>
  %3 = tg.not %2 : tensor<4xi1>
  %4 = tg.abs %0 : tensor<4xf32>
  %5 = tg.abs %4 : tensor<4xf32>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// -----

// An unsigned negation wraps: |2^n - x| is not x.
// CHECK-LABEL: func.func @unsigned_abs(
// CHECK: tg.neg
func.func @unsigned_abs(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = tg.neg %x : tensor<4xui8>
  %1 = tg.abs %0 : tensor<4xui8>
  return %1 : tensor<4xui8>
}

// -----

// CHECK-LABEL: func.func @choose(
// CHECK-SAME: %[[C:.*]]: tensor<4xi1>, %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]], %[[Y]], %[[X]]
func.func @choose(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %true = tg.constant dense<true> : tensor<i1>
  %false = tg.constant dense<false> : tensor<4xi1>
  %0 = tg.select %true, %x, %y : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  %1 = tg.select %false, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
  %2 = tg.select %c, %x, %x : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @casts(
// CHECK-SAME: %[[H:.*]]: tensor<4xf16>, %[[N:.*]]: tensor<4xi8>, %[[F:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = tg.cast %[[H]] : tensor<4xf16> to tensor<4xbf16>
// CHECK-NEXT: %[[I:.*]] = tg.cast %[[N]] : tensor<4xi8> to tensor<4xi64>
// CHECK-NEXT: %[[NARROW:.*]] = tg.cast %[[F]] : tensor<4xf32> to tensor<4xf16>
// CHECK-NEXT: %[[WIDE:.*]] = tg.cast %[[NARROW]] : tensor<4xf16> to tensor<4xf32>
// CHECK-NEXT: %[[REAL:.*]] = tg.cast %[[N]] : tensor<4xi8> to tensor<4xf32>
// CHECK-NEXT: %[[SATURATED:.*]] = tg.cast %[[REAL]] : tensor<4xf32> to tensor<4xui8>
// CHECK-NEXT: return %[[H]], %[[B]], %[[I]], %[[WIDE]], %[[N]], %[[SATURATED]]
func.func @casts(%h: tensor<4xf16>, %n: tensor<4xi8>, %f: tensor<4xf32>)
    -> (tensor<4xf16>, tensor<4xbf16>, tensor<4xi64>, tensor<4xf32>, tensor<4xi8>, tensor<4xui8>) {
  %0 = tg.cast %h : tensor<4xf16> to tensor<4xf32>
  %1 = tg.cast %0 : tensor<4xf32> to tensor<4xf16>
  %2 = tg.cast %0 : tensor<4xf32> to tensor<4xbf16>
  %3 = tg.cast %n : tensor<4xi8> to tensor<4xi32>
  %4 = tg.cast %3 : tensor<4xi32> to tensor<4xi64>
  %5 = tg.cast %f : tensor<4xf32> to tensor<4xf16>
  %6 = tg.cast %5 : tensor<4xf16> to tensor<4xf32>
  %7 = tg.cast %n : tensor<4xi8> to tensor<4xf32>
  %8 = tg.cast %7 : tensor<4xf32> to tensor<4xi8>
  %9 = tg.cast %7 : tensor<4xf32> to tensor<4xui8>
  return %1, %2, %4, %6, %8, %9 : tensor<4xf16>, tensor<4xbf16>, tensor<4xi64>, tensor<4xf32>, tensor<4xi8>, tensor<4xui8>
}

// -----

// CHECK-LABEL: func.func @broadcasts(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = tg.add %[[X]], %[[Y]] : tensor<8xf32>, tensor<4x8xf32>
// CHECK-NEXT: %[[WIDE:.*]] = tg.broadcast %[[X]] : tensor<8xf32> to tensor<2x4x8xf32>
// CHECK-NEXT: %[[TWICE:.*]] = tg.exp %[[WIDE]]
// CHECK-NEXT: %[[ROW:.*]] = tg.reshape %[[X]] : tensor<8xf32> to tensor<1x8xf32>
// CHECK-NEXT: return %[[SUM]], %[[TWICE]], %[[ROW]]
func.func @broadcasts(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x4x8xf32>, tensor<1x8xf32>) {
  %0 = tg.broadcast %x : tensor<8xf32> to tensor<4x8xf32>
  %1 = tg.add %0, %y : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.broadcast %0 : tensor<4x8xf32> to tensor<2x4x8xf32>
  %3 = tg.exp %2 : tensor<2x4x8xf32>
  %4 = tg.broadcast %x : tensor<8xf32> to tensor<1x8xf32>
  return %1, %3, %4 : tensor<4x8xf32>, tensor<2x4x8xf32>, tensor<1x8xf32>
}

// -----

// CHECK-LABEL: func.func @views(
// CHECK-SAME: %[[X:.*]]: tensor<4x1x8xf32>, %[[Y:.*]]: tensor<16xf32>
// CHECK-NEXT: %[[T:.*]] = tg.reshape %[[X]] : tensor<4x1x8xf32> to tensor<1x4x8xf32>
// CHECK-NEXT: %[[S:.*]] = tg.slice %[[Y]] offsets = [11] strides = [-4] : tensor<16xf32> to tensor<3xf32>
// CHECK-NEXT: %[[M:.*]] = tg.reshape %[[X]] : tensor<4x1x8xf32> to tensor<4x8xf32>
// CHECK-NEXT: %[[A:.*]] = tg.reduce add %[[X]] axes = [1] : tensor<4x1x8xf32>
// CHECK-NEXT: return %[[T]], %[[S]], %[[M]], %[[A]]
func.func @views(%x: tensor<4x1x8xf32>, %y: tensor<16xf32>) -> (tensor<1x4x8xf32>, tensor<3xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tg.transpose %x [1, 0, 2] : tensor<4x1x8xf32>
  %1 = tg.slice %y offsets = [1] strides = [2] : tensor<16xf32> to tensor<7xf32>
  %2 = tg.slice %1 offsets = [5] strides = [-2] : tensor<7xf32> to tensor<3xf32>
  %3 = tg.reduce max %x axes = [1] : tensor<4x1x8xf32>
  %4 = tg.reduce add %x axes = [1] : tensor<4x1x8xf32>
  return %0, %2, %3, %4 : tensor<1x4x8xf32>, tensor<3xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @concats(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[E:.*]]: tensor<0xf32>
// CHECK-NEXT: %[[C:.*]] = tg.concat %[[X]], %[[X]], %[[X]] axis = 0
// CHECK-NEXT: return %[[C]], %[[X]]
func.func @concats(%x: tensor<4xf32>, %e: tensor<0xf32>) -> (tensor<12xf32>, tensor<4xf32>) {
  %0 = tg.concat %x, %x axis = 0 : tensor<4xf32>, tensor<4xf32>
  %1 = tg.concat %0, %x axis = 0 : tensor<8xf32>, tensor<4xf32>
  %2 = tg.concat %e, %x, %e axis = 0 : tensor<0xf32>, tensor<4xf32>, tensor<0xf32>
  return %1, %2 : tensor<12xf32>, tensor<4xf32>
}

// -----

module attributes {tg.symbols = ["a", "b"]} {
// CHECK-LABEL: func.func @weights_and_checks(
// CHECK-NEXT: %[[W:.*]] = tg.weight <"w.bin", 0, 128> : tensor<2x16xf32>
// CHECK-NEXT: %[[I:.*]] = tg.weight <"w.bin", 0, 128> : tensor<4x8xi32>
// CHECK-NEXT: tg.assume_equal #{{.*}}, "kept"
// CHECK-NEXT: return %[[W]], %[[I]]
func.func @weights_and_checks() -> (tensor<2x16xf32>, tensor<4x8xi32>) {
  %w = tg.weight <"w.bin", 0, 128> : tensor<4x8xf32>
  %0 = tg.reshape %w : tensor<4x8xf32> to tensor<2x16xf32>
  %1 = tg.bitcast %w : tensor<4x8xf32> to tensor<4x8xi32>
  tg.assume_equal affine_map<()[s0, s1] -> (s0 + s1 - s0, s1)>, "always true"
  tg.assume_equal affine_map<()[s0, s1] -> (s0, s1)>, "kept"
  tg.assume_equal affine_map<()[s0, s1] -> (s0, s1)>, "said already"
  return %0, %1 : tensor<2x16xf32>, tensor<4x8xi32>
}
}

// -----

// Two strides whose product no slice may have stay two slices.
// CHECK-LABEL: func.func @far_slices(
// CHECK-COUNT-2: tg.slice
// MISSED: [Missed] no-rewrite {{.*}}"slice-of-slice: expected place-limit"
func.func @far_slices(%x: tensor<3x5xf32>) -> tensor<1x3xf32> {
  %0 = tg.slice %x offsets = [1, 1] strides = [1073741824, 1] : tensor<3x5xf32> to tensor<1x4xf32>
  %1 = tg.slice %0 offsets = [0, 0] strides = [1073741824, 1] : tensor<1x4xf32> to tensor<1x3xf32>
  return %1 : tensor<1x3xf32>
}
