// --weft-rewrite: licences, prices, weights, remarks. DNNFusion's rows are in rewrite-dnnfusion.mlir; every rule and guard in test/rules.
// RUN: weft-opt %s --split-input-file --weft-rewrite=licence=reassociating | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-rewrite | FileCheck %s --check-prefix=EXACT
// RUN: weft-opt %s --split-input-file --weft-rewrite="licence=reassociating max-weight-bytes=8" | FileCheck %s --check-prefix=SMALL
// RUN: weft-opt %s --split-input-file --weft-rewrite --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not weft-opt %s --split-input-file --weft-rewrite=licence=fast -o /dev/null 2>&1 | FileCheck %s --check-prefix=LICENCE
// RUN: not weft-opt %s --split-input-file --weft-rewrite=prices=tpu -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRICES
// RUN: not weft-opt %s --split-input-file --weft-rewrite=rules=magic -o /dev/null 2>&1 | FileCheck %s --check-prefix=RULES
// LICENCE: error: licence: expected exact, reassociating or approximating, got `fast`
// PRICES: error: prices: expected cpu, gpu, dnnfusion or none, got `tpu`
// RULES: error: rules: no rule `magic`

// Floats need the licence; integers are a ring.
// CHECK-LABEL: @ring
// CHECK: tg.add %arg1, %arg2 : tensor<4x8xf32>
// CHECK: tg.add %arg4, %arg5 : tensor<4x8xi32>
// EXACT-LABEL: @ring
// EXACT: tg.mul %arg0, %arg1 : tensor<4x8xf32>
// EXACT: tg.mul %arg0, %arg2 : tensor<4x8xf32>
// EXACT: tg.add %arg4, %arg5 : tensor<4x8xi32>
// REMARK: [Passed] rewrite | Category:rewrite | Remark="common-factor: flops 96 -> 64, bytes 1152 -> 768 (384 -> 384 fused)"
// REMARK: [Missed] no-rewrite | Category:rewrite | Remark="common-factor: expected licence"
// REMARK: [Analysis] rules | Category:rewrite | Function=ring | Remark="{{[0-9]+}} rules considered, 1 rewrites: flops 192 -> 160,
func.func @ring(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>, %i: tensor<4x8xi32>, %j: tensor<4x8xi32>, %k: tensor<4x8xi32>)
    -> (tensor<4x8xf32>, tensor<4x8xi32>) {
  %0 = tg.mul %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = tg.mul %a, %c : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  %3 = tg.mul %i, %j : tensor<4x8xi32>, tensor<4x8xi32>
  %4 = tg.mul %i, %k : tensor<4x8xi32>, tensor<4x8xi32>
  %5 = tg.add %3, %4 : tensor<4x8xi32>, tensor<4x8xi32>
  return %2, %5 : tensor<4x8xf32>, tensor<4x8xi32>
}

// -----

// What others use stays, and then nothing is gained.
// CHECK-LABEL: @shared
// CHECK: tg.mul %arg0, %arg1
// CHECK: tg.mul %arg0, %arg2
// REMARK: [Missed] no-rewrite | Category:rewrite | Remark="common-factor: does not pay: flops 32 -> 64,
func.func @shared(%a: tensor<4x8xi32>, %b: tensor<4x8xi32>, %c: tensor<4x8xi32>) -> (tensor<4x8xi32>, tensor<4x8xi32>, tensor<4x8xi32>) {
  %0 = tg.mul %a, %b : tensor<4x8xi32>, tensor<4x8xi32>
  %1 = tg.mul %a, %c : tensor<4x8xi32>, tensor<4x8xi32>
  %2 = tg.add %0, %1 : tensor<4x8xi32>, tensor<4x8xi32>
  return %0, %1, %2 : tensor<4x8xi32>, tensor<4x8xi32>, tensor<4x8xi32>
}

// -----

#x = affine_map<(n, o, i, j, c, k, l) -> (n, c, i + k, j + l)>
#w = affine_map<(n, o, i, j, c, k, l) -> (o, c, k, l)>
#r = affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>

// Batch norm behind a convolution with a bias: into the weights and the bias, at compile time, where the new weights are small enough.
// CHECK-LABEL: @batch_norm
// CHECK: %[[W:.*]] = tg.constant dense<{{.*}}2.000000e+00{{.*}}4.000000e+00{{.*}}7.500000e+00{{.*}}1.000000e+01{{.*}}> : tensor<2x1x2x1xf32>
// CHECK: %[[C:.*]] = tg.contract %arg0, %[[W]]
// CHECK: %[[R:.*]] = tg.add %[[C]], %{{.*}} : tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>
// CHECK-NEXT: return %[[R]]
// SMALL-LABEL: @batch_norm
// SMALL: tg.contract
// SMALL: tg.add
// SMALL: tg.mul {{.*}} tensor<1x2x8x8xf32>
// SMALL: tg.add
func.func @batch_norm(%x: tensor<1x1x9x8xf32>) -> tensor<1x2x8x8xf32> {
  %w = tg.constant dense<[[[[1.0], [2.0]]], [[[3.0], [4.0]]]]> : tensor<2x1x2x1xf32>
  %b = tg.constant dense<[[[[1.0]], [[-1.0]]]]> : tensor<1x2x1x1xf32>
  %s = tg.constant dense<[[[[2.0]], [[2.5]]]]> : tensor<1x2x1x1xf32>
  %t = tg.constant dense<[[[[0.5]], [[0.25]]]]> : tensor<1x2x1x1xf32>
  %0 = tg.contract %x, %w [#x, #w, #r] : tensor<1x1x9x8xf32>, tensor<2x1x2x1xf32> -> tensor<1x2x8x8xf32>
  %1 = tg.add %0, %b : tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>
  %2 = tg.mul %1, %s : tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>
  %3 = tg.add %2, %t : tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>
  return %3 : tensor<1x2x8x8xf32>
}

// -----

// (X A) B by cost: with a narrow A the product X A is narrow and stays; with wide ones A B is made first. Symbols count as 256.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module attributes {tg.symbols = ["rows"]} {
// CHECK-LABEL: @low_rank
// CHECK: tg.contract %arg0, %arg1 {{.*}} -> tensor<?x4xf32
func.func @low_rank(%x: tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>, %a: tensor<64x4xf32>, %b: tensor<4x64xf32>)
    -> tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>> {
  %0 = tg.contract %x, %a [#mk, #kn, #mn] : tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>, tensor<64x4xf32> -> tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>
  %1 = tg.contract %0, %b [#mk, #kn, #mn] : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>, tensor<4x64xf32> -> tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>
  return %1 : tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>
}
// CHECK-LABEL: @wide
// CHECK: %[[AB:.*]] = tg.contract %arg1, %arg2 {{.*}} -> tensor<4x4xf32>
// CHECK: tg.contract %arg0, %[[AB]]
func.func @wide(%x: tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>, %a: tensor<4x64xf32>, %b: tensor<64x4xf32>)
    -> tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>> {
  %0 = tg.contract %x, %a [#mk, #kn, #mn] : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>, tensor<4x64xf32> -> tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>
  %1 = tg.contract %0, %b [#mk, #kn, #mn] : tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>, tensor<64x4xf32> -> tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>
  return %1 : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>
}
}

// -----

// Division after the contraction where the reduced dimension is the longer one.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: @delayed
// CHECK: %[[C:.*]] = tg.contract %arg0, %arg2
// CHECK: tg.div %[[C]], %arg1 : tensor<16x8xf32>, tensor<16x1xf32>
// In f16 the sum stays in f32 until it is divided.
// CHECK-LABEL: @in_f16
// CHECK: %[[C:.*]] = tg.contract %arg0, %arg2 {{.*}} -> tensor<16x8xf32>
// CHECK: tg.div %[[C]], %{{.*}} : tensor<16x8xf32>, tensor<16x1xf32>
// CHECK: tg.cast %{{.*}} : tensor<16x8xf32> to tensor<16x8xf16>
func.func @delayed(%p: tensor<16x128xf32>, %l: tensor<16x1xf32>, %v: tensor<128x8xf32>) -> tensor<16x8xf32> {
  %0 = tg.div %p, %l : tensor<16x128xf32>, tensor<16x1xf32>
  %1 = tg.contract %0, %v [#mk, #kn, #mn] : tensor<16x128xf32>, tensor<128x8xf32> -> tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}
func.func @in_f16(%p: tensor<16x128xf16>, %l: tensor<16x1xf16>, %v: tensor<128x8xf16>) -> tensor<16x8xf16> {
  %0 = tg.div %p, %l : tensor<16x128xf16>, tensor<16x1xf16>
  %1 = tg.contract %0, %v [#mk, #kn, #mn] : tensor<16x128xf16>, tensor<128x8xf16> -> tensor<16x8xf16>
  return %1 : tensor<16x8xf16>
}

// -----

// A norm's weight goes into the weights of all contractions that read it; each claims half of the product.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: @norm_weight
// CHECK-NOT: tg.mul
// CHECK: tg.contract %arg0, %{{.*}} -> tensor<8x2xf32>
// CHECK: tg.contract %arg0, %{{.*}} -> tensor<8x1xf32>
// CHECK-NEXT: return
// SMALL-LABEL: @norm_weight
// SMALL: tg.mul %arg0
func.func @norm_weight(%x: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x1xf32>) {
  %g = tg.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %w = tg.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = tg.constant dense<[[5.0], [6.0]]> : tensor<2x1xf32>
  %0 = tg.mul %x, %g : tensor<8x2xf32>, tensor<2xf32>
  %1 = tg.contract %0, %w [#mk, #kn, #mn] : tensor<8x2xf32>, tensor<2x2xf32> -> tensor<8x2xf32>
  %2 = tg.contract %0, %v [#mk, #kn, #mn] : tensor<8x2xf32>, tensor<2x1xf32> -> tensor<8x1xf32>
  return %1, %2 : tensor<8x2xf32>, tensor<8x1xf32>
}

// -----

#smk = affine_map<(m, n, k) -> (m, k)>
#skn = affine_map<(m, n, k) -> (k, n)>
#smn = affine_map<(m, n, k) -> (m, n)>

// Scales into f16 weights: powers of two do not round; 3 does, and takes the looser licence; 40000 * 4 would overflow with every licence.
// RUN: weft-opt %s --split-input-file --weft-rewrite=licence=approximating | FileCheck %s --check-prefix=ROUNDED
// RUN: weft-opt %s --split-input-file --weft-rewrite=licence=approximating --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW-DAG: [Missed] no-rewrite | Category:rewrite | Remark="scale-into-rhs-rounded: expected in-range(a)"
// NARROW-DAG: [Missed] no-rewrite | Category:rewrite | Remark="scale-into-rhs: expected exact-scale(a)"
// CHECK-LABEL: @narrow_scales
// CHECK: %[[E:.*]] = tg.constant dense<{{.*}}2.500000e-01{{.*}}> : tensor<4x2xf16>
// CHECK: %[[A:.*]] = tg.contract %arg0, %[[E]]
// CHECK: tg.mul
// CHECK: tg.mul
// ROUNDED-LABEL: @narrow_scales
// ROUNDED-COUNT-1: tg.mul
// ROUNDED-NOT: tg.mul
func.func @narrow_scales(%x: tensor<64x4xf16>, %y: tensor<64x4xf16>, %z: tensor<64x4xf16>) -> (tensor<64x2xf16>, tensor<64x2xf16>, tensor<64x2xf16>) {
  %w = tg.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 0.0]]> : tensor<4x2xf16>
  %quarter = tg.constant dense<0.25> : tensor<f16>
  %three = tg.constant dense<3.1> : tensor<f16>
  %large = tg.constant dense<4.0e+04> : tensor<f16>
  %0 = tg.contract %x, %w [#smk, #skn, #smn] : tensor<64x4xf16>, tensor<4x2xf16> -> tensor<64x2xf16>
  %1 = tg.mul %0, %quarter : tensor<64x2xf16>, tensor<f16>
  %2 = tg.contract %y, %w [#smk, #skn, #smn] : tensor<64x4xf16>, tensor<4x2xf16> -> tensor<64x2xf16>
  %3 = tg.mul %2, %three : tensor<64x2xf16>, tensor<f16>
  %4 = tg.contract %z, %w [#smk, #skn, #smn] : tensor<64x4xf16>, tensor<4x2xf16> -> tensor<64x2xf16>
  %5 = tg.mul %4, %large : tensor<64x2xf16>, tensor<f16>
  return %1, %3, %5 : tensor<64x2xf16>, tensor<64x2xf16>, tensor<64x2xf16>
}
