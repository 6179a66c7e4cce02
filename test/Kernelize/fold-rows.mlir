// Rows of a fold that are two dimensions, heads that share keys and their queries, are one side of its products.
// RUN: weft-opt %s --weft-kernelize | FileCheck %s

// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1)[s0] -> (s0, d0 floordiv 8, d0 mod 8, d1)>
// CHECK-LABEL: func.func @kernel
// CHECK: scf.for
// CHECK: tk.dot {{.*}} : !tk.tile<64x32xf16>, !tk.tile<32x64xf16>, <64x64xf32>
// CHECK: tk.dot {{.*}} : !tk.tile<64x64xf16>, !tk.tile<64x32xf16>, <64x32xf32>
// CHECK: tk.store %{{.*}} map #[[$ROWS]]
#q = affine_map<(b, g, i, j, d) -> (b, g, i, d)>
#k = affine_map<(b, g, i, j, d) -> (b, j, d)>
#s = affine_map<(b, g, i, j, d) -> (b, g, i, j)>
#p = affine_map<(b, g, i, n, j) -> (b, g, i, j)>
#v = affine_map<(b, g, i, n, j) -> (b, j, n)>
#o = affine_map<(b, g, i, n, j) -> (b, g, i, n)>
module attributes {tg.schedule = #tg.schedule<tile = [1, 8, 8, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<2x8x8x32xf16>, %k: tensor<2x512x32xf16>, %v: tensor<2x512x32xf16>) -> tensor<2x8x8x32xf32> {
  %r = tg.fold over affine_map<() -> (512)> init [0.0 : f32] update {
  ^bb0(%a: tensor<2x8x8x32xf32>):
    %s = tg.contract %q, %k [#q, #k, #s] : tensor<2x8x8x32xf16>, tensor<2x512x32xf16> -> tensor<2x8x8x512xf32>
    %p = tg.cast %s : tensor<2x8x8x512xf32> to tensor<2x8x8x512xf16>
    %o = tg.contract %p, %v [#p, #v, #o] {tg.streamed} : tensor<2x8x8x512xf16>, tensor<2x512x32xf16> -> tensor<2x8x8x32xf32>
    %b = tg.add %a, %o : tensor<2x8x8x32xf32>, tensor<2x8x8x32xf32>
    tg.fold_yield %b : tensor<2x8x8x32xf32>
  } merge {
  } finish {
  ^bb0(%a: tensor<2x8x8x32xf32>):
    tg.fold_yield %a : tensor<2x8x8x32xf32>
  } : tensor<2x8x8x32xf32>
  return %r : tensor<2x8x8x32xf32>
}
}
