// What joins a contraction: the zeros before it, and the elementwise op behind it.
// RUN: weft-opt %s --split-input-file --weft-cpu-contract="vector-bits=512 register-rows=8" | FileCheck %s

// One block of K: sums begin as zeros in registers, and results are stored from there. Nothing has C, so it is gone. The bias of
// a row is broadcast.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref.alloc() : memref<8x64xf32>
// CHECK-COUNT-16: memref.prefetch {{.*}}, write, locality<3>, data
// CHECK: %[[sums:.*]]:16 = scf.for
// CHECK-COUNT-16: vector.fma
// CHECK: vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK-NEXT: arith.addf %[[sums]]#0, {{.*}} : vector<16xf32>
// CHECK: arith.maximumf
// CHECK: vector.store {{.*}} : memref<1099511627776xf32>, vector<16xf32>
// CHECK-NOT: linalg.generic
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x64xf32>, %bias: memref<8xf32>, %out: memref<8x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = memref.alloc() : memref<8x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<8x64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x64xf32>) outs(%c : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%c, %bias : memref<8x64xf32>, memref<8xf32>) outs(%out : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
    }
    return
  }
}

// -----

// Two blocks of K: C has the sums of the first; the second stores results. The bias of a column is a vector. Pieces of the
// residual and of the result are fetched while the last sums are computed.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK: memref.alloc() : memref<8x64xf32>
// CHECK: arith.cmpi eq
// CHECK-NEXT: scf.if
// CHECK-COUNT-16: memref.prefetch {{.*}}, read, locality<3>, data
// CHECK-COUNT-16: memref.prefetch {{.*}}, write, locality<3>, data
// CHECK: arith.cmpi eq
// CHECK: scf.if {{.*}} -> (vector<16xf32>
// CHECK-COUNT-16: vector.fma
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK-COUNT-16: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: else
// CHECK-COUNT-16: vector.store
// CHECK-NOT: linalg.generic
module {
  func.func @kernel(%a: memref<8x512xf32>, %b: memref<512x64xf32>, %bias: memref<64xf32>, %res: memref<8x64xf32>, %out: memref<8x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = memref.alloc() : memref<8x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<8x64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x512xf32>, memref<512x64xf32>) outs(%c : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>,
                                     affine_map<(m, n) -> (m, n)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%c, %bias, %res : memref<8x64xf32>, memref<64xf32>, memref<8x64xf32>) outs(%out : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32, %o: f32):
      %q = arith.addf %x, %y : f32
      %s = arith.addf %q, %z : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
    }
    return
  }
}

// -----

// An operand whose columns are no neighbours stays an op of its own; the zeros join all the same.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK-COUNT-16: vector.fma
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK-NOT: linalg.generic
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x64xf32>, %bias: memref<64x8xf32>, %out: memref<8x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = memref.alloc() : memref<8x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<8x64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x64xf32>) outs(%c : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n, m)>, affine_map<(m, n) -> (m, n)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%c, %bias : memref<8x64xf32>, memref<64x8xf32>) outs(%out : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
    }
    return
  }
}

// -----

// The sums are read twice: they are stored.
// CHECK-LABEL: func.func @kernel
// CHECK-COUNT-16: vector.fma
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: memref.copy
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x64xf32>, %bias: memref<8xf32>, %out: memref<8x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = memref.alloc() : memref<8x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<8x64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x64xf32>) outs(%c : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%c, %bias : memref<8x64xf32>, memref<8xf32>) outs(%out : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
    }
    memref.copy %c, %out : memref<8x64xf32> to memref<8x64xf32>
    return
  }
}

// -----

// Results over an operand that other tiles still read: not from registers.
// CHECK-LABEL: func.func @kernel
// CHECK-COUNT-16: vector.fma
// CHECK: linalg.generic
// CHECK: arith.maximumf
module {
  func.func @kernel(%a: memref<8x64xf32>, %b: memref<64x64xf32>, %bias: memref<8x64xf32>, %out: memref<8x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = memref.alloc() : memref<8x64xf32>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<8x64xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x64xf32>, memref<64x64xf32>) outs(%c : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%c, %bias : memref<8x64xf32>, memref<8x64xf32>) outs(%bias : memref<8x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
    }
    return
  }
}

// -----

// Few rows: vectors streamed along N. The sums begin as zeros, and the bias is added before they are stored.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK-NOT: memref.alloc
// CHECK: vector.fma
// CHECK: %[[bias:.*]] = vector.load
// CHECK: %[[sum:.*]] = arith.addf {{.*}}, %[[bias]] : vector<16xf32>
// CHECK: vector.store %[[sum]]
// CHECK-NOT: linalg.generic
module {
  func.func @kernel(%a: memref<64xf32>, %b: memref<64x128xf32>, %bias: memref<128xf32>, %out: memref<128xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = memref.alloc() : memref<128xf32>
    linalg.generic {indexing_maps = [affine_map<(n) -> (n)>], iterator_types = ["parallel"]} outs(%c : memref<128xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%a, %b : memref<64xf32>, memref<64x128xf32>) outs(%c : memref<128xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
        ins(%c, %bias : memref<128xf32>, memref<128xf32>) outs(%out : memref<128xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    }
    return
  }
}

// -----

// Vectors along K: each sum is a scalar, and so is its epilogue.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: linalg.generic
// CHECK: vector.fma
// CHECK: %[[sum:.*]] = vector.reduction <add>
// CHECK: %[[result:.*]] = arith.maximumf %[[sum]]
// CHECK: memref.store %[[result]]
// CHECK-NOT: linalg.generic
module {
  func.func @kernel(%a: memref<64xf32>, %b: memref<128x64xf32>, %out: memref<128xf32>) {
    %zero = arith.constant 0.0 : f32
    %c = memref.alloc() : memref<128xf32>
    linalg.generic {indexing_maps = [affine_map<(n) -> (n)>], iterator_types = ["parallel"]} outs(%c : memref<128xf32>) {
    ^bb0(%o: f32):
      linalg.yield %zero : f32
    }
    linalg.generic {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (n, k)>, affine_map<(n, k) -> (n)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%a, %b : memref<64xf32>, memref<128x64xf32>) outs(%c : memref<128xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]}
        ins(%c : memref<128xf32>) outs(%out : memref<128xf32>) {
    ^bb0(%x: f32, %o: f32):
      %s = arith.maximumf %x, %zero : f32
      linalg.yield %s : f32
    }
    return
  }
}
