// Loops that stream global memory through registers have several bodies; what does not go into them is a loop of its own.
// RUN: weft-opt %s --weft-tk-pipeline --canonicalize --split-input-file | FileCheck %s

#at = affine_map<(d0)[s0] -> (s0 * 256 + d0)>

// CHECK-LABEL: func @kernel
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c4
// CHECK-COUNT-4: tk.load %arg0
// CHECK-NOT: tk.load
// CHECK: scf.for %{{.*}} = %c8 to %c10 step %c1
// CHECK: tk.load %arg0
// CHECK-NOT: tk.load
// CHECK: tk.store
// A loop of fewer steps is none any more.
// CHECK-COUNT-2: tk.load %arg1
// CHECK-NOT: scf.for
// CHECK: tk.store
// Of a number that only the run knows:
// CHECK: scf.for
// CHECK: tk.load
// CHECK-NOT: tk.load
// CHECK: return
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [1], stream = [256], engine = simt, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<2560xf32>>, %z: !tk.global<tensor<512xf32>>, %y: !tk.global<tensor<768xf32>>, %n: index) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c10 = arith.constant 10 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %zero = tk.constant 0.0 : f32 : !tk.tile<256xf32>
      %a = scf.for %k = %c0 to %c10 step %c1 iter_args(%sum = %zero) -> (!tk.tile<256xf32>) {
        %v = tk.load %x[%k] map #at : !tk.global<tensor<2560xf32>> -> !tk.tile<256xf32>
        %next = tk.map (%v, %sum : !tk.tile<256xf32>, !tk.tile<256xf32>) -> !tk.tile<256xf32> {
        ^bb0(%p: f32, %q: f32):
          %r = arith.addf %p, %q : f32
          tk.yield %r : f32
        }
        scf.yield %next : !tk.tile<256xf32>
      }
      tk.store %a, %y[%c0] map #at : !tk.tile<256xf32>, !tk.global<tensor<768xf32>>
      %b = scf.for %k = %c0 to %c2 step %c1 iter_args(%sum = %zero) -> (!tk.tile<256xf32>) {
        %v = tk.load %z[%k] map #at : !tk.global<tensor<512xf32>> -> !tk.tile<256xf32>
        %next = tk.map (%v, %sum : !tk.tile<256xf32>, !tk.tile<256xf32>) -> !tk.tile<256xf32> {
        ^bb0(%p: f32, %q: f32):
          %r = arith.addf %p, %q : f32
          tk.yield %r : f32
        }
        scf.yield %next : !tk.tile<256xf32>
      }
      tk.store %b, %y[%c1] map #at : !tk.tile<256xf32>, !tk.global<tensor<768xf32>>
      %d = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tk.tile<256xf32>) {
        %v = tk.load %x[%k] map #at : !tk.global<tensor<2560xf32>> -> !tk.tile<256xf32>
        %next = tk.map (%v, %sum : !tk.tile<256xf32>, !tk.tile<256xf32>) -> !tk.tile<256xf32> {
        ^bb0(%p: f32, %q: f32):
          %r = arith.addf %p, %q : f32
          tk.yield %r : f32
        }
        scf.yield %next : !tk.tile<256xf32>
      }
      tk.store %d, %y[%c2] map #at : !tk.tile<256xf32>, !tk.global<tensor<768xf32>>
      tk.yield
    }
    return
  }
}

// -----

#at = affine_map<(d0)[s0] -> (s0 * 256 + d0)>

// A loop that writes memory, and one that holds another loop, stay; the inner one has several bodies.
// CHECK-LABEL: func @kernel
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1 {
// CHECK-COUNT-1: tk.load
// CHECK-NOT: tk.load
// CHECK: tk.store
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1 iter_args
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c4
// CHECK-COUNT-4: tk.load
// CHECK-NOT: tk.load
// CHECK: return
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [1], stream = [256], engine = simt, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<2048xf32>>, %y: !tk.global<tensor<2048xf32>>, %z: !tk.global<tensor<256xf32>>) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      scf.for %k = %c0 to %c8 step %c1 {
        %v = tk.load %x[%k] map #at : !tk.global<tensor<2048xf32>> -> !tk.tile<256xf32>
        tk.store %v, %y[%k] map #at : !tk.tile<256xf32>, !tk.global<tensor<2048xf32>>
      }
      %zero = tk.constant 0.0 : f32 : !tk.tile<256xf32>
      %a = scf.for %i = %c0 to %c8 step %c1 iter_args(%outer = %zero) -> (!tk.tile<256xf32>) {
        %b = scf.for %k = %c0 to %c8 step %c1 iter_args(%sum = %outer) -> (!tk.tile<256xf32>) {
          %v = tk.load %x[%k] map #at : !tk.global<tensor<2048xf32>> -> !tk.tile<256xf32>
          %next = tk.map (%v, %sum : !tk.tile<256xf32>, !tk.tile<256xf32>) -> !tk.tile<256xf32> {
          ^bb0(%p: f32, %q: f32):
            %r = arith.addf %p, %q : f32
            tk.yield %r : f32
          }
          scf.yield %next : !tk.tile<256xf32>
        }
        scf.yield %b : !tk.tile<256xf32>
      }
      tk.store %a, %z[%c0] map #at : !tk.tile<256xf32>, !tk.global<tensor<256xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Where mma.sync multiplies registers (a depth order), an iteration loads what the next one unpacks (not the row beside it); the last one its own
// again. There is a body for each iteration under way, so that no register is moved to another one, which would wait for its load.
#rows = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#words = affine_map<(d0, d1)[s0] -> (d1 * 128 + s0 * 8 + d0 floordiv 8)>
// CHECK-LABEL: func @registers
// CHECK: %[[W0:.*]] = tk.load %arg1[%c0]
// CHECK: scf.for %[[K:.*]] = %c0 to %c16 step %c2 iter_args(%{{.*}} = %{{.*}}, %[[W:.*]] = %[[W0]])
// CHECK: %[[N:.*]] = arith.addi %[[K]], %c1
// CHECK: %[[L:.*]] = arith.minsi %[[N]], %c15
// CHECK: %[[W1:.*]] = tk.load %arg1[%[[L]]]
// CHECK: %[[X:.*]] = tk.load %arg0[%[[K]]]
// CHECK: tk.map(%[[W]]
// CHECK: tk.dot %[[X]],
// CHECK: %[[W2:.*]] = tk.load %arg1[
// CHECK: tk.load %arg0[
// CHECK: tk.map(%[[W1]]
// CHECK-NOT: tk.load
// CHECK: scf.yield %{{.*}}, %[[W2]]
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [16, 16], stream = [64], engine = mma, warps = 1, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @registers(%x: !tk.global<tensor<16x1024xf16>>, %w: !tk.global<tensor<2048xi32>>, %y: !tk.global<tensor<16x16xf32>>) attributes {tk.warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x16xf32>
      %sum = scf.for %k = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x16xf32>) {
        %a = tk.load %x[%k] map #rows : <tensor<16x1024xf16>> -> <16x64xf16>
        %q = tk.load %w[%k] map #words : <tensor<2048xi32>> -> <64x16xi32>
        %b = tk.map (%q : !tk.tile<64x16xi32>) -> !tk.tile<64x16xf16> {
        ^bb0(%word: i32):
          %n = arith.sitofp %word : i32 to f16
          tk.yield %n : f16
        }
        %next = tk.dot %a, %b, %acc {depth_order = array<i64: 2, 4, 5, 0, 1, 3>} : !tk.tile<16x64xf16>, !tk.tile<64x16xf16>, !tk.tile<16x16xf32>
        scf.yield %next : !tk.tile<16x16xf32>
      }
      tk.store %sum, %y map affine_map<(d0, d1) -> (d0, d1)> : <16x16xf32>, <tensor<16x16xf32>>
      tk.yield
    }
    return
  }
}
