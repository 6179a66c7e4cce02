// As plan-edit.mlir: warpgroups that take turns, of a fold as it was planned.
// REQUIRES: onnx
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --compile-to=plan -o %t.mlir
// RUN: %python %S/Inputs/edit_plan.py %t.mlir sm_90a ', turns = true -> ' 'stages = 4 -> stages = 3' | FileCheck %s

// CHECK: as planned: {{.*}} turns 2{{$}}
// CHECK-NEXT: , turns = true -> : turns 2 -> 0; code{{$}}
// CHECK-NEXT: stages = 4 -> stages = 3: tk.shared_bytes {{[^;]*}}; barriers 26 -> 20; code{{$}}

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>
func.func @main(%q: tensor<96x512x64xf16> {tg.name = "q"}, %k: tensor<96x512x64xf16> {tg.name = "k"}, %v: tensor<96x512x64xf16> {tg.name = "v"})
    -> (tensor<96x512x64xf16> {tg.name = "o"}) {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<96x512x64xf16>, tensor<96x512x64xf16> -> tensor<96x512x512xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<96x512x512xf32>
  %c = tg.sub %s, %m : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x512xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x512xf32>
  %p = tg.div %e, %l : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x512xf32> to tensor<96x512x512xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<96x512x512xf16>, tensor<96x512x64xf16> -> tensor<96x512x64xf16>
  return %o : tensor<96x512x64xf16>
}
