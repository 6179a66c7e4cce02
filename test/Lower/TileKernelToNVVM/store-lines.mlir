// Results whose rows begin anywhere, in whole pieces of 16 bytes by way of shared memory: kernels run on the emulator and compared with numpy.
// REQUIRES: onnx
// RUN: %python %S/Inputs/execute.py %s %t sm_80 --weft-tk-layouts --weft-lower-tk-pipeline | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-tk-layouts | FileCheck %s --check-prefix=LINES
// RUN: weft-opt %s --split-input-file --weft-tk-layouts --weft-lower-tk-pipeline | FileCheck %s --check-prefix=CODE

// Odd rows, as an accumulator of mma.sync has them: pieces, ends of two bytes, and the pieces that the tensor's edge cuts.
// CHECK: module 0: right
// LINES: tk.store {{.*}} lines :
// CODE-LABEL: llvm.func @kernel
// CODE: st.global.v4.b32
// CODE: st.global.b16
// input x 100x77xf16
// output y 100x77xf16
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s0 * -64 - d0 + 99 >= 0, s1 * -64 - d1 + 76 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0],[32,0]] -> dim0=64, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<100x77xf16>>, %y: !tk.global<tensor<100x77xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 2)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<100x77xf16>> -> !tk.tile<64x64xf16, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g : !tk.tile<64x64xf16, #a>, !tk.global<tensor<100x77xf16>>
    tk.yield
  }
  return
}
}

// -----

// Rows of whole words: ends of four bytes.
// CHECK: module 1: right
// LINES: tk.store {{.*}} lines :
// CODE-LABEL: llvm.func @kernel
// CODE: st.global.v4.b32
// CODE-NOT: st.global.b16
// CODE: st.global.b32
// input x 100x78xf16
// output y 100x78xf16
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s0 * -64 - d0 + 99 >= 0, s1 * -64 - d1 + 77 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0],[32,0]] -> dim0=64, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<100x78xf16>>, %y: !tk.global<tensor<100x78xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 2)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<100x78xf16>> -> !tk.tile<64x64xf16, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g lines : !tk.tile<64x64xf16, #a>, !tk.global<tensor<100x78xf16>>
    tk.yield
  }
  return
}
}

// -----

// Of eight bytes.
// CHECK: module 2: right
// CODE-LABEL: llvm.func @kernel
// CODE-NOT: st.global.b32
// CODE: st.global.v2.b32
// LINES: tk.store {{.*}} lines :
// input x 70x140xf16
// output y 70x140xf16
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s0 * -64 - d0 + 69 >= 0, s1 * -64 - d1 + 139 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0],[32,0]] -> dim0=64, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<70x140xf16>>, %y: !tk.global<tensor<70x140xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 3)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<70x140xf16>> -> !tk.tile<64x64xf16, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g lines : !tk.tile<64x64xf16, #a>, !tk.global<tensor<70x140xf16>>
    tk.yield
  }
  return
}
}

// -----

// f32.
// CHECK: module 3: right
// LINES: tk.store {{.*}} lines :
// input x 100x77xf32
// output y 100x77xf32
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s0 * -64 - d0 + 99 >= 0, s1 * -64 - d1 + 76 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0],[32,0]] -> dim0=64, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<100x77xf32>>, %y: !tk.global<tensor<100x77xf32>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 2)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<100x77xf32>> -> !tk.tile<64x64xf32, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g : !tk.tile<64x64xf32, #a>, !tk.global<tensor<100x77xf32>>
    tk.yield
  }
  return
}
}

// -----

// Bytes: pieces of 16 elements.
// CHECK: module 4: right
// LINES: tk.store {{.*}} lines :
// input x 100x77xi8
// output y 100x77xi8
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s0 * -64 - d0 + 99 >= 0, s1 * -64 - d1 + 76 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0],[32,0]] -> dim0=64, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<100x77xi8>>, %y: !tk.global<tensor<100x77xi8>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 2)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<100x77xi8>> -> !tk.tile<64x64xi8, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g : !tk.tile<64x64xi8, #a>, !tk.global<tensor<100x77xi8>>
    tk.yield
  }
  return
}
}

// -----

// Several lines in a row of the tile: places of an image, of which the last lines and the last places are outside.
// CHECK: module 5: right
// LINES: tk.store {{.*}} lines :
// input x 37x9x21xf16
// output y 37x9x21xf16
// expect y = x
#m = affine_map<(d0, d1)[s0, s1, s2] -> (s0 * 32 + d0, s1 * 4 + d1 floordiv 16, s2 * 16 + d1 mod 16)>
#g = affine_set<(d0, d1)[s0, s1, s2] : (s0 * -32 - d0 + 36 >= 0, s1 * -4 - d1 floordiv 16 + 8 >= 0, s2 * -16 - d1 mod 16 + 20 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0]] -> dim0=32, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<37x9x21xf16>>, %y: !tk.global<tensor<37x9x21xf16>>) attributes {tk.warps = 2 : i64} {
  tk.for_tiles (%i0, %i1, %i2) in affine_map<() -> (2, 3, 2)> {
    %0 = tk.load %x[%i0, %i1, %i2] map #m guard #g : !tk.global<tensor<37x9x21xf16>> -> !tk.tile<32x64xf16, #a>
    tk.store %0, %y[%i0, %i1, %i2] map #m guard #g lines : !tk.tile<32x64xf16, #a>, !tk.global<tensor<37x9x21xf16>>
    tk.yield
  }
  return
}
}

// -----

// Lines along the rows of the accumulator: 16 places that a warp has.
// CHECK: module 6: right
// LINES: tk.store {{.*}} lines :
// input x 77x101xf16
// output y 77x101xf16
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d1, s0 * 64 + d0)>
#g = affine_set<(d0, d1)[s0, s1] : (s0 * -64 - d0 + 100 >= 0, s1 * -64 - d1 + 76 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0],[32,0]] -> dim0=64, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<77x101xf16>>, %y: !tk.global<tensor<77x101xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 2)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<77x101xf16>> -> !tk.tile<64x64xf16, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g lines : !tk.tile<64x64xf16, #a>, !tk.global<tensor<77x101xf16>>
    tk.yield
  }
  return
}
}

// -----

// Warps that hold the same elements: one stores them.
// CHECK: module 7: right
// LINES: tk.store {{.*}} lines :
// input x 33x77xf16
// output y 33x77xf16
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s0 * 32 + d0, s1 * 64 + d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s0 * -32 - d0 + 32 >= 0, s1 * -64 - d1 + 76 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[0,0],[16,0]] -> dim0=32, dim1=64)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<33x77xf16>>, %y: !tk.global<tensor<33x77xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 2)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<33x77xf16>> -> !tk.tile<32x64xf16, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g : !tk.tile<32x64xf16, #a>, !tk.global<tensor<33x77xf16>>
    tk.yield
  }
  return
}
}

// -----

// Longer lines than a pass takes, and warps side by side.
// CHECK: module 8: right
// LINES: tk.store {{.*}} lines :
// input x 64x301xf16
// output y 64x301xf16
// expect y = x
#m = affine_map<(d0, d1)[s0, s1] -> (s0 * 32 + d0, s1 * 256 + d1)>
#g = affine_set<(d0, d1)[s0, s1] : (s1 * -256 - d1 + 300 >= 0)>
#a = #tk.layout<"linear(register=[[0,1],[8,0],[0,8],[0,16],[0,32],[0,64]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[0,128],[16,0]] -> dim0=32, dim1=256)">
module attributes {tk.target = "sm_80"} {
func.func @kernel(%x: !tk.global<tensor<64x301xf16>>, %y: !tk.global<tensor<64x301xf16>>) attributes {tk.warps = 4 : i64} {
  tk.for_tiles (%i0, %i1) in affine_map<() -> (2, 2)> {
    %0 = tk.load %x[%i0, %i1] map #m guard #g : !tk.global<tensor<64x301xf16>> -> !tk.tile<32x256xf16, #a>
    tk.store %0, %y[%i0, %i1] map #m guard #g : !tk.tile<32x256xf16, #a>, !tk.global<tensor<64x301xf16>>
    tk.yield
  }
  return
}
}
