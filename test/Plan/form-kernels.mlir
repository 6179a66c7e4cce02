// RUN: weft-opt %s --weft-plan | FileCheck %s
// RUN: weft-opt %s --weft-plan=fuse=false | FileCheck %s --check-prefix=APART

// A contraction takes its epilogue, diamonds included (silu: x * sigmoid(x)).
// CHECK-LABEL: @epilogue
// CHECK: tg.kernel "gemm_add_sigmoid_mul"
// CHECK-NOT: tg.kernel
// APART-LABEL: @epilogue
// APART-COUNT-4: tg.kernel
func.func @epilogue(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %bias: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %1 = tg.add %0, %bias : tensor<4x16xf32>, tensor<16xf32>
  %2 = tg.sigmoid %1 : tensor<4x16xf32>
  %3 = tg.mul %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// Softmax is one loop over rows.
// CHECK-LABEL: @softmax
// CHECK: tg.kernel "softmax"
// CHECK-NOT: tg.kernel
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.reduce max %x axes = [1] keep_dims : tensor<4x8xf32>
  %1 = tg.sub %x, %0 : tensor<4x8xf32>, tensor<4x1xf32>
  %2 = tg.exp %1 : tensor<4x8xf32>
  %3 = tg.reduce add %2 axes = [1] keep_dims : tensor<4x8xf32>
  %4 = tg.div %2, %3 : tensor<4x8xf32>, tensor<4x1xf32>
  return %4 : tensor<4x8xf32>
}

// R1: a value that is needed outside is stored by its own kernel.
// CHECK-LABEL: @multi_use
// CHECK: tg.kernel "exp"
// CHECK: tg.kernel "neg_abs"
func.func @multi_use(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.exp %x : tensor<4xf32>
  %1 = tg.neg %0 : tensor<4xf32>
  %2 = tg.abs %1 : tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// R2: the second contraction of a chain starts a kernel; a prologue does not fuse into it.
// CHECK-LABEL: @chain
// CHECK: tg.kernel "gemm_exp"
// CHECK: tg.kernel "gemm"
func.func @chain(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tg.contract %a, %a [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = tg.exp %0 : tensor<4x4xf32>
  %2 = tg.contract %1, %a [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// R2: what a stored weight becomes is computed by the product that reads it, if neighbours of the result are its own and no one else reads it.
// CHECK-LABEL: @unpacked
// CHECK: tg.kernel "gemm"
// CHECK-NOT: tg.kernel
// CHECK: return
// CHECK-LABEL: @unpacked_for_two
// CHECK-COUNT-3: tg.kernel
func.func @unpacked(%a: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %w = tg.constant dense<3> : tensor<8x16xi8>
  %s = tg.constant dense<0.5> : tensor<16xf32>
  %0 = tg.cast %w : tensor<8x16xi8> to tensor<8x16xf32>
  %1 = tg.mul %0, %s : tensor<8x16xf32>, tensor<16xf32>
  %2 = tg.contract %a, %1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

func.func @unpacked_for_two(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %w = tg.constant dense<3> : tensor<8x16xi8>
  %s = tg.constant dense<0.5> : tensor<16xf32>
  %0 = tg.cast %w : tensor<8x16xi8> to tensor<8x16xf32>
  %1 = tg.mul %0, %s : tensor<8x16xf32>, tensor<16xf32>
  %2 = tg.contract %a, %1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %3 = tg.contract %b, %1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %2, %3 : tensor<4x16xf32>, tensor<4x16xf32>
}

// R3: reductions over different axes are two kernels.
// CHECK-LABEL: @two_axes
// CHECK: tg.kernel "sum"
// CHECK: tg.kernel "sum"
func.func @two_axes(%x: tensor<4x8xf32>) -> tensor<1x1xf32> {
  %0 = tg.reduce add %x axes = [1] keep_dims : tensor<4x8xf32>
  %1 = tg.reduce add %0 axes = [0] keep_dims : tensor<4x1xf32>
  return %1 : tensor<1x1xf32>
}

// R3: rows of other dimensions, though as long as each other, are another kernel's.
// CHECK-LABEL: @other_rows
// CHECK: tg.kernel "sum" ->
// CHECK: tg.kernel "sum_add"
func.func @other_rows(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>) -> tensor<8xf32> {
  %0 = tg.reduce add %x axes = [1] : tensor<8x6xf32>
  %1 = tg.reduce add %y axes = [1] : tensor<8x6xf32>
  %2 = tg.add %0, %1 : tensor<8xf32>, tensor<8xf32>
  return %2 : tensor<8xf32>
}

// R3: the cast of a scale joins the rows that it scales, whether there are as many of them as places in a row or not.
// CHECK-LABEL: @scaled_rows
// CHECK: tg.kernel "max_mul"
// CHECK: tg.kernel "max_mul"
func.func @scaled_rows(%x: tensor<8x6xf32>, %y: tensor<6x6xf32>, %w: tensor<6xf16>, %v: tensor<6xf16>) -> (tensor<8x6xf32>, tensor<6x6xf32>) {
  %0 = tg.reduce max %x axes = [1] keep_dims : tensor<8x6xf32>
  %1 = tg.cast %w : tensor<6xf16> to tensor<6xf32>
  %2 = tg.mul %x, %0 : tensor<8x6xf32>, tensor<8x1xf32>
  %3 = tg.mul %2, %1 : tensor<8x6xf32>, tensor<6xf32>
  %4 = tg.reduce max %y axes = [1] keep_dims : tensor<6x6xf32>
  %5 = tg.cast %v : tensor<6xf16> to tensor<6xf32>
  %6 = tg.mul %y, %4 : tensor<6x6xf32>, tensor<6x1xf32>
  %7 = tg.mul %6, %5 : tensor<6x6xf32>, tensor<6xf32>
  return %3, %7 : tensor<8x6xf32>, tensor<6x6xf32>
}

// R3: what costs more than a few instructions is not computed again for each row.
// CHECK-LABEL: @costly_scale
// CHECK: tg.kernel "exp"
// CHECK: tg.kernel "max_mul"
func.func @costly_scale(%x: tensor<6x6xf32>, %w: tensor<6xf32>) -> tensor<6x6xf32> {
  %0 = tg.reduce max %x axes = [1] keep_dims : tensor<6x6xf32>
  %1 = tg.exp %w : tensor<6xf32>
  %2 = tg.mul %x, %0 : tensor<6x6xf32>, tensor<6x1xf32>
  %3 = tg.mul %2, %1 : tensor<6x6xf32>, tensor<6xf32>
  return %3 : tensor<6x6xf32>
}

// R3: a view of a value of the group would mix its rows, though the extents are those of rows.
// CHECK-LABEL: @transposed_rows
// CHECK: tg.kernel "exp_add"
// CHECK: tg.kernel "sum"
func.func @transposed_rows(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = tg.exp %x : tensor<8x8xf32>
  %1 = tg.transpose %0 [1, 0] : tensor<8x8xf32>
  %2 = tg.add %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
  %3 = tg.reduce add %2 axes = [1] : tensor<8x8xf32>
  return %3 : tensor<8xf32>
}

// R4: no recomputation under a broadcast; an iota is free.
// CHECK-LABEL: @broadcast
// CHECK: tg.kernel "exp"
// CHECK: tg.kernel "iota_add_mul"
func.func @broadcast(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.exp %x : tensor<8xf32>
  %i = tg.iota 0 : tensor<8xf32>
  %1 = tg.add %y, %i : tensor<4x8xf32>, tensor<8xf32>
  %2 = tg.mul %1, %0 : tensor<4x8xf32>, tensor<8xf32>
  return %2 : tensor<4x8xf32>
}

// R5: a pooling is one kernel.
// CHECK-LABEL: @pool
// CHECK: tg.kernel "max_window"
// CHECK-NOT: tg.kernel
func.func @pool(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %0 = tg.window %x dims = [2, 3] sizes = [2, 2] strides = [2, 2] dilations = [1, 1] : tensor<1x2x8x8xf32>
  %1 = tg.reduce max %0 axes = [4, 5] : tensor<1x2x4x4x2x2xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// Views compose with elementwise ops; renamings of dense memory stay outside; R6: a concat is a kernel of its own.
// CHECK-LABEL: @views
// CHECK: tg.reshape
// CHECK: tg.kernel "neg"
// CHECK: tg.kernel "concat"
func.func @views(%x: tensor<32xf32>) -> tensor<16x4xf32> {
  %0 = tg.reshape %x : tensor<32xf32> to tensor<4x8xf32>
  %1 = tg.transpose %0 [1, 0] : tensor<4x8xf32>
  %2 = tg.neg %1 : tensor<8x4xf32>
  %3 = tg.concat %2, %2 axis = 0 : tensor<8x4xf32>, tensor<8x4xf32>
  return %3 : tensor<16x4xf32>
}
