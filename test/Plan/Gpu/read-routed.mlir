// Sums over experts that a gate leaves out read those that a router chose; others stay.
// RUN: weft-opt %s --split-input-file --weft-read-routed=target=sm_90a --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-read-routed | FileCheck %s --check-prefix=CPU
// RUN: not weft-opt %s --split-input-file --weft-read-routed=target=sm_10 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: weft-opt %s --split-input-file --weft-plan="gpu target=sm_90a" | FileCheck %s --check-prefix=KERNEL

// TARGET: error: expected a target of sm_80, {{.*}}, got 'sm_10'

#x = affine_map<(t, e, o, i) -> (t, i)>
#w = affine_map<(t, e, o, i) -> (e, o, i)>
#h = affine_map<(t, e, o, i) -> (t, e, o)>
#a = affine_map<(t, o, e, i) -> (t, e, i)>
#v = affine_map<(t, o, e, i) -> (e, o, i)>
#y = affine_map<(t, o, e, i) -> (t, o)>

// Two products with a bias, an interleaved SwiGLU and packed weights between them. Places that are none have a gate of 0.
// CHECK-LABEL: func.func @layer
// CHECK-DAG: %[[LOW:.*]] = tg.constant dense<-16> : tensor<i64>
// CHECK-DAG: %[[HIGH:.*]] = tg.constant dense<16> : tensor<i64>
// CHECK-DAG: %[[GE:.*]] = tg.cmp ge %arg6, %[[LOW]]
// CHECK-DAG: %[[LT:.*]] = tg.cmp lt %arg6, %[[HIGH]]
// CHECK: %[[IN:.*]] = tg.and %[[GE]], %[[LT]]
// CHECK: %[[GATE:.*]] = tg.select %[[IN]], %arg7, %{{.*}} : tensor<3x2xi1>, tensor<3x2xf32>, tensor<f32>
// CHECK: %[[W:.*]] = tg.gather %arg1, %arg6 data_map = {{.*}} : tensor<16x64x32xf16>, tensor<3x2xi64> -> tensor<3x2x64x32xf16>
// CHECK: %[[H:.*]] = tg.contract %arg0, %[[W]] {{.*}} -> tensor<3x2x64xf32>
// CHECK: %[[B:.*]] = tg.gather %arg2, %arg6 data_map = {{.*}} -> tensor<3x2x64xf32>
// CHECK: %[[S:.*]] = tg.add %[[H]], %[[B]] : tensor<3x2x64xf32>, tensor<3x2x64xf32>
// CHECK-DAG: tg.slice %[[S]] offsets = [0, 0, 0] strides = [1, 1, 2] : tensor<3x2x64xf32> to tensor<3x2x32xf32>
// CHECK-DAG: tg.slice %[[S]] offsets = [0, 0, 1] strides = [1, 1, 2] : tensor<3x2x64xf32> to tensor<3x2x32xf32>
// CHECK: tg.reshape %[[GATE]] : tensor<3x2xf32> to tensor<3x2x1xf32>
// CHECK: tg.mul {{.*}} : tensor<3x2x32xf32>, tensor<3x2x1xf32>
// CHECK: %[[P:.*]] = tg.gather %arg3, %arg6 data_map = {{.*}} : tensor<16x32x16xui8>, tensor<3x2xi64> -> tensor<3x2x32x16xui8>
// CHECK: tg.reshape %[[P]] : tensor<3x2x32x16xui8> to tensor<3x2x32x16x1xui8>
// CHECK: tg.shr {{.*}} : tensor<3x2x32x16x1xui8>, tensor<2xui8>
// CHECK: tg.reshape {{.*}} to tensor<3x2x32x32xui8>
// CHECK: tg.gather %arg4, %arg6 data_map = {{.*}} -> tensor<3x2x32xf32>
// CHECK: tg.mul {{.*}} : tensor<3x2x32x32xf32>, tensor<3x2x32x1xf32>
// CHECK: tg.contract {{.*}} : tensor<3x2x32xf32>, tensor<3x2x32x32xf32> -> tensor<3x32xf32>
// CHECK-NOT: tg.scatter
// WHY: [Passed] chosen-experts | Category:plan | {{.*}}what a gate chooses of 16 is read
// CPU-LABEL: func.func @layer
// CPU-NOT: tg.gather %arg1
// CPU: tg.scatter
// Of each product the kernel reads through the gather.
// KERNEL-LABEL: func.func @layer
// KERNEL: tg.kernel
// KERNEL: tg.gather {{.*}} : tensor<16x64x32xf16>
// KERNEL-NEXT: tg.contract
// KERNEL: tg.kernel
// KERNEL: tg.gather {{.*}} : tensor<16x32x16xui8>
// KERNEL-NOT: tg.yield
// KERNEL: tg.contract {{.*}} -> tensor<3x32xf32>
func.func @layer(%x: tensor<3x32xf16>, %w: tensor<16x64x32xf16>, %b: tensor<16x64xf32>, %v: tensor<16x32x16xui8>, %s: tensor<16x32xf32>, %z: tensor<f32>, %p: tensor<3x2xi64>,
                 %g: tensor<3x2xf32>) -> tensor<3x32xf32> {
  %none = tg.constant dense<0.0> : tensor<3x16xf32>
  %gate = tg.scatter %none, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (t, c)>] {kind = #tg<monoid add>}
      : tensor<3x16xf32>, tensor<3x2xi64>, tensor<3x2xf32>
  %c = tg.contract %x, %w [#x, #w, #h] : tensor<3x32xf16>, tensor<16x64x32xf16> -> tensor<3x16x64xf32>
  %h = tg.add %c, %b : tensor<3x16x64xf32>, tensor<16x64xf32>
  %left = tg.slice %h offsets = [0, 0, 0] strides = [1, 1, 2] : tensor<3x16x64xf32> to tensor<3x16x32xf32>
  %right = tg.slice %h offsets = [0, 0, 1] strides = [1, 1, 2] : tensor<3x16x64xf32> to tensor<3x16x32xf32>
  %sigmoid = tg.sigmoid %left : tensor<3x16x32xf32>
  %m = tg.mul %sigmoid, %right : tensor<3x16x32xf32>, tensor<3x16x32xf32>
  %each = tg.reshape %gate : tensor<3x16xf32> to tensor<3x16x1xf32>
  %k = tg.mul %m, %each : tensor<3x16x32xf32>, tensor<3x16x1xf32>
  %shifts = tg.constant dense<[0, 4]> : tensor<2xui8>
  %mask = tg.constant dense<15> : tensor<ui8>
  %bytes = tg.reshape %v : tensor<16x32x16xui8> to tensor<16x32x16x1xui8>
  %shifted = tg.shr %bytes, %shifts : tensor<16x32x16x1xui8>, tensor<2xui8>
  %fields = tg.and %shifted, %mask : tensor<16x32x16x2xui8>, tensor<ui8>
  %flat = tg.reshape %fields : tensor<16x32x16x2xui8> to tensor<16x32x32xui8>
  %wide = tg.cast %flat : tensor<16x32x32xui8> to tensor<16x32x32xf32>
  %scale = tg.reshape %s : tensor<16x32xf32> to tensor<16x32x1xf32>
  %numbers = tg.mul %wide, %scale : tensor<16x32x32xf32>, tensor<16x32x1xf32>
  %y = tg.contract %k, %numbers [#a, #v, #y] : tensor<3x16x32xf32>, tensor<16x32x32xf32> -> tensor<3x32xf32>
  return %y : tensor<3x32xf32>
}

// -----

#x = affine_map<(t, e, o, i) -> (t, i)>
#w = affine_map<(t, e, o, i) -> (e, o, i)>
#h = affine_map<(t, e, o, i) -> (t, e, o)>

// One token, on the CPU as well, by a router whose places are transposed; the gate itself is a factor.
// CPU-LABEL: func.func @vector
// CPU: tg.gather %arg1, %{{.*}} : tensor<8x64x32xf16>, tensor<2xi32> -> tensor<2x64x32xf16>
// CPU: tg.contract {{.*}} -> tensor<2x1x64xf16>
// CPU-NOT: tg.scatter
// CPU: return
// CHECK-LABEL: func.func @vector
// WHY: [Passed] chosen-experts {{.*}} of 8 is read
func.func @vector(%x: tensor<1x32xf16>, %w: tensor<8x64x32xf16>, %p: tensor<2x1xi32>, %g: tensor<1x2xf16>) -> tensor<1x64xf16> {
  %none = tg.constant dense<0.0> : tensor<1x8xf16>
  %gate = tg.scatter %none, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (c, t)>] {kind = #tg<monoid add>}
      : tensor<1x8xf16>, tensor<2x1xi32>, tensor<1x2xf16>
  %y = tg.contract %x, %w [#x, #w, #h] : tensor<1x32xf16>, tensor<8x64x32xf16> -> tensor<1x8x64xf16>
  %r = tg.contract %gate, %y [affine_map<(t, e, o) -> (t, e)>, affine_map<(t, e, o) -> (t, e, o)>, affine_map<(t, e, o) -> (t, o)>]
      : tensor<1x8xf16>, tensor<1x8x64xf16> -> tensor<1x64xf16>
  return %r : tensor<1x64xf16>
}

// -----

#gate = affine_map<(t, o, e) -> (t, e)>
#bias = affine_map<(t, o, e) -> (e, o)>
#sum = affine_map<(t, o, e) -> (t, o)>

// So many tokens share what experts have.
// CHECK-LABEL: func.func @many
// CHECK-NOT: tg.gather
// CHECK: tg.scatter
// WHY: [Missed] all-experts | Category:plan | {{.*}}all 8 are read: so many tokens choose most of them
func.func @many(%w: tensor<8x64xf32>, %p: tensor<4x2xi64>, %g: tensor<4x2xf32>) -> tensor<4x64xf32> {
  %none = tg.constant dense<0.0> : tensor<4x8xf32>
  %gate = tg.scatter %none, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (t, c)>] {kind = #tg<monoid add>}
      : tensor<4x8xf32>, tensor<4x2xi64>, tensor<4x2xf32>
  %r = tg.contract %gate, %w [#gate, #bias, #sum] : tensor<4x8xf32>, tensor<8x64xf32> -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// -----

#gate = affine_map<(t, o, e) -> (t, e)>
#bias = affine_map<(t, o, e) -> (e, o)>
#sum = affine_map<(t, o, e) -> (t, o)>

// A gate of which the last one counts where two choices are one place, one that is 1 elsewhere, and the sum of a gate.
// CHECK-LABEL: func.func @others
// CHECK-NOT: tg.gather
// CHECK: return
// WHY-NOT: experts
func.func @others(%w: tensor<8x64xf32>, %p: tensor<1x2xi64>, %g: tensor<1x2xf32>, %x: tensor<1x8xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>) {
  %none = tg.constant dense<0.0> : tensor<1x8xf32>
  %one = tg.constant dense<1.0> : tensor<1x8xf32>
  %last = tg.scatter %none, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (t, c)>] : tensor<1x8xf32>, tensor<1x2xi64>, tensor<1x2xf32>
  %ones = tg.scatter %one, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (t, c)>] {kind = #tg<monoid add>}
      : tensor<1x8xf32>, tensor<1x2xi64>, tensor<1x2xf32>
  %gate = tg.scatter %none, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (t, c)>] {kind = #tg<monoid add>}
      : tensor<1x8xf32>, tensor<1x2xi64>, tensor<1x2xf32>
  %sum = tg.add %gate, %x : tensor<1x8xf32>, tensor<1x8xf32>
  %a = tg.contract %last, %w [#gate, #bias, #sum] : tensor<1x8xf32>, tensor<8x64xf32> -> tensor<1x64xf32>
  %b = tg.contract %ones, %w [#gate, #bias, #sum] : tensor<1x8xf32>, tensor<8x64xf32> -> tensor<1x64xf32>
  %c = tg.contract %sum, %w [#gate, #bias, #sum] : tensor<1x8xf32>, tensor<8x64xf32> -> tensor<1x64xf32>
  return %a, %b, %c : tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>
}

// -----

// Packed weights of one token, however large, are unpacked where they are multiplied: nothing of them is computed twice.
// WHY: [Passed] chosen-experts | Category:plan | {{.*}}what a gate chooses of 9 is read
// KERNEL-LABEL: func.func @packed
// KERNEL: tg.gather {{.*}} : tensor<9x1408x48x32xui4>
// KERNEL-NOT: tg.yield
// KERNEL: tg.contract
func.func @packed(%x: tensor<1x1536xf32>, %p: tensor<1x2xi64>, %g: tensor<1x2xf32>) -> tensor<1x1408xf32> {
  %none = tg.constant dense<0.0> : tensor<1x9xf32>
  %w = tg.weight <"w", 0, 9732096> : tensor<9x1408x48x32xui4>
  %s = tg.weight <"s", 0, 1216512> : tensor<9x1408x48x1xf16>
  %gate = tg.scatter %none, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (t, c)>] {kind = #tg<monoid add>}
      : tensor<1x9xf32>, tensor<1x2xi64>, tensor<1x2xf32>
  %wide = tg.cast %w : tensor<9x1408x48x32xui4> to tensor<9x1408x48x32xf32>
  %scale = tg.cast %s : tensor<9x1408x48x1xf16> to tensor<9x1408x48x1xf32>
  %numbers = tg.mul %wide, %scale : tensor<9x1408x48x32xf32>, tensor<9x1408x48x1xf32>
  %flat = tg.reshape %numbers : tensor<9x1408x48x32xf32> to tensor<9x1408x1536xf32>
  %h = tg.contract %x, %flat [affine_map<(t, e, o, i) -> (t, i)>, affine_map<(t, e, o, i) -> (e, o, i)>, affine_map<(t, e, o, i) -> (t, e, o)>]
      : tensor<1x1536xf32>, tensor<9x1408x1536xf32> -> tensor<1x9x1408xf32>
  %y = tg.contract %gate, %h [affine_map<(t, e, o) -> (t, e)>, affine_map<(t, e, o) -> (t, e, o)>, affine_map<(t, e, o) -> (t, o)>]
      : tensor<1x9xf32>, tensor<1x9x1408xf32> -> tensor<1x1408xf32>
  return %y : tensor<1x1408xf32>
}

// -----

// The diagonal of a gate is no gate of its own.
// CHECK-LABEL: func.func @diagonal
// CHECK-NOT: tg.gather
// CHECK: return
// WHY-NOT: experts
func.func @diagonal(%w: tensor<64x8xf32>, %p: tensor<3x3x1xi64>, %g: tensor<3x3x1xf32>) -> tensor<3x8xf32> {
  %none = tg.constant dense<0.0> : tensor<3x3x64xf32>
  %gate = tg.scatter %none, %p, %g data_map = affine_map<(t, u, c)[e] -> (t, u, e)> index_maps = [affine_map<(t, u, c) -> (t, u, c)>] {kind = #tg<monoid add>}
      : tensor<3x3x64xf32>, tensor<3x3x1xi64>, tensor<3x3x1xf32>
  %r = tg.contract %gate, %w [affine_map<(t, o, e) -> (t, t, e)>, affine_map<(t, o, e) -> (e, o)>, affine_map<(t, o, e) -> (t, o)>]
      : tensor<3x3x64xf32>, tensor<64x8xf32> -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}
