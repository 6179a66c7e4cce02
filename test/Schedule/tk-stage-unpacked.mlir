// Packed weights of a product stay in registers (`depth_order`). What makes them zero past the end of the sum goes where the other operand is
// zero there and they are numbers.
// RUN: weft-opt %s --weft-tk-stage --split-input-file | FileCheck %s

// Words and scales end where the row does.
// CHECK-LABEL: module @all
// CHECK: tk.map
// CHECK-NOT: arith.select
// CHECK: tk.dot {{.*}} {depth_order = array<i64: 2, 5, 6, 0, 1, 3, 4>}
#grid = affine_map<() -> (4)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#x = affine_map<(d0)[s0] -> (d0 + s0 * 512)>
#w = affine_map<(d0, d1)[s0, s1] -> (d1 * 132 + s0 * 2112 + s1 * 64 + d0 floordiv 8)>
#f = affine_map<(d0) -> ((d0 mod 8) * 4)>
#s = affine_map<(d0, d1)[s0, s1] -> (d1 + s0 * 16, d0 floordiv 32 + s1 * 16)>
#end = affine_set<(d0)[s0] : (-d0 - s0 * 512 + 1055 >= 0)>
#end2 = affine_set<(d0, d1)[s0, s1] : (-d0 - s1 * 512 + 1055 >= 0)>
module @all attributes {tg.schedule = #tg.schedule<tile = [16], stream = [512], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>, tk.target = "sm_90a"} {
  func.func @kernel(%arg0: !tk.global<tensor<8448xi32>>, %arg1: !tk.global<tensor<64x33xf16>>, %arg2: !tk.global<tensor<1056xf16>>, %arg3: !tk.global<tensor<16x16x4xf32>>) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    tk.for_tiles (%n) in #grid order "row" {
    %zero = tk.constant 0.0 : f32 : <16x16x4xf32>
    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%sum = %zero) -> (!tk.tile<16x16x4xf32>) {
      %x = tk.load %arg2[%k] map #x guard #end : <tensor<1056xf16>> -> <512xf16>
      %rows = tk.broadcast %x dims [1] : <512xf16> -> <16x512xf16>
      %w = tk.load %arg0[%n, %k] map #w guard #end2 : <tensor<8448xi32>> -> <512x16xi32>
      %f = tk.affine #f : <512xi32>
      %fields = tk.broadcast %f dims [0] : <512xi32> -> <512x16xi32>
      %s = tk.load %arg1[%n, %k] map #s guard #end2 : <tensor<64x33xf16>> -> <512x16xf16>
      %g = tk.guard #end[%k] : <512xi1>
      %within = tk.broadcast %g dims [0] : <512xi1> -> <512x16xi1>
      %v = tk.map(%within, %w, %fields, %s : !tk.tile<512x16xi1>, !tk.tile<512x16xi32>, !tk.tile<512x16xi32>, !tk.tile<512x16xf16>) -> !tk.tile<512x16xf16> {
      ^bb0(%c: i1, %word: i32, %place: i32, %scale: f16):
        %0 = arith.shrui %word, %place : i32
        %1 = arith.trunci %0 : i32 to i4
        %2 = arith.uitofp %1 : i4 to f16
        %eight = arith.constant 8.0 : f16
        %3 = arith.subf %2, %eight : f16
        %4 = arith.mulf %3, %scale : f16
        %none = arith.constant 0.0 : f16
        %5 = arith.select %c, %4, %none : f16
        tk.yield %5 : f16
      }
      %next = tk.dot %rows, %v, %sum : !tk.tile<16x512xf16>, !tk.tile<512x16xf16>, <16x16x4xf32>
      scf.yield %next : !tk.tile<16x16x4xf32>
    }
    tk.store %r, %arg3 map #id : <16x16x4xf32>, <tensor<16x16x4xf32>>
    tk.yield
    }
    return
  }
}

// -----

// A scale of a whole column is not zero past the end, and may be infinite.
// CHECK-LABEL: module @column
// CHECK: arith.select
// CHECK: tk.dot {{.*}} {depth_order
#grid = affine_map<() -> (4)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#x = affine_map<(d0)[s0] -> (d0 + s0 * 512)>
#w = affine_map<(d0, d1)[s0, s1] -> (d1 * 132 + s0 * 2112 + s1 * 64 + d0 floordiv 8)>
#f = affine_map<(d0) -> ((d0 mod 8) * 4)>
#s = affine_map<(d0, d1)[s0, s1] -> (d1 + s0 * 16, 0)>
#end = affine_set<(d0)[s0] : (-d0 - s0 * 512 + 1055 >= 0)>
#end2 = affine_set<(d0, d1)[s0, s1] : (-d0 - s1 * 512 + 1055 >= 0)>
module @column attributes {tg.schedule = #tg.schedule<tile = [16], stream = [512], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>, tk.target = "sm_90a"} {
  func.func @kernel(%arg0: !tk.global<tensor<8448xi32>>, %arg1: !tk.global<tensor<64x33xf16>>, %arg2: !tk.global<tensor<1056xf16>>, %arg3: !tk.global<tensor<16x16x4xf32>>) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    tk.for_tiles (%n) in #grid order "row" {
    %zero = tk.constant 0.0 : f32 : <16x16x4xf32>
    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%sum = %zero) -> (!tk.tile<16x16x4xf32>) {
      %x = tk.load %arg2[%k] map #x guard #end : <tensor<1056xf16>> -> <512xf16>
      %rows = tk.broadcast %x dims [1] : <512xf16> -> <16x512xf16>
      %w = tk.load %arg0[%n, %k] map #w guard #end2 : <tensor<8448xi32>> -> <512x16xi32>
      %f = tk.affine #f : <512xi32>
      %fields = tk.broadcast %f dims [0] : <512xi32> -> <512x16xi32>
      %s = tk.load %arg1[%n, %k] map #s : <tensor<64x33xf16>> -> <512x16xf16>
      %g = tk.guard #end[%k] : <512xi1>
      %within = tk.broadcast %g dims [0] : <512xi1> -> <512x16xi1>
      %v = tk.map(%within, %w, %fields, %s : !tk.tile<512x16xi1>, !tk.tile<512x16xi32>, !tk.tile<512x16xi32>, !tk.tile<512x16xf16>) -> !tk.tile<512x16xf16> {
      ^bb0(%c: i1, %word: i32, %place: i32, %scale: f16):
        %0 = arith.shrui %word, %place : i32
        %1 = arith.trunci %0 : i32 to i4
        %2 = arith.uitofp %1 : i4 to f16
        %eight = arith.constant 8.0 : f16
        %3 = arith.subf %2, %eight : f16
        %4 = arith.mulf %3, %scale : f16
        %none = arith.constant 0.0 : f16
        %5 = arith.select %c, %4, %none : f16
        tk.yield %5 : f16
      }
      %next = tk.dot %rows, %v, %sum : !tk.tile<16x512xf16>, !tk.tile<512x16xf16>, <16x16x4xf32>
      scf.yield %next : !tk.tile<16x16x4xf32>
    }
    tk.store %r, %arg3 map #id : <16x16x4xf32>, <tensor<16x16x4xf32>>
    tk.yield
    }
    return
  }
}

// -----

// The other operand has something past the end.
// CHECK-LABEL: module @other
// CHECK: arith.select
// CHECK: tk.dot {{.*}} {depth_order
#grid = affine_map<() -> (4)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#x = affine_map<(d0)[s0] -> (d0 + s0 * 512)>
#w = affine_map<(d0, d1)[s0, s1] -> (d1 * 132 + s0 * 2112 + s1 * 64 + d0 floordiv 8)>
#f = affine_map<(d0) -> ((d0 mod 8) * 4)>
#s = affine_map<(d0, d1)[s0, s1] -> (d1 + s0 * 16, d0 floordiv 32 + s1 * 16)>
#end = affine_set<(d0)[s0] : (-d0 - s0 * 512 + 1055 >= 0)>
#end2 = affine_set<(d0, d1)[s0, s1] : (-d0 - s1 * 512 + 1055 >= 0)>
module @other attributes {tg.schedule = #tg.schedule<tile = [16], stream = [512], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>, tk.target = "sm_90a"} {
  func.func @kernel(%arg0: !tk.global<tensor<8448xi32>>, %arg1: !tk.global<tensor<64x33xf16>>, %arg2: !tk.global<tensor<1056xf16>>, %arg3: !tk.global<tensor<16x16x4xf32>>) attributes {tk.warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    tk.for_tiles (%n) in #grid order "row" {
    %zero = tk.constant 0.0 : f32 : <16x16x4xf32>
    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%sum = %zero) -> (!tk.tile<16x16x4xf32>) {
      %x = tk.load %arg2[%k] map #x : <tensor<1056xf16>> -> <512xf16>
      %rows = tk.broadcast %x dims [1] : <512xf16> -> <16x512xf16>
      %w = tk.load %arg0[%n, %k] map #w guard #end2 : <tensor<8448xi32>> -> <512x16xi32>
      %f = tk.affine #f : <512xi32>
      %fields = tk.broadcast %f dims [0] : <512xi32> -> <512x16xi32>
      %s = tk.load %arg1[%n, %k] map #s guard #end2 : <tensor<64x33xf16>> -> <512x16xf16>
      %g = tk.guard #end[%k] : <512xi1>
      %within = tk.broadcast %g dims [0] : <512xi1> -> <512x16xi1>
      %v = tk.map(%within, %w, %fields, %s : !tk.tile<512x16xi1>, !tk.tile<512x16xi32>, !tk.tile<512x16xi32>, !tk.tile<512x16xf16>) -> !tk.tile<512x16xf16> {
      ^bb0(%c: i1, %word: i32, %place: i32, %scale: f16):
        %0 = arith.shrui %word, %place : i32
        %1 = arith.trunci %0 : i32 to i4
        %2 = arith.uitofp %1 : i4 to f16
        %eight = arith.constant 8.0 : f16
        %3 = arith.subf %2, %eight : f16
        %4 = arith.mulf %3, %scale : f16
        %none = arith.constant 0.0 : f16
        %5 = arith.select %c, %4, %none : f16
        tk.yield %5 : f16
      }
      %next = tk.dot %rows, %v, %sum : !tk.tile<16x512xf16>, !tk.tile<512x16xf16>, <16x16x4xf32>
      scf.yield %next : !tk.tile<16x16x4xf32>
    }
    tk.store %r, %arg3 map #id : <16x16x4xf32>, <tensor<16x16x4xf32>>
    tk.yield
    }
    return
  }
}
