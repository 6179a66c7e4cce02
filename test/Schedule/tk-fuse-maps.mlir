// RUN: weft-opt %s --weft-tk-fuse-maps | FileCheck %s

// A diamond below one reader is one map; the constant is a scalar; a value read twice stays.
// CHECK-LABEL: func.func @chain
// CHECK: %[[SHARED:.*]] = tk.map(%arg0 : !tk.tile<64xf32>)
// CHECK: math.exp
// CHECK: %[[ALL:.*]] = tk.map(%[[SHARED]] : !tk.tile<64xf32>) -> !tk.tile<64xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
// CHECK-NEXT:   %[[TWO:.*]] = arith.constant 2.0
// CHECK-NEXT:   %[[P:.*]] = arith.mulf %[[A]], %[[TWO]]
// CHECK-NEXT:   %[[N:.*]] = arith.negf %[[P]]
// CHECK-NEXT:   %[[S:.*]] = arith.addf %[[N]], %[[A]]
// CHECK-NEXT:   tk.yield %[[S]]
// CHECK: return %[[ALL]], %[[SHARED]]
func.func @chain(%x: !tk.tile<64xf32>) -> (!tk.tile<64xf32>, !tk.tile<64xf32>) {
  %two = tk.constant 2.0 : f32 : !tk.tile<64xf32>
  %e = tk.map (%x : !tk.tile<64xf32>) -> !tk.tile<64xf32> {
  ^bb0(%a: f32):
    %p = math.exp %a : f32
    tk.yield %p : f32
  }
  %0 = tk.map (%e, %two : !tk.tile<64xf32>, !tk.tile<64xf32>) -> !tk.tile<64xf32> {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    tk.yield %p : f32
  }
  %1 = tk.map (%0 : !tk.tile<64xf32>) -> !tk.tile<64xf32> {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    tk.yield %n : f32
  }
  %2 = tk.map (%1, %e : !tk.tile<64xf32>, !tk.tile<64xf32>) -> !tk.tile<64xf32> {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    tk.yield %n : f32
  }
  return %2, %e : !tk.tile<64xf32>, !tk.tile<64xf32>
}

// A producer with two results that one reader reads; one in another block stays.
// CHECK-LABEL: func.func @pair
// CHECK: tk.map
// CHECK-NOT: tk.map
// CHECK: scf.if
// CHECK: tk.map
func.func @pair(%x: !tk.tile<64xf32>, %c: i1) -> !tk.tile<64xf32> {
  %0:2 = tk.map (%x : !tk.tile<64xf32>) -> !tk.tile<64xf32>, !tk.tile<64xf32> {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    tk.yield %a, %n : f32, f32
  }
  %1 = tk.map (%0#1, %0#0 : !tk.tile<64xf32>, !tk.tile<64xf32>) -> !tk.tile<64xf32> {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    tk.yield %n : f32
  }
  %r = scf.if %c -> !tk.tile<64xf32> {
    %2 = tk.map (%1 : !tk.tile<64xf32>) -> !tk.tile<64xf32> {
    ^bb0(%a: f32):
      %n = arith.negf %a : f32
      tk.yield %n : f32
    }
    scf.yield %2 : !tk.tile<64xf32>
  } else {
    scf.yield %x : !tk.tile<64xf32>
  }
  return %r : !tk.tile<64xf32>
}
