// RUN: weft-opt %s --split-input-file --weft-tk-layouts --weft-tk-late-sums | FileCheck %s

// A softmax's sum: four lanes share a row of an accumulator. Each adds up what it has, times the factor of the row; the reduction over the lanes
// stands behind the loop. The maximum, which each iteration needs, stays.
#row = affine_map<(d0, d1)[s0] -> (d0, s0 * 16 + d1)>
// CHECK-LABEL: func @fold
// CHECK: %[[ZERO:.*]] = tk.constant 0.000000e+00 : f32 : <16x4xf32
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[P:.*]] = %[[ZERO]]) -> (!tk.tile<16xf32, {{.*}}>, !tk.tile<16x4xf32, {{.*}}>)
// CHECK: tk.reduce{{.*}} dims [1] -> !tk.tile<16xf32
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.maximumf
// CHECK: %[[E:.*]] = tk.map({{.*}}) -> !tk.tile<16x16xf32
// CHECK: math.exp2
// CHECK: %[[SPLIT:.*]] = tk.relabel %[[E]] : <16x16xf32, {{.*}}> -> <16x4x4xf32, {{.*}}>
// CHECK: %[[PART:.*]] = tk.reduce(%[[SPLIT]] : {{.*}}) dims [1] -> !tk.tile<16x4xf32
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK: %[[OLD:.*]] = tk.broadcast %[[M]] dims [0] : {{.*}} -> <16x4xf32
// CHECK: %[[NEW:.*]] = tk.broadcast %{{.*}} dims [0] : {{.*}} -> <16x4xf32
// CHECK: %[[NEXT:.*]] = tk.map(%[[OLD]], %[[NEW]], %[[P]], %[[PART]] :
// CHECK: scf.yield %{{.*}}, %[[NEXT]]
// CHECK: %[[SUM:.*]] = tk.reduce(%[[LOOP]]#1 : {{.*}}) dims [1] -> !tk.tile<16xf32
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK: tk.map(%[[LOOP]]#0, %[[SUM]]
module attributes {tk.target = "sm_80"} {
  func.func @fold(%x: !tk.global<tensor<16x128xf16>>, %w: !tk.global<tensor<16x16xf16>>, %y: !tk.global<tensor<16xf32>>) attributes {tk.warps = 1 : i64} {
    %low = tk.constant 0xFF800000 : f32 : !tk.tile<16xf32>
    %zero = tk.constant 0.0 : f32 : !tk.tile<16xf32>
    %zeros = tk.constant 0.0 : f32 : !tk.tile<16x16xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %b = tk.load %w map affine_map<(d0, d1) -> (d0, d1)> : !tk.global<tensor<16x16xf16>> -> !tk.tile<16x16xf16>
      %r:2 = scf.for %k = %c0 to %c8 step %c1 iter_args(%m = %low, %s = %zero) -> (!tk.tile<16xf32>, !tk.tile<16xf32>) {
        %a = tk.load %x[%k] map #row : !tk.global<tensor<16x128xf16>> -> !tk.tile<16x16xf16>
        %d = tk.dot %a, %b, %zeros : !tk.tile<16x16xf16>, !tk.tile<16x16xf16>, !tk.tile<16x16xf32>
        %most = tk.reduce (%d : !tk.tile<16x16xf32>) dims [1] -> !tk.tile<16xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.maximumf %l, %n : f32
          tk.yield %0 : f32
        }
        %new = tk.map (%m, %most : !tk.tile<16xf32>, !tk.tile<16xf32>) -> !tk.tile<16xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.maximumf %l, %n : f32
          tk.yield %0 : f32
        }
        %wide = tk.broadcast %new dims [0] : !tk.tile<16xf32> -> !tk.tile<16x16xf32>
        %e = tk.map (%d, %wide : !tk.tile<16x16xf32>, !tk.tile<16x16xf32>) -> !tk.tile<16x16xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.subf %l, %n : f32
          %1 = math.exp2 %0 : f32
          tk.yield %1 : f32
        }
        %part = tk.reduce (%e : !tk.tile<16x16xf32>) dims [1] -> !tk.tile<16xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %next = tk.map (%m, %new, %s, %part : !tk.tile<16xf32>, !tk.tile<16xf32>, !tk.tile<16xf32>, !tk.tile<16xf32>) -> !tk.tile<16xf32> {
        ^bb0(%old: f32, %now: f32, %sum: f32, %more: f32):
          %0 = arith.subf %old, %now : f32
          %1 = math.exp2 %0 : f32
          %2 = arith.mulf %sum, %1 : f32
          %3 = arith.addf %2, %more : f32
          tk.yield %3 : f32
        }
        scf.yield %new, %next : !tk.tile<16xf32>, !tk.tile<16xf32>
      }
      %lse = tk.map (%r#0, %r#1 : !tk.tile<16xf32>, !tk.tile<16xf32>) -> !tk.tile<16xf32> {
      ^bb0(%m: f32, %s: f32):
        %0 = arith.divf %m, %s : f32
        tk.yield %0 : f32
      }
      tk.store %lse, %y map affine_map<(d0) -> (d0)> : !tk.tile<16xf32>, !tk.global<tensor<16xf32>>
      tk.yield
    }
    return
  }
}

// -----

// A start that is no zero goes to the first part. The reductions stand behind what waits for copies by threads. A start that is such a sum itself, as the overlapped first iteration makes, is one of parts.
#row = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
// CHECK-LABEL: func @starts
// CHECK: %[[FIRST:.*]] = tk.relabel
// CHECK: %[[START:.*]] = tk.reduce(%[[FIRST]] : {{.*}}) dims [1] -> !tk.tile<4x[[N:[0-9]+]]xf32
// CHECK: %[[G:.*]] = tk.guard #{{.*}} : <4x[[N]]xi1
// CHECK: %[[W:.*]] = tk.broadcast %{{.*}} dims [0] : {{.*}} -> <4x[[N]]xf32
// CHECK: %[[OTHER:.*]] = tk.map(%[[G]], %[[W]] :
// CHECK: arith.select
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[START]], %{{.*}} = %[[OTHER]])
// CHECK-COUNT-2: tk.relabel
// CHECK: tk.wait
// CHECK: tk.reduce(%[[LOOP]]#1
// CHECK: tk.reduce(%[[LOOP]]#0
// CHECK-NEXT: ^bb0
// CHECK: tk.map(
module attributes {tk.target = "sm_80"} {
  func.func @starts(%x: !tk.global<tensor<4x512xf32>>, %s: !tk.global<tensor<4xf32>>, %y: !tk.global<tensor<4xf32>>) attributes {tk.warps = 2 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c = tk.make_channel engine cp_async consumers 1 bytes 1024 : !tk.channel<2>
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %given = tk.load %s map affine_map<(d0) -> (d0)> : !tk.global<tensor<4xf32>> -> !tk.tile<4xf32>
      %a = tk.load %x[%c0] map #row : !tk.global<tensor<4x512xf32>> -> !tk.tile<4x64xf32>
      %first = tk.reduce (%a : !tk.tile<4x64xf32>) dims [1] -> !tk.tile<4xf32> {
      ^bb0(%l: f32, %n: f32):
        %0 = arith.addf %l, %n : f32
        tk.yield %0 : f32
      }
      %r:2 = scf.for %k = %c1 to %c8 step %c1 iter_args(%p = %first, %q = %given) -> (!tk.tile<4xf32>, !tk.tile<4xf32>) {
        %b = tk.load %x[%k] map #row : !tk.global<tensor<4x512xf32>> -> !tk.tile<4x64xf32>
        %one = tk.reduce (%b : !tk.tile<4x64xf32>) dims [1] -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %two = tk.reduce (%b : !tk.tile<4x64xf32>) dims [1] -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %p1 = tk.map (%p, %one : !tk.tile<4xf32>, !tk.tile<4xf32>) -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %q1 = tk.map (%q, %two : !tk.tile<4xf32>, !tk.tile<4xf32>) -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %half = arith.constant 0.5 : f32
          %0 = math.fma %half, %l, %n : f32
          tk.yield %0 : f32
        }
        scf.yield %p1, %q1 : !tk.tile<4xf32>, !tk.tile<4xf32>
      }
      tk.wait %c[%c0] : !tk.channel<2>
      %z = tk.map (%r#0, %r#1 : !tk.tile<4xf32>, !tk.tile<4xf32>) -> !tk.tile<4xf32> {
      ^bb0(%l: f32, %n: f32):
        %0 = arith.divf %l, %n : f32
        tk.yield %0 : f32
      }
      tk.store %z, %y map affine_map<(d0) -> (d0)> : !tk.tile<4xf32>, !tk.global<tensor<4xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Left alone: a sum that something is added to beside reductions, one that an iteration reads otherwise, and one that is multiplied by itself.
#row = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
// CHECK-LABEL: func @others
// CHECK-NOT: tk.relabel
module attributes {tk.target = "sm_80"} {
  func.func @others(%x: !tk.global<tensor<4x512xf32>>, %y: !tk.global<tensor<4xf32>>) attributes {tk.warps = 1 : i64} {
    %zero = tk.constant 0.0 : f32 : !tk.tile<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %r:3 = scf.for %k = %c0 to %c8 step %c1 iter_args(%p = %zero, %q = %zero, %u = %zero) -> (!tk.tile<4xf32>, !tk.tile<4xf32>, !tk.tile<4xf32>) {
        %b = tk.load %x[%k] map #row : !tk.global<tensor<4x512xf32>> -> !tk.tile<4x64xf32>
        %wide = tk.broadcast %q dims [0] : !tk.tile<4xf32> -> !tk.tile<4x64xf32>
        %d = tk.map (%b, %wide : !tk.tile<4x64xf32>, !tk.tile<4x64xf32>) -> !tk.tile<4x64xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.subf %l, %n : f32
          tk.yield %0 : f32
        }
        %one = tk.reduce (%b : !tk.tile<4x64xf32>) dims [1] -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %two = tk.reduce (%d : !tk.tile<4x64xf32>) dims [1] -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %three = tk.reduce (%b : !tk.tile<4x64xf32>) dims [1] -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %p1 = tk.map (%p, %one : !tk.tile<4xf32>, !tk.tile<4xf32>) -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %c = arith.constant 1.0 : f32
          %0 = arith.addf %l, %n : f32
          %1 = arith.addf %0, %c : f32
          tk.yield %1 : f32
        }
        %q1 = tk.map (%q, %two : !tk.tile<4xf32>, !tk.tile<4xf32>) -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.addf %l, %n : f32
          tk.yield %0 : f32
        }
        %u1 = tk.map (%u, %three : !tk.tile<4xf32>, !tk.tile<4xf32>) -> !tk.tile<4xf32> {
        ^bb0(%l: f32, %n: f32):
          %0 = arith.mulf %l, %n : f32
          %1 = arith.addf %0, %n : f32
          tk.yield %1 : f32
        }
        scf.yield %p1, %q1, %u1 : !tk.tile<4xf32>, !tk.tile<4xf32>, !tk.tile<4xf32>
      }
      %z = tk.map (%r#0, %r#1, %r#2 : !tk.tile<4xf32>, !tk.tile<4xf32>, !tk.tile<4xf32>) -> !tk.tile<4xf32> {
      ^bb0(%l: f32, %n: f32, %o: f32):
        %0 = arith.divf %l, %n : f32
        %1 = arith.divf %0, %o : f32
        tk.yield %1 : f32
      }
      tk.store %z, %y map affine_map<(d0) -> (d0)> : !tk.tile<4xf32>, !tk.global<tensor<4xf32>>
      tk.yield
    }
    return
  }
}
