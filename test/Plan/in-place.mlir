// Updates in the memory of an argument: the kernel that makes them stores them there.
// RUN: weft-opt %s --split-input-file --weft-plan="gpu target=sm_80" --weft-outline --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-plan="gpu target=sm_80 planner=exact" --weft-outline | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: weft-opt %s --split-input-file --weft-plan --weft-outline | FileCheck %s --check-prefixes=CHECK,CPU

#at = affine_map<(h, s, d)[p] -> (h, p, d)>
#row = affine_map<(h, s, d) -> (s)>

// On a GPU the arithmetic of the new rows ends in the memory, also as a view of another shape; on the CPU a kernel copies what another one made.
// CHECK-LABEL: func.func @main
// GPU: %[[U:.*]] = tg.dispatch @mul::@kernel(%arg1, %arg2)
// CPU: %[[M:.*]] = tg.dispatch @mul::@kernel
// CPU: %[[V:.*]] = tg.reshape %[[M]]
// CPU: %[[U:.*]] = tg.dispatch @write::@kernel(%[[V]], %arg2)
// CHECK: tg.scatter %arg0, %arg2, %{{.*}} {tg.in_place}
// GPU: module @mul
// CPU: module @write
// CHECK-SAME: tg.into = {data_map = #{{.*}}, index_maps = [#{{.*}}], indices = 1 : i64, places = tensor<1xi64>, result = 0 : i64, type = tensor<2x?x4xf32, #tg.dims<()[s0] -> (2, s0, 4)>>, updates = tensor<2x1x4xf32>}
module attributes {tg.symbols = ["room"]} {
func.func @main(%memory: tensor<2x?x4xf32, #tg.dims<()[s0] -> (2, s0, 4)>>, %x: tensor<8xf32>, %places: tensor<1xi64>) -> (tensor<2x?x4xf32, #tg.dims<()[s0] -> (2, s0, 4)>> {tg.alias = 0 : i64}) {
  %new = tg.mul %x, %x : tensor<8xf32>, tensor<8xf32>
  %rows = tg.reshape %new : tensor<8xf32> to tensor<2x1x4xf32>
  %r = tg.scatter %memory, %places, %rows data_map = #at index_maps = [#row] : tensor<2x?x4xf32, #tg.dims<()[s0] -> (2, s0, 4)>>, tensor<1xi64>, tensor<2x1x4xf32>
  return %r : tensor<2x?x4xf32, #tg.dims<()[s0] -> (2, s0, 4)>>
}
}

// -----

#at = affine_map<(s, d)[p] -> (p, d)>
#row = affine_map<(s, d) -> (s)>

// Rows that others read too, or that come from outside, are copied. The maker of the places comes first.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = tg.dispatch @iota_add
// CHECK: tg.dispatch @write::@kernel(%arg1, %[[P]])
// CHECK: tg.scatter {{.*}} {tg.in_place}
func.func @main(%memory: tensor<16x4xf32>, %x: tensor<2x4xf32>, %start: tensor<1xi64>) -> (tensor<16x4xf32> {tg.alias = 0 : i64}, tensor<2x4xf32>) {
  %i = tg.iota 0 : tensor<2xi64>
  %places = tg.add %i, %start : tensor<2xi64>, tensor<1xi64>
  %r = tg.scatter %memory, %places, %x data_map = #at index_maps = [#row] : tensor<16x4xf32>, tensor<2xi64>, tensor<2x4xf32>
  %y = tg.neg %x : tensor<2x4xf32>
  return %r, %y : tensor<16x4xf32>, tensor<2x4xf32>
}

// -----

#at = affine_map<(s, d)[p] -> (p, d)>
#row = affine_map<(s, d) -> (s)>

// Memory that is read otherwise is no such memory.
// WHY: [Missed] in-place {{.*}}result 0 is not made in the memory of argument 0: expected an update of it that nothing else reads
// CHECK-LABEL: func.func @main
// CHECK-NOT: tg.in_place
// CHECK-NOT: tg.alias
func.func @main(%memory: tensor<16x4xf32>, %x: tensor<2x4xf32>, %places: tensor<2xi64>) -> (tensor<16x4xf32> {tg.alias = 0 : i64}, tensor<16x4xf32>) {
  %r = tg.scatter %memory, %places, %x data_map = #at index_maps = [#row] : tensor<16x4xf32>, tensor<2xi64>, tensor<2x4xf32>
  %y = tg.neg %memory : tensor<16x4xf32>
  return %r, %y : tensor<16x4xf32>, tensor<16x4xf32>
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#at = affine_map<(s, d)[p] -> (p, d)>
#row = affine_map<(s, d) -> (s)>

// Products of one weight of which the second reads the memory that the first has updated are no siblings: what is between would lie on a cycle.
// CHECK-LABEL: func.func @main
// CHECK: tg.dispatch @gemm::@kernel
// CHECK: tg.scatter {{.*}} {tg.in_place}
// GPU: tg.dispatch @gemm_0::@kernel(%{{.*}}, %arg2)
// CPU: tg.dispatch @gemm::@kernel(%{{.*}}, %arg2)
func.func @main(%memory: tensor<64x128xf16>, %x: tensor<64x128xf16>, %w: tensor<128x128xf16>, %places: tensor<64xi64>) -> (tensor<64x128xf16> {tg.alias = 0 : i64}, tensor<64x128xf16>) {
  %0 = tg.contract %x, %w [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x128xf16> -> tensor<64x128xf16>
  %1 = tg.scatter %memory, %places, %0 data_map = #at index_maps = [#row] : tensor<64x128xf16>, tensor<64xi64>, tensor<64x128xf16>
  %2 = tg.contract %1, %w [#mk, #kn, #mn] : tensor<64x128xf16>, tensor<128x128xf16> -> tensor<64x128xf16>
  return %1, %2 : tensor<64x128xf16>, tensor<64x128xf16>
}
