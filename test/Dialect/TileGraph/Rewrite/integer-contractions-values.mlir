// The same numbers before and after, in the Reference, for random integers: in i32 all, in f32 those that are exact (scales of powers of two).
// RUN: weft-reference %s --random=5 > %t.before
// RUN: weft-opt %s --weft-integer-contractions --weft-pack-quads -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: weft-reference %t.mlir --random=5 > %t.after
// RUN: diff %t.before %t.after
// CHECK-COUNT-3: -> tensor<{{.*}}xi32>
// CHECK-NOT: tg.contract {{.*}}xf32>

#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h * 2 + i, w * 2 + j)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>

func.func @main(%a: tensor<1x6x7x9xui8>, %z: tensor<ui8>, %m: tensor<5x13xi8>, %n: tensor<7x13xui8>, %p: tensor<5x13xui8>)
    -> (tensor<1x4x4x5xi32>, tensor<5x7xi32>, tensor<5x7xf32>, tensor<5x7xi32>, tensor<5x2xi32>) {
  %b = tg.constant dense<[[[[1, -2, 3]], [[4, 5, -6]], [[127, -128, 9]], [[0, 1, 2]], [[3, 4, 5]], [[6, 7, 8]]],
                          [[[11, -2, 3]], [[4, 5, -6]], [[7, -8, 9]], [[0, 31, 2]], [[3, 4, 5]], [[6, 7, 8]]],
                          [[[1, -2, 43]], [[4, 5, -6]], [[7, -8, 9]], [[0, 1, 2]], [[3, 4, 5]], [[6, 7, 98]]],
                          [[[1, -2, 3]], [[4, 55, -6]], [[7, -8, 9]], [[0, 1, 2]], [[3, 4, 5]], [[6, 7, 8]]]]> : tensor<4x6x1x3xi8>
  %none = tg.constant dense<0> : tensor<i32>
  %0 = tg.cast %a : tensor<1x6x7x9xui8> to tensor<1x6x7x9xi32>
  %1 = tg.cast %z : tensor<ui8> to tensor<i32>
  %2 = tg.sub %0, %1 : tensor<1x6x7x9xi32>, tensor<i32>
  %3 = tg.pad %2, %none low = [0, 0, 0, 1] high = [0, 0, 0, 1] interior = [0, 0, 0, 0] : tensor<1x6x7x9xi32>, tensor<i32>
  %c = tg.contract %3, %b [#x, #w, #y] : tensor<1x6x7x11xi32>, tensor<4x6x1x3xi8> -> tensor<1x4x4x5xi32>
  %zm = tg.constant dense<-7> : tensor<i8>
  %4 = tg.cast %m : tensor<5x13xi8> to tensor<5x13xi32>
  %5 = tg.cast %zm : tensor<i8> to tensor<i32>
  %6 = tg.sub %4, %5 : tensor<5x13xi32>, tensor<i32>
  %7 = tg.cast %n : tensor<7x13xui8> to tensor<7x13xi32>
  %8 = tg.sub %7, %1 : tensor<7x13xi32>, tensor<i32>
  %d = tg.contract %6, %8 [#l, #r, #o] : tensor<5x13xi32>, tensor<7x13xi32> -> tensor<5x7xi32>
  %scale = tg.constant dense<[[0.5], [0.25], [1.0], [2.0], [4.0], [0.125], [0.5]]> : tensor<7x1xf32>
  %9 = tg.cast %m : tensor<5x13xi8> to tensor<5x13xf32>
  %10 = tg.cast %n : tensor<7x13xui8> to tensor<7x13xf32>
  %11 = tg.mul %10, %scale : tensor<7x13xf32>, tensor<7x1xf32>
  %e = tg.contract %9, %11 [#l, #r, #o] : tensor<5x13xf32>, tensor<7x13xf32> -> tensor<5x7xf32>
  // Equal signs.
  %f = tg.contract %p, %n [#l, #r, #o] : tensor<5x13xui8>, tensor<7x13xui8> -> tensor<5x7xi32>
  %k = tg.constant dense<[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], [-128, -127, 127, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]> : tensor<2x13xi8>
  %g = tg.contract %m, %k [#l, #r, #o] : tensor<5x13xi8>, tensor<2x13xi8> -> tensor<5x2xi32>
  return %c, %d, %e, %f, %g : tensor<1x4x4x5xi32>, tensor<5x7xi32>, tensor<5x7xf32>, tensor<5x7xi32>, tensor<5x2xi32>
}
