// Contractions whose rows fit one register tile read their columns in place: nothing is packed, so nothing is allocated.
// RUN: weft-opt %s --split-input-file --weft-cpu-contract="vector-bits=512 register-rows=8" | FileCheck %s --implicit-check-not=memref.alloc

// Matrix times vector, columns contiguous: eight accumulators, then what is left of 200 columns with a mask of 8 lanes.
// CHECK-LABEL: func.func @kernel
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-8: vector.fma {{.*}} : vector<16xf32>
// CHECK: vector.create_mask %c8
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
module {
  func.func @kernel(%a: memref<1x64xf32>, %b: memref<64x200xf16>, %c: memref<1x200xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<1x64xf32>, memref<64x200xf16>) outs(%c : memref<1x200xf32>) {
    ^bb0(%x: f32, %h: f16, %o: f32):
      %y = arith.extf %h : f16 to f32
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// The same with a transposed matrix: vectors along K, four columns at a time, summed up at the end.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[sums:.*]]:4 = scf.for {{.*}} iter_args
// CHECK-COUNT-4: vector.fma
// CHECK: vector.reduction <add>, %[[sums]]#0, {{.*}} fastmath<reassoc>
module {
  func.func @kernel(%a: memref<1x64xf32>, %b: memref<200x64xf32>, %c: memref<1x200xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<1x64xf32>, memref<200x64xf32>) outs(%c : memref<1x200xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A depthwise convolution of stride two: the channel is the batch; the image is read two vectors at a time and its even
// elements kept. The second vector never reads beyond the last element that is used.
// CHECK-LABEL: func.func @kernel
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: vector.create_mask %c15
// CHECK: vector.maskedload
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK: vector.fma
module {
  func.func @kernel(%x: memref<32x34x34xf32>, %w: memref<32x3x3xf32>, %y: memref<32x16x16xf32>) {
    linalg.generic {indexing_maps = [affine_map<(c, h, w, i, j) -> (c, h * 2 + i, w * 2 + j)>, affine_map<(c, h, w, i, j) -> (c, i, j)>,
                                     affine_map<(c, h, w, i, j) -> (c, h, w)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : memref<32x34x34xf32>, memref<32x3x3xf32>) outs(%y : memref<32x16x16xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// The same kind with channels innermost: vectors along them, seven neighbours of a row at a time (14 is two of seven). The
// three weights of a row of the window serve all seven, which share what their windows have in common; the last 4 of 20
// channels have a mask.
// CHECK-LABEL: func.func @kernel
// CHECK: scf.for {{.*}} step %c7
// CHECK: scf.for {{.*}} step %c16
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-21: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: scf.yield
// CHECK-COUNT-7: vector.store
// CHECK: vector.create_mask %c4
// CHECK-COUNT-21: vector.fma
// CHECK-NOT: vector.fma
// CHECK-COUNT-7: vector.maskedstore
module {
  func.func @kernel(%x: memref<16x16x20xf32>, %w: memref<3x3x20xf32>, %y: memref<14x14x20xf32>) {
    linalg.generic {indexing_maps = [affine_map<(c, h, w, i, j) -> (h + i, w + j, c)>, affine_map<(c, h, w, i, j) -> (i, j, c)>,
                                     affine_map<(c, h, w, i, j) -> (h, w, c)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : memref<16x16x20xf32>, memref<3x3x20xf32>) outs(%y : memref<14x14x20xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Words of eight fields: each is loaded once, its fields have code of their own, and what is a function of a field alone (a cast, a zero point) is
// looked up in a register. The scale of a block is loaded once for all its words. Rows of 300 words further on come nearer.
// CHECK-LABEL: func.func @fields
// CHECK: memref.prefetch
// CHECK-COUNT-8: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
// CHECK: vector.maskedload {{.*}} vector<16xi32>
module {
  func.func @fields(%a: memref<1x2x4x8xf32>, %b: memref<2x4x1x300xi32>, %t: memref<8xi32>, %z: memref<2x300xf32>, %c: memref<1x300xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, g, w, f) -> (m, g, w, f)>, affine_map<(m, n, g, w, f) -> (g, w, 0, n)>, affine_map<(m, n, g, w, f) -> (f)>,
                                     affine_map<(m, n, g, w, f) -> (g, n)>, affine_map<(m, n, g, w, f) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %b, %t, %z : memref<1x2x4x8xf32>, memref<2x4x1x300xi32>, memref<8xi32>, memref<2x300xf32>) outs(%c : memref<1x300xf32>) {
    ^bb0(%x: f32, %w: i32, %by: i32, %s: f32, %o: f32):
      %fifteen = arith.constant 15 : i32
      %eight = arith.constant 8.0 : f32
      %m = arith.shrui %w, %by : i32
      %q = arith.andi %m, %fifteen : i32
      %f = arith.uitofp %q : i32 to f32
      %d = arith.subf %f, %eight : f32
      %y = arith.mulf %d, %s : f32
      %p = arith.mulf %x, %y : f32
      %r = arith.addf %o, %p : f32
      linalg.yield %r : f32
    }
    return
  }
}

// -----

// A word of four bytes is an element: words of the columns are neighbours, that of the row is broadcast.
// CHECK-LABEL: func.func @quads
// CHECK: vector.load {{.*}} vector<64xi8>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// CHECK: vector.maskedload {{.*}} vector<64xi8>
module {
  func.func @quads(%a: memref<2x16x4xi8>, %b: memref<16x90x4xi8>, %c: memref<2x90xi32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k, q) -> (m, k, q)>, affine_map<(m, n, k, q) -> (k, n, q)>,
                                     affine_map<(m, n, k, q) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%a, %b : memref<2x16x4xi8>, memref<16x90x4xi8>) outs(%c : memref<2x90xi32>) {
    ^bb0(%x: i8, %y: i8, %o: i32):
      %u = arith.extui %x : i8 to i32
      %s = arith.extsi %y : i8 to i32
      %p = arith.muli %u, %s : i32
      %t = arith.addi %o, %p : i32
      linalg.yield %t : i32
    }
    return
  }
}

// -----

// Columns in panels of two vectors: four panels side by side have the eight accumulators of a row; the last of five goes alone.
// CHECK-LABEL: func.func @panels
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-8: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-2: vector.fma
// CHECK-NOT: vector.fma
module {
  func.func @panels(%a: memref<1x64xf32>, %b: memref<5x64x32xf32>, %c: memref<1x5x32xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, p, k) -> (m, k)>, affine_map<(m, n, p, k) -> (n, k, p)>, affine_map<(m, n, p, k) -> (m, n, p)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<1x64xf32>, memref<5x64x32xf32>) outs(%c : memref<1x5x32xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}
