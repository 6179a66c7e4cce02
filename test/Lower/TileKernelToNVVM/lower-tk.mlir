// Kernels run on the emulator and compared with numpy: accesses, maps, reductions, conversions, scans, sorts.
// REQUIRES: onnx
// RUN: %python %S/Inputs/execute.py %s %t sm_80 --weft-tk-fuse-maps --weft-tk-layouts --weft-lower-tk-pipeline | FileCheck %s

// Guarded vectors of two widths.
// CHECK: module 0: right
// input x 10000xf16
// input w 10000xf32
// output y 10000xf16
// expect y = (x.astype(np.float32) + w).astype(np.float16)
#m = affine_map<(d0)[s0] -> (s0 * 1024 + d0)>
#g = affine_set<(d0)[s0] : (s0 * -1024 - d0 + 9999 >= 0)>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<10000xf16>>, %w: !tk.global<tensor<10000xf32>>, %y: !tk.global<tensor<10000xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (10)> {
    %0 = tk.load %x[%i] map #m guard #g : !tk.global<tensor<10000xf16>> -> !tk.tile<1024xf16>
    %1 = tk.load %w[%i] map #m guard #g : !tk.global<tensor<10000xf32>> -> !tk.tile<1024xf32>
    %2 = tk.map (%0, %1 : !tk.tile<1024xf16>, !tk.tile<1024xf32>) -> !tk.tile<1024xf16> {
    ^bb0(%a: f16, %b: f32):
      %e = arith.extf %a : f16 to f32
      %s = arith.addf %e, %b : f32
      %t = arith.truncf %s : f32 to f16
      tk.yield %t : f16
    }
    tk.store %2, %y[%i] map #m guard #g : !tk.tile<1024xf16>, !tk.global<tensor<10000xf16>>
    tk.yield
  }
  return
}
}

// -----

// A softmax of rows.
// CHECK: module 1: right
// input x 64x768xf16
// output y 64x768xf16
// expect y = np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum(1, keepdims=True)
// tolerance 1e-4
#m = affine_map<(d0, d1)[s0] -> (s0 * 4 + d0, d1)>
#g = affine_set<(d0, d1)[s0] : (-d1 + 767 >= 0)>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<64x768xf16>>, %y: !tk.global<tensor<64x768xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (16)> {
    %0 = tk.load %x[%i] map #m guard #g fill 0xFC00 : f16 : !tk.global<tensor<64x768xf16>> -> !tk.tile<4x1024xf16>
    %1 = tk.map (%0 : !tk.tile<4x1024xf16>) -> !tk.tile<4x1024xf32> {
    ^bb0(%a: f16):
      %e = arith.extf %a : f16 to f32
      tk.yield %e : f32
    }
    %2 = tk.reduce (%1 : !tk.tile<4x1024xf32>) dims [1] -> !tk.tile<4xf32> {
    ^bb0(%a: f32, %b: f32):
      %e = arith.maximumf %a, %b : f32
      tk.yield %e : f32
    }
    %3 = tk.broadcast %2 dims [0] : !tk.tile<4xf32> -> !tk.tile<4x1024xf32>
    %4 = tk.map (%1, %3 : !tk.tile<4x1024xf32>, !tk.tile<4x1024xf32>) -> !tk.tile<4x1024xf32> {
    ^bb0(%a: f32, %b: f32):
      %e = arith.subf %a, %b : f32
      %f = math.exp %e : f32
      tk.yield %f : f32
    }
    %5 = tk.reduce (%4 : !tk.tile<4x1024xf32>) dims [1] -> !tk.tile<4xf32> {
    ^bb0(%a: f32, %b: f32):
      %e = arith.addf %a, %b : f32
      tk.yield %e : f32
    }
    %6 = tk.broadcast %5 dims [0] : !tk.tile<4xf32> -> !tk.tile<4x1024xf32>
    %7 = tk.map (%4, %6 : !tk.tile<4x1024xf32>, !tk.tile<4x1024xf32>) -> !tk.tile<4x1024xf16> {
    ^bb0(%a: f32, %b: f32):
      %e = arith.divf %a, %b : f32
      %t = arith.truncf %e : f32 to f16
      tk.yield %t : f16
    }
    tk.store %7, %y[%i] map #m guard #g : !tk.tile<4x1024xf16>, !tk.global<tensor<64x768xf16>>
    tk.yield
  }
  return
}
}

// -----

// Sums of columns, across warps.
// CHECK: module 2: right
// input x 128x256xf32
// output y 256xf32
// expect y = x.astype(np.float64).sum(0)
// tolerance 1e-4
#m = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<128x256xf32>>, %y: !tk.global<tensor<256xf32>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (4)> {
    %0 = tk.load %x[%i] map #m : !tk.global<tensor<128x256xf32>> -> !tk.tile<128x64xf32>
    %5 = tk.reduce (%0 : !tk.tile<128x64xf32>) dims [0] -> !tk.tile<64xf32> {
    ^bb0(%a: f32, %b: f32):
      %e = arith.addf %a, %b : f32
      tk.yield %e : f32
    }
    tk.store %5, %y[%i] map affine_map<(d0)[s0] -> (s0 * 64 + d0)> : !tk.tile<64xf32>, !tk.global<tensor<256xf32>>
    tk.yield
  }
  return
}
}

// -----

// A transposition, vectors on both sides.
// CHECK: module 3: right
// input x 64x128xf16
// output y 128x64xf16
// expect y = x.T
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<64x128xf16>>, %y: !tk.global<tensor<128x64xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (2)> {
    %0 = tk.load %x[%i] map affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)> : !tk.global<tensor<64x128xf16>> -> !tk.tile<64x64xf16>
    %1 = tk.broadcast %0 dims [1, 0] : !tk.tile<64x64xf16> -> !tk.tile<64x64xf16>
    tk.store %1, %y[%i] map affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)> : !tk.tile<64x64xf16>, !tk.global<tensor<128x64xf16>>
    tk.yield
  }
  return
}
}

// -----

// Dynamic extents.
// CHECK: module 4: right
// input x 37x100xf32
// output y 37x100xf32
// symbols 37
// expect y = -x
#m = affine_map<(d0, d1)[s0] -> (s0 * 8 + d0, d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s1 - s0 * 8 - d0 - 1 >= 0, 99 - d1 >= 0)>
#t = affine_map<(d0, d1)[s0, s1] -> (s0 * 8 + d0, d1)>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<?x100xf32, #tg.dims<()[s0] -> (s0, 100)>>>, %y: !tk.global<tensor<?x100xf32, #tg.dims<()[s0] -> (s0, 100)>>>, %n: index) attributes {tk.warps = 2 : i64} {
  tk.for_tiles (%i) in affine_map<()[s0] -> (s0 ceildiv 8)> {
    %0 = tk.load %x[%i, %n] map #t guard #g : !tk.global<tensor<?x100xf32, #tg.dims<()[s0] -> (s0, 100)>>> -> !tk.tile<8x128xf32>
    %1 = tk.map (%0 : !tk.tile<8x128xf32>) -> !tk.tile<8x128xf32> {
    ^bb0(%a: f32):
      %e = arith.negf %a : f32
      tk.yield %e : f32
    }
    tk.store %1, %y[%i, %n] map #t guard #g : !tk.tile<8x128xf32>, !tk.global<tensor<?x100xf32, #tg.dims<()[s0] -> (s0, 100)>>>
    tk.yield
  }
  return
}
}

// -----

// A persistent loop in runs of a grouped order, an index tile, floordiv and mod in the map.
// CHECK: module 5: right
// input x 96x64xf32
// input n 192xi32
// output y 192x64xf32
// expect y = np.floor(x[n % 96] * np.arange(64, dtype=np.float32))
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<96x64xf32>>, %n: !tk.global<tensor<192xi32>>, %y: !tk.global<tensor<192x64xf32>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i, %j) in affine_map<() -> (12, 4)> order "each<3,grouped<4>>" persistent {
    %0 = tk.load %n[%i] map affine_map<(d0, d1)[s0] -> (s0 * 16 + d0)> : !tk.global<tensor<192xi32>> -> !tk.tile<16x16xi32>
    %1 = tk.load %x[%j] map affine_map<(d0, d1, d2)[s0] -> (d2 mod 96, s0 * 16 + d1)> indices (%0 : !tk.tile<16x16xi32>)
        : !tk.global<tensor<96x64xf32>> -> !tk.tile<16x16xf32>
    %2 = tk.affine affine_map<(d0, d1)[s0] -> (s0 * 16 + d1)> [%j] : !tk.tile<16x16xi32>
    %3 = tk.map (%1, %2 : !tk.tile<16x16xf32>, !tk.tile<16x16xi32>) -> !tk.tile<16x16xf32> {
    ^bb0(%a: f32, %b: i32):
      %f = arith.sitofp %b : i32 to f32
      %p = arith.mulf %a, %f : f32
      %q = math.floor %p : f32
      tk.yield %q : f32
    }
    tk.store %3, %y[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 * 16 + (d0 * 16 + d1) floordiv 16, s1 * 16 + (d0 * 16 + d1) mod 16)> : !tk.tile<16x16xf32>, !tk.global<tensor<192x64xf32>>
    tk.yield
  }
  return
}
}

// -----

// A loop that carries a tile and a reduced one; combined stores.
// CHECK: module 6: right
// input x 32x512xf32
// output y 32xf32
// output z 32xf16
// expect y = x.astype(np.float64).sum(1) + 7
// expect z = np.full(32, 7 + 8)
// tolerance 1e-3
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<32x512xf32>>, %y: !tk.global<tensor<32xf32>>, %z: !tk.global<tensor<32xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i, %h) in affine_map<() -> (4, 2)> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = tk.constant 0.0 : f32 : !tk.tile<8xf32>
    %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (!tk.tile<8xf32>) {
      %0 = tk.load %x[%i, %h, %k] map affine_map<(d0, d1)[s0, s1, s2] -> (s0 * 8 + d0, s1 * 256 + s2 * 64 + d1)> : !tk.global<tensor<32x512xf32>> -> !tk.tile<8x64xf32>
      %1 = tk.reduce (%0 : !tk.tile<8x64xf32>) dims [1] -> !tk.tile<8xf32> {
      ^bb0(%a: f32, %b: f32):
        %e = arith.addf %a, %b : f32
        tk.yield %e : f32
      }
      %2 = tk.map (%s, %1 : !tk.tile<8xf32>, !tk.tile<8xf32>) -> !tk.tile<8xf32> {
      ^bb0(%a: f32, %b: f32):
        %e = arith.addf %a, %b : f32
        tk.yield %e : f32
      }
      scf.yield %2 : !tk.tile<8xf32>
    }
    tk.store %sum, %y[%i] map affine_map<(d0)[s0] -> (s0 * 8 + d0)> combine add : !tk.tile<8xf32>, !tk.global<tensor<32xf32>>
    %one = tk.constant 1.0 : f16 : !tk.tile<32xf16>
    tk.store %one, %z map affine_map<(d0) -> (d0)> combine add : !tk.tile<32xf16>, !tk.global<tensor<32xf16>>
    tk.yield
  }
  return
}
}

// -----

// Scans both ways, and a sort with its indices.
// CHECK: module 7: right
// input x 16x64xi32
// output y 16x64xi32
// output z 16x64xi32
// output v 16x64xi32
// output p 16x64xi32
// expect y = np.cumsum(x, 1)
// expect z = np.cumsum(x[:, ::-1], 1)[:, ::-1]
// expect v = np.sort(x, 1)
// expect p = np.argsort(x, 1, kind="stable")
#m = affine_map<(d0, d1) -> (d0, d1)>
!t = !tk.tile<16x64xi32>
!g = !tk.global<tensor<16x64xi32>>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !g, %y: !g, %z: !g, %v: !g, %p: !g) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (1)> {
    %0 = tk.load %x map #m : !g -> !t
    %1 = tk.scan %0 dim 1 : !t {
    ^bb0(%a: i32, %b: i32):
      %e = arith.addi %a, %b : i32
      tk.yield %e : i32
    }
    %2 = tk.scan %0 dim 1 reverse : !t {
    ^bb0(%a: i32, %b: i32):
      %e = arith.addi %a, %b : i32
      tk.yield %e : i32
    }
    %n = tk.affine affine_map<(d0, d1) -> (d1)> : !t
    %3:2 = tk.sort (%0, %n : !t, !t) dim 1 -> !t, !t {
    ^bb0(%a: i32, %an: i32, %b: i32, %bn: i32):
      %less = arith.cmpi slt, %a, %b : i32
      %equal = arith.cmpi eq, %a, %b : i32
      %earlier = arith.cmpi slt, %an, %bn : i32
      %tie = arith.andi %equal, %earlier : i1
      %e = arith.ori %less, %tie : i1
      tk.yield %e : i1
    }
    tk.store %1, %y map #m : !t, !g
    tk.store %2, %z map #m : !t, !g
    tk.store %3#0, %v map #m : !t, !g
    tk.store %3#1, %p map #m : !t, !g
    tk.yield
  }
  return
}
}

// -----

// Lines longer than a warp's lanes.
// CHECK: module 8: right
// input x 128xi32
// output y 128xi32
// output v 128xi32
// expect y = np.cumsum(x[::-1])[::-1]
// expect v = np.sort(x)[::-1]
#m = affine_map<(d0) -> (d0)>
!t = !tk.tile<128xi32>
!g = !tk.global<tensor<128xi32>>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !g, %y: !g, %v: !g) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (1)> {
    %0 = tk.load %x map #m : !g -> !t
    %1 = tk.scan %0 dim 0 reverse : !t {
    ^bb0(%a: i32, %b: i32):
      %e = arith.addi %a, %b : i32
      tk.yield %e : i32
    }
    %2 = tk.sort (%0 : !t) dim 0 -> !t {
    ^bb0(%a: i32, %b: i32):
      %e = arith.cmpi sgt, %a, %b : i32
      tk.yield %e : i1
    }
    tk.store %1, %y map #m : !t, !g
    tk.store %2, %v map #m : !t, !g
    tk.yield
  }
  return
}
}

// -----

// A loop whose bounds are numbers in memory.
// CHECK: module 9: right
// input x 100x128xf32
// input first 4xi64
// input last 4x2xi32
// output y 4x128xf32
// expect y = np.stack([x[first[i]:last[i, 1]].sum(0) for i in range(4)])
// tolerance 1e-4
#x = affine_map<(d0)[s0] -> (s0, d0)>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<100x128xf32>>, %first: !tk.global<tensor<4xi64>>, %last: !tk.global<tensor<4x2xi32>>, %y: !tk.global<tensor<4x128xf32>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (4)> {
    %c1 = arith.constant 1 : index
    %from = tk.load_index %first[%i] : !tk.global<tensor<4xi64>>
    %to = tk.load_index %last[%i, %c1] : !tk.global<tensor<4x2xi32>>
    %zero = tk.constant 0.0 : f32 : !tk.tile<128xf32>
    %sum = scf.for %j = %from to %to step %c1 iter_args(%acc = %zero) -> (!tk.tile<128xf32>) {
      %row = tk.load %x[%j] map #x : !tk.global<tensor<100x128xf32>> -> !tk.tile<128xf32>
      %next = tk.map (%acc, %row : !tk.tile<128xf32>, !tk.tile<128xf32>) -> !tk.tile<128xf32> {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        tk.yield %s : f32
      }
      scf.yield %next : !tk.tile<128xf32>
    }
    tk.store %sum, %y[%i] map #x : !tk.tile<128xf32>, !tk.global<tensor<4x128xf32>>
    tk.yield
  }
  return
}
}

// -----

// Registers and lanes that hold an element again: one of them adds it.
// CHECK: module 10: right
// input x 32xf32
// output y 32xf32
// expect y = x + 7
!t = !tk.tile<32xf32, #tk.layout<"linear(register=[[0],[1]], lane=[[2],[4],[8],[16],[0]] -> dim0=32)">>
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<32xf32>>, %y: !tk.global<tensor<32xf32>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (1)> {
    %0 = tk.load %x map affine_map<(d0) -> (d0)> : !tk.global<tensor<32xf32>> -> !t
    tk.store %0, %y map affine_map<(d0) -> (d0)> combine add : !t, !tk.global<tensor<32xf32>>
    tk.yield
  }
  return
}
}
