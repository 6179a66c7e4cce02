// RUN: weft-opt %s --split-input-file --weft-fuse-gemm-chains --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-plan='gpu=true target=H100' | FileCheck %s --check-prefix=PLAN
// RUN: weft-opt %s --split-input-file --weft-fuse-gemm-chains=target=A40 --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s --check-prefix=A40
// RUN: not weft-opt %s --split-input-file --weft-fuse-gemm-chains=target=sm_10 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: expected a target of sm_80, {{.*}}, got 'sm_10'

#mk = affine_map<(i, j, k) -> (i, k)>
#kn = affine_map<(i, j, k) -> (k, j)>
#mn = affine_map<(i, j, k) -> (i, j)>

// Rows of 64 + 64 places stay in shared memory: one kernel, one state.
// CHECK-LABEL: @narrow
// CHECK-NOT: tg.contract
// CHECK: tg.fold over {{.*}} init [0.000000e+00 : f32] attributes {tg.numerics = "reassociating"}
// CHECK: %[[C:.*]] = tg.contract %arg0, %arg1
// CHECK: %[[T:.*]] = tg.tanh %[[C]]
// CHECK: tg.contract %[[T]], %arg2 {{.*}} {tg.streamed} : {{.*}} -> tensor<8192x64xf32>
// CHECK: merge
// CHECK: tg.add
// CHECK: finish
// CHECK: tg.cast {{.*}} to tensor<8192x64xbf16>
// CHECK-NOT: tg.contract
// CHECK: return
// WHY: [Passed] gemm-chain | Category:plan | Remark="GEMMs 8192 x 64 x 2048 x 64, 1 times: k + n = 128 < 2 sqrt S = 681 (S = 116224 elements of shared memory); {{.*}} us fused, {{.*}} us apart"
// PLAN-LABEL: @narrow
// PLAN: tg.kernel
// PLAN-NOT: tg.kernel
// PLAN: return
func.func @narrow(%a: tensor<8192x64xbf16>, %b: tensor<64x2048xbf16>, %d: tensor<2048x64xbf16>) -> tensor<8192x64xbf16> {
  %c = tg.contract %a, %b [#mk, #kn, #mn] : tensor<8192x64xbf16>, tensor<64x2048xbf16> -> tensor<8192x2048xbf16>
  %t = tg.tanh %c : tensor<8192x2048xbf16>
  %e = tg.contract %t, %d [#mk, #kn, #mn] : tensor<8192x2048xbf16>, tensor<2048x64xbf16> -> tensor<8192x64xbf16>
  return %e : tensor<8192x64xbf16>
}

// -----

#mk = affine_map<(b, i, j, k) -> (b, i, k)>
#nk = affine_map<(b, i, j, k) -> (b, j, k)>
#kn = affine_map<(b, i, j, k) -> (b, k, j)>
#mn = affine_map<(b, i, j, k) -> (b, i, j)>

// Attention without a softmax, 32 heads: nothing is between the products.
// CHECK-LABEL: @heads
// CHECK: tg.fold
// WHY: [Passed] gemm-chain {{.*}}GEMMs 1024 x 128 x 1024 x 128, 32 times: k + n = 256 < 2 sqrt S = 681
func.func @heads(%q: tensor<32x1024x128xf16>, %k: tensor<32x1024x128xf16>, %v: tensor<32x1024x128xf16>) -> tensor<32x1024x128xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<32x1024x128xf16>, tensor<32x1024x128xf16> -> tensor<32x1024x1024xf16>
  %o = tg.contract %s, %v [#mk, #kn, #mn] : tensor<32x1024x1024xf16>, tensor<32x1024x128xf16> -> tensor<32x1024x128xf16>
  return %o : tensor<32x1024x128xf16>
}

// -----

#mk = affine_map<(i, j, k) -> (i, k)>
#kn = affine_map<(i, j, k) -> (k, j)>
#mn = affine_map<(i, j, k) -> (i, j)>

// Few rows fill few SMs: apart.
// CHECK-LABEL: @few_rows
// CHECK-NOT: tg.fold
// CHECK: return
// WHY: [Missed] no-gemm-chain {{.*}}GEMMs 128 x 256 x 16384 x 256, 1 times: k + n = 512 < 2 sqrt S = 681 {{.*}} us fused, {{.*}} us apart
func.func @few_rows(%a: tensor<128x256xbf16>, %b: tensor<256x16384xbf16>, %d: tensor<16384x256xbf16>) -> tensor<128x256xbf16> {
  %c = tg.contract %a, %b [#mk, #kn, #mn] : tensor<128x256xbf16>, tensor<256x16384xbf16> -> tensor<128x16384xbf16>
  %e = tg.contract %c, %d [#mk, #kn, #mn] : tensor<128x16384xbf16>, tensor<16384x256xbf16> -> tensor<128x256xbf16>
  return %e : tensor<128x256xbf16>
}

// -----

#mk = affine_map<(i, j, k) -> (i, k)>
#kn = affine_map<(i, j, k) -> (k, j)>
#mn = affine_map<(i, j, k) -> (i, j)>

// An A40's shared memory is too small for the rows; f32 is left to the products.
// CHECK-LABEL: @wide
// CHECK-NOT: tg.fold
// CHECK: return
// A40: [Missed] no-gemm-chain {{.*}}GEMMs 65536 x 256 x 1024 x 256, 1 times: k + n = 512 >= 2 sqrt S = 450 (S = 50688 elements of shared memory)
func.func @wide(%a: tensor<65536x256xbf16>, %b: tensor<256x1024xbf16>, %d: tensor<1024x256xbf16>) -> tensor<65536x256xbf16> {
  %c = tg.contract %a, %b [#mk, #kn, #mn] : tensor<65536x256xbf16>, tensor<256x1024xbf16> -> tensor<65536x1024xbf16>
  %e = tg.contract %c, %d [#mk, #kn, #mn] : tensor<65536x1024xbf16>, tensor<1024x256xbf16> -> tensor<65536x256xbf16>
  return %e : tensor<65536x256xbf16>
}

// CHECK-LABEL: @single
// CHECK-NOT: tg.fold
// CHECK: return
// WHY: [Missed] no-gemm-chain {{.*}}a fold pays with 16-bit elements, 64 rows and streamed elements, and multiples of 16 terms and columns
func.func @single(%a: tensor<65536x64xf32>, %b: tensor<64x1024xf32>, %d: tensor<1024x64xf32>) -> tensor<65536x64xf32> {
  %c = tg.contract %a, %b [#mk, #kn, #mn] : tensor<65536x64xf32>, tensor<64x1024xf32> -> tensor<65536x1024xf32>
  %e = tg.contract %c, %d [#mk, #kn, #mn] : tensor<65536x1024xf32>, tensor<1024x64xf32> -> tensor<65536x64xf32>
  return %e : tensor<65536x64xf32>
}

// -----

#mk = affine_map<(i, j, k) -> (i, k)>
#kn = affine_map<(i, j, k) -> (k, j)>
#mn = affine_map<(i, j, k) -> (i, j)>

// The intermediate is a result too, a sum that must keep its order: left alone.
// CHECK-LABEL: @read_elsewhere
// CHECK-NOT: tg.fold
// CHECK-LABEL: @exact
// CHECK-NOT: tg.fold
// CHECK: return
// WHY: [Missed] no-gemm-chain {{.*}}the order of a sum may not change: its licence is exact
func.func @read_elsewhere(%a: tensor<8192x64xbf16>, %b: tensor<64x2048xbf16>, %d: tensor<2048x64xbf16>) -> (tensor<8192x64xbf16>, tensor<8192x2048xbf16>) {
  %c = tg.contract %a, %b [#mk, #kn, #mn] : tensor<8192x64xbf16>, tensor<64x2048xbf16> -> tensor<8192x2048xbf16>
  %e = tg.contract %c, %d [#mk, #kn, #mn] : tensor<8192x2048xbf16>, tensor<2048x64xbf16> -> tensor<8192x64xbf16>
  return %e, %c : tensor<8192x64xbf16>, tensor<8192x2048xbf16>
}

func.func @exact(%a: tensor<8192x64xbf16>, %b: tensor<64x2048xbf16>, %d: tensor<2048x64xbf16>) -> tensor<8192x64xbf16> {
  %c = tg.contract %a, %b [#mk, #kn, #mn] : tensor<8192x64xbf16>, tensor<64x2048xbf16> -> tensor<8192x2048xbf16>
  %e = tg.contract %c, %d [#mk, #kn, #mn] {tg.numerics = "exact"} : tensor<8192x2048xbf16>, tensor<2048x64xbf16> -> tensor<8192x64xbf16>
  return %e : tensor<8192x64xbf16>
}
