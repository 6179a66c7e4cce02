// Parts that cannot go on are gathered.
// RUN: weft-opt %s --weft-shard="ranks=2 requests=table:1,wide:-1" | FileCheck %s

// Rows of a table that was split along them; 3 heads of width 4 are no 2 parts, so they are gathered, and what is said of the
// result cuts it again.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<5x3x2xf32> {tg.name = "wide"})
func.func @main(%i: tensor<5xi64>) -> (tensor<5x3x4xf32> {tg.name = "wide"}) {
  // CHECK: %[[T:.*]] = tg.weight <"m.bin@0:7x2x24", 0, 168> : tensor<7x6xf32>
  %t = tg.weight <"m.bin", 0, 336> : tensor<7x12xf32> loc("table")
  // CHECK: %[[G:.*]] = tg.gather %[[T]], {{.*}} -> tensor<5x6xf32>
  %g = tg.gather %t, %i data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>] : tensor<7x12xf32>, tensor<5xi64> -> tensor<5x12xf32>
  // CHECK: tg.all_gather %[[G]] : tensor<5x6xf32> -> tensor<2x5x6xf32>
  // CHECK: tg.reshape {{.*}} to tensor<5x3x4xf32>
  // CHECK: tg.own_part {{.*}} -> tensor<5x3x2xf32>
  %h = tg.reshape %g : tensor<5x12xf32> to tensor<5x3x4xf32>
  return %h : tensor<5x3x4xf32>
}
