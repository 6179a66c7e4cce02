// RUN: weft-opt %s --split-input-file --weft-cpu-loops | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-cpu-loops=fast-math=true | FileCheck %s --check-prefix=FAST

// A sum along rows keeps the reduction innermost, and may be split into vector lanes.
// CHECK-LABEL: func.func @rows
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc>
// FAST: arith.addf %{{.*}}, %{{.*}} fastmath<fast>
func.func @rows(%x: memref<4x64xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x64xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// A sum along columns has the columns innermost: its additions stay in order.
// CHECK-LABEL: func.func @columns
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[J:.*]] =
// CHECK: affine.apply #{{.*}}(%[[I]])
// CHECK: affine.apply #{{.*}}(%[[J]])
// CHECK: memref.load
// CHECK: arith.addf %{{[^ ]*}}, %{{[^ ]*}} : f32
func.func @columns(%x: memref<64x32xf32>, %y: memref<32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<64x32xf32>) outs(%y : memref<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// What padding discards is not read: the loads become conditional, which LLVM vectorises with a mask instead of a gather.
// CHECK-LABEL: func.func @pad
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[PLACE:.*]], %
// CHECK: scf.if %[[INSIDE]] -> (f32)
// CHECK-NEXT: memref.load %{{.*}}[%[[PLACE]]]
// CHECK-NEXT: scf.yield
// CHECK-NEXT: else
// CHECK-NEXT: scf.yield %{{.*}} : f32
func.func @pad(%x: memref<30xf32>, %y: memref<32xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 30 : index
  %padding = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%y : memref<32xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %place = arith.subi %i, %one : index
    %inside = arith.cmpi ult, %place, %size : index
    %clamped = arith.select %inside, %place, %zero : index
    %element = memref.load %x[%clamped] : memref<30xf32>
    %r = arith.select %inside, %element, %padding : f32
    linalg.yield %r : f32
  }
  return
}
