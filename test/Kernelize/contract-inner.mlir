// Windows of more terms than registers hold are a loop over their rows; vectors that each CTA makes alone have no loop.
// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

#x = affine_map<(h, w, c, i, j) -> (h + i, w + j, c)>
#f = affine_map<(h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(h, w, c, i, j) -> (h, w, c)>
// 16 elements a thread: a row's five loads of each operand are under way together.
// CHECK-LABEL: func.func @kernel
// CHECK: scf.for {{.*}} to %c5 step %c1
// CHECK-COUNT-10: tk.load
// CHECK-NOT: tk.load
// CHECK: scf.yield
module attributes {tg.schedule = #tg.schedule<tile = [2, 16, 64], stream = [1, 1], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<18x18x64xf16>, %f: tensor<5x5x64xf16>) -> tensor<14x14x64xf16> {
    %0 = tg.contract %x, %f [#x, #f, #y] : tensor<18x18x64xf16>, tensor<5x5x64xf16> -> tensor<14x14x64xf16>
    return %0 : tensor<14x14x64xf16>
  }
}

// -----
#x = affine_map<(h, w, c, i, j) -> (h + i, w + j, c)>
#f = affine_map<(h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(h, w, c, i, j) -> (h, w, c)>
// One element a thread: all of them.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: scf.for
// CHECK: return
module attributes {tg.schedule = #tg.schedule<tile = [1, 2, 64], stream = [1, 1], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<18x18x64xf16>, %f: tensor<5x5x64xf16>) -> tensor<14x14x64xf16> {
    %0 = tg.contract %x, %f [#x, #f, #y] : tensor<18x18x64xf16>, tensor<5x5x64xf16> -> tensor<14x14x64xf16>
    return %0 : tensor<14x14x64xf16>
  }
}

// -----
#x = affine_map<(h, w, c, i, j) -> (h + i, w + j, c)>
#f = affine_map<(h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(h, w, c, i, j) -> (h, w, c)>
// In front of a mean: the image with zeros around it, and the terms' weights, are fetched once; each term is read from shared memory.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[X:[a-z0-9]*]]: {{[^,]*}}, %[[F:[a-z0-9]*]]: {{[^,]*}},
// CHECK-DAG: %[[IMAGE:.*]] = tk.alloc : <1 x 32x32x8xf32>
// CHECK-DAG: %[[WEIGHTS:.*]] = tk.alloc : <1 x 8x8x8xf32>
// CHECK: %[[BOX:.*]] = tk.load %[[X]]
// CHECK: %[[ALL:.*]] = tk.load %[[F]]
// CHECK: tk.local_store %[[BOX]], %[[IMAGE]]
// CHECK: tk.local_store %[[ALL]], %[[WEIGHTS]]
// CHECK: tk.barrier
// CHECK-NOT: tk.load
// CHECK-NOT: scf.for
// CHECK-COUNT-50: tk.local_read
// CHECK-NOT: tk.local_read
module attributes {tg.schedule = #tg.schedule<tile = [16, 16, 8], stream = [1], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<14x14x672xf32>, %f: tensor<5x5x672xf32>) -> (tensor<14x14x672xf32>, tensor<1x1x672xf32>) {
    %v = tg.constant dense<0.0> : tensor<f32>
    %p = tg.pad %x, %v low = [2, 2, 0] high = [2, 2, 0] interior = [0, 0, 0] : tensor<14x14x672xf32>, tensor<f32>
    %0 = tg.contract %p, %f [#x, #f, #y] : tensor<18x18x672xf32>, tensor<5x5x672xf32> -> tensor<14x14x672xf32>
    %1 = tg.reduce add %0 axes = [0, 1] keep_dims : tensor<14x14x672xf32>
    return %0, %1 : tensor<14x14x672xf32>, tensor<1x1x672xf32>
  }
}

// -----
#x = affine_map<(h, w, c, i, j) -> (h * 2 + i, w * 2 + j, c)>
#f = affine_map<(h, w, c, i, j) -> (i, j, c)>
#y = affine_map<(h, w, c, i, j) -> (h, w, c)>
// 16x16 places of which 14x14 are results read 35 rows of the image, 31 of them for results: behind the box of 32 are zeros.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[X:[a-z0-9]*]]: {{[^,]*}}, %[[F:[a-z0-9]*]]: {{[^,]*}},
// CHECK-DAG: %[[IMAGE:.*]] = tk.alloc : <2 x 32x32x2xf32>
// CHECK-DAG: %[[WEIGHTS:.*]] = tk.alloc : <1 x 8x8x2xf32>
// CHECK: %[[BOX:.*]] = tk.load %[[X]]
// CHECK: %[[ALL:.*]] = tk.load %[[F]]
// CHECK: %[[ZEROS:.*]] = tk.constant 0.000000e+00 : f32
// CHECK: %[[BEHIND:.*]] = tk.slot %[[IMAGE]][%c1]
// CHECK: tk.local_store %[[ZEROS]], %[[BEHIND]]
// CHECK: %[[FIRST:.*]] = tk.slot %[[IMAGE]][%c0]
// CHECK: tk.local_store %[[BOX]], %[[FIRST]]
// CHECK: tk.local_store %[[ALL]], %[[WEIGHTS]]
// CHECK: tk.barrier
// CHECK-COUNT-50: tk.local_read
module attributes {tg.schedule = #tg.schedule<tile = [16, 16, 2], stream = [1], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<28x28x96xf32>, %f: tensor<5x5x96xf32>) -> (tensor<14x14x96xf32>, tensor<1x1x96xf32>) {
    %v = tg.constant dense<0.0> : tensor<f32>
    %p = tg.pad %x, %v low = [2, 2, 0] high = [2, 2, 0] interior = [0, 0, 0] : tensor<28x28x96xf32>, tensor<f32>
    %0 = tg.contract %p, %f [#x, #f, #y] : tensor<32x32x96xf32>, tensor<5x5x96xf32> -> tensor<14x14x96xf32>
    %1 = tg.reduce add %0 axes = [0, 1] keep_dims : tensor<14x14x96xf32>
    return %0, %1 : tensor<14x14x96xf32>, tensor<1x1x96xf32>
  }
}

// -----
#v = affine_map<(o, k) -> (k)>
#w = affine_map<(o, k) -> (o, k)>
#y = affine_map<(o, k) -> (o)>
// Steps of the inner product: the weights of all are under way together, those of the outer one before the vector is done.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[M:[a-z0-9]*]]: {{[^,]*}}, %[[U:[a-z0-9]*]]: {{[^,]*}}, %[[W:[a-z0-9]*]]: 
// CHECK: tk.load %[[W]]
// CHECK-NOT: scf.for
// CHECK-COUNT-9: tk.load %[[U]]
// CHECK-NOT: tk.load %[[U]]
// CHECK-NOT: scf.for
// CHECK: return
module attributes {tg.schedule = #tg.schedule<tile = [64], stream = [64], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%m: tensor<1152xf16>, %u: tensor<48x1152xf16>, %w: tensor<1152x48xf16>) -> tensor<1152xf16> {
    %0 = tg.contract %m, %u [#v, #w, #y] : tensor<1152xf16>, tensor<48x1152xf16> -> tensor<48xf16>
    %1 = tg.contract %0, %w [#v, #w, #y] : tensor<48xf16>, tensor<1152x48xf16> -> tensor<1152xf16>
    return %1 : tensor<1152xf16>
  }
}
