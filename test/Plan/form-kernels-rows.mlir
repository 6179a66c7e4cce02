// RUN: weft-opt %s --weft-plan=gpu=true --remark-policy=all --remarks-filter=fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

// Rows whose values are read at other places of the row, rows of several tensors, and vectors in front of products.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Behind a norm a row is read at other places of the same row (a rotary embedding), and in front of it the row is one
// of two streams: one kernel.
// CHECK-LABEL: @rotated_rows
// CHECK: tg.kernel
// CHECK-NOT: tg.kernel
// CHECK: return
func.func @rotated_rows(%a: tensor<4x16x64xf16>, %b: tensor<4x48x64xf16>, %w: tensor<64xf16>, %cos: tensor<64x64xf16>, %sin: tensor<64x64xf16>) -> tensor<4x64x64xf16> {
  %x = tg.concat %a, %b axis = 1 : tensor<4x16x64xf16>, tensor<4x48x64xf16>
  %0 = tg.cast %x : tensor<4x64x64xf16> to tensor<4x64x64xf32>
  %1 = tg.mul %0, %0 : tensor<4x64x64xf32>, tensor<4x64x64xf32>
  %2 = tg.reduce add %1 axes = [2] keep_dims : tensor<4x64x64xf32>
  %3 = tg.rsqrt %2 : tensor<4x64x1xf32>
  %4 = tg.mul %0, %3 : tensor<4x64x64xf32>, tensor<4x64x1xf32>
  %5 = tg.cast %4 : tensor<4x64x64xf32> to tensor<4x64x64xf16>
  %y = tg.mul %5, %w : tensor<4x64x64xf16>, tensor<64xf16>
  %6 = tg.slice %y offsets = [0, 0, 32] strides = [1, 1, 1] : tensor<4x64x64xf16> to tensor<4x64x32xf16>
  %7 = tg.neg %6 : tensor<4x64x32xf16>
  %8 = tg.slice %y offsets = [0, 0, 0] strides = [1, 1, 1] : tensor<4x64x64xf16> to tensor<4x64x32xf16>
  %9 = tg.concat %7, %8 axis = 2 : tensor<4x64x32xf16>, tensor<4x64x32xf16>
  %10 = tg.mul %y, %cos : tensor<4x64x64xf16>, tensor<64x64xf16>
  %11 = tg.mul %9, %sin : tensor<4x64x64xf16>, tensor<64x64xf16>
  %12 = tg.add %10, %11 : tensor<4x64x64xf16>, tensor<4x64x64xf16>
  return %12 : tensor<4x64x64xf16>
}

// Places of other rows are not at hand: half of the rows behind a norm of all.
// CHECK-LABEL: @rows_of_others
// CHECK-COUNT-2: tg.kernel
// WHY: G3: 'slice' does not go by rows
func.func @rows_of_others(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %2 = tg.reduce add %a axes = [1] keep_dims : tensor<64x64xf32>
  %3 = tg.exp %2 : tensor<64x1xf32>
  %y = tg.mul %a, %3 : tensor<64x64xf32>, tensor<64x1xf32>
  %6 = tg.slice %y offsets = [32, 0] strides = [1, 1] : tensor<64x64xf32> to tensor<32x64xf32>
  %8 = tg.slice %y offsets = [0, 0] strides = [1, 1] : tensor<64x64xf32> to tensor<32x64xf32>
  %9 = tg.concat %6, %8 axis = 0 : tensor<32x64xf32>, tensor<32x64xf32>
  %12 = tg.add %y, %9 : tensor<64x64xf32>, tensor<64x64xf32>
  return %12 : tensor<64x64xf32>
}

// A part of the row that leaves the kernel is a result of other dimensions.
// CHECK-LABEL: @parts_of_rows
// CHECK-COUNT-2: tg.kernel
func.func @parts_of_rows(%a: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x32xf32>) {
  %2 = tg.reduce add %a axes = [1] keep_dims : tensor<64x64xf32>
  %3 = tg.exp %2 : tensor<64x1xf32>
  %y = tg.mul %a, %3 : tensor<64x64xf32>, tensor<64x1xf32>
  %6 = tg.slice %y offsets = [0, 32] strides = [1, 1] : tensor<64x64xf32> to tensor<64x32xf32>
  %8 = tg.slice %y offsets = [0, 0] strides = [1, 1] : tensor<64x64xf32> to tensor<64x32xf32>
  %9 = tg.concat %6, %8 axis = 1 : tensor<64x32xf32>, tensor<64x32xf32>
  %12 = tg.add %y, %9 : tensor<64x64xf32>, tensor<64x64xf32>
  return %12, %6 : tensor<64x64xf32>, tensor<64x32xf32>
}

// Along the axis that is reduced a concatenation would be two sums.
// CHECK-LABEL: @joined_rows
// CHECK-COUNT-2: tg.kernel
// WHY: G3: 'concat' in a row
func.func @joined_rows(%a: tensor<64x64xf32>, %b: tensor<64x32xf32>) -> tensor<64x96xf32> {
  %x = tg.concat %a, %b axis = 1 : tensor<64x64xf32>, tensor<64x32xf32>
  %2 = tg.reduce add %x axes = [1] keep_dims : tensor<64x96xf32>
  %y = tg.mul %x, %2 : tensor<64x96xf32>, tensor<64x1xf32>
  return %y : tensor<64x96xf32>
}

// What each CTA of a product of one row computes again: four columns have a CTA. SiLU is a kernel in front of many
// columns, and part of the product of few.
// CHECK-LABEL: @vector_of_many
// CHECK-COUNT-2: tg.kernel
// WHY: computing 'mul' again for each tile costs
func.func @vector_of_many(%x: tensor<1x3072xf16>, %w: tensor<18432x3072xf16>) -> tensor<1x18432xf16> {
  %0 = tg.sigmoid %x : tensor<1x3072xf16>
  %1 = tg.mul %x, %0 : tensor<1x3072xf16>, tensor<1x3072xf16>
  %2 = tg.contract %1, %w [#mk, #nk, #mn] : tensor<1x3072xf16>, tensor<18432x3072xf16> -> tensor<1x18432xf16>
  return %2 : tensor<1x18432xf16>
}

// CHECK-LABEL: @vector_of_few
// CHECK: tg.kernel
// CHECK-NOT: tg.kernel
// CHECK: return
func.func @vector_of_few(%x: tensor<1x1024xf16>, %w: tensor<512x1024xf16>) -> tensor<1x512xf16> {
  %0 = tg.sigmoid %x : tensor<1x1024xf16>
  %1 = tg.mul %x, %0 : tensor<1x1024xf16>, tensor<1x1024xf16>
  %2 = tg.contract %1, %w [#mk, #nk, #mn] : tensor<1x1024xf16>, tensor<512x1024xf16> -> tensor<1x512xf16>
  return %2 : tensor<1x512xf16>
}
