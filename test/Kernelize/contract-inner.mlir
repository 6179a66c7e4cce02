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
