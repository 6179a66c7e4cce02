// Loads of a loop stand ahead of the reductions that they do not need: nothing is asked for behind an exchange between warps.
// RUN: weft-opt %s --weft-tk-pipeline --split-input-file | FileCheck %s

#at = affine_map<(d0)[s0] -> (s0 * 256 + d0)>
#first = affine_map<(d0)[s0] -> (s0 * 256)>

// CHECK-LABEL: func @moved
// CHECK: scf.for
// CHECK: tk.load %arg0
// CHECK-NEXT: tk.load %arg1[%[[K:[a-z0-9]+]]]
// CHECK-NEXT: tk.reduce
// Its place is computed behind the reduction:
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]]
// CHECK-NEXT: tk.load %arg1[%[[NEXT]]]
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [1], stream = [256], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @moved(%x: !tk.global<tensor<2560xf32>>, %y: !tk.global<tensor<2816xf32>>, %z: !tk.global<tensor<256xf32>>) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %zero = tk.constant 0.0 : f32 : !tk.tile<256xf32>
      %a = scf.for %k = %c0 to %c10 step %c1 iter_args(%sum = %zero) -> (!tk.tile<256xf32>) {
        %v = tk.load %x[%k] map #at : !tk.global<tensor<2560xf32>> -> !tk.tile<256xf32>
        %m = tk.reduce (%v : !tk.tile<256xf32>) dims [0] -> !tk.tile<f32> {
        ^bb0(%p: f32, %q: f32):
          %r = arith.maximumf %p, %q : f32
          tk.yield %r : f32
        }
        %o = tk.load %y[%k] map #at : !tk.global<tensor<2816xf32>> -> !tk.tile<256xf32>
        %next = arith.addi %k, %c1 : index
        %w = tk.load %y[%next] map #at : !tk.global<tensor<2816xf32>> -> !tk.tile<256xf32>
        %b = tk.broadcast %m dims [] : !tk.tile<f32> -> !tk.tile<256xf32>
        %s = tk.map (%w, %b, %o : !tk.tile<256xf32>, !tk.tile<256xf32>, !tk.tile<256xf32>) -> !tk.tile<256xf32> {
        ^bb0(%p: f32, %q: f32, %g: f32):
          %r = arith.mulf %p, %q : f32
          %u = arith.addf %r, %g : f32
          tk.yield %u : f32
        }
        scf.yield %s : !tk.tile<256xf32>
      }
      tk.store %a, %z[%c0] map #at : !tk.tile<256xf32>, !tk.global<tensor<256xf32>>
      tk.yield
    }
    return
  }
}
