// RUN: weft-opt %s -split-input-file --weft-tk-split-masks | FileCheck %s

// Below the diagonal of a causal mask nothing is compared; the guard is made in the other branch only.
// CHECK-LABEL: func @causal
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[S:.*]] =
// CHECK-DAG: %[[ROWS:.*]] = arith.muli %arg1, %c32
// CHECK-DAG: %[[STEPS:.*]] = arith.muli %[[K]], %c-64
// CHECK: %[[SUM:.*]] = arith.addi %[[ROWS]], %[[STEPS]]
// CHECK: %[[LEAST:.*]] = arith.addi %[[SUM]], %c-63
// CHECK: %[[ALL:.*]] = arith.cmpi sge, %[[LEAST]], %c0
// CHECK: %[[R:.*]] = scf.if %[[ALL]]
// CHECK: %[[P:.*]] = tk.map(%[[S]] : !tk.tile<32x64xf32>)
// CHECK-NOT: arith.select
// CHECK: scf.yield %[[P]]
// CHECK: else
// CHECK: %[[G:.*]] = tk.guard
// CHECK: %[[M:.*]] = tk.map(%[[G]], %[[S]] :
// CHECK: arith.select
// CHECK: scf.yield %[[M]]
// CHECK: scf.yield %[[R]]
module {
  func.func @causal(%x: !tk.tile<32x64xf32>, %row: index, %n: index) -> !tk.tile<32x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %x) -> (!tk.tile<32x64xf32>) {
      %g = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m = tk.map (%g, %s : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
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

// Left alone: a guard that is a value too, one that is not linear in the places, a small tile, a map outside of loops.
// CHECK-LABEL: func @others
// CHECK-NOT: scf.if
module {
  func.func @others(%x: !tk.tile<32x64xf32>, %t: !tk.tile<8x8xf32>, %row: index, %n: index) -> (!tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>, !tk.tile<32x64xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %d = %t) -> (!tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>) {
      %g0 = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m0 = tk.map (%g0, %a : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
      ^bb0(%c: i1, %v: f32):
        %0 = arith.uitofp %c : i1 to f32
        %1 = arith.select %c, %v, %0 : f32
        tk.yield %1 : f32
      }
      %g1 = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 floordiv 4 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
      %m1 = tk.map (%g1, %b : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
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
      scf.yield %m0, %m1, %m2 : !tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>
    }
    %g = tk.guard affine_set<(d0, d1)[s0] : (s0 * 32 + d0 - d1 >= 0)> [%row] : !tk.tile<32x64xi1>
    %m = tk.map (%g, %x : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
    ^bb0(%c: i1, %v: f32):
      %z = arith.constant 0.0 : f32
      %1 = arith.select %c, %v, %z : f32
      tk.yield %1 : f32
    }
    return %r#0, %r#1, %r#2, %m : !tk.tile<32x64xf32>, !tk.tile<32x64xf32>, !tk.tile<8x8xf32>, !tk.tile<32x64xf32>
  }
}
