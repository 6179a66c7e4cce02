// The 25 cells of the combination table (rows: the first op, columns: the second), and what makes a result removable.
// RUN: weft-opt %s --weft-classify | FileCheck %s

// CHECK-LABEL: @one_to_one_then_one_to_one
func.func @one_to_one_then_one_to_one(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.exp %x : tensor<8x8xf32>
  // CHECK: tg.neg {{.*}}edges = ["fuse: one_to_one"]
  %r = tg.neg %p : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @one_to_one_then_one_to_many
func.func @one_to_one_then_one_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<3x8x8xf32> {
  %p = tg.exp %x : tensor<8x8xf32>
  // CHECK: tg.broadcast {{.*}}edges = ["fuse: one_to_many"]
  %r = tg.broadcast %p : tensor<8x8xf32> to tensor<3x8x8xf32>
  return %r : tensor<3x8x8xf32>
}

// CHECK-LABEL: @one_to_one_then_many_to_many
func.func @one_to_one_then_many_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8xf32> {
  %p = tg.exp %x : tensor<8x8xf32>
  // CHECK: tg.reduce {{.*}}edges = ["fuse: many_to_many"]
  %r = tg.reduce max %p axes = [1] : tensor<8x8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: @one_to_one_then_reorganize
func.func @one_to_one_then_reorganize(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<64xf32> {
  %p = tg.exp %x : tensor<8x8xf32>
  // CHECK: tg.reshape {{.*}}edges = ["fuse: reorganize"]
  %r = tg.reshape %p : tensor<8x8xf32> to tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @one_to_one_then_shuffle
func.func @one_to_one_then_shuffle(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.exp %x : tensor<8x8xf32>
  // CHECK: tg.transpose {{.*}}edges = ["fuse: shuffle"]
  %r = tg.transpose %p [1, 0] : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @one_to_many_then_one_to_one
func.func @one_to_many_then_one_to_one(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.broadcast %row : tensor<1x8xf32> to tensor<8x8xf32>
  // CHECK: tg.neg {{.*}}edges = ["fuse: one_to_many"]
  %r = tg.neg %p : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @one_to_many_then_one_to_many
func.func @one_to_many_then_one_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<3x8x8xf32> {
  %p = tg.broadcast %row : tensor<1x8xf32> to tensor<8x8xf32>
  // CHECK: tg.broadcast {{.*}}edges = ["profile: one_to_many"]
  %r = tg.broadcast %p : tensor<8x8xf32> to tensor<3x8x8xf32>
  return %r : tensor<3x8x8xf32>
}

// CHECK-LABEL: @one_to_many_then_many_to_many
func.func @one_to_many_then_many_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8xf32> {
  %p = tg.broadcast %row : tensor<1x8xf32> to tensor<8x8xf32>
  // CHECK: tg.reduce {{.*}}edges = ["refuse"]
  %r = tg.reduce max %p axes = [1] : tensor<8x8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: @one_to_many_then_reorganize
func.func @one_to_many_then_reorganize(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<64xf32> {
  %p = tg.broadcast %row : tensor<1x8xf32> to tensor<8x8xf32>
  // CHECK: tg.reshape {{.*}}edges = ["profile: one_to_many"]
  %r = tg.reshape %p : tensor<8x8xf32> to tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @one_to_many_then_shuffle
func.func @one_to_many_then_shuffle(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.broadcast %row : tensor<1x8xf32> to tensor<8x8xf32>
  // CHECK: tg.transpose {{.*}}edges = ["profile: one_to_many"]
  %r = tg.transpose %p [1, 0] : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @many_to_many_then_one_to_one
func.func @many_to_many_then_one_to_one(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.reduce add %cube axes = [1] : tensor<8x3x8xf32>
  // CHECK: tg.neg {{.*}}edges = ["fuse: many_to_many"]
  %r = tg.neg %p : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @many_to_many_then_one_to_many
func.func @many_to_many_then_one_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<3x8x8xf32> {
  %p = tg.reduce add %cube axes = [1] : tensor<8x3x8xf32>
  // CHECK: tg.broadcast {{.*}}edges = ["profile: many_to_many"]
  %r = tg.broadcast %p : tensor<8x8xf32> to tensor<3x8x8xf32>
  return %r : tensor<3x8x8xf32>
}

// CHECK-LABEL: @many_to_many_then_many_to_many
func.func @many_to_many_then_many_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8xf32> {
  %p = tg.reduce add %cube axes = [1] : tensor<8x3x8xf32>
  // CHECK: tg.reduce {{.*}}edges = ["refuse"]
  %r = tg.reduce max %p axes = [1] : tensor<8x8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: @many_to_many_then_reorganize
func.func @many_to_many_then_reorganize(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<64xf32> {
  %p = tg.reduce add %cube axes = [1] : tensor<8x3x8xf32>
  // CHECK: tg.reshape {{.*}}edges = ["profile: many_to_many"]
  %r = tg.reshape %p : tensor<8x8xf32> to tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @many_to_many_then_shuffle
func.func @many_to_many_then_shuffle(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.reduce add %cube axes = [1] : tensor<8x3x8xf32>
  // CHECK: tg.transpose {{.*}}edges = ["profile: many_to_many"]
  %r = tg.transpose %p [1, 0] : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @reorganize_then_one_to_one
func.func @reorganize_then_one_to_one(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.reshape %flat : tensor<64xf32> to tensor<8x8xf32>
  // CHECK: tg.neg {{.*}}edges = ["fuse: reorganize"]
  %r = tg.neg %p : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @reorganize_then_one_to_many
func.func @reorganize_then_one_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<3x8x8xf32> {
  %p = tg.reshape %flat : tensor<64xf32> to tensor<8x8xf32>
  // CHECK: tg.broadcast {{.*}}edges = ["profile: one_to_many"]
  %r = tg.broadcast %p : tensor<8x8xf32> to tensor<3x8x8xf32>
  return %r : tensor<3x8x8xf32>
}

// CHECK-LABEL: @reorganize_then_many_to_many
func.func @reorganize_then_many_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8xf32> {
  %p = tg.reshape %flat : tensor<64xf32> to tensor<8x8xf32>
  // CHECK: tg.reduce {{.*}}edges = ["profile: many_to_many"]
  %r = tg.reduce max %p axes = [1] : tensor<8x8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: @reorganize_then_reorganize
func.func @reorganize_then_reorganize(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<64xf32> {
  %p = tg.reshape %flat : tensor<64xf32> to tensor<8x8xf32>
  // CHECK: tg.reshape {{.*}}edges = ["fuse: reorganize"]
  %r = tg.reshape %p : tensor<8x8xf32> to tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @reorganize_then_shuffle
func.func @reorganize_then_shuffle(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.reshape %flat : tensor<64xf32> to tensor<8x8xf32>
  // CHECK: tg.transpose {{.*}}edges = ["fuse: reorganize"]
  %r = tg.transpose %p [1, 0] : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @shuffle_then_one_to_one
func.func @shuffle_then_one_to_one(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.transpose %x [1, 0] : tensor<8x8xf32>
  // CHECK: tg.neg {{.*}}edges = ["fuse: shuffle"]
  %r = tg.neg %p : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: @shuffle_then_one_to_many
func.func @shuffle_then_one_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<3x8x8xf32> {
  %p = tg.transpose %x [1, 0] : tensor<8x8xf32>
  // CHECK: tg.broadcast {{.*}}edges = ["profile: one_to_many"]
  %r = tg.broadcast %p : tensor<8x8xf32> to tensor<3x8x8xf32>
  return %r : tensor<3x8x8xf32>
}

// CHECK-LABEL: @shuffle_then_many_to_many
func.func @shuffle_then_many_to_many(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8xf32> {
  %p = tg.transpose %x [1, 0] : tensor<8x8xf32>
  // CHECK: tg.reduce {{.*}}edges = ["profile: many_to_many"]
  %r = tg.reduce max %p axes = [1] : tensor<8x8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: @shuffle_then_reorganize
func.func @shuffle_then_reorganize(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<64xf32> {
  %p = tg.transpose %x [1, 0] : tensor<8x8xf32>
  // CHECK: tg.reshape {{.*}}edges = ["fuse: reorganize"]
  %r = tg.reshape %p : tensor<8x8xf32> to tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @shuffle_then_shuffle
func.func @shuffle_then_shuffle(%x: tensor<8x8xf32>, %row: tensor<1x8xf32>, %cube: tensor<8x3x8xf32>, %flat: tensor<64xf32>)
    -> tensor<8x8xf32> {
  %p = tg.transpose %x [1, 0] : tensor<8x8xf32>
  // CHECK: tg.transpose {{.*}}edges = ["fuse: shuffle"]
  %r = tg.transpose %p [1, 0] : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// A contraction's operands differ: weights of a convolution are contracted, its data is read through windows.
// CHECK-LABEL: @refined
func.func @refined(%x: tensor<1x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x1x1xf32> {
  // CHECK: tg.contract {{.*}}mapping = "window", operands = ["window", "contraction"], removable
  %0 = tg.contract %x, %w [affine_map<(n, o, i, j, c, k, l) -> (n, c, i * 2 + k, j * 2 + l)>,
                           affine_map<(n, o, i, j, c, k, l) -> (o, c, k, l)>, affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>]
      : tensor<1x3x9x9xf32>, tensor<8x3x3x3xf32> -> tensor<1x8x4x4xf32>
  // CHECK: tg.abs {{.*}}irs = 512 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism mul to mul"], removable}}
  %1 = tg.abs %0 : tensor<1x8x4x4xf32>
  // CHECK: tg.reduce {{.*}}edges = ["fuse: many_to_many"], irs = 32 : i64, mapping = "reduction"
  %2 = tg.reduce add %1 axes = [2, 3] keep_dims : tensor<1x8x4x4xf32>
  return %2 : tensor<1x8x1x1xf32>
}

// What a refused edge needs stays in memory.
// CHECK-LABEL: @kept
func.func @kept(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  // CHECK: tg.reduce add
  // CHECK-NOT: removable
  // CHECK: tg.reduce max
  %0 = tg.reduce add %x axes = [1] keep_dims : tensor<8x8xf32>
  %1 = tg.reduce max %0 axes = [1] : tensor<8x1xf32>
  // CHECK: return
  return %1 : tensor<8xf32>
}
