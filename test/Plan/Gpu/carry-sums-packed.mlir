// The norm of one row between GEMMs of packed weights: the GEMM in front, whose warps multiply the row as they would a matrix, has the row in its
// tiles. It stores the row times g and the sums of each tile's squares; the GEMM behind takes the row in 16 bits and scales its sums.
// RUN: weft-opt %s --split-input-file --weft-plan="gpu=true target=sm_90a" --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (j, k)>
#y = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @row
// CHECK: tg.kernel {{.*}} -> tensor<1x4096xbf16>, tensor<1x256xf32>, tensor<1x4096xbf16> {
// CHECK: tg.contract
// CHECK: tg.reduce add
// CHECK: tg.yield
// CHECK: tg.kernel {{.*}} -> tensor<1x8192xbf16> {
// CHECK-NOT: tg.mul {{.*}}4096xbf16>
// CHECK: tg.contract {{.*}} -> tensor<1x8192xf32>
// CHECK: tg.yield
// CHECK-NOT: tg.kernel
// CHECK: return
// WHY: [Passed] delayed-scale {{.*}}sums of 16 elements of each row beside the GEMM in front
func.func @row(%a: tensor<1x4096xbf16>, %q: tensor<4096x128x32xui4>, %s: tensor<4096x128x1xbf16>, %x: tensor<1x4096xbf16>, %g: tensor<4096xbf16>,
    %r: tensor<8192x128x32xui4>, %t: tensor<8192x128x1xbf16>) -> (tensor<1x4096xbf16>, tensor<1x8192xbf16>) {
  %eps = tg.constant dense<0.001> : tensor<f32>
  %0 = tg.cast %q : tensor<4096x128x32xui4> to tensor<4096x128x32xbf16>
  %1 = tg.mul %0, %s : tensor<4096x128x32xbf16>, tensor<4096x128x1xbf16>
  %2 = tg.reshape %1 : tensor<4096x128x32xbf16> to tensor<4096x4096xbf16>
  %p = tg.contract %a, %2 [#x, #w, #y] : tensor<1x4096xbf16>, tensor<4096x4096xbf16> -> tensor<1x4096xbf16>
  %h = tg.add %x, %p : tensor<1x4096xbf16>, tensor<1x4096xbf16>
  %h32 = tg.cast %h : tensor<1x4096xbf16> to tensor<1x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<1x4096xf32>, tensor<1x4096xf32>
  %sum = tg.reduce add %sq axes = [1] keep_dims : tensor<1x4096xf32>
  %e = tg.add %sum, %eps : tensor<1x1xf32>, tensor<f32>
  %rs = tg.rsqrt %e : tensor<1x1xf32>
  %n = tg.mul %h32, %rs : tensor<1x4096xf32>, tensor<1x1xf32>
  %n16 = tg.cast %n : tensor<1x4096xf32> to tensor<1x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<1x4096xbf16>
  %3 = tg.cast %r : tensor<8192x128x32xui4> to tensor<8192x128x32xbf16>
  %4 = tg.mul %3, %t : tensor<8192x128x32xbf16>, tensor<8192x128x1xbf16>
  %5 = tg.reshape %4 : tensor<8192x128x32xbf16> to tensor<8192x4096xbf16>
  %y1 = tg.contract %y, %5 [#x, #w, #y] : tensor<1x4096xbf16>, tensor<8192x4096xbf16> -> tensor<1x8192xbf16>
  return %h, %y1 : tensor<1x4096xbf16>, tensor<1x8192xbf16>
}
