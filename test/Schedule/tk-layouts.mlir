// RUN: weft-opt %s --split-input-file --weft-tk-layouts --remarks-filter=layout --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// A row to a CTA: vectors of eight halves, lanes side by side, warps after them; the row's maximum lies in all threads.
// CHECK-LABEL: func.func @row
// CHECK: tk.load {{.*}} -> <1x1024xf16, #tk.layout<"linear(register={{\[\[}}0,1],[0,2],[0,4]], lane={{\[\[}}0,8],[0,16],[0,32],[0,64],[0,128]], warp={{\[\[}}0,256],[0,512]] -> dim0=1, dim1=1024)">>
// CHECK: tk.reduce{{.*}} dims [1] -> !tk.tile<1xf16, #tk.layout<"linear(register=[], lane={{\[\[}}0],[0],[0],[0],[0]], warp={{\[\[}}0],[0]] -> dim0=1)">>
// CHECK-NOT: tk.convert
module attributes {tk.target = "sm_80"} {
  func.func @row(%x: !tk.global<tensor<64x1024xf16>>, %y: !tk.global<tensor<64x1024xf16>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (64)> {
      %0 = tk.load %x[%i] map affine_map<(d0, d1)[s0] -> (s0, d1)> : !tk.global<tensor<64x1024xf16>> -> !tk.tile<1x1024xf16>
      %1 = tk.reduce (%0 : !tk.tile<1x1024xf16>) dims [1] -> !tk.tile<1xf16> {
      ^bb0(%a: f16, %b: f16):
        %m = arith.maximumf %a, %b : f16
        tk.yield %m : f16
      }
      %2 = tk.broadcast %1 dims [0] : !tk.tile<1xf16> -> !tk.tile<1x1024xf16>
      %3 = tk.map (%0, %2 : !tk.tile<1x1024xf16>, !tk.tile<1x1024xf16>) -> !tk.tile<1x1024xf16> {
      ^bb0(%a: f16, %b: f16):
        %m = arith.subf %a, %b : f16
        tk.yield %m : f16
      }
      tk.store %3, %y[%i] map affine_map<(d0, d1)[s0] -> (s0, d1)> : !tk.tile<1x1024xf16>, !tk.global<tensor<64x1024xf16>>
      tk.yield
    }
    return
  }
}

// -----

// Short rows, several to a warp; rows, not parts of them, go to the warps.
// CHECK-LABEL: func.func @rows
// CHECK: tk.load {{.*}} -> <16x64xf32, #tk.layout<"linear(register={{\[\[}}0,1],[0,2],[2,0]], lane={{\[\[}}0,4],[0,8],[0,16],[0,32],[1,0]], warp={{\[\[}}8,0],[4,0]] -> dim0=16, dim1=64)">>
// CHECK: tk.reduce{{.*}} dims [1] -> !tk.tile<16xf32, #tk.layout<"linear(register={{\[\[}}2]], lane={{\[\[}}0],[0],[0],[0],[1]], warp={{\[\[}}8],[4]] -> dim0=16)">>
module attributes {tk.target = "sm_80"} {
  func.func @rows(%x: !tk.global<tensor<64x64xf32>>, %y: !tk.global<tensor<64xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (4)> {
      %0 = tk.load %x[%i] map affine_map<(d0, d1)[s0] -> (s0 * 16 + d0, d1)> : !tk.global<tensor<64x64xf32>> -> !tk.tile<16x64xf32>
      %1 = tk.reduce (%0 : !tk.tile<16x64xf32>) dims [1] -> !tk.tile<16xf32> {
      ^bb0(%a: f32, %b: f32):
        %m = arith.addf %a, %b : f32
        tk.yield %m : f32
      }
      tk.store %1, %y[%i] map affine_map<(d0)[s0] -> (s0 * 16 + d0)> : !tk.tile<16xf32>, !tk.global<tensor<64xf32>>
      tk.yield
    }
    return
  }
}

// -----

// A transposition: the load is contiguous along dimension 1, the store along 0; one of them goes through shared memory.
// CHECK-LABEL: func.func @transpose
// CHECK: tk.convert
// CHECK: tk.store
// REMARK: convert | Category:layout
// REMARK-SAME: memory would be accessed in units of less than a sector
// REMARK-SAME: by="through shared memory"
module attributes {tk.target = "sm_80"} {
  func.func @transpose(%x: !tk.global<tensor<64x64xf32>>, %y: !tk.global<tensor<64x64xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %0 = tk.load %x map affine_map<(d0, d1) -> (d0, d1)> : !tk.global<tensor<64x64xf32>> -> !tk.tile<64x64xf32>
      tk.store %0, %y map affine_map<(d0, d1) -> (d1, d0)> : !tk.tile<64x64xf32>, !tk.global<tensor<64x64xf32>>
      tk.yield
    }
    return
  }
}

// -----

// A dot of mma.sync: fragments of m16n8k16, buffers swizzled; the bias along n is a slice of the accumulator's layout.
// CHECK-LABEL: func.func @dot
// CHECK: tk.alloc : <1 x 64x64xf16, #tk.layout<"linear(offset={{\[\[}}0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,8],[2,16],[4,32],[8,0],[16,0],[32,0]] -> dim0=64, dim1=64)">>
// CHECK: tk.load {{.*}} -> <64xf32, #tk.layout<"linear(register={{\[\[}}1],[8],[16]], lane={{\[\[}}2],[4],[0],[0],[0]], warp={{.*}} -> dim0=64)">>
// CHECK: tk.dot {{.*}} lane={{\[\[}}0,2],[0,4],[1,0],[2,0],[4,0]]
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = mma, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @dot(%x: !tk.global<tensor<64x64xf16>>, %b: !tk.global<tensor<64xf32>>, %y: !tk.global<tensor<64x64xf32>>) attributes {tk.warps = 4 : i64} {
    %s = tk.alloc : !tk.shared<1 x 64x64xf16>
    %c = tk.make_channel engine cp_async consumers 1 bytes 8192 : !tk.channel<1>
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      tk.copy %x map affine_map<(d0, d1) -> (d0, d1)>, %s channel %c[%c0] : !tk.channel<1> engine cp_async : !tk.global<tensor<64x64xf16>>, !tk.shared<1 x 64x64xf16>
      tk.commit %c[%c0] : !tk.channel<1>
      tk.wait %c[%c0] : !tk.channel<1>
      %0 = tk.load %b map affine_map<(d0) -> (d0)> : !tk.global<tensor<64xf32>> -> !tk.tile<64xf32>
      %1 = tk.broadcast %0 dims [1] : !tk.tile<64xf32> -> !tk.tile<64x64xf32>
      %2 = tk.dot %s, %s, %1 : !tk.shared<1 x 64x64xf16>, !tk.shared<1 x 64x64xf16>, !tk.tile<64x64xf32>
      tk.store %2, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x64xf32>, !tk.global<tensor<64x64xf32>>
      tk.yield
    }
    return
  }
}

// -----

// What shared memory alone gets: in vectors along its rows.
// CHECK-LABEL: func.func @zeros
// CHECK: tk.constant 0.000000e+00 : f16 : <64x32xf16, #tk.layout<"linear(register={{\[\[}}0,1],[0,2],[0,4],
module attributes {tk.target = "sm_80"} {
  func.func @zeros(%y: !tk.global<tensor<64x8xf16>>) attributes {tk.warps = 4 : i64} {
    %b = tk.alloc : !tk.shared<1 x 64x32xf16>
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %0 = tk.constant 0.0 : f16 : !tk.tile<64x32xf16>
      tk.local_store %0, %b : !tk.tile<64x32xf16>, !tk.shared<1 x 64x32xf16>
      tk.barrier
      %1 = tk.local_read %b map affine_map<(d0, d1) -> (d0, d1 + 3)> : !tk.shared<1 x 64x32xf16> -> !tk.tile<64x8xf16>
      tk.store %1, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x8xf16>, !tk.global<tensor<64x8xf16>>
      tk.yield
    }
    return
  }
}

// -----

// Of results in an accumulator's layout, rows without any alignment leave in lines; rows of whole words through a layout of vectors, short lines as they are.
// CHECK-LABEL: func.func @odd_rows
// CHECK: %[[L:.*]] = tk.load
// CHECK: %[[T:.*]] = tk.convert %[[L]]
// CHECK: tk.store %[[T]], {{.*}} lines :
// CHECK: %[[C:.*]] = tk.convert %[[T]]
// CHECK: tk.store %[[C]], %{{.*}} map #{{.*}} :
// CHECK: tk.store %[[T]], %{{.*}} map #{{.*}} :
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0],[32,0]] -> dim0=64, dim1=64)">
module attributes {tk.target = "sm_80"} {
  func.func @odd_rows(%x: !tk.global<tensor<64x64xf16>>, %y: !tk.global<tensor<64x77xf16>>, %z: !tk.global<tensor<64x70xf16>>, %w: !tk.global<tensor<64x8x17xf16>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %0 = tk.load %x map affine_map<(d0, d1) -> (d0, d1)> : !tk.global<tensor<64x64xf16>> -> !tk.tile<64x64xf16, #a>
      tk.store %0, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x64xf16, #a>, !tk.global<tensor<64x77xf16>>
      tk.store %0, %z map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x64xf16, #a>, !tk.global<tensor<64x70xf16>>
      tk.store %0, %w map affine_map<(d0, d1) -> (d0, d1 floordiv 8, d1 mod 8)> : !tk.tile<64x64xf16, #a>, !tk.global<tensor<64x8x17xf16>>
      tk.yield
    }
    return
  }
}

// -----

// Terms of a window: the places along the index in which they differ are a thread's, one column of it, since rows slide, too.
// CHECK-LABEL: func.func @column
// CHECK: tk.load {{.*}} -> <4x256xf16, #tk.layout<"linear(register={{\[\[}}0,32],[0,64],[0,128]], lane={{\[\[}}0,1],[0,2],[0,4],[0,8],[0,16]], warp={{\[\[}}2,0],[1,0]] -> dim0=4, dim1=256)">>
#m0 = affine_map<(d0, d1)[s0] -> (d0, d1 floordiv 32, d1 mod 32 + s0)>
#m1 = affine_map<(d0, d1)[s0] -> (d0, d1 floordiv 32 + 1, d1 mod 32 + s0)>
#y = affine_map<(d0, d1) -> (d0, d1 floordiv 32, d1 mod 32)>
module attributes {tk.target = "sm_80"} {
  func.func @column(%x: !tk.global<tensor<4x9x40xf16>>, %y: !tk.global<tensor<4x8x32xf16>>, %k: index) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<()[s0] -> (1)> {
      %0 = tk.load %x[%k] map #m0 : !tk.global<tensor<4x9x40xf16>> -> !tk.tile<4x256xf16>
      %1 = tk.load %x[%k] map #m1 : !tk.global<tensor<4x9x40xf16>> -> !tk.tile<4x256xf16>
      %2 = tk.map (%0, %1 : !tk.tile<4x256xf16>, !tk.tile<4x256xf16>) -> !tk.tile<4x256xf16> {
      ^bb0(%a: f16, %b: f16):
        %s = arith.addf %a, %b : f16
        tk.yield %s : f16
      }
      tk.store %2, %y map #y : !tk.tile<4x256xf16>, !tk.global<tensor<4x8x32xf16>>
      tk.yield
    }
    return
  }
}

// -----

// With a stride, and vectors along what does not slide: two places of a row to a thread.
// CHECK-LABEL: func.func @channels
// CHECK: tk.load {{.*}} -> <16x64xf16, #tk.layout<"linear(register={{\[\[}}0,1],[0,2],[0,4],[1,0]], lane={{\[\[}}0,8],[0,16],[0,32],[2,0],[4,0]], warp={{\[\[}}8,0]] -> dim0=16, dim1=64)">>
#m0 = affine_map<(d0, d1) -> (d0 * 2, d1)>
#m1 = affine_map<(d0, d1) -> (d0 * 2 + 1, d1)>
module attributes {tk.target = "sm_80"} {
  func.func @channels(%x: !tk.global<tensor<33x72xf16>>, %y: !tk.global<tensor<16x64xf16>>) attributes {tk.warps = 2 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %0 = tk.load %x map #m0 : !tk.global<tensor<33x72xf16>> -> !tk.tile<16x64xf16>
      %1 = tk.load %x map #m1 : !tk.global<tensor<33x72xf16>> -> !tk.tile<16x64xf16>
      %2 = tk.map (%0, %1 : !tk.tile<16x64xf16>, !tk.tile<16x64xf16>) -> !tk.tile<16x64xf16> {
      ^bb0(%a: f16, %b: f16):
        %s = arith.addf %a, %b : f16
        tk.yield %s : f16
      }
      tk.store %2, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<16x64xf16>, !tk.global<tensor<16x64xf16>>
      tk.yield
    }
    return
  }
}
