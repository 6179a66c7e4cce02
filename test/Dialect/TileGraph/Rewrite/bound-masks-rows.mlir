// Bounds of masks that compare data where the rows are no multiple of a block's, or their number and that of the places are symbolic.
// RUN: weft-opt %s --split-input-file --weft-bound-masks=least-elements=64 --remarks-filter=fold --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

// The last block is not full: it has the last row again.
// CHECK-LABEL: func.func @odd
// CHECK: %[[LINE:.*]] = tg.iota 0 : tensor<128xi64>
// CHECK: tg.gather %arg1, %[[LINE]] {{.*}} -> tensor<128x1xi64>
// CHECK: tg.slice {{.*}} : tensor<128x1xi64> to tensor<100x1xi64>
// CHECK: tg.implied
// WHY: [Passed] mask-bounds {{.*}}each of 2 blocks of 64 rows
func.func @odd(%s: tensor<100x256xf32>, %x: tensor<100x1xi64>, %y: tensor<1x256xi64>) -> tensor<100x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<100x1xf32>):
    %keep = tg.cmp eq %x, %y : tensor<100x1xi64>, tensor<1x256xi64>
    %k = tg.select %keep, %s, %inf : tensor<100x256xi1>, tensor<100x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<100x256xf32>
    %m2 = tg.max %m, %b : tensor<100x1xf32>, tensor<100x1xf32>
    tg.fold_yield %m2 : tensor<100x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<100x1xf32>):
    tg.fold_yield %m : tensor<100x1xf32>
  } : tensor<100x1xf32>
  return %r : tensor<100x1xf32>
}

// -----

// Symbolic numbers of rows and of places. A dimension in front of such rows has a number.
// CHECK-LABEL: func.func @symbolic
// CHECK: tg.gather %arg1, %{{.*}} -> tensor<?x1xi64, #tg.dims<()[s0] -> (((s0 + 63) floordiv 64) * 64, 1)>>
// CHECK: tg.implied
// CHECK: tg.fold over
// CHECK-NOT: tg.implied
// WHY: [Passed] mask-bounds {{.*}}each of (rows + 63) floordiv 64 blocks of 64 rows
// WHY: Remark="the extents of what the mask compares are not constant"
#line = #tg.dims<()[s0] -> (s0, 1)>
#scores = #tg.dims<()[s0, s1] -> (s0, s1)>
#many = #tg.dims<()[s0] -> (2, s0, 1)>
#all = #tg.dims<()[s0, s1] -> (2, s0, s1)>
module attributes {tg.symbols = ["rows", "places"]} {
func.func @symbolic(%s: tensor<?x?xf32, #scores>, %x: tensor<?x1xi64, #line>, %s2: tensor<2x?x?xf32, #all>, %x2: tensor<2x?x1xi64, #many>) -> (tensor<?x1xf32, #line>, tensor<2x?x1xf32, #many>) {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %y = tg.iota 1 : tensor<1x?xi64, #tg.dims<()[s0, s1] -> (1, s1)>>
  %r = tg.fold over affine_map<()[s0, s1] -> (s1)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<?x1xf32, #line>):
    %keep = tg.cmp le %y, %x : tensor<1x?xi64, #tg.dims<()[s0, s1] -> (1, s1)>>, tensor<?x1xi64, #line>
    %k = tg.select %keep, %s, %inf : tensor<?x?xi1, #scores>, tensor<?x?xf32, #scores>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<?x?xf32, #scores>
    %m2 = tg.max %m, %b : tensor<?x1xf32, #line>, tensor<?x1xf32, #line>
    tg.fold_yield %m2 : tensor<?x1xf32, #line>
  } merge {
  } finish {
  ^bb0(%m: tensor<?x1xf32, #line>):
    tg.fold_yield %m : tensor<?x1xf32, #line>
  } : tensor<?x1xf32, #line>
  %r2 = tg.fold over affine_map<()[s0, s1] -> (s1)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<2x?x1xf32, #many>):
    %keep = tg.cmp le %y, %x2 : tensor<1x?xi64, #tg.dims<()[s0, s1] -> (1, s1)>>, tensor<2x?x1xi64, #many>
    %k = tg.select %keep, %s2, %inf : tensor<2x?x?xi1, #all>, tensor<2x?x?xf32, #all>, tensor<f32>
    %b = tg.reduce max %k axes = [2] keep_dims {tg.streamed} : tensor<2x?x?xf32, #all>
    %m2 = tg.max %m, %b : tensor<2x?x1xf32, #many>, tensor<2x?x1xf32, #many>
    tg.fold_yield %m2 : tensor<2x?x1xf32, #many>
  } merge {
  } finish {
  ^bb0(%m: tensor<2x?x1xf32, #many>):
    tg.fold_yield %m : tensor<2x?x1xf32, #many>
  } : tensor<2x?x1xf32, #many>
  return %r, %r2 : tensor<?x1xf32, #line>, tensor<2x?x1xf32, #many>
}
}
