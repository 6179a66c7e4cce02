// RUN: weft-opt %s --weft-tk-fuse-loops | FileCheck %s
// RUN: weft-opt %s --weft-tk-fuse-loops --weft-tk-stage | FileCheck %s --check-prefix=STAGE

#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 32 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 32 + d0, d1)>
#out = affine_map<(d0, d1) -> (d0, d1)>
!x = !tk.global<tensor<64x128xf16>>
!w = !tk.global<tensor<128x64xf16>>
!y = !tk.global<tensor<64x64xf32>>
!sum = !tk.tile<64x64xf32>

module attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [32], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
// Two products with a common left operand: one loop, three loads; the second one's scale and store come after it.
// CHECK-LABEL: func.func @two
// CHECK: %[[SUMS:.*]]:2 = scf.for
// CHECK-COUNT-3: tk.load
// CHECK-NOT: tk.load
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK: tk.store %[[SUMS]]#0
// CHECK: tk.store %[[SUMS]]#1
// One channel brings the three tiles, which one wait is for.
// STAGE-LABEL: func.func @two
// STAGE-COUNT-3: tk.alloc
// STAGE: tk.make_channel
// STAGE-NOT: tk.make_channel
// STAGE: scf.for
// STAGE: tk.acquire
// STAGE-COUNT-3: tk.copy
// STAGE: tk.wait
// STAGE-COUNT-2: tk.dot
// STAGE: tk.release
func.func @two(%x: !x, %g: !w, %u: !w, %p: !y, %q: !y) attributes {tk.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tk.for_tiles (%t) in affine_map<() -> (1)> {
    %zero = tk.constant 0.0 : f32 : !sum
    %0 = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!sum) {
      %a = tk.load %x[%k] map #a : !x -> !tk.tile<64x32xf16>
      %b = tk.load %g[%k] map #b : !w -> !tk.tile<32x64xf16>
      %d = tk.dot %a, %b, %acc : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
      scf.yield %d : !sum
    }
    tk.store %0, %p map #out : !sum, !y
    %one = tk.constant 1.0 : f32 : !sum
    %1 = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %one) -> (!sum) {
      %a = tk.load %x[%k] map #a : !x -> !tk.tile<64x32xf16>
      %b = tk.load %u[%k] map #b : !w -> !tk.tile<32x64xf16>
      %d = tk.dot %a, %b, %acc : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
      scf.yield %d : !sum
    }
    tk.store %1, %q map #out : !sum, !y
    tk.yield
  }
  return
}

// Both products without a loop: the copies still go together, in front of the first dot.
// STAGE-LABEL: func.func @once
// STAGE: tk.acquire
// STAGE-COUNT-3: tk.copy
// STAGE: tk.wait
// STAGE-COUNT-2: tk.dot
func.func @once(%x: !tk.global<tensor<64x32xf16>>, %g: !tk.global<tensor<32x64xf16>>, %u: !tk.global<tensor<32x64xf16>>, %p: !y, %q: !y) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%t) in affine_map<() -> (1)> {
    %zero = tk.constant 0.0 : f32 : !sum
    %a = tk.load %x map #out : !tk.global<tensor<64x32xf16>> -> !tk.tile<64x32xf16>
    %b = tk.load %g map #out : !tk.global<tensor<32x64xf16>> -> !tk.tile<32x64xf16>
    %0 = tk.dot %a, %b, %zero : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
    %c = tk.load %u map #out : !tk.global<tensor<32x64xf16>> -> !tk.tile<32x64xf16>
    %1 = tk.dot %a, %c, %zero : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
    tk.store %0, %p map #out : !sum, !y
    tk.store %1, %q map #out : !sum, !y
    tk.yield
  }
  return
}

// A loop that starts from the other one's result, one over other steps, and one whose operand the kernel writes in between stay.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-4: scf.for
func.func @apart(%x: !x, %g: !w, %p: !y, %z: !tk.global<tensor<64x128xf16>>) attributes {tk.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  tk.for_tiles (%t) in affine_map<() -> (1)> {
    %zero = tk.constant 0.0 : f32 : !sum
    %0 = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!sum) {
      %a = tk.load %x[%k] map #a : !x -> !tk.tile<64x32xf16>
      %b = tk.load %g[%k] map #b : !w -> !tk.tile<32x64xf16>
      %d = tk.dot %a, %b, %acc : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
      scf.yield %d : !sum
    }
    %1 = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %0) -> (!sum) {
      %a = tk.load %x[%k] map #a : !x -> !tk.tile<64x32xf16>
      %b = tk.load %g[%k] map #b : !w -> !tk.tile<32x64xf16>
      %d = tk.dot %a, %b, %acc : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
      scf.yield %d : !sum
    }
    %2 = scf.for %k = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (!sum) {
      %a = tk.load %x[%k] map #a : !x -> !tk.tile<64x32xf16>
      %b = tk.load %g[%k] map #b : !w -> !tk.tile<32x64xf16>
      %d = tk.dot %a, %b, %acc : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
      scf.yield %d : !sum
    }
    %half = tk.constant 0.5 : f16 : !tk.tile<64x128xf16>
    tk.store %half, %z map #out : !tk.tile<64x128xf16>, !tk.global<tensor<64x128xf16>>
    %3 = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!sum) {
      %a = tk.load %z[%k] map #a : !tk.global<tensor<64x128xf16>> -> !tk.tile<64x32xf16>
      %b = tk.load %g[%k] map #b : !w -> !tk.tile<32x64xf16>
      %d = tk.dot %a, %b, %acc : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, !sum
      scf.yield %d : !sum
    }
    tk.store %1, %p map #out : !sum, !y
    tk.store %2, %p map #out : !sum, !y
    tk.store %3, %p map #out : !sum, !y
    tk.yield
  }
  return
}
}
