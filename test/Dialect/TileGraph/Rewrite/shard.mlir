// What follows from one split, op by op: the maps say.
// RUN: weft-opt %s --weft-shard="ranks=2 requests=w*:1" | FileCheck %s
// RUN: weft-opt %s --weft-shard="ranks=2 requests=w*:1" --weft-shard="ranks=2 requests=w*:1" | FileCheck %s

// A product of columns, and the next one of rows: parts of a sum, which all get. Weights are read in parts: rows in one
// piece, columns row by row; a bias comes along.
// CHECK: module attributes {tg.ranks = 2 : i64}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[W1:.*]] = tg.weight <"m.bin@0:8x2x24", 0, 192> : tensor<8x6xf32>
  // CHECK: %[[W2:.*]] = tg.weight <"m.bin@384:1x2x192", 0, 192> : tensor<6x8xf32>
  // CHECK: %[[B:.*]] = tg.weight <"m.bin@768:1x2x24", 0, 24> : tensor<6xf32>
  %w1 = tg.weight <"m.bin", 0, 384> : tensor<8x12xf32> loc("w1")
  %w2 = tg.weight <"m.bin", 384, 384> : tensor<12x8xf32> loc("second")
  %b = tg.weight <"m.bin", 768, 48> : tensor<12xf32> loc("bias")
  // CHECK: %[[H:.*]] = tg.contract %[[X]], %[[W1]] {{.*}} -> tensor<4x6xf32>
  %h = tg.contract %x, %w1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x12xf32> -> tensor<4x12xf32>
  // CHECK: %[[A:.*]] = tg.add %[[H]], %[[B]] : tensor<4x6xf32>, tensor<6xf32>
  %a = tg.add %h, %b : tensor<4x12xf32>, tensor<12xf32>
  // CHECK: %[[P:.*]] = tg.contract %[[A]], %[[W2]] {{.*}} -> tensor<4x8xf32>
  // CHECK: %[[Y:.*]] = tg.all_reduce add %[[P]] ranks = 2 : tensor<4x8xf32>
  %y = tg.contract %a, %w2 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x12xf32>, tensor<12x8xf32> -> tensor<4x8xf32>
  // CHECK: tg.add %[[Y]], %[[X]]
  %r = tg.add %y, %x : tensor<4x8xf32>, tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
