// RUN: weft-opt %s --split-input-file --weft-tk-layouts --weft-tk-allocate --weft-tk-banks --remarks-filter=layout --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --implicit-check-not='banks |'
// RUN: weft-opt %s --split-input-file --weft-tk-layouts --weft-tk-allocate --weft-tk-banks --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// NONE-NOT: banks

// Operands of mma.sync by ldmatrix, one of them copied by cp.async. What is outside of loops is not told.
// CHECK: [Passed] banks | Category:layout | Function=kernel | Remark="tk.copy writes its tile in vectors of 16 bytes: no bank conflicts"
// CHECK: [Passed] banks {{.*}} Remark="tk.dot reads its left operand by matrices, 4 at a time: no bank conflicts"
// CHECK: [Passed] banks {{.*}} Remark="tk.dot reads its right operand by matrices, 4 at a time: no bank conflicts"
#xa = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<64x256xf16>>, %y: !tk.global<tensor<64x64xf32>>) attributes {tk.warps = 4 : i64} {
    %a = tk.alloc : !tk.shared<2 x 64x64xf16>
    %b = tk.alloc : !tk.shared<1 x 64x64xf16>
    %c = tk.make_channel engine cp_async consumers 1 bytes 8192 : !tk.channel<2>
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<64x64xf32>
      %one = tk.constant 1.0 : f16 : !tk.tile<64x64xf16>
      tk.local_store %one, %b : !tk.tile<64x64xf16>, !tk.shared<1 x 64x64xf16>
      tk.barrier
      %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<64x64xf32>) {
        %slot = arith.remui %k, %c1 : index
        %p = tk.slot %a[%slot] : !tk.shared<2 x 64x64xf16> -> !tk.shared<1 x 64x64xf16>
        tk.acquire %c[%k] : !tk.channel<2>
        tk.copy %x[%k] map #xa, %p channel %c[%k] : !tk.channel<2> engine cp_async : !tk.global<tensor<64x256xf16>>, !tk.shared<1 x 64x64xf16>
        tk.commit %c[%k] : !tk.channel<2>
        tk.wait %c[%k] : !tk.channel<2>
        %d = tk.dot %p, %b, %acc : !tk.shared<1 x 64x64xf16>, !tk.shared<1 x 64x64xf16>, !tk.tile<64x64xf32>
        tk.release %c[%k] : !tk.channel<2>
        scf.yield %d : !tk.tile<64x64xf32>
      }
      tk.store %sum, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x64xf32>, !tk.global<tensor<64x64xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Vectors of rows, from a buffer that has the columns one after the other: eight lanes in the same bank. From rows it is free.
// CHECK: [Missed] banks {{.*}} Remark="tk.local_load reads its tile in vectors of 4 bytes: 8 wavefronts instead of 1"
// CHECK: [Passed] banks {{.*}} Remark="tk.local_load reads its tile in vectors of 16 bytes: no bank conflicts"
#rows = #tk.layout<"linear(register=[[0,1],[0,2],[4,0],[8,0],[16,0]], lane=[[0,4],[0,8],[0,16],[1,0],[2,0]] -> dim0=32, dim1=32)">
#turned = #tk.layout<"linear(offset=[[1,0],[2,0],[4,0],[8,0],[16,0],[0,1],[0,2],[0,4],[0,8],[0,16]] -> dim0=32, dim1=32)">
module attributes {tk.target = "sm_80"} {
  func.func @kernel(%y: !tk.global<tensor<32x32xf32>>) attributes {tk.warps = 1 : i64} {
    %b = tk.alloc : !tk.shared<1 x 32x32xf32>
    %t = tk.alloc : !tk.shared<1 x 32x32xf32, #turned>
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %k = %c0 to %c1 step %c1 {
        %0 = tk.local_load %t : !tk.shared<1 x 32x32xf32, #turned> -> !tk.tile<32x32xf32, #rows>
        %1 = tk.local_load %b : !tk.shared<1 x 32x32xf32> -> !tk.tile<32x32xf32, #rows>
      }
      tk.yield
    }
    return
  }
}

// -----

// Sums over warps go through scratch, and so does a change of layout.
// CHECK: [Passed] banks {{.*}} Remark="tk.reduce combines across warps, writing in vectors of 4 bytes: no bank conflicts"
// CHECK: [Passed] banks {{.*}} Remark="tk.reduce combines across warps, reading in vectors of 16 bytes: no bank conflicts"
module attributes {tk.target = "sm_80"} {
  func.func @kernel(%x: !tk.global<tensor<4x1024xf32>>, %y: !tk.global<tensor<4x1xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %k = %c0 to %c4 step %c1 {
        %0 = tk.load %x[%k] map affine_map<(d0, d1)[s0] -> (s0, d1)> : !tk.global<tensor<4x1024xf32>> -> !tk.tile<1x1024xf32>
        %1 = tk.reduce (%0 : !tk.tile<1x1024xf32>) dims [1] -> !tk.tile<1xf32> {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          tk.yield %s : f32
        }
        tk.store %1, %y[%k] map affine_map<(d0)[s0] -> (s0, d0)> : !tk.tile<1xf32>, !tk.global<tensor<4x1xf32>>
      }
      tk.yield
    }
    return
  }
}
