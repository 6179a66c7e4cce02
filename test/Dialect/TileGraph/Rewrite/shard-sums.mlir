// A node named in place of a weight; sums of parts.
// RUN: weft-opt %s --weft-shard="ranks=2 requests=wide:-1" | FileCheck %s

// Sums of parts to be combined are summed first: one collective. A node's result is named as a weight is.
// CHECK-LABEL: func.func @main(
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %u = tg.weight <"m.bin", 0, 384> : tensor<8x12xf32> loc("u")
  %d = tg.weight <"m.bin", 384, 384> : tensor<12x8xf32> loc("d")
  %e = tg.weight <"m.bin", 768, 384> : tensor<12x8xf32> loc("e")
  %h = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x12xf32> -> tensor<4x12xf32> loc("wide")
  // CHECK: %[[A:.*]] = tg.contract {{.*}} -> tensor<4x8xf32>
  // CHECK: %[[B:.*]] = tg.contract {{.*}} -> tensor<4x8xf32>
  %a = tg.contract %h, %d [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x12xf32>, tensor<12x8xf32> -> tensor<4x8xf32>
  %b = tg.contract %h, %e [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x12xf32>, tensor<12x8xf32> -> tensor<4x8xf32>
  // CHECK: %[[S:.*]] = tg.add %[[A]], %[[B]]
  // CHECK: tg.all_reduce add %[[S]] ranks = 2
  // CHECK-NOT: tg.all_reduce
  %s = tg.add %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %r = tg.exp %s : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
