// Sums of a norm's rows by the product in front, where that is right and pays.
// RUN: weft-opt %s --split-input-file --weft-delay-scales=target=sm_90a --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-plan="gpu=true target=sm_90a" | FileCheck %s --check-prefix=PLAN

#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// RMSNorm of a residual block's row, in front of two products of equal extents: the row times its weights, once, and
// the sums of each 128 places of its squares; the products add them up, and scale. The kernel of the product in front
// has three results, and nobody else reads the row for the norm.
// CHECK-LABEL: func.func @norm
// CHECK: %[[H:.*]] = tg.add %arg2, %{{.*}} : tensor<512x4096xbf16>
// CHECK: %[[SQ:.*]] = tg.mul %[[H32:.*]], %[[H32]] : tensor<512x4096xf32>
// CHECK: %[[XG32:.*]] = tg.mul %{{.*}}, %{{.*}} : tensor<512x4096xf32>, tensor<4096xf32>
// CHECK: %[[XG:.*]] = tg.cast %[[XG32]] : tensor<512x4096xf32> to tensor<512x4096xbf16>
// CHECK: %[[CUT:.*]] = tg.reshape %[[SQ]] : tensor<512x4096xf32> to tensor<512x32x128xf32>
// CHECK: %[[PARTS:.*]] = tg.reduce add %[[CUT]] axes = [2] : tensor<512x32x128xf32>
// CHECK: %[[SUM:.*]] = tg.reduce add %[[PARTS]] axes = [1] keep_dims : tensor<512x32xf32>
// CHECK: %[[R:.*]] = tg.rsqrt
// CHECK: %[[Y1:.*]] = tg.contract %[[XG]], %arg4 {{.*}} -> tensor<512x14336xf32>
// CHECK: tg.mul %[[Y1]], %[[R]] : tensor<512x14336xf32>, tensor<512x1xf32>
// CHECK: %[[Y2:.*]] = tg.contract %[[XG]], %arg5 {{.*}} -> tensor<512x14336xf32>
// CHECK: tg.mul %[[Y2]], %[[R]]
// WHY: [Passed] delayed-scale {{.*}}sums of 128 elements of each row beside the GEMM in front: {{.*}} us in the kernels of the GEMMs, {{.*}} us in one of the norm
// PLAN-LABEL: func.func @norm
// PLAN: tg.kernel {{.*}} -> tensor<512x4096xbf16>, tensor<{{32x512|512x32}}xf32>, tensor<512x4096xbf16> {
// PLAN: tg.contract
// PLAN: tg.reduce add
// PLAN: tg.yield
// PLAN: tg.kernel {{.*}} -> tensor<512x14336xbf16> {
// PLAN-COUNT-2: tg.contract
// PLAN: tg.yield
// PLAN-NOT: tg.kernel
// PLAN: return
func.func @norm(%a: tensor<512x4096xbf16>, %o: tensor<4096x4096xbf16>, %x: tensor<512x4096xbf16>, %g: tensor<4096xbf16>,
    %w1: tensor<4096x14336xbf16>, %w2: tensor<4096x14336xbf16>) -> (tensor<512x4096xbf16>, tensor<512x14336xbf16>) {
  %eps = tg.constant dense<0.001> : tensor<f32>
  %p = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
  %h = tg.add %x, %p : tensor<512x4096xbf16>, tensor<512x4096xbf16>
  %h32 = tg.cast %h : tensor<512x4096xbf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %e = tg.add %s, %eps : tensor<512x1xf32>, tensor<f32>
  %r = tg.rsqrt %e : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<512x4096xbf16>
  %y1 = tg.contract %y, %w1 [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x14336xbf16> -> tensor<512x14336xbf16>
  %y2 = tg.contract %y, %w2 [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x14336xbf16> -> tensor<512x14336xbf16>
  %z = tg.mul %y1, %y2 : tensor<512x14336xbf16>, tensor<512x14336xbf16>
  return %h, %z : tensor<512x4096xbf16>, tensor<512x14336xbf16>
}


// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Weights of f16 that are at most 3: a row of f16 is stored times 1/4, so that it fits where the row did, and the product
// times 4.
// CHECK-LABEL: func.func @bounded
// CHECK: %[[QUARTER:.*]] = tg.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[SMALL:.*]] = tg.mul %{{.*}}, %[[QUARTER]]
// CHECK: %[[XG:.*]] = tg.cast %[[SMALL]] : tensor<512x4096xf32> to tensor<512x4096xf16>
// CHECK: %[[Y:.*]] = tg.contract %[[XG]], %arg2
// CHECK: %[[S:.*]] = tg.mul %[[Y]], %{{.*}} : tensor<512x14336xf32>, tensor<512x1xf32>
// CHECK: %[[FOUR:.*]] = tg.constant dense<4.000000e+00> : tensor<f32>
// CHECK: tg.mul %[[S]], %[[FOUR]]
// WHY: [Passed] delayed-scale
func.func @bounded(%a: tensor<512x4096xf16>, %o: tensor<4096x4096xf16>, %w: tensor<4096x14336xf16>) -> tensor<512x14336xf16> {
  %h = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x4096xf16> -> tensor<512x4096xf16>
  %h32 = tg.cast %h : tensor<512x4096xf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xf16>
  %g = tg.constant dense<3.0> : tensor<4096xf16>
  %y = tg.mul %g, %n16 : tensor<4096xf16>, tensor<512x4096xf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x14336xf16> -> tensor<512x14336xf16>
  return %z : tensor<512x14336xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Small weights: a row that f16 holds well is not stored times 1/32, where much of it would be subnormal.
// CHECK-LABEL: func.func @small
// CHECK: %[[UP:.*]] = tg.constant dense<3.200000e+01> : tensor<f32>
// CHECK: tg.mul %{{.*}}, %[[UP]]
// CHECK: tg.constant dense<3.125000e-02> : tensor<f32>
// WHY: [Passed] delayed-scale
func.func @small(%a: tensor<512x4096xf16>, %o: tensor<4096x4096xf16>, %w: tensor<4096x14336xf16>) -> tensor<512x14336xf16> {
  %h = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x4096xf16> -> tensor<512x4096xf16>
  %h32 = tg.cast %h : tensor<512x4096xf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xf16>
  %g = tg.constant dense<0.03125> : tensor<4096xf16>
  %y = tg.mul %g, %n16 : tensor<4096xf16>, tensor<512x4096xf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x14336xf16> -> tensor<512x14336xf16>
  return %z : tensor<512x14336xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// One weight of 65 would take 7 of the binary orders of all others.
// CHECK-LABEL: func.func @outlier
// CHECK: tg.contract %arg0, %arg1
// CHECK: tg.contract %{{.*}}, %arg2
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: without its scale the norm might not fit f16
func.func @outlier(%a: tensor<512x4096xf16>, %o: tensor<4096x4096xf16>, %w: tensor<4096x14336xf16>) -> tensor<512x14336xf16> {
  %h = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x4096xf16> -> tensor<512x4096xf16>
  %h32 = tg.cast %h : tensor<512x4096xf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xf16>
  %g = tg.constant dense<65.0> : tensor<4096xf16>
  %y = tg.mul %g, %n16 : tensor<4096xf16>, tensor<512x4096xf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x14336xf16> -> tensor<512x14336xf16>
  return %z : tensor<512x14336xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// A row of f32 (a residual stream) may be larger than f16 holds; its norm is not.
// CHECK-LABEL: func.func @wide
// CHECK: tg.contract %arg0, %arg1
// CHECK: tg.contract %{{.*}}, %arg2
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: without its scale the norm might not fit f16
func.func @wide(%a: tensor<512x4096xf16>, %o: tensor<4096x4096xf16>, %w: tensor<4096x14336xf16>) -> tensor<512x14336xf16> {
  %h32 = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x4096xf16> -> tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xf16>
  %g = tg.constant dense<1.0> : tensor<4096xf16>
  %y = tg.mul %g, %n16 : tensor<4096xf16>, tensor<512x4096xf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x14336xf16> -> tensor<512x14336xf16>
  return %z : tensor<512x14336xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Weights that nobody knows: without its scale a row of f16 might not fit.
// CHECK-LABEL: func.func @unbounded
// CHECK: tg.contract %arg0, %arg1
// CHECK: tg.contract %{{.*}}, %arg3
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: without its scale the norm might not fit f16
func.func @unbounded(%a: tensor<512x4096xf16>, %o: tensor<4096x4096xf16>, %g: tensor<4096xf16>, %w: tensor<4096x14336xf16>) -> tensor<512x14336xf16> {
  %h = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x4096xf16> -> tensor<512x4096xf16>
  %h32 = tg.cast %h : tensor<512x4096xf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xf16>
  %y = tg.mul %g, %n16 : tensor<4096xf16>, tensor<512x4096xf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x14336xf16> -> tensor<512x14336xf16>
  return %z : tensor<512x14336xf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// No product makes the row.
// CHECK-LABEL: func.func @input
// CHECK: %[[Y:.*]] = tg.mul %arg1
// CHECK-NEXT: tg.contract %[[Y]], %arg2
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: none makes them
func.func @input(%h: tensor<512x4096xbf16>, %g: tensor<4096xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<512x14336xbf16> {
  %h32 = tg.cast %h : tensor<512x4096xbf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<512x4096xbf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x14336xbf16> -> tensor<512x14336xbf16>
  return %z : tensor<512x14336xbf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Two sums of each row; a sum of what is not made from the row alone; a largest element.
// CHECK-LABEL: func.func @two
// CHECK: tg.contract %{{.*}}, %arg3
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: two sums of each
func.func @two(%a: tensor<512x4096xbf16>, %o: tensor<4096x4096xbf16>, %g: tensor<4096xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<512x14336xbf16> {
  %h = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
  %h32 = tg.cast %h : tensor<512x4096xbf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s1 = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %s2 = tg.reduce add %h32 axes = [1] keep_dims : tensor<512x4096xf32>
  %s = tg.add %s1, %s2 : tensor<512x1xf32>, tensor<512x1xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<512x4096xbf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x14336xbf16> -> tensor<512x14336xbf16>
  return %z : tensor<512x14336xbf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @other
// CHECK: tg.contract %{{.*}}, %arg3
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: the sum is of more than the row
func.func @other(%a: tensor<512x4096xbf16>, %o: tensor<4096x4096xbf16>, %g: tensor<4096xbf16>, %w: tensor<4096x14336xbf16>, %u: tensor<512x4096xf32>) -> tensor<512x14336xbf16> {
  %h = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
  %h32 = tg.cast %h : tensor<512x4096xbf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %hu = tg.mul %h32, %u : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %hu axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<512x4096xbf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x14336xbf16> -> tensor<512x14336xbf16>
  return %z : tensor<512x14336xbf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @largest
// CHECK: tg.contract %{{.*}}, %arg3
// CHECK-NEXT: return
// WHY: [Missed] no-delayed-scale {{.*}}no GEMM in front can add up its rows: what is needed of them is no sum in f32
func.func @largest(%a: tensor<512x4096xbf16>, %o: tensor<4096x4096xbf16>, %g: tensor<4096xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<512x14336xbf16> {
  %h = tg.contract %a, %o [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
  %h32 = tg.cast %h : tensor<512x4096xbf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce max %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<512x4096xbf16>
  %z = tg.contract %y, %w [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x14336xbf16> -> tensor<512x14336xbf16>
  return %z : tensor<512x14336xbf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// A long product in front: its tiles lose more than the norm's kernel takes, but less than estimates of 60 us tell apart.
// The plan with fewer kernels.
// CHECK-LABEL: func.func @tie
// CHECK: tg.reduce add %{{.*}} axes = [2] : tensor<512x32x128xf32>
// WHY: [Passed] delayed-scale {{.*}}sums of 128 elements of each row beside the GEMM in front: 5.{{.}} us in the kernels of the GEMMs, 4.{{.}} us in one of the norm
func.func @tie(%a: tensor<512x8192xbf16>, %o: tensor<8192x4096xbf16>, %x: tensor<512x4096xbf16>, %g: tensor<4096xbf16>,
    %w1: tensor<4096x4096xbf16>, %w2: tensor<4096x1024xbf16>) -> (tensor<512x4096xbf16>, tensor<512x4096xbf16>, tensor<512x1024xbf16>) {
  %p = tg.contract %a, %o [#x, #w, #y] : tensor<512x8192xbf16>, tensor<8192x4096xbf16> -> tensor<512x4096xbf16>
  %h = tg.add %x, %p : tensor<512x4096xbf16>, tensor<512x4096xbf16>
  %h32 = tg.cast %h : tensor<512x4096xbf16> to tensor<512x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<512x4096xf32>, tensor<512x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<512x4096xf32>
  %r = tg.rsqrt %s : tensor<512x1xf32>
  %n = tg.mul %h32, %r : tensor<512x4096xf32>, tensor<512x1xf32>
  %n16 = tg.cast %n : tensor<512x4096xf32> to tensor<512x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<512x4096xbf16>
  %q = tg.contract %y, %w1 [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
  %k = tg.contract %y, %w2 [#x, #w, #y] : tensor<512x4096xbf16>, tensor<4096x1024xbf16> -> tensor<512x1024xbf16>
  return %h, %q, %k : tensor<512x4096xbf16>, tensor<512x4096xbf16>, tensor<512x1024xbf16>
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Of 2048 rows it loses more than that.
// CHECK-LABEL: func.func @loss
// CHECK-NOT: axes = [2]
// WHY: [Missed] no-delayed-scale {{.*}}sums of 128 elements of each row beside the GEMM in front: {{.*}} us in the kernels of the GEMMs, {{.*}} us in one of the norm
func.func @loss(%a: tensor<2048x4096xbf16>, %o: tensor<4096x4096xbf16>, %x: tensor<2048x4096xbf16>, %g: tensor<4096xbf16>,
    %w1: tensor<4096x14336xbf16>) -> (tensor<2048x4096xbf16>, tensor<2048x14336xbf16>) {
  %p = tg.contract %a, %o [#x, #w, #y] : tensor<2048x4096xbf16>, tensor<4096x4096xbf16> -> tensor<2048x4096xbf16>
  %h = tg.add %x, %p : tensor<2048x4096xbf16>, tensor<2048x4096xbf16>
  %h32 = tg.cast %h : tensor<2048x4096xbf16> to tensor<2048x4096xf32>
  %sq = tg.mul %h32, %h32 : tensor<2048x4096xf32>, tensor<2048x4096xf32>
  %s = tg.reduce add %sq axes = [1] keep_dims : tensor<2048x4096xf32>
  %r = tg.rsqrt %s : tensor<2048x1xf32>
  %n = tg.mul %h32, %r : tensor<2048x4096xf32>, tensor<2048x1xf32>
  %n16 = tg.cast %n : tensor<2048x4096xf32> to tensor<2048x4096xbf16>
  %y = tg.mul %g, %n16 : tensor<4096xbf16>, tensor<2048x4096xbf16>
  %z = tg.contract %y, %w1 [#x, #w, #y] : tensor<2048x4096xbf16>, tensor<4096x14336xbf16> -> tensor<2048x14336xbf16>
  return %h, %z : tensor<2048x4096xbf16>, tensor<2048x14336xbf16>
}
