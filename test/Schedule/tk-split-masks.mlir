// RUN: weft-opt %s -split-input-file --weft-tk-split-masks | FileCheck %s

// A causal mask: up to (row * 32 - 63 + 64) / 64 nothing is compared, behind it all steps are masked.
// CHECK-LABEL: func @causal
// CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %c32
// CHECK: %[[SUM:.*]] = arith.addi %[[ROWS]], %c1
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[SUM]], %c0
// CHECK: %[[LIMIT:.*]] = arith.divui %[[LEAST]], %c64
// CHECK: %[[MOST:.*]] = arith.minsi %[[N:.*]], %[[LIMIT]]
// CHECK: %[[END:.*]] = arith.maxsi %[[MOST]], %[[FROM:.*]] : index
// CHECK: %[[PLAIN:.*]] = scf.for %{{.*}} = %[[FROM]] to %[[END]] step %{{.*}} iter_args(%{{.*}} = %[[X:.*]])
// CHECK-NOT: tk.guard
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[END]] to %[[N]] step %{{.*}} iter_args(%{{.*}} = %[[PLAIN]])
// CHECK: tk.guard
// CHECK: arith.select
module {
  func.func @causal(%a: !tk.tile<32x16xf16>, %b: !tk.tile<16x64xf16>, %x: !tk.tile<32x64xf32>, %row: index, %n: index) -> !tk.tile<32x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %x) -> (!tk.tile<32x64xf32>) {
      %d = tk.dot %a, %b, %s : !tk.tile<32x16xf16>, !tk.tile<16x64xf16>, !tk.tile<32x64xf32>
      %g = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m = tk.map (%g, %d : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %0 = arith.mulf %v, %v : f32
        %1 = arith.select %c, %0, %z : f32
        tk.yield %1 : f32
      }
      scf.yield %m : !tk.tile<32x64xf32>
    }
    return %r : !tk.tile<32x64xf32>
  }
}

// -----

// A ragged extent, of a stretched guard, by a number that runs one behind the step: 17 steps of 128 for 2,111 places,
// of which the last one is masked. The first step, ahead of the loop, has no mask that could fail.
// CHECK-LABEL: func @ragged
// CHECK: %[[PLAIN:.*]] = scf.for %{{.*}} = %c1{{.*}} to %[[LAST:c17.*]] step
// CHECK-NOT: tk.broadcast
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[LAST]] to %c18 step %{{.*}} iter_args(%{{.*}} = %[[PLAIN]])
// CHECK: tk.broadcast
// CHECK: arith.select
// CHECK-NOT: scf.for
module {
  func.func @ragged(%a: !tk.tile<32x16xf16>, %b: !tk.tile<16x128xf16>, %x: !tk.tile<32x128xf32>) -> !tk.tile<32x128xf32> {
    %c1 = arith.constant 1 : index
    %c18 = arith.constant 18 : index
    %r = scf.for %k = %c1 to %c18 step %c1 iter_args(%s = %x) -> (!tk.tile<32x128xf32>) {
      %d = tk.dot %a, %b, %s : !tk.tile<32x16xf16>, !tk.tile<16x128xf16>, !tk.tile<32x128xf32>
      %before = arith.subi %k, %c1 : index
      %g = tk.guard affine_set<(d0)[s0] : (-d0 - s0 * 128 + 2110 >= 0)> [%before] : !tk.tile<128xi1>
      %wide = tk.broadcast %g dims [1] : !tk.tile<128xi1> -> !tk.tile<32x128xi1>
      %m = tk.map (%wide, %d : !tk.tile<32x128xi1>, !tk.tile<32x128xf32>) -> !tk.tile<32x128xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %0 = arith.select %c, %v, %z : f32
        tk.yield %0 : f32
      }
      scf.yield %m : !tk.tile<32x128xf32>
    }
    return %r : !tk.tile<32x128xf32>
  }
}

// -----

// A band: steps ahead of the diagonals, between them, and behind them. The map ahead of the loop has two branches.
// CHECK-LABEL: func @band
// CHECK: %[[HOLDS:.*]] = arith.cmpi sge
// CHECK: scf.if %[[HOLDS]]
// CHECK-NOT: arith.select
// CHECK: else
// CHECK: arith.select
// CHECK: %[[AHEAD:.*]] = scf.for %{{.*}} = %c0{{.*}} to %[[FIRST:.*]] step %c1
// CHECK: arith.select
// CHECK: %[[INSIDE:.*]] = scf.for %{{.*}} = %[[FIRST]] to %[[END:.*]] step %{{.*}} iter_args(%{{.*}} = %[[AHEAD]])
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %[[INSIDE]])
// CHECK: arith.select
module {
  func.func @band(%a: !tk.tile<32x16xf16>, %b: !tk.tile<16x64xf16>, %x: !tk.tile<32x64xf32>, %row: index, %n: index) -> !tk.tile<32x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %g0 = tk.guard affine_set<(d0, d1)[s0] : (s0 * 32 + d0 - d1 >= 0)> [%row] : !tk.tile<32x64xi1>
    %m0 = tk.map (%g0, %x : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
    ^bb0(%c: i1, %v: f32):
      %z = arith.constant 0.0 : f32
      %0 = arith.select %c, %v, %z : f32
      tk.yield %0 : f32
    }
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %m0) -> (!tk.tile<32x64xf32>) {
      %d = tk.dot %a, %b, %s : !tk.tile<32x16xf16>, !tk.tile<16x64xf16>, !tk.tile<32x64xf32>
      %g = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - s1 * 64 - d1 >= 0, s1 * 64 + d1 - s0 * 32 - d0 + 512 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m = tk.map (%g, %d : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %0 = arith.select %c, %v, %z : f32
        tk.yield %0 : f32
      }
      scf.yield %m : !tk.tile<32x64xf32>
    }
    return %r : !tk.tile<32x64xf32>
  }
}

// -----

// Rows of two dimensions, four heads by eight: the place in a head is a remainder, which is 0 at least.
// CHECK-LABEL: func @heads
// CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %c8
// CHECK: arith.addi %[[ROWS]], %c1
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: arith.select
module {
  func.func @heads(%a: !tk.tile<32x16xf16>, %b: !tk.tile<16x64xf16>, %x: !tk.tile<32x64xf32>, %row: index, %n: index) -> !tk.tile<32x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %x) -> (!tk.tile<32x64xf32>) {
      %d = tk.dot %a, %b, %s : !tk.tile<32x16xf16>, !tk.tile<16x64xf16>, !tk.tile<32x64xf32>
      %g = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 8 + d0 mod 8 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m = tk.map (%g, %d : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %0 = arith.select %c, %v, %z : f32
        tk.yield %0 : f32
      }
      scf.yield %m : !tk.tile<32x64xf32>
    }
    return %r : !tk.tile<32x64xf32>
  }
}

// -----

// Left alone: a guard that is a value too, one that is not linear in the places, one that is not linear in the step, a
// small tile, a loop without a product.
// CHECK-LABEL: func @others
// CHECK-NOT: scf.if
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
module {
  func.func @others(%a: !tk.tile<32x16xf16>, %b: !tk.tile<16x64xf16>, %x: !tk.tile<32x64xf32>, %t: !tk.tile<8x8xf32>, %row: index, %n: index) -> (!tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>, !tk.tile<32x64xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%s = %x, %u = %x, %d = %t) -> (!tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>) {
      %p = tk.dot %a, %b, %s : !tk.tile<32x16xf16>, !tk.tile<16x64xf16>, !tk.tile<32x64xf32>
      %g0 = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m0 = tk.map (%g0, %p : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %0 = arith.uitofp %c : i1 to f32
        %1 = arith.select %c, %v, %0 : f32
        tk.yield %1 : f32
      }
      %g1 = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + (d0 + d1) floordiv 4 - s1 * 64 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m1 = tk.map (%g1, %u : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %1 = arith.select %c, %v, %z : f32
        tk.yield %1 : f32
      }
      %g2 = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 8 + d0 - s1 * 8 - d1 >= 0)> [%row, %k] : !tk.tile<8x8xi1>
      %m2 = tk.map (%g2, %d : !tk.tile<8x8xi1>, !tk.tile<8x8xf32>) -> !tk.tile<8x8xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %1 = arith.select %c, %v, %z : f32
        tk.yield %1 : f32
      }
      %g3 = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - (s1 floordiv 2) * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m3 = tk.map (%g3, %m1 : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %1 = arith.select %c, %v, %z : f32
        tk.yield %1 : f32
      }
      scf.yield %m0, %m3, %m2 : !tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>
    }
    %q = scf.for %k = %c0 to %n step %c1 iter_args(%s = %x) -> (!tk.tile<32x64xf32>) {
      %g = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m = tk.map (%g, %s : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %z = arith.constant 0.0 : f32
        %1 = arith.select %c, %v, %z : f32
        tk.yield %1 : f32
      }
      scf.yield %m : !tk.tile<32x64xf32>
    }
    return %r#0, %r#1, %r#2, %q : !tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>, !tk.tile<32x64xf32>
  }
}
