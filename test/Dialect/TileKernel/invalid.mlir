// Every message of the dialect's verifiers.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected extents that are powers of two, got 3}}
func.func private @f(!tk.tile<3x4xf32>)

// -----
// expected-error @+1 {{as element, got 'f8E4M3FN'}}
func.func private @f(!tk.tile<4xf8E4M3FN>)

// -----
// expected-error @+1 {{as element, got 'i4'}}
func.func private @f(!tk.tile<4xi4>)

// -----
// expected-error @+1 {{expected at most 1048576 elements in a tile}}
func.func private @f(!tk.tile<2048x1024xf32>)

// -----
// expected-error @+1 {{expected a layout of the tile's extents, got `linear(register=[[0,1],[8,0]]}}
func.func private @f(!tk.tile<16x16xf32, #tk.layout<"mma(m16n8k16, f16, c)">>)

// -----
// expected-error @+1 {{expected a layout from `register`, `lane` and `warp`, got `offset`}}
func.func private @f(!tk.tile<4xf32, #tk.layout<"linear(offset=[[1],[2]] -> dim0=4)">>)

// -----
// expected-error @+1 {{expected a layout that holds every element, got `linear(register=[[1]] -> dim0=4)`}}
func.func private @f(!tk.tile<4xf32, #tk.layout<"linear(register=[[1]] -> dim0=4)">>)

// -----
// expected-error @+1 {{expected a layout from `offset`, got `register`}}
func.func private @f(!tk.shared<2 x 4xf32, #tk.layout<"linear(register=[[1],[2]] -> dim0=4)">>)

// -----
// expected-error @+1 {{expected a layout that holds every element once}}
func.func private @f(!tk.shared<2 x 4xf32, #tk.layout<"linear(offset=[[1],[2],[0]] -> dim0=4)">>)

// -----
// expected-error @+1 {{expected 1 to 256 slots, got 257}}
func.func private @f(!tk.shared<257 x 4xf32>)

// -----
// expected-error @+1 {{expected a layout, got `mma(m3n3k3, f16, c)`}}
func.func private @f(!tk.tile<16x8xf32, #tk.layout<"mma(m3n3k3, f16, c)">>)

// -----
func.func @f() {
  // expected-error @+1 {{expected `extents` without dimensions and with a result, got affine_map<(d0) -> (d0)>}}
  tk.for_tiles (%i) in affine_map<(d0) -> (d0)> { tk.yield }
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected 2 region arguments, got 1}}
  tk.for_tiles (%i) in affine_map<() -> (4, 2)> { tk.yield }
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected a region that ends with `tk.yield` without values}}
  tk.for_tiles (%i) in affine_map<() -> (4)> { tk.yield %i : index }
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8x8xf32>>) {
  // expected-error @+1 {{expected a map of 2 dimensions and 0 symbols with 2 results, got affine_map<(d0) -> (d0, 0)>}}
  %0 = tk.load %x map affine_map<(d0) -> (d0, 0)> : !tk.global<tensor<8x8xf32>> -> !tk.tile<8x8xf32>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf32>>) {
  // expected-error @+1 {{expected a guard of 1 dimensions and 0 symbols}}
  %0 = tk.load %x map affine_map<(d0) -> (d0)> guard affine_set<(d0, d1) : (d0 >= 0)> : !tk.global<tensor<8xf32>> -> !tk.tile<8xf32>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf32>>, %i: !tk.tile<4xi32>) {
  // expected-error @+1 {{expected index tiles of i32 or i64 with the extents of the tile, got '!tk.tile<4xi32>'}}
  %0 = tk.load %x map affine_map<(d0, d1) -> (d1)> indices (%i : !tk.tile<4xi32>) : !tk.global<tensor<8xf32>> -> !tk.tile<8xf32>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf32>>, %i: !tk.tile<8xi8>) {
  // expected-error @+1 {{expected a mask of i1 with the extents of the tile, got '!tk.tile<8xi8>'}}
  %0 = tk.load %x map affine_map<(d0) -> (d0)> mask %i : !tk.tile<8xi8> : !tk.global<tensor<8xf32>> -> !tk.tile<8xf32>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf32>>) {
  // expected-error @+1 {{expected a tile whose elements hold 'f32' as stored, got 'f16'}}
  %0 = tk.load %x map affine_map<(d0) -> (d0)> : !tk.global<tensor<8xf32>> -> !tk.tile<8xf16>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf32>>) {
  // expected-error @+1 {{expected a fill of type 'f32', got 0.000000e+00 : f16}}
  %0 = tk.load %x map affine_map<(d0) -> (d0)> fill 0.0 : f16 : !tk.global<tensor<8xf32>> -> !tk.tile<8xf32>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf32>>, %t: !tk.tile<8xi32>) {
  // expected-error @+1 {{expected a tile whose elements hold 'f32' as stored, got 'i32'}}
  tk.store %t, %x map affine_map<(d0) -> (d0)> : !tk.tile<8xi32>, !tk.global<tensor<8xf32>>
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected elements i32 or i64, got 'f32'}}
  %0 = tk.affine affine_map<(d0) -> (d0)> : !tk.tile<8xf32>
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected elements i1, got 'i8'}}
  %0 = tk.guard affine_set<(d0) : (d0 >= 0)> : !tk.tile<8xi8>
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected a value of type 'f32', got 0.000000e+00 : f16}}
  %0 = tk.constant 0.0 : f16 : !tk.tile<8xf32>
  return
}

// -----
func.func @f(%s: f16) {
  // expected-error @+1 {{expected a scalar of type 'f32', got 'f16'}}
  %0 = tk.splat %s : f16 -> !tk.tile<8xf32>
  return
}

// -----
func.func @f(%t: !tk.tile<8xf32>) {
  // expected-error @+1 {{expected operands and results of one shape and layout, got '!tk.tile<4xf32>' beside '!tk.tile<8xf32>'}}
  %0:2 = tk.map (%t : !tk.tile<8xf32>) -> !tk.tile<8xf32>, !tk.tile<4xf32> {
  ^bb0(%a: f32):
    tk.yield %a, %a : f32, f32
  }
  return
}

// -----
func.func @f(%t: !tk.tile<8xf32>) {
  // expected-error @+1 {{expected region arguments 'f32', got 'f16'}}
  %0 = tk.map (%t : !tk.tile<8xf32>) -> !tk.tile<8xf16> {
  ^bb0(%a: f16):
    tk.yield %a : f16
  }
  return
}

// -----
func.func @f(%t: !tk.tile<8xf32>) {
  // expected-error @+1 {{expected a region that yields 'f16'}}
  %0 = tk.map (%t : !tk.tile<8xf32>) -> !tk.tile<8xf16> {
  ^bb0(%a: f32):
    tk.yield %a : f32
  }
  return
}

// -----
func.func @f(%t: !tk.tile<8xf32>) {
  // expected-error @+1 {{expected distinct `dims` below 2, got [2]}}
  %0 = tk.broadcast %t dims [2] : !tk.tile<8xf32> -> !tk.tile<8x8xf32>
  return
}

// -----
func.func @f(%t: !tk.tile<8xf32>) {
  // expected-error @+1 {{expected extent 1 or 16 in dimension 0 of '!tk.tile<8xf32>'}}
  %0 = tk.broadcast %t dims [0] : !tk.tile<8xf32> -> !tk.tile<16x8xf32>
  return
}

// -----
func.func @f(%t: !tk.tile<8x4xf32>) {
  // expected-error @+1 {{expected sorted, distinct `dims` below 2, got [1, 0]}}
  %0 = tk.reduce (%t : !tk.tile<8x4xf32>) dims [1, 0] -> !tk.tile<f32> {
  ^bb0(%a: f32, %b: f32):
    tk.yield %a : f32
  }
  return
}

// -----
func.func @f(%t: !tk.tile<8x4xf32>) {
  // expected-error @+1 {{expected operands of one shape and results without the reduced dimensions, got '!tk.tile<8x4xf32>' and '!tk.tile<4xf32>'}}
  %0 = tk.reduce (%t : !tk.tile<8x4xf32>) dims [1] -> !tk.tile<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tk.yield %a : f32
  }
  return
}

// -----
func.func @f(%t: !tk.tile<8x4xf32>) {
  // expected-error @+1 {{expected a dimension below 2, got 2}}
  %0 = tk.scan %t dim 2 : !tk.tile<8x4xf32> {
  ^bb0(%a: f32, %b: f32):
    tk.yield %a : f32
  }
  return
}

// -----
func.func @f(%t: !tk.tile<8x4xf32>) {
  // expected-error @+1 {{expected results of the operands' types, and at least one}}
  %0 = tk.sort (%t : !tk.tile<8x4xf32>) dim 1 -> !tk.tile<8x4xi32> {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.cmpf olt, %a, %b : f32
    tk.yield %0 : i1
  }
  return
}

// -----
func.func @f(%a: !tk.tile<16x8xf16>, %b: !tk.tile<16x8xf16>, %c: !tk.tile<16x8xf32>) {
  // expected-error @+1 {{expected [m, k], [k, n] and [m, n], or [m, n, s] with a divisor s of k, got '!tk.tile<16x8xf16>', '!tk.tile<16x8xf16>' and '!tk.tile<16x8xf32>'}}
  %0 = tk.dot %a, %b, %c : !tk.tile<16x8xf16>, !tk.tile<16x8xf16>, !tk.tile<16x8xf32>
  return
}

// -----
func.func @f(%a: !tk.tile<8x8xf16>, %b: !tk.tile<8x8xf16>, %c: !tk.tile<8x8xf16>) {
  // expected-error @+1 {{expected operands of one element type and an accumulator of f32 (f64 for f64, integers for integers), got 'f16', 'f16' and 'f16'}}
  %0 = tk.dot %a, %b, %c : !tk.tile<8x8xf16>, !tk.tile<8x8xf16>, !tk.tile<8x8xf16>
  return
}

// -----
func.func @f(%a: !tk.tile<8x16xf16>, %b: !tk.tile<16x8xf16>, %c: !tk.tile<8x8xf32>) {
  // expected-error @+1 {{expected live columns from 1 to 8 and a live depth from 1 to 16, got 9 and 16}}
  %0 = tk.dot %a, %b, %c {live_columns = 9} : !tk.tile<8x16xf16>, !tk.tile<16x8xf16>, !tk.tile<8x8xf32>
  return
}

// -----
func.func @f(%a: !tk.shared<2 x 8x8xf16>, %b: !tk.tile<8x8xf16>, %c: !tk.tile<8x8xf32>) {
  // expected-error @+1 {{expected one slot of shared memory, got '!tk.shared<2 x 8x8xf16>'}}
  %0 = tk.dot %a, %b, %c : !tk.shared<2 x 8x8xf16>, !tk.tile<8x8xf16>, !tk.tile<8x8xf32>
  return
}

// -----
func.func @f(%a: !tk.tile<8xf16>) {
  // expected-error @+1 {{expected tiles with layouts that differ in nothing else, got '!tk.tile<8xf16>' and '!tk.tile<8xf16>'}}
  %0 = tk.convert %a : !tk.tile<8xf16> -> !tk.tile<8xf16>
  return
}

// -----
func.func @f(%a: !tk.tile<8x4xf16, #tk.layout<"linear(register=[[0,1],[0,2]], lane=[[1,0],[2,0],[4,0]], warp=[] -> dim0=8, dim1=4)">>) {
  // expected-error @+1 {{expected tiles of one element type with layouts of equally many registers, lanes and warps, got}}
  %0 = tk.relabel %a : !tk.tile<8x4xf16, #tk.layout<"linear(register=[[0,1],[0,2]], lane=[[1,0],[2,0],[4,0]], warp=[] -> dim0=8, dim1=4)">> -> !tk.tile<8x4xf16, #tk.layout<"linear(register=[[0,1]], lane=[[1,0],[2,0],[4,0],[0,2]], warp=[] -> dim0=8, dim1=4)">>
  return
}

// -----
func.func @f(%b: !tk.shared<2 x 8xf16>, %i: index) {
  // expected-error @+1 {{expected one slot of '!tk.shared<2 x 8xf16>', or several along one dimension, got '!tk.shared<2 x 8xf16>'}}
  %0 = tk.slot %b[%i] : !tk.shared<2 x 8xf16> -> !tk.shared<2 x 8xf16>
  return
}

// -----
func.func @f(%b: !tk.shared<8 x 8x8xf16>, %i: index) {
  // expected-error @+1 {{expected one slot of '!tk.shared<8 x 8x8xf16>', or several along one dimension, got '!tk.shared<1 x 16x16xf16>'}}
  %0 = tk.slot %b[%i] each 4 : !tk.shared<8 x 8x8xf16> -> !tk.shared<1 x 16x16xf16>
  return
}

// -----
func.func @f(%b: !tk.shared<8 x 8x8xf16>, %i: index) {
  // expected-error @+1 {{expected 3 of 4 slots, and whole times as many in the buffer, got from 2 of '!tk.shared<8 x 8x8xf16>'}}
  %0 = tk.slot %b[%i] each 4 from 2 : !tk.shared<8 x 8x8xf16> -> !tk.shared<1 x 8x32xf16>
  return
}

// -----
func.func @f(%b: !tk.shared<1 x 8xf16>) {
  // expected-error @+1 {{expected a tile of the buffer's elements, got '!tk.shared<1 x 8xf16>' and '!tk.tile<8xf32>'}}
  %0 = tk.local_read %b map affine_map<(d0) -> (d0)> : !tk.shared<1 x 8xf16> -> !tk.tile<8xf32>
  return
}

// -----
func.func @f(%b: !tk.shared<1 x 8xf16>) {
  // expected-error @+1 {{expected a map of 1 dimensions and 0 symbols with 1 results, got affine_map<(d0) -> (d0, 0)>}}
  %0 = tk.local_read %b map affine_map<(d0) -> (d0, 0)> : !tk.shared<1 x 8xf16> -> !tk.tile<8xf16>
  return
}

// -----
func.func @f(%b: !tk.shared<2 x 8xf16>) {
  // expected-error @+1 {{expected a tile of one slot, got '!tk.shared<2 x 8xf16>' and '!tk.tile<8xf16>'}}
  %0 = tk.local_load %b : !tk.shared<2 x 8xf16> -> !tk.tile<8xf16>
  return
}

// -----
func.func @f(%b: !tk.shared<1 x 8xf16>) {
  // expected-error @+1 {{expected 1 offsets, got [0, 0]}}
  %0 = tk.local_load %b offsets [0, 0] : !tk.shared<1 x 8xf16> -> !tk.tile<8xf16>
  return
}

// -----
func.func @f(%b: !tk.shared<1 x 8xf16>) {
  // expected-error @+1 {{expected a part at multiples of its extents inside '!tk.shared<1 x 8xf16>', got '!tk.tile<4xf16>' at 2}}
  %0 = tk.local_load %b offsets [2] : !tk.shared<1 x 8xf16> -> !tk.tile<4xf16>
  return
}

// -----
func.func @f(%b: !tk.shared<1 x 8xf16>, %t: !tk.tile<4xf16>) {
  // expected-error @+1 {{expected one slot of the tile's shape, got '!tk.tile<4xf16>' and '!tk.shared<1 x 8xf16>'}}
  tk.local_store %t, %b : !tk.tile<4xf16>, !tk.shared<1 x 8xf16>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf16>>, %b: !tk.shared<2 x 8xf16>) {
  // expected-error @+1 {{expected a target of one slot, got '!tk.shared<2 x 8xf16>'}}
  tk.copy %x map affine_map<(d0) -> (d0)>, %b engine cp_async : !tk.global<tensor<8xf16>>, !tk.shared<2 x 8xf16>
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected warps and registers for each of 1 regions, got [4, 8] and [40]}}
  tk.roles warps [4, 8] registers [40] { tk.yield }
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected up to 32 warps, in multiples of 4 unless all have 256 registers, got [1, 3] and [256, 40]}}
  tk.roles warps [1, 3] registers [256, 40] { tk.yield }, { tk.yield }
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected up to 32 warps, in multiples of 4 unless all have 256 registers, got [33] and [256]}}
  tk.roles warps [33] registers [256] { tk.yield }
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{expected registers in multiples of 8 from 24 to 256, got [20]}}
  tk.roles warps [4] registers [20] { tk.yield }
  return
}

// -----
func.func @f(%y: !tk.global<tensor<64x64xf16>>, %t: !tk.tile<64x64xf16>, %b: !tk.shared<1 x 64x8xf16>) {
  // expected-error @+1 {{expected a buffer of 64 lines of 32 to 128 bytes for a tile of two dimensions}}
  tk.store_box %t, %y map affine_map<(d0, d1) -> (d0, d1)> through %b : !tk.tile<64x64xf16>, !tk.global<tensor<64x64xf16>>, !tk.shared<1 x 64x8xf16>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8x1xf32>>, %i: index) {
  // expected-error @+1 {{expected a tensor of constant extents behind the first with elements of i32 or i64, got 'tensor<8x1xf32>'}}
  %0 = tk.load_index %x[%i, %i] : !tk.global<tensor<8x1xf32>>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8x1xi64>>, %i: index) {
  // expected-error @+1 {{expected an index for each of 2 dimensions, got 1}}
  %0 = tk.load_index %x[%i] : !tk.global<tensor<8x1xi64>>
  return
}

// -----

func.func @lines(%t: !tk.tile<8xf32>, %x: !tk.global<tensor<8xf32>>) {
  // expected-error @+1 {{expected no index tiles, mask or combiner of a store in lines}}
  tk.store %t, %x map affine_map<(d0) -> (d0)> combine add lines : !tk.tile<8xf32>, !tk.global<tensor<8xf32>>
  return
}
