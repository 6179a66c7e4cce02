// A row whose places are all masked by the least of f32: log2(e) times that is infinite, and infinity less infinity no number. Such rows have the base 2.
// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

#acc = affine_map<(i, n, j) -> (i, n)>
// CHECK-LABEL: func.func @kernel(
// CHECK: %[[SHIFT:[0-9]+]] = tk.map(%[[M:[0-9]+]] : !tk.tile<64xf32>) -> !tk.tile<64xf32> {
// CHECK-NOT: tk.map
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK: arith.select
// CHECK: %[[BASE:[0-9]+]] = tk.map(%[[M]] : !tk.tile<64xf32>)
// CHECK: arith.select
// CHECK: tk.map(%{{.*}}, %[[SHIFT]], %[[BASE]]
// CHECK: math.fma
// CHECK: math.exp2
module attributes {tg.schedule = #tg.schedule<tile = [64, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<256x64xf16>, %k: tensor<200x64xf16>, %v: tensor<200x32xf16>, %n: tensor<1x200xi32>) -> tensor<256x32xf32> {
  %zero = tg.constant dense<0> : tensor<i32>
  %low = tg.constant dense<-3.4e+38> : tensor<f32>
  %r = tg.fold over affine_map<() -> (200)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<256x1xf32>, %l: tensor<256x1xf32>, %a: tensor<256x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<256x64xf16>, tensor<200x64xf16> -> tensor<256x200xf32>
    %keep = tg.cmp ge %n, %zero : tensor<1x200xi32>, tensor<i32>
    %x = tg.select %keep, %s, %low : tensor<1x200xi1>, tensor<256x200xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<256x200xf32>
    %m2 = tg.max %m, %b : tensor<256x1xf32>, tensor<256x1xf32>
    %c = tg.sub %m, %m2 : tensor<256x1xf32>, tensor<256x1xf32>
    %f = tg.exp %c : tensor<256x1xf32>
    %d = tg.sub %x, %m2 : tensor<256x200xf32>, tensor<256x1xf32>
    %e = tg.exp %d : tensor<256x200xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<256x200xf32>
    %g = tg.mul %l, %f : tensor<256x1xf32>, tensor<256x1xf32>
    %l2 = tg.add %g, %t : tensor<256x1xf32>, tensor<256x1xf32>
    %p = tg.cast %e : tensor<256x200xf32> to tensor<256x200xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, #acc] {tg.streamed} : tensor<256x200xf16>, tensor<200x32xf16> -> tensor<256x32xf32>
    %h = tg.mul %a, %f : tensor<256x32xf32>, tensor<256x1xf32>
    %a2 = tg.add %h, %o : tensor<256x32xf32>, tensor<256x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<256x1xf32>, tensor<256x1xf32>, tensor<256x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<256x1xf32>, %l: tensor<256x1xf32>, %a: tensor<256x32xf32>):
    %o = tg.div %a, %l : tensor<256x32xf32>, tensor<256x1xf32>
    tg.fold_yield %o : tensor<256x32xf32>
  } : tensor<256x32xf32>
  return %r : tensor<256x32xf32>
}
}


// -----

// What is not that low needs none of it.
#acc = affine_map<(i, n, j) -> (i, n)>
// CHECK-LABEL: func.func @kernel(
// CHECK-NOT: arith.cmpf olt
// CHECK: math.exp2
module attributes {tg.schedule = #tg.schedule<tile = [64, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<256x64xf16>, %k: tensor<200x64xf16>, %v: tensor<200x32xf16>, %n: tensor<1x200xi32>) -> tensor<256x32xf32> {
  %zero = tg.constant dense<0> : tensor<i32>
  %low = tg.constant dense<-1.0e+38> : tensor<f32>
  %r = tg.fold over affine_map<() -> (200)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<256x1xf32>, %l: tensor<256x1xf32>, %a: tensor<256x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<256x64xf16>, tensor<200x64xf16> -> tensor<256x200xf32>
    %keep = tg.cmp ge %n, %zero : tensor<1x200xi32>, tensor<i32>
    %x = tg.select %keep, %s, %low : tensor<1x200xi1>, tensor<256x200xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<256x200xf32>
    %m2 = tg.max %m, %b : tensor<256x1xf32>, tensor<256x1xf32>
    %c = tg.sub %m, %m2 : tensor<256x1xf32>, tensor<256x1xf32>
    %f = tg.exp %c : tensor<256x1xf32>
    %d = tg.sub %x, %m2 : tensor<256x200xf32>, tensor<256x1xf32>
    %e = tg.exp %d : tensor<256x200xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<256x200xf32>
    %g = tg.mul %l, %f : tensor<256x1xf32>, tensor<256x1xf32>
    %l2 = tg.add %g, %t : tensor<256x1xf32>, tensor<256x1xf32>
    %p = tg.cast %e : tensor<256x200xf32> to tensor<256x200xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, #acc] {tg.streamed} : tensor<256x200xf16>, tensor<200x32xf16> -> tensor<256x32xf32>
    %h = tg.mul %a, %f : tensor<256x32xf32>, tensor<256x1xf32>
    %a2 = tg.add %h, %o : tensor<256x32xf32>, tensor<256x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<256x1xf32>, tensor<256x1xf32>, tensor<256x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<256x1xf32>, %l: tensor<256x1xf32>, %a: tensor<256x32xf32>):
    %o = tg.div %a, %l : tensor<256x32xf32>, tensor<256x1xf32>
    tg.fold_yield %o : tensor<256x32xf32>
  } : tensor<256x32xf32>
  return %r : tensor<256x32xf32>
}
}

