// RUN: weft-opt %s --split-input-file --weft-cpu-contract="vector-bits=512 register-rows=8" | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-cpu-contract="vector-bits=256 register-rows=6" | FileCheck %s --check-prefix=AVX2
// RUN: weft-opt %s --split-input-file --weft-cpu-contract="vector-bits=512 register-rows=8 adds-quads" | FileCheck %s --check-prefix=VNNI

// The register tile: 8 rows of two vectors, accumulated over K with fused multiply-adds; A is read in place, B packed, and
// whole panels, whose columns are neighbours in C, begin and end there.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref<3x16x32xf32>
// CHECK: memref.alloc() : memref<64x32xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.fma
// AVX2: memref.alloc() : memref<64x16xf32>
// AVX2-COUNT-12: vector.fma {{.*}} : vector<8xf32>
module {
  func.func @kernel(%a: memref<16x64xf32>, %b: memref<64x96xf32>, %c: memref<16x96xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<16x64xf32>, memref<64x96xf32>) outs(%c : memref<16x96xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A convolution: the image is the side with the contiguous dimension, so it is packed (im2col) and the filter is read in place.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK-COUNT-16: vector.fma
module {
  func.func @kernel(%x: memref<1x4x10x10xf32>, %w: memref<8x4x3x3xf32>, %y: memref<1x8x8x8xf32>) {
    linalg.generic {indexing_maps = [affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>,
                                     affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>,
                                     affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>],
                    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x, %w : memref<1x4x10x10xf32>, memref<8x4x3x3xf32>) outs(%y : memref<1x8x8x8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Windows of an image with channels enough: columns are channels, whose weights are packed, transposed; rows are windows, read in place.
// Tiles are transposed as they are stored: 32 columns of 8 rows, masked (98 rows are 12 tiles and a part). Where rows do not follow each other, one by one.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK: memref.alloc() : memref<32x8xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.fma
// CHECK: vector.extract_strided_slice {{.*}} : vector<16xf32> to vector<8xf32>
// CHECK: vector.store {{.*}} : memref<32x8xf32>, vector<8xf32>
// CHECK: vector.maskedstore {{.*}} : memref<1099511627776xf32>, vector<8xi1>, vector<8xf32>
module {
  func.func @kernel(%x: memref<1x8x16x9xf32>, %w: memref<32x8x3x3xf32>, %y: memref<1x32x14x7xf32>) {
    linalg.generic {indexing_maps = [affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>,
                                     affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>,
                                     affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>],
                    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x, %w : memref<1x8x16x9xf32>, memref<32x8x3x3xf32>) outs(%y : memref<1x32x14x7xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Words of four bytes are elements: with VNNI one instruction multiplies and adds all four, else 16 bits do it in pairs, which saturates nowhere.
// Two tiles of 8 rows read the columns where they lie.
// CHECK-LABEL: func.func @quads
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref.alloc() : memref<16x32xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"({{.*}}) : (vector<32xi16>, vector<32xi16>) -> vector<16xi32>
// AVX2-LABEL: func.func @quads
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"({{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// VNNI-LABEL: func.func @quads
// VNNI-COUNT-16: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"({{.*}}) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
// VNNI-NOT: llvm.call_intrinsic
// VNNI-LABEL: func.func
module {
  func.func @quads(%a: memref<16x16x4xi8>, %b: memref<16x96x4xi8>, %c: memref<16x96xi32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k, q) -> (m, k, q)>, affine_map<(m, n, k, q) -> (k, n, q)>,
                                     affine_map<(m, n, k, q) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%a, %b : memref<16x16x4xi8>, memref<16x96x4xi8>) outs(%c : memref<16x96xi32>) {
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

// Three tiles pack them.
// CHECK-LABEL: func.func @three_tiles
// CHECK: memref.alloc() : memref<16x32xi32>
module {
  func.func @three_tiles(%a: memref<24x16x4xi8>, %b: memref<16x96x4xi8>, %c: memref<24x96xi32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k, q) -> (m, k, q)>, affine_map<(m, n, k, q) -> (k, n, q)>,
                                     affine_map<(m, n, k, q) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%a, %b : memref<24x16x4xi8>, memref<16x96x4xi8>) outs(%c : memref<24x96xi32>) {
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

// The last panel is not whole: its loads and stores are masked, not its inner loop.
// CHECK-LABEL: func.func @kernel
// CHECK: vector.create_mask
// CHECK: vector.maskedload {{.*}} : memref<1099511627776xf32>, vector<16xi1>
// CHECK-COUNT-16: vector.fma
// CHECK-COUNT-16: vector.maskedstore {{.*}} : memref<1099511627776xf32>
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x40xf32>, %c: memref<8x40xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x40xf32>) outs(%c : memref<8x40xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A transposed result: columns are no neighbours in C, so a panel has accumulators, which are added to C at the end.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[sums:.*]] = memref.alloc() : memref<2x8x32xf32>
// CHECK: scf.if
// CHECK-COUNT-16: vector.store {{.*}} : memref<1099511627776xf32>
// CHECK: else
// CHECK-COUNT-16: vector.store {{.*}} %[[sums]][
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x4x10xf32>, %c: memref<10x8x4xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, p, k) -> (m, k)>, affine_map<(m, n, p, k) -> (k, n, p)>, affine_map<(m, n, p, k) -> (p, m, n)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x4x10xf32>) outs(%c : memref<10x8x4xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// A depthwise product has no M or N: it stays a generic.
// CHECK-LABEL: func.func @kernel
// CHECK: linalg.generic
// CHECK-NOT: vector.fma
module {
  func.func @kernel(%a: memref<16x64xf32>, %b: memref<16x64xf32>, %c: memref<16xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%a, %b : memref<16x64xf32>, memref<16x64xf32>) outs(%c : memref<16xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Rows that are converted are packed by vectors along K, as [block][row][k]: 40 elements are two vectors of 16 and 8 single ones.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[PACKED:.*]] = memref.alloc() : memref<2x8x40xf32>
// CHECK: %[[HALVES:.*]] = vector.load {{.*}} : memref<{{.*}}xf16>, vector<16xf16>
// CHECK-NEXT: %[[ROW:.*]] = arith.extf %[[HALVES]] : vector<16xf16> to vector<16xf32>
// CHECK-NEXT: vector.store %[[ROW]], %[[PACKED]]
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK-NEXT: memref.store %{{.*}}, %[[PACKED]]
// CHECK: memref.load %[[PACKED]]
// CHECK: vector.fma
// With 6 rows at most: 4 tiles of 4, where 3 of 6 would compute 18 rows.
// AVX2: memref<4x4x40xf32>
// AVX2: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
module {
  func.func @kernel(%a: memref<16x40xf16>, %b: memref<40x96xf16>, %c: memref<16x96xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<16x40xf16>, memref<40x96xf16>) outs(%c : memref<16x96xf32>) {
    ^bb0(%x: f16, %y: f16, %o: f32):
      %wideX = arith.extf %x : f16 to f32
      %wideY = arith.extf %y : f16 to f32
      %p = arith.mulf %wideX, %wideY : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Neighbours along K lie apart: rows are packed one by one, as [block][k][row].
// CHECK-LABEL: func.func @kernel
// CHECK: memref.alloc() : memref<2x40x8xf32>
// CHECK-NOT: vector<16xf16>
// CHECK: memref.load {{.*}} : memref<{{.*}}xf16>
// CHECK-NEXT: arith.extf {{.*}} : f16 to f32
module {
  func.func @kernel(%a: memref<40x16xf16>, %b: memref<40x96xf32>, %c: memref<16x96xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<40x16xf16>, memref<40x96xf32>) outs(%c : memref<16x96xf32>) {
    ^bb0(%x: f16, %y: f32, %o: f32):
      %wideX = arith.extf %x : f16 to f32
      %p = arith.mulf %wideX, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Columns that are contiguous along K are packed by squares, transposed in registers: 4 times 8 shuffles of two vectors; the 4 elements of
// K that are left, one by one.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[PACKED:.*]] = memref.alloc() : memref<36x32xf32>
// CHECK-COUNT-16: vector.load {{.*}} : memref<{{.*}}xf32>, vector<16xf32>
// CHECK-NEXT: vector.shuffle %{{.*}}, %{{.*}} [0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30] : vector<16xf32>, vector<16xf32>
// CHECK-COUNT-63: vector.shuffle
// CHECK-COUNT-16: vector.store {{.*}}, %[[PACKED]]
// CHECK-NOT: vector.shuffle
// CHECK: memref.store {{.*}}, %[[PACKED]]
// CHECK: vector.fma
// AVX2: memref.alloc() : memref<36x16xf32>
// AVX2-COUNT-24: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// AVX2-NOT: vector.shuffle
module {
  func.func @kernel(%a: memref<16x36xf32>, %b: memref<96x36xf32>, %c: memref<16x96xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<16x36xf32>, memref<96x36xf32>) outs(%c : memref<16x96xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Places of a window come before channels in K where channels are innermost in the image, so that K's innermost loop goes
// along neighbours. Its 9 x 20 places are two blocks of 90.
// CHECK-LABEL: func.func @kernel
// CHECK: memref.alloc() : memref<180xindex>
// CHECK: scf.for {{.*}} to %c3{{(_[0-9]+)?}} step
// CHECK: scf.for {{.*}} to %c3{{(_[0-9]+)?}} step
// CHECK: scf.for {{.*}} to %c20{{(_[0-9]+)?}} step
// CHECK: memref.store {{.*}} : memref<180xindex>
// CHECK: memref.alloc() : memref<90x32xf32>
module {
  func.func @kernel(%x: memref<10x10x20xf32>, %w: memref<3x3x20x64xf32>, %y: memref<8x8x64xf32>) {
    linalg.generic {indexing_maps = [affine_map<(h, w, o, c, i, j) -> (h + i, w + j, c)>, affine_map<(h, w, o, c, i, j) -> (i, j, c, o)>,
                                     affine_map<(h, w, o, c, i, j) -> (h, w, o)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x, %w : memref<10x10x20xf32>, memref<3x3x20x64xf32>) outs(%y : memref<8x8x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// With channels outermost, the loops of K stay as they are: a row of the window is what lies side by side.
// CHECK-LABEL: func.func @kernel
// CHECK: memref.alloc() : memref<180xindex>
// CHECK: scf.for {{.*}} to %c20{{(_[0-9]+)?}} step
// CHECK: scf.for {{.*}} to %c3{{(_[0-9]+)?}} step
// CHECK: scf.for {{.*}} to %c3{{(_[0-9]+)?}} step
// CHECK: memref.store {{.*}} : memref<180xindex>
// CHECK: memref.alloc() : memref<90x32xf32>
module {
  func.func @kernel(%x: memref<20x10x10xf32>, %w: memref<3x3x20x64xf32>, %y: memref<8x8x64xf32>) {
    linalg.generic {indexing_maps = [affine_map<(h, w, o, c, i, j) -> (c, h + i, w + j)>, affine_map<(h, w, o, c, i, j) -> (i, j, c, o)>,
                                     affine_map<(h, w, o, c, i, j) -> (h, w, o)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%x, %w : memref<20x10x10xf32>, memref<3x3x20x64xf32>) outs(%y : memref<8x8x64xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Columns that lie in panels as wide as the register tile are multiplied in place, though eleven tiles read each: nothing is
// packed, and nothing asked for ahead, which the prefetchers of the hardware do.
// CHECK-LABEL: func.func @panels
// CHECK-NOT: memref.alloc{{.*}}x32xf32
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.maskedload
// CHECK: return
module {
  func.func @panels(%a: memref<88x64xf32>, %b: memref<5x64x32xf32>, %c: memref<88x5x32xf32>) {
    linalg.generic {indexing_maps = [affine_map<(m, n, p, k) -> (m, k)>, affine_map<(m, n, p, k) -> (n, k, p)>, affine_map<(m, n, p, k) -> (m, n, p)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<88x64xf32>, memref<5x64x32xf32>) outs(%c : memref<88x5x32xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    return
  }
}
