// RUN: weft-opt %s --weft-split-repeats --weft-simplify --cse | FileCheck %s

// Attention as exporters write it: the mask is one for all heads, a bias one for each; the result has tokens before heads.
// CHECK: #[[$QUERIES:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// CHECK: #[[$KEYS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
// CHECK-LABEL: func.func @attention(
// CHECK-NOT: tg.broadcast
// CHECK: %[[Q:.*]] = tg.reshape %arg0 : tensor<8x3x16xf32> to tensor<2x4x3x16xf32>
// CHECK: %[[S:.*]] = tg.contract %[[Q]], %arg1 [#[[$QUERIES]], #[[$KEYS]], {{.*}}] : tensor<2x4x3x16xf32>, tensor<2x5x16xf32> -> tensor<2x4x3x5xf32>
// CHECK: tg.add {{.*}}, %arg3 : tensor<2x4x3x5xf32>, tensor<3x5xf32>
// CHECK: %[[BIAS:.*]] = tg.reshape %arg4 : tensor<8x1x5xf32> to tensor<2x4x1x5xf32>
// CHECK: tg.add {{.*}}, %[[BIAS]]
// CHECK: tg.reduce max {{.*}} axes = [3] keep_dims
// CHECK: tg.reduce add {{.*}} axes = [3] : tensor<2x4x3x5xf32>
// CHECK-NEXT: tg.reshape {{.*}} : tensor<2x4x3xf32> to tensor<2x4x3x1xf32>
// CHECK-NOT: tensor<8x3x5xf32>
// CHECK: %[[O:.*]] = tg.contract {{.*}}, %arg2 {{.*}} : tensor<2x4x3x5xf32>, tensor<2x5x16xf32> -> tensor<3x2x4x16xf32>
// CHECK-NEXT: %[[R:.*]] = tg.reshape %[[O]] : tensor<3x2x4x16xf32> to tensor<3x8x16xf32>
// CHECK-NEXT: return %[[R]]
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#v = affine_map<(h, i, d, j) -> (h, j, d)>
#p = affine_map<(h, i, d, j) -> (h, i, j)>
#o = affine_map<(h, i, d, j) -> (i, h, d)>
func.func @attention(%q: tensor<8x3x16xf32>, %k: tensor<2x5x16xf32>, %v: tensor<2x5x16xf32>, %mask: tensor<3x5xf32>, %bias: tensor<8x1x5xf32>) -> tensor<3x8x16xf32> {
  %k1 = tg.reshape %k : tensor<2x5x16xf32> to tensor<2x1x5x16xf32>
  %k2 = tg.broadcast %k1 : tensor<2x1x5x16xf32> to tensor<2x4x5x16xf32>
  %k3 = tg.reshape %k2 : tensor<2x4x5x16xf32> to tensor<8x5x16xf32>
  %v1 = tg.reshape %v : tensor<2x5x16xf32> to tensor<2x1x5x16xf32>
  %v2 = tg.broadcast %v1 : tensor<2x1x5x16xf32> to tensor<2x4x5x16xf32>
  %v3 = tg.reshape %v2 : tensor<2x4x5x16xf32> to tensor<8x5x16xf32>
  %s = tg.contract %q, %k3 [#q, #k, #s] : tensor<8x3x16xf32>, tensor<8x5x16xf32> -> tensor<8x3x5xf32>
  %a = tg.add %s, %mask : tensor<8x3x5xf32>, tensor<3x5xf32>
  %b = tg.add %a, %bias : tensor<8x3x5xf32>, tensor<8x1x5xf32>
  %m = tg.reduce max %b axes = [2] keep_dims : tensor<8x3x5xf32>
  %d = tg.sub %b, %m : tensor<8x3x5xf32>, tensor<8x3x1xf32>
  %e = tg.exp %d : tensor<8x3x5xf32>
  %t = tg.reduce add %e axes = [2] : tensor<8x3x5xf32>
  %u = tg.reshape %t : tensor<8x3xf32> to tensor<8x3x1xf32>
  %w = tg.div %e, %u : tensor<8x3x5xf32>, tensor<8x3x1xf32>
  %o = tg.contract %w, %v3 [#p, #v, #o] : tensor<8x3x5xf32>, tensor<8x5x16xf32> -> tensor<3x8x16xf32>
  return %o : tensor<3x8x16xf32>
}

// The whole is repeated, not each head: the part that repeats comes first. Scores that are a result are merged.
// CHECK-LABEL: func.func @tiled
// CHECK: tg.contract {{.*}}, %arg1 {{.*}} : tensor<4x2x3x16xf32>, tensor<2x5x16xf32> -> tensor<4x2x3x5xf32>
// CHECK-NEXT: %[[R:.*]] = tg.reshape {{.*}} to tensor<8x3x5xf32>
// CHECK-NEXT: return %[[R]]
func.func @tiled(%q: tensor<8x3x16xf32>, %k: tensor<2x5x16xf32>) -> tensor<8x3x5xf32> {
  %b = tg.broadcast %k : tensor<2x5x16xf32> to tensor<4x2x5x16xf32>
  %r = tg.reshape %b : tensor<4x2x5x16xf32> to tensor<8x5x16xf32>
  %s = tg.contract %q, %r [#q, #k, #s] : tensor<8x3x16xf32>, tensor<8x5x16xf32> -> tensor<8x3x5xf32>
  return %s : tensor<8x3x5xf32>
}

// Heads meet the heads of another place: their dimension is not one, and only the contraction divides it.
// CHECK-LABEL: func.func @crossed
// CHECK: tg.contract {{.*}} : tensor<2x4x8x16xf32>, tensor<2x5x16xf32> -> tensor<2x4x8x5xf32>
// CHECK-NEXT: tg.reshape {{.*}} to tensor<8x8x5xf32>
// CHECK-NEXT: tg.transpose {{.*}} [1, 0, 2] : tensor<8x8x5xf32>
func.func @crossed(%q: tensor<8x8x16xf32>, %k: tensor<2x1x5x16xf32>) -> tensor<8x8x16xf32> {
  %b = tg.broadcast %k : tensor<2x1x5x16xf32> to tensor<2x4x5x16xf32>
  %r = tg.reshape %b : tensor<2x4x5x16xf32> to tensor<8x5x16xf32>
  %s = tg.contract %q, %r [#q, #k, #s] : tensor<8x8x16xf32>, tensor<8x5x16xf32> -> tensor<8x8x5xf32>
  %t = tg.transpose %s [1, 0, 2] : tensor<8x8x5xf32>
  %a = tg.add %s, %t : tensor<8x8x5xf32>, tensor<8x8x5xf32>
  %o = tg.contract %a, %r [#p, #v, affine_map<(h, i, d, j) -> (h, i, d)>] : tensor<8x8x5xf32>, tensor<8x5x16xf32> -> tensor<8x8x16xf32>
  return %o : tensor<8x8x16xf32>
}

// All heads read one.
// CHECK-LABEL: func.func @one
// CHECK: tg.contract %arg0, %{{.*}} : tensor<8x3x16xf32>, tensor<5x16xf32> -> tensor<8x3x5xf32>
func.func @one(%q: tensor<8x3x16xf32>, %k: tensor<1x5x16xf32>) -> tensor<8x3x5xf32> {
  %b = tg.broadcast %k : tensor<1x5x16xf32> to tensor<1x8x5x16xf32>
  %r = tg.reshape %b : tensor<1x8x5x16xf32> to tensor<8x5x16xf32>
  %s = tg.contract %q, %r [#q, #k, #s] : tensor<8x3x16xf32>, tensor<8x5x16xf32> -> tensor<8x3x5xf32>
  return %s : tensor<8x3x5xf32>
}

// As PyTorch decomposes it: keys that are transposed and scaled behind the repetition are so in front of it.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[T:.*]] = tg.transpose %arg1 [0, 2, 1] : tensor<2x5x16xf32>
// CHECK: %[[K:.*]] = tg.mul %[[T]], %arg2 : tensor<2x16x5xf32>, tensor<f32>
// CHECK: %[[L:.*]] = tg.reshape %[[K]] : tensor<2x16x5xf32> to tensor<1x2x16x5xf32>
// CHECK: tg.contract {{.*}}, %[[L]] {{.*}} -> tensor<1x2x4x3x5xf32>
func.func @scaled(%q: tensor<1x8x3x16xf32>, %k: tensor<2x5x16xf32>, %c: tensor<f32>) -> tensor<1x8x3x5xf32> {
  %k1 = tg.reshape %k : tensor<2x5x16xf32> to tensor<1x2x1x5x16xf32>
  %k2 = tg.broadcast %k1 : tensor<1x2x1x5x16xf32> to tensor<1x2x4x5x16xf32>
  %k3 = tg.reshape %k2 : tensor<1x2x4x5x16xf32> to tensor<8x5x16xf32>
  %k4 = tg.transpose %k3 [0, 2, 1] : tensor<8x5x16xf32>
  %k5 = tg.mul %k4, %c : tensor<8x16x5xf32>, tensor<f32>
  %k6 = tg.reshape %k5 : tensor<8x16x5xf32> to tensor<1x8x16x5xf32>
  %s = tg.contract %q, %k6 [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, h, d, j)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      : tensor<1x8x3x16xf32>, tensor<1x8x16x5xf32> -> tensor<1x8x3x5xf32>
  return %s : tensor<1x8x3x5xf32>
}
