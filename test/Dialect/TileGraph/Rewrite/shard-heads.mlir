// Heads: splits through reshapes, caches and attention.
// RUN: weft-opt %s --weft-shard="ranks=2 requests=w:1,cache*:1" | FileCheck %s

// Heads of a width: the reshape keeps the split, as do the scores, the softmax and the sums of each head. Caches are a
// rank's own, beside which the new rows are put; a mask that all heads have is whole.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[CACHE:[a-z0-9]*]]: tensor<1x2x?x8xf32, #{{.*}}> {tg.name = "cache"}
// CHECK-SAME: -> (tensor<1x2x?x8xf32, #{{.*}}> {tg.name = "cache.next"}, tensor<1x3x?xf32, #{{.*}}>
module attributes {tg.symbols = ["past"]} {
func.func @main(%x: tensor<1x3x16xf32>, %cache: tensor<1x4x?x8xf32, #tg.dims<()[s0] -> (1, 4, s0, 8)>> {tg.name = "cache"}, %mask: tensor<3x?xf32, #tg.dims<()[s0] -> (3, s0 + 3)>>)
    -> (tensor<1x4x?x8xf32, #tg.dims<()[s0] -> (1, 4, s0 + 3, 8)>> {tg.name = "cache.next"}, tensor<1x3x?xf32, #tg.dims<()[s0] -> (1, 3, s0 + 3)>>) {
  %w = tg.weight <"m.bin", 0, 2048> : tensor<16x32xf32> loc("w")
  // CHECK: tg.contract {{.*}} -> tensor<1x3x16xf32>
  %q = tg.contract %x, %w [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>, affine_map<(b, s, n, k) -> (b, s, n)>] : tensor<1x3x16xf32>, tensor<16x32xf32> -> tensor<1x3x32xf32>
  // CHECK: tg.reshape {{.*}} to tensor<1x3x2x8xf32>
  %h = tg.reshape %q : tensor<1x3x32xf32> to tensor<1x3x4x8xf32>
  %t = tg.transpose %h [0, 2, 1, 3] : tensor<1x3x4x8xf32>
  // CHECK: %[[ALL:.*]] = tg.concat %[[CACHE]], %{{.*}} axis = 2
  %all = tg.concat %cache, %t axis = 2 : tensor<1x4x?x8xf32, #tg.dims<()[s0] -> (1, 4, s0, 8)>>, tensor<1x4x3x8xf32>
  // CHECK: tg.contract {{.*}} -> tensor<1x2x3x?xf32, #{{.*}}>
  %s = tg.contract %t, %all [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, n, k)>, affine_map<(b, h, m, n, k) -> (b, h, m, n)>]
    : tensor<1x4x3x8xf32>, tensor<1x4x?x8xf32, #tg.dims<()[s0] -> (1, 4, s0 + 3, 8)>> -> tensor<1x4x3x?xf32, #tg.dims<()[s0] -> (1, 4, 3, s0 + 3)>>
  %m = tg.add %s, %mask : tensor<1x4x3x?xf32, #tg.dims<()[s0] -> (1, 4, 3, s0 + 3)>>, tensor<3x?xf32, #tg.dims<()[s0] -> (3, s0 + 3)>>
  // CHECK: tg.reduce max {{.*}} : tensor<1x2x3x?xf32
  %max = tg.reduce max %m axes = [3] keep_dims : tensor<1x4x3x?xf32, #tg.dims<()[s0] -> (1, 4, 3, s0 + 3)>>
  %d = tg.sub %m, %max : tensor<1x4x3x?xf32, #tg.dims<()[s0] -> (1, 4, 3, s0 + 3)>>, tensor<1x4x3x1xf32>
  // The heads are what is reduced here: the largest of all ranks.
  // CHECK: %[[PART:.*]] = tg.reduce max {{.*}} axes = [1]
  // CHECK: tg.all_reduce max %[[PART]] ranks = 2
  %most = tg.reduce max %d axes = [1] : tensor<1x4x3x?xf32, #tg.dims<()[s0] -> (1, 4, 3, s0 + 3)>>
  // CHECK: return %[[ALL]]
  return %all, %most : tensor<1x4x?x8xf32, #tg.dims<()[s0] -> (1, 4, s0 + 3, 8)>>, tensor<1x3x?xf32, #tg.dims<()[s0] -> (1, 3, s0 + 3)>>
}
}
