// A small map beside rows of 32 warps, which leave an SM one CTA: two waves of the map cost less than a launch; of more CTAs each wave begins, waits for
// memory and ends.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --emit=mlir:lower --remarks=fusion --ptxas=off -o %t.out.mlir 2>&1 | FileCheck %s
// RUN: sed -e 's/55296xf32/27648xf32/g' %s > %t.less.mlir
// RUN: weft-compile %t.less.mlir --compile-from=normalize --target=sm_80 --emit=mlir:lower --remarks=fusion --ptxas=off -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=LESS

// CHECK: [Missed] not-merged {{.*}}1 CTAs an SM instead of 4
// LESS: [Passed] merged
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<16x24576xf32> {tg.name = "x"}, %w: tensor<55296xf32> {tg.name = "w"})
      -> (tensor<16x24576xf32> {tg.name = "y"}, tensor<55296xf32> {tg.name = "z"}) {
    %0 = tg.reduce max %x axes = [1] keep_dims : tensor<16x24576xf32>
    %1 = tg.sub %x, %0 : tensor<16x24576xf32>, tensor<16x1xf32>
    %2 = tg.neg %w : tensor<55296xf32>
    return %1, %2 : tensor<16x24576xf32>, tensor<55296xf32>
  }
}
