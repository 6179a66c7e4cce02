// RUN: weft-opt %s --weft-plan=gpu=true --remark-policy=all --remarks-filter=fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: not weft-opt %s --pass-pipeline='builtin.module(func.func(weft-form-kernels{gpu=true target=sm_10}))' 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: expected a target of sm_80, {{.*}}, got 'sm_10'

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#rows = affine_map<(b, m, n, k) -> (b, m, k)>
#columns = affine_map<(b, m, n, k) -> (k, n)>
#made = affine_map<(b, m, n, k) -> (b, m, n)>

// Weights' casts join the rows that read them; the residual sum is a second result.
// CHECK-LABEL: @residual_norm
// CHECK: %[[K:.*]]:2 = tg.kernel {{.*}} -> tensor<64x128xf16>, tensor<64x128xf16>
// CHECK-NOT: tg.kernel
// CHECK: return %[[K]]#1, %[[K]]#0
func.func @residual_norm(%x: tensor<64x128xf16>, %r: tensor<64x128xf16>, %w: tensor<128xf16>) -> (tensor<64x128xf16>, tensor<64x128xf16>) {
  %s = tg.add %x, %r : tensor<64x128xf16>, tensor<64x128xf16>
  %w32 = tg.cast %w : tensor<128xf16> to tensor<128xf32>
  %0 = tg.cast %s : tensor<64x128xf16> to tensor<64x128xf32>
  %1 = tg.mul %0, %0 : tensor<64x128xf32>, tensor<64x128xf32>
  %2 = tg.reduce add %1 axes = [1] keep_dims : tensor<64x128xf32>
  %3 = tg.rsqrt %2 : tensor<64x1xf32>
  %4 = tg.mul %0, %3 : tensor<64x128xf32>, tensor<64x1xf32>
  %5 = tg.mul %4, %w32 : tensor<64x128xf32>, tensor<128xf32>
  %6 = tg.cast %5 : tensor<64x128xf32> to tensor<64x128xf16>
  return %s, %6 : tensor<64x128xf16>, tensor<64x128xf16>
}

// A contraction's result goes through a reshape and a transposition to where it is stored; the renaming in front stays outside.
// CHECK-LABEL: @heads
// CHECK: tg.reshape %arg0
// CHECK: tg.kernel "gemm_add"
// CHECK-NOT: tg.kernel
func.func @heads(%x: tensor<1x64x128xf16>, %w: tensor<128x128xf16>, %b: tensor<128xf16>) -> tensor<4x64x32xf16> {
  %r = tg.reshape %x : tensor<1x64x128xf16> to tensor<64x128xf16>
  %0 = tg.contract %r, %w [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x128xf16> -> tensor<64x128xf16>
  %1 = tg.add %0, %b : tensor<64x128xf16>, tensor<128xf16>
  %2 = tg.reshape %1 : tensor<64x128xf16> to tensor<64x4x32xf16>
  %3 = tg.transpose %2 [1, 0, 2] : tensor<64x4x32xf16>
  return %3 : tensor<4x64x32xf16>
}

// A padding is read by the convolution; a cheap scale too, where recomputing costs less than storing.
// CHECK-LABEL: @prologue
// CHECK: tg.kernel "conv_mul_pad"
// CHECK-NOT: tg.kernel
func.func @prologue(%x: tensor<1x8x16x16xf16>, %s: tensor<f16>, %w: tensor<8x8x3x3xf16>) -> tensor<1x8x16x16xf16> {
  %z = tg.constant dense<0.0> : tensor<f16>
  %m = tg.mul %x, %s : tensor<1x8x16x16xf16>, tensor<f16>
  %p = tg.pad %m, %z low = [0, 0, 1, 1] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<1x8x16x16xf16>, tensor<f16>
  %0 = tg.contract %p, %w [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>]
      : tensor<1x8x18x18xf16>, tensor<8x8x3x3xf16> -> tensor<1x8x16x16xf16>
  return %0 : tensor<1x8x16x16xf16>
}

// Nine taps of the window would compute it again, and each of their steps would wait for it.
// CHECK-LABEL: @taps
// CHECK: tg.kernel "sigmoid"
// CHECK: tg.kernel "conv_pad"
func.func @taps(%x: tensor<3x96x37x41xf16>, %w: tensor<72x96x3x3xf16>) -> tensor<3x72x37x41xf16> {
  %z = tg.constant dense<0.0> : tensor<f16>
  %s = tg.sigmoid %x : tensor<3x96x37x41xf16>
  %p = tg.pad %s, %z low = [0, 0, 1, 1] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<3x96x37x41xf16>, tensor<f16>
  %0 = tg.contract %p, %w [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>]
      : tensor<3x96x39x43xf16>, tensor<72x96x3x3xf16> -> tensor<3x72x37x41xf16>
  return %0 : tensor<3x72x37x41xf16>
}

// An activation before a large contraction is stored once.
// CHECK-LABEL: @large
// CHECK-COUNT-2: tg.kernel
// WHY: computing 'sigmoid' again for each tile costs
func.func @large(%x: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %s = tg.sigmoid %x : tensor<4096x4096xf16>
  %0 = tg.contract %s, %w [#mk, #kn, #mn] : tensor<4096x4096xf16>, tensor<4096x4096xf16> -> tensor<4096x4096xf16>
  return %0 : tensor<4096x4096xf16>
}

// A table of cosines is not computed again for every head; the rotation is one kernel.
// CHECK-LABEL: @rotary
// CHECK: tg.kernel "cos"
// CHECK: tg.kernel "mul_neg_concat_add"
// CHECK-NOT: tg.kernel
// WHY: 'cos' would be computed again under a broadcast
func.func @rotary(%x: tensor<8x64x32xf16>, %a: tensor<64x32xf16>) -> tensor<8x64x32xf16> {
  %c = tg.cos %a : tensor<64x32xf16>
  %0 = tg.mul %x, %c : tensor<8x64x32xf16>, tensor<64x32xf16>
  %l = tg.slice %x offsets = [0, 0, 0] strides = [1, 1, 1] : tensor<8x64x32xf16> to tensor<8x64x16xf16>
  %h = tg.slice %x offsets = [0, 0, 16] strides = [1, 1, 1] : tensor<8x64x32xf16> to tensor<8x64x16xf16>
  %n = tg.neg %h : tensor<8x64x16xf16>
  %r = tg.concat %n, %l axis = 2 : tensor<8x64x16xf16>, tensor<8x64x16xf16>
  %1 = tg.mul %r, %a : tensor<8x64x32xf16>, tensor<64x32xf16>
  %2 = tg.add %0, %1 : tensor<8x64x32xf16>, tensor<8x64x32xf16>
  return %2 : tensor<8x64x32xf16>
}

// Two readers of one value: neither must wait for the other, and a kernel between keeps groups apart.
// CHECK-LABEL: @between
// CHECK: tg.kernel "exp"
// CHECK: tg.kernel "gemm"
// CHECK: tg.kernel "add"
// WHY: another kernel must run between them
func.func @between(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tg.exp %x : tensor<64x64xf32>
  %1 = tg.scan add %0 axis = 1 : tensor<64x64xf32>
  %2 = tg.contract %1, %x [#mk, #kn, #mn] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = tg.scan add %2 axis = 1 : tensor<64x64xf32>
  %4 = tg.add %3, %0 : tensor<64x64xf32>, tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// Gate and up have their left operand in common, and elementwise ops take both: one kernel with two accumulators.
// CHECK-LABEL: @gate_up
// CHECK: tg.kernel "gemm2_sigmoid_mul"
// CHECK-NOT: tg.kernel
func.func @gate_up(%x: tensor<64x128xf16>, %g: tensor<128x256xf16>, %u: tensor<128x256xf16>) -> tensor<64x256xf16> {
  %0 = tg.contract %x, %g [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x256xf16> -> tensor<64x256xf16>
  %1 = tg.contract %x, %u [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x256xf16> -> tensor<64x256xf16>
  %2 = tg.sigmoid %0 : tensor<64x256xf16>
  %3 = tg.mul %0, %2 : tensor<64x256xf16>, tensor<64x256xf16>
  %4 = tg.mul %3, %1 : tensor<64x256xf16>, tensor<64x256xf16>
  return %4 : tensor<64x256xf16>
}

// Products of different operands, and of different depth, stay apart.
// CHECK-LABEL: @apart
// CHECK-COUNT-2: tg.kernel
// WHY: G2: two contractions without a common operand
func.func @apart(%x: tensor<64x128xf16>, %y: tensor<64x128xf16>, %g: tensor<128x256xf16>, %u: tensor<128x256xf16>) -> tensor<64x256xf16> {
  %0 = tg.contract %x, %g [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x256xf16> -> tensor<64x256xf16>
  %1 = tg.contract %y, %u [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x256xf16> -> tensor<64x256xf16>
  %2 = tg.mul %0, %1 : tensor<64x256xf16>, tensor<64x256xf16>
  return %2 : tensor<64x256xf16>
}

// A product of the first one's result comes after it.
// CHECK-LABEL: @chained
// CHECK-COUNT-2: tg.kernel
// WHY: G2: a contraction of another one's result
func.func @chained(%x: tensor<128x128xf16>, %w: tensor<128x128xf16>) -> tensor<128x128xf16> {
  %0 = tg.contract %x, %w [#mk, #kn, #mn] : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf16>
  %1 = tg.contract %0, %w [#mk, #kn, #mn] : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf16>
  return %1 : tensor<128x128xf16>
}

// Query, key and value read the same rows: one kernel with three results.
// CHECK-LABEL: @siblings
// CHECK: %[[QKV:.*]]:3 = tg.kernel
// CHECK-NOT: tg.kernel
func.func @siblings(%x: tensor<64x128xf16>, %q: tensor<128x128xf16>, %k: tensor<128x128xf16>, %v: tensor<128x128xf16>)
    -> (tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>) {
  %0 = tg.contract %x, %q [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x128xf16> -> tensor<64x128xf16>
  %1 = tg.contract %x, %k [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x128xf16> -> tensor<64x128xf16>
  %2 = tg.contract %x, %v [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x128xf16> -> tensor<64x128xf16>
  return %0, %1, %2 : tensor<64x128xf16>, tensor<64x128xf16>, tensor<64x128xf16>
}

// Keys go to their heads before they are rotated, values where they are read: the rotation reads the keys as the
// product has them, and both are one kernel.
// CHECK-LABEL: @moved_siblings
// CHECK: %[[KV:.*]]:2 = tg.kernel {{.*}} -> tensor<1x32x64xf16>, tensor<1x32x64xf16>
// CHECK: tg.kernel
// CHECK: tg.transpose
// CHECK: tg.neg
// CHECK-NOT: tg.kernel
// CHECK: return
func.func @moved_siblings(%x: tensor<1x32x128xf16>, %k: tensor<128x64xf16>, %v: tensor<128x64xf16>, %cos: tensor<32x16xf16>, %sin: tensor<32x16xf16>)
    -> (tensor<1x4x32x16xf16>, tensor<1x32x64xf16>) {
  %0 = tg.contract %x, %k [#rows, #columns, #made] : tensor<1x32x128xf16>, tensor<128x64xf16> -> tensor<1x32x64xf16>
  %1 = tg.contract %x, %v [#rows, #columns, #made] : tensor<1x32x128xf16>, tensor<128x64xf16> -> tensor<1x32x64xf16>
  %2 = tg.reshape %0 : tensor<1x32x64xf16> to tensor<1x32x4x16xf16>
  %3 = tg.transpose %2 [0, 2, 1, 3] : tensor<1x32x4x16xf16>
  %4 = tg.slice %3 offsets = [0, 0, 0, 0] strides = [1, 1, 1, 1] : tensor<1x4x32x16xf16> to tensor<1x4x32x8xf16>
  %5 = tg.slice %3 offsets = [0, 0, 0, 8] strides = [1, 1, 1, 1] : tensor<1x4x32x16xf16> to tensor<1x4x32x8xf16>
  %6 = tg.neg %5 : tensor<1x4x32x8xf16>
  %7 = tg.concat %6, %4 axis = 3 : tensor<1x4x32x8xf16>, tensor<1x4x32x8xf16>
  %8 = tg.mul %3, %cos : tensor<1x4x32x16xf16>, tensor<32x16xf16>
  %9 = tg.mul %7, %sin : tensor<1x4x32x16xf16>, tensor<32x16xf16>
  %10 = tg.add %8, %9 : tensor<1x4x32x16xf16>, tensor<1x4x32x16xf16>
  return %10, %1 : tensor<1x4x32x16xf16>, tensor<1x32x64xf16>
}

// With as many key heads as heads, queries and keys are together before the values come.
// CHECK-LABEL: @moved_siblings_of_three
// CHECK: tg.kernel {{.*}} -> tensor<1x32x64xf16>, tensor<1x32x64xf16>, tensor<1x32x64xf16>
// CHECK-COUNT-2: tg.kernel
// CHECK-NOT: tg.kernel
// CHECK: return
func.func @moved_siblings_of_three(%x: tensor<1x32x128xf16>, %q: tensor<128x64xf16>, %k: tensor<128x64xf16>, %v: tensor<128x64xf16>, %sin: tensor<32x1xf16>)
    -> (tensor<1x4x32x16xf16>, tensor<1x4x32x16xf16>, tensor<1x32x64xf16>) {
  %0 = tg.contract %x, %q [#rows, #columns, #made] : tensor<1x32x128xf16>, tensor<128x64xf16> -> tensor<1x32x64xf16>
  %1 = tg.contract %x, %k [#rows, #columns, #made] : tensor<1x32x128xf16>, tensor<128x64xf16> -> tensor<1x32x64xf16>
  %2 = tg.contract %x, %v [#rows, #columns, #made] : tensor<1x32x128xf16>, tensor<128x64xf16> -> tensor<1x32x64xf16>
  %3 = tg.reshape %0 : tensor<1x32x64xf16> to tensor<1x32x4x16xf16>
  %4 = tg.transpose %3 [0, 2, 1, 3] : tensor<1x32x4x16xf16>
  %5 = tg.reshape %1 : tensor<1x32x64xf16> to tensor<1x32x4x16xf16>
  %6 = tg.transpose %5 [0, 2, 1, 3] : tensor<1x32x4x16xf16>
  %7 = tg.slice %4 offsets = [0, 0, 0, 0] strides = [1, 1, 1, 1] : tensor<1x4x32x16xf16> to tensor<1x4x32x8xf16>
  %8 = tg.slice %4 offsets = [0, 0, 0, 8] strides = [1, 1, 1, 1] : tensor<1x4x32x16xf16> to tensor<1x4x32x8xf16>
  %9 = tg.concat %8, %7 axis = 3 : tensor<1x4x32x8xf16>, tensor<1x4x32x8xf16>
  %10 = tg.mul %9, %sin : tensor<1x4x32x16xf16>, tensor<32x1xf16>
  %11 = tg.slice %6 offsets = [0, 0, 0, 0] strides = [1, 1, 1, 1] : tensor<1x4x32x16xf16> to tensor<1x4x32x8xf16>
  %12 = tg.slice %6 offsets = [0, 0, 0, 8] strides = [1, 1, 1, 1] : tensor<1x4x32x16xf16> to tensor<1x4x32x8xf16>
  %13 = tg.concat %12, %11 axis = 3 : tensor<1x4x32x8xf16>, tensor<1x4x32x8xf16>
  %14 = tg.mul %13, %sin : tensor<1x4x32x16xf16>, tensor<32x1xf16>
  return %10, %14, %2 : tensor<1x4x32x16xf16>, tensor<1x4x32x16xf16>, tensor<1x32x64xf16>
}

// Movements that are results have no reader: the products stay apart.
// CHECK-LABEL: @moved_results
// CHECK-COUNT-2: tg.kernel
// CHECK: return
func.func @moved_results(%x: tensor<1x32x128xf16>, %k: tensor<128x64xf16>, %v: tensor<128x64xf16>) -> (tensor<1x4x32x16xf16>, tensor<1x32x64xf16>) {
  %0 = tg.contract %x, %k [#rows, #columns, #made] : tensor<1x32x128xf16>, tensor<128x64xf16> -> tensor<1x32x64xf16>
  %1 = tg.contract %x, %v [#rows, #columns, #made] : tensor<1x32x128xf16>, tensor<128x64xf16> -> tensor<1x32x64xf16>
  %2 = tg.reshape %0 : tensor<1x32x64xf16> to tensor<1x32x4x16xf16>
  %3 = tg.transpose %2 [0, 2, 1, 3] : tensor<1x32x4x16xf16>
  return %3, %1 : tensor<1x4x32x16xf16>, tensor<1x32x64xf16>
}

// Of other extents, or large enough to fill a device, they stay apart; so do a left and a right reader.
// CHECK-LABEL: @no_siblings
// CHECK-COUNT-5: tg.kernel
// WHY-DAG: G1: results of different dimensions
// WHY-DAG: G2: two large contractions with results of their own
func.func @no_siblings(%x: tensor<64x128xf16>, %q: tensor<128x128xf16>, %k: tensor<128x64xf16>, %l: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>, %u: tensor<4096x4096xf16>)
    -> (tensor<64x128xf16>, tensor<64x64xf16>, tensor<4096x4096xf16>, tensor<4096x4096xf16>, tensor<128x128xf16>) {
  %0 = tg.contract %x, %q [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x128xf16> -> tensor<64x128xf16>
  %1 = tg.contract %x, %k [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x64xf16> -> tensor<64x64xf16>
  %2 = tg.contract %l, %w [#mk, #kn, #mn] : tensor<4096x4096xf16>, tensor<4096x4096xf16> -> tensor<4096x4096xf16>
  %3 = tg.contract %l, %u [#mk, #kn, #mn] : tensor<4096x4096xf16>, tensor<4096x4096xf16> -> tensor<4096x4096xf16>
  %4 = tg.contract %q, %q [#mk, #kn, #mn] : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf16>
  return %0, %1, %2, %3, %4 : tensor<64x128xf16>, tensor<64x64xf16>, tensor<4096x4096xf16>, tensor<4096x4096xf16>, tensor<128x128xf16>
}

// Arithmetic between two contractions follows the first, once, however small they are.
// CHECK-LABEL: @follows
// CHECK: tg.kernel "gemm_mul_gelu_add"
// CHECK: tg.kernel "gemm" domain
// WHY: G2: 'cast' can be computed once, after the contraction that it reads
func.func @follows(%x: tensor<128x768xbf16>, %w: tensor<768x3072xbf16>, %v: tensor<3072x768xbf16>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<128x768xbf16> {
  %0 = tg.contract %x, %w [#mk, #kn, #mn] : tensor<128x768xbf16>, tensor<768x3072xbf16> -> tensor<128x3072xbf16>
  %1 = tg.cast %0 : tensor<128x3072xbf16> to tensor<128x3072xf32>
  %2 = tg.mul %1, %a : tensor<128x3072xf32>, tensor<f32>
  %3 = tg.erf %2 : tensor<128x3072xf32>
  %4 = tg.add %3, %b : tensor<128x3072xf32>, tensor<f32>
  %5 = tg.mul %1, %4 : tensor<128x3072xf32>, tensor<128x3072xf32>
  %6 = tg.cast %5 : tensor<128x3072xf32> to tensor<128x3072xbf16>
  %7 = tg.contract %6, %v [#mk, #kn, #mn] : tensor<128x3072xbf16>, tensor<3072x768xbf16> -> tensor<128x768xbf16>
  return %7 : tensor<128x768xbf16>
}

// Read by others too, the first contraction's result is stored anyway: the cheap op is computed where it is needed.
// CHECK-LABEL: @readtwice
// CHECK: tg.kernel "gemm" domain
// CHECK: tg.kernel "gemm_neg"
func.func @readtwice(%x: tensor<16x64xf16>, %w: tensor<64x64xf16>, %v: tensor<64x64xf16>) -> tensor<16x64xf16> {
  %0 = tg.contract %x, %w [#mk, #kn, #mn] : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf16>
  %1 = tg.neg %0 : tensor<16x64xf16>
  %2 = tg.contract %1, %v [#mk, #kn, #mn] : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf16>
  %3 = tg.add %2, %0 : tensor<16x64xf16>, tensor<16x64xf16>
  return %3 : tensor<16x64xf16>
}

// Values that are widened for a vector's products are no result of the product in front: its readers widen them.
// CHECK-LABEL: @widened
// CHECK: %[[X:.*]] = tg.kernel "gemm_add" {{.*}} -> tensor<1x128xf16>
// CHECK: tg.kernel {{.*}} -> tensor<1x64xf32>, tensor<1x64xf32>
// CHECK: return
// WHY: G5: arithmetic on widened values belongs to its consumer
func.func @widened(%a: tensor<1x128xf16>, %o: tensor<128x128xf16>, %g: tensor<128xf16>, %k: tensor<128x64xf32>, %v: tensor<128x64xf32>)
    -> (tensor<1x128xf16>, tensor<1x64xf32>, tensor<1x64xf32>) {
  %y = tg.contract %a, %o [#mk, #kn, #mn] : tensor<1x128xf16>, tensor<128x128xf16> -> tensor<1x128xf16>
  %x = tg.add %a, %y : tensor<1x128xf16>, tensor<1x128xf16>
  %x32 = tg.cast %x : tensor<1x128xf16> to tensor<1x128xf32>
  %g32 = tg.cast %g : tensor<128xf16> to tensor<128xf32>
  %n = tg.mul %g32, %x32 : tensor<128xf32>, tensor<1x128xf32>
  %0 = tg.contract %n, %k [#mk, #kn, #mn] : tensor<1x128xf32>, tensor<128x64xf32> -> tensor<1x64xf32>
  %1 = tg.contract %n, %v [#mk, #kn, #mn] : tensor<1x128xf32>, tensor<128x64xf32> -> tensor<1x64xf32>
  return %x, %0, %1 : tensor<1x128xf16>, tensor<1x64xf32>, tensor<1x64xf32>
}

// A map computes sums of few terms again where many of its elements share one.
// CHECK-LABEL: @shared
// CHECK-COUNT-1: tg.kernel
// CHECK-NOT: tg.kernel
// CHECK: return
func.func @shared(%x: tensor<8x65536xf16>, %p: tensor<8x10xf32>) -> tensor<8x16x4096xf32> {
  %0 = tg.reduce add %p axes = [1] keep_dims : tensor<8x10xf32>
  %1 = tg.cast %x : tensor<8x65536xf16> to tensor<8x65536xf32>
  %2 = tg.sub %1, %0 : tensor<8x65536xf32>, tensor<8x1xf32>
  %3 = tg.reshape %2 : tensor<8x65536xf32> to tensor<8x16x4096xf32>
  %4 = tg.exp %3 : tensor<8x16x4096xf32>
  return %4 : tensor<8x16x4096xf32>
}

// More than 512 terms; few elements for each sum; so many CTAs that the sums cost more than a kernel; so
// many sums that a tile cannot hold them.
// CHECK-LABEL: @terms
// CHECK-COUNT-2: tg.kernel
// CHECK-LABEL: @few
// CHECK-COUNT-2: tg.kernel
// CHECK-LABEL: @waves
// CHECK-COUNT-2: tg.kernel
// CHECK-LABEL: @columns
// CHECK-COUNT-2: tg.kernel
// CHECK: return
func.func @terms(%x: tensor<8x65536xf32>, %p: tensor<8x513xf32>) -> tensor<8x65536xf32> {
  %0 = tg.reduce add %p axes = [1] keep_dims : tensor<8x513xf32>
  %1 = tg.sub %x, %0 : tensor<8x65536xf32>, tensor<8x1xf32>
  return %1 : tensor<8x65536xf32>
}
func.func @few(%x: tensor<8x512xf32>, %p: tensor<8x10xf32>) -> tensor<8x512xf32> {
  %0 = tg.reduce add %p axes = [1] keep_dims : tensor<8x10xf32>
  %1 = tg.sub %x, %0 : tensor<8x512xf32>, tensor<8x1xf32>
  return %1 : tensor<8x512xf32>
}
func.func @waves(%x: tensor<8x16777216xf32>, %p: tensor<8x10xf32>) -> tensor<8x16777216xf32> {
  %0 = tg.reduce add %p axes = [1] keep_dims : tensor<8x10xf32>
  %1 = tg.sub %x, %0 : tensor<8x16777216xf32>, tensor<8x1xf32>
  return %1 : tensor<8x16777216xf32>
}
func.func @columns(%x: tensor<2048x4096xf32>, %p: tensor<32x4096xf32>) -> tensor<2048x4096xf32> {
  %0 = tg.reduce add %p axes = [0] keep_dims : tensor<32x4096xf32>
  %1 = tg.sub %x, %0 : tensor<2048x4096xf32>, tensor<1x4096xf32>
  return %1 : tensor<2048x4096xf32>
}

// For few rows quantised weights are in memory as they are stored, and so are scales that an index finds. Not what a run computes, and not
// for more rows than registers have room for.
// CHECK-LABEL: @stored_weights
// CHECK: tg.kernel {{.*}} -> tensor<48x64xf16>
// CHECK-NOT: tg.kernel
// CHECK: return
func.func @stored_weights(%x: tensor<48x256xf16>) -> tensor<48x64xf16> {
  %w = tg.weight <"w", 0, 8192> : tensor<64x256xui4>
  %s = tg.weight <"s", 0, 512> : tensor<64x4xf16>
  %g = tg.weight <"g", 0, 1024> : tensor<256xi32>
  %0 = tg.cast %w : tensor<64x256xui4> to tensor<64x256xf32>
  %1 = tg.gather %s, %g data_map = affine_map<(d0, d1)[s] -> (d0, s)> index_maps = [affine_map<(d0, d1) -> (d1)>] : tensor<64x4xf16>, tensor<256xi32> -> tensor<64x256xf16>
  %2 = tg.cast %1 : tensor<64x256xf16> to tensor<64x256xf32>
  %3 = tg.mul %0, %2 : tensor<64x256xf32>, tensor<64x256xf32>
  %4 = tg.cast %3 : tensor<64x256xf32> to tensor<64x256xf16>
  %5 = tg.contract %x, %4 [#mk, #nk, #mn] : tensor<48x256xf16>, tensor<64x256xf16> -> tensor<48x64xf16>
  return %5 : tensor<48x64xf16>
}

// CHECK-LABEL: @stored_weights_many_rows
// CHECK: tg.kernel {{.*}} -> tensor<64x256xf16>
// CHECK: tg.kernel {{.*}} -> tensor<65x64xf16>
// CHECK: return
func.func @stored_weights_many_rows(%x: tensor<65x256xf16>) -> tensor<65x64xf16> {
  %w = tg.weight <"w", 0, 8192> : tensor<64x256xui4>
  %s = tg.weight <"s", 0, 512> : tensor<64x4xf16>
  %g = tg.weight <"g", 0, 1024> : tensor<256xi32>
  %0 = tg.cast %w : tensor<64x256xui4> to tensor<64x256xf32>
  %1 = tg.gather %s, %g data_map = affine_map<(d0, d1)[s] -> (d0, s)> index_maps = [affine_map<(d0, d1) -> (d1)>] : tensor<64x4xf16>, tensor<256xi32> -> tensor<64x256xf16>
  %2 = tg.cast %1 : tensor<64x256xf16> to tensor<64x256xf32>
  %3 = tg.mul %0, %2 : tensor<64x256xf32>, tensor<64x256xf32>
  %4 = tg.cast %3 : tensor<64x256xf32> to tensor<64x256xf16>
  %5 = tg.contract %x, %4 [#mk, #nk, #mn] : tensor<65x256xf16>, tensor<64x256xf16> -> tensor<65x64xf16>
  return %5 : tensor<65x64xf16>
}

// CHECK-LABEL: @made_weights
// CHECK: tg.kernel {{.*}} -> tensor<64x256xf16>
// CHECK: tg.kernel {{.*}} -> tensor<48x64xf16>
// WHY: 'gather' before a contraction
func.func @made_weights(%x: tensor<48x256xf16>, %s: tensor<64x4xf16>, %g: tensor<256xi32>) -> tensor<48x64xf16> {
  %w = tg.weight <"w", 0, 8192> : tensor<64x256xui4>
  %0 = tg.cast %w : tensor<64x256xui4> to tensor<64x256xf32>
  %1 = tg.gather %s, %g data_map = affine_map<(d0, d1)[s] -> (d0, s)> index_maps = [affine_map<(d0, d1) -> (d1)>] : tensor<64x4xf16>, tensor<256xi32> -> tensor<64x256xf16>
  %2 = tg.cast %1 : tensor<64x256xf16> to tensor<64x256xf32>
  %3 = tg.mul %0, %2 : tensor<64x256xf32>, tensor<64x256xf32>
  %4 = tg.cast %3 : tensor<64x256xf32> to tensor<64x256xf16>
  %5 = tg.contract %x, %4 [#mk, #nk, #mn] : tensor<48x256xf16>, tensor<64x256xf16> -> tensor<48x64xf16>
  return %5 : tensor<48x64xf16>
}
