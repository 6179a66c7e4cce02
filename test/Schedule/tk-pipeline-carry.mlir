// RUN: weft-opt %s --split-input-file --weft-tk-stage --weft-tk-pipeline --cse | FileCheck %s

// Values are those of a cache and, behind them, a new row: threads choose between the two and store what a dot reads. A thread has the registers for four
// steps of 16 words, of three that there are: all loads stand ahead of the loop, none in it.
#q = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#past = affine_set<(d0, d1)[s0] : (-d0 - s0 * 64 + 150 >= 0)>
#isPast = affine_set<(d0)[s0] : (-d0 - s0 * 64 + 150 >= 0)>
#row = affine_map<(d0) -> (0, d0)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @all
// CHECK-DAG: %[[C1:.*]] = arith.constant 1
// CHECK-DAG: %[[C2:.*]] = arith.constant 2
// CHECK: tk.for_tiles
// CHECK: %[[V0:.*]] = tk.load %arg1[%c0] map {{.*}} guard
// CHECK: %[[V1:.*]] = tk.load %arg1[%[[C1]]]
// CHECK: %[[V2:.*]] = tk.load %arg1[%[[C2]]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %{{[a-z0-9]+}} = %{{[0-9]+}}, %[[A0:[a-z0-9]+]] = %[[V0]], %{{[a-z0-9]+}} = %{{[0-9]+}}, %[[A1:[a-z0-9]+]] = %[[V1]], %{{[a-z0-9]+}} = %{{[0-9]+}}, %[[A2:[a-z0-9]+]] = %[[V2]])
// CHECK-NOT: tk.load %arg1
// CHECK: %[[T:.*]] = tk.map(%{{.*}}, %[[A0]], %{{.*}}
// CHECK: tk.local_store %[[T]]
// CHECK: scf.yield %{{.*}}, %[[A1]], %{{.*}}, %[[A2]], %{{.*}}, %[[A2]] :
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [16, 64], stream = [64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @all(%p: !tk.global<tensor<16x192xf16>>, %c: !tk.global<tensor<151x64xf16>>, %n: !tk.global<tensor<1x64xf16>>, %o: !tk.global<tensor<16x64xf32>>) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x64xf32>
      %new = tk.load %n map #row : !tk.global<tensor<1x64xf16>> -> !tk.tile<64xf16>
      %sum = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x64xf32>) {
        %a = tk.load %p[%k] map #q : !tk.global<tensor<16x192xf16>> -> !tk.tile<16x64xf16>
        %twice = tk.map (%a : !tk.tile<16x64xf16>) -> !tk.tile<16x64xf16> {
        ^bb0(%x: f16):
          %s = arith.addf %x, %x : f16
          tk.yield %s : f16
        }
        %b = tk.load %c[%k] map #v guard #past : !tk.global<tensor<151x64xf16>> -> !tk.tile<64x64xf16>
        %is = tk.guard #isPast [%k] : !tk.tile<64xi1>
        %wide = tk.broadcast %is dims [0] : !tk.tile<64xi1> -> !tk.tile<64x64xi1>
        %rows = tk.broadcast %new dims [1] : !tk.tile<64xf16> -> !tk.tile<64x64xf16>
        %both = tk.map (%wide, %b, %rows : !tk.tile<64x64xi1>, !tk.tile<64x64xf16>, !tk.tile<64x64xf16>) -> !tk.tile<64x64xf16> {
        ^bb0(%i: i1, %x: f16, %y: f16):
          %s = arith.select %i, %x, %y : f16
          tk.yield %s : f16
        }
        %d = tk.dot %twice, %both, %acc : !tk.tile<16x64xf16>, !tk.tile<64x64xf16>, !tk.tile<16x64xf32>
        scf.yield %d : !tk.tile<16x64xf32>
      }
      tk.store %sum, %o map #y : !tk.tile<16x64xf32>, !tk.global<tensor<16x64xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Of twelve steps the next three are under way: a step begins with the loads of the third one behind it, which read nothing past the end.
#q = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#past = affine_set<(d0, d1)[s0] : (-d0 - s0 * 64 + 726 >= 0)>
#isPast = affine_set<(d0)[s0] : (-d0 - s0 * 64 + 726 >= 0)>
#row = affine_map<(d0) -> (0, d0)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @some
// CHECK: %[[V0:.*]] = tk.load %arg1[%c0]
// CHECK: %[[V1:.*]] = tk.load %arg1[%c1]
// CHECK: scf.for %[[K:.*]] = %c0 to %[[END:.*]] step %c1 iter_args(
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %{{.*}} : index
// CHECK: tk.load %arg1[%[[NEXT]], %[[NEXT]], %[[END]]] map {{.*}} guard
// CHECK: tk.local_store
// CHECK-NOT: tk.load
// CHECK: scf.yield
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [16, 64], stream = [64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @some(%p: !tk.global<tensor<16x768xf16>>, %c: !tk.global<tensor<727x64xf16>>, %n: !tk.global<tensor<1x64xf16>>, %o: !tk.global<tensor<16x64xf32>>) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 12 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x64xf32>
      %new = tk.load %n map #row : !tk.global<tensor<1x64xf16>> -> !tk.tile<64xf16>
      %sum = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x64xf32>) {
        %a = tk.load %p[%k] map #q : !tk.global<tensor<16x768xf16>> -> !tk.tile<16x64xf16>
        %twice = tk.map (%a : !tk.tile<16x64xf16>) -> !tk.tile<16x64xf16> {
        ^bb0(%x: f16):
          %s = arith.addf %x, %x : f16
          tk.yield %s : f16
        }
        %b = tk.load %c[%k] map #v guard #past : !tk.global<tensor<727x64xf16>> -> !tk.tile<64x64xf16>
        %is = tk.guard #isPast [%k] : !tk.tile<64xi1>
        %wide = tk.broadcast %is dims [0] : !tk.tile<64xi1> -> !tk.tile<64x64xi1>
        %rows = tk.broadcast %new dims [1] : !tk.tile<64xf16> -> !tk.tile<64x64xf16>
        %both = tk.map (%wide, %b, %rows : !tk.tile<64x64xi1>, !tk.tile<64x64xf16>, !tk.tile<64x64xf16>) -> !tk.tile<64x64xf16> {
        ^bb0(%i: i1, %x: f16, %y: f16):
          %s = arith.select %i, %x, %y : f16
          tk.yield %s : f16
        }
        %d = tk.dot %twice, %both, %acc : !tk.tile<16x64xf16>, !tk.tile<64x64xf16>, !tk.tile<16x64xf32>
        scf.yield %d : !tk.tile<16x64xf32>
      }
      tk.store %sum, %o map #y : !tk.tile<16x64xf32>, !tk.global<tensor<16x64xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Nobody knows how many steps there are: half of the registers, and even the first step's loads ask whether there is one.
#q = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#past = affine_set<(d0, d1)[s0] : (-d0 - s0 * 64 + 726 >= 0)>
#isPast = affine_set<(d0)[s0] : (-d0 - s0 * 64 + 726 >= 0)>
#row = affine_map<(d0) -> (0, d0)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @unknown
// CHECK: tk.load %arg1[%[[FROM:c0]], %[[FROM]], %[[TO:arg4]]] map {{.*}} guard
// CHECK-NOT: tk.load %arg1
// CHECK: scf.for %[[K:.*]] = %[[FROM]] to %[[TO]] step
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]]
// CHECK: tk.load %arg1[%[[NEXT]], %[[NEXT]], %[[TO]]]
// CHECK: tk.local_store
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [16, 64], stream = [64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @unknown(%p: !tk.global<tensor<16x768xf16>>, %c: !tk.global<tensor<727x64xf16>>, %n: !tk.global<tensor<1x64xf16>>, %o: !tk.global<tensor<16x64xf32>>, %steps: index) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 12 : index
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x64xf32>
      %new = tk.load %n map #row : !tk.global<tensor<1x64xf16>> -> !tk.tile<64xf16>
      %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x64xf32>) {
        %a = tk.load %p[%k] map #q : !tk.global<tensor<16x768xf16>> -> !tk.tile<16x64xf16>
        %twice = tk.map (%a : !tk.tile<16x64xf16>) -> !tk.tile<16x64xf16> {
        ^bb0(%x: f16):
          %s = arith.addf %x, %x : f16
          tk.yield %s : f16
        }
        %b = tk.load %c[%k] map #v guard #past : !tk.global<tensor<727x64xf16>> -> !tk.tile<64x64xf16>
        %is = tk.guard #isPast [%k] : !tk.tile<64xi1>
        %wide = tk.broadcast %is dims [0] : !tk.tile<64xi1> -> !tk.tile<64x64xi1>
        %rows = tk.broadcast %new dims [1] : !tk.tile<64xf16> -> !tk.tile<64x64xf16>
        %both = tk.map (%wide, %b, %rows : !tk.tile<64x64xi1>, !tk.tile<64x64xf16>, !tk.tile<64x64xf16>) -> !tk.tile<64x64xf16> {
        ^bb0(%i: i1, %x: f16, %y: f16):
          %s = arith.select %i, %x, %y : f16
          tk.yield %s : f16
        }
        %d = tk.dot %twice, %both, %acc : !tk.tile<16x64xf16>, !tk.tile<64x64xf16>, !tk.tile<16x64xf32>
        scf.yield %d : !tk.tile<16x64xf32>
      }
      tk.store %sum, %o map #y : !tk.tile<16x64xf32>, !tk.global<tensor<16x64xf32>>
      tk.yield
    }
    return
  }
}
