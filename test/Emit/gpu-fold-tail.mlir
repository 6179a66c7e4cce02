// CTAs that share the steps of a fold's last tiles: the last one of a tile's merges what they have, in the order of the parts, whichever it is: the same bits in
// whatever order CTAs run, and from launch to launch. By warpgroups with a role that copies, whole and persistent; by mma.sync; with a mask that leaves some parts
// without steps.
// REQUIRES: onnx
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --compile-to=plan -o %t.mlir
// RUN: weft-compile %t.mlir --compile-from=plan --target=sm_90a -o %t.whole.weft --quiet
// RUN: weft-run %t.whole.weft --device=emu:sm_90a --seed=3 --output=y=@%t.whole.npy
// RUN: sed 's/tile = .*persistent/tile = [1, 64, 64], stream = [32], engine = wgmma, warps = 4, stages = 2, order = "tail<1,3,row>", persistent/' %t.mlir > %t.tail.mlir
// RUN: weft-compile %t.tail.mlir --compile-from=plan --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %t.tail.mlir --compile-from=plan --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.whole.npy --rtol=1e-2 --atol=2e-3 --output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,ctas=reverse --seed=3 --output=y=@%t.reverse.npy
// RUN: cmp %t.npy %t.reverse.npy
// RUN: weft-run %t.weft --device=emu:sm_90a,ctas=random,seed=5,timing=late,order=reverse --seed=3 --output=y=@%t.random.npy
// RUN: cmp %t.npy %t.random.npy
// RUN: sed 's/persistent = false/persistent = true/' %t.tail.mlir > %t.persistent.mlir
// RUN: weft-compile %t.persistent.mlir --compile-from=plan --target=sm_90a -o %t.persistent.weft --quiet
// RUN: weft-run %t.persistent.weft --device=emu:sm_90a,ctas=reverse --seed=3 --output=y=@%t.persistent.npy
// RUN: cmp %t.npy %t.persistent.npy
// 210 tiles: CTAs that go on with whole tiles, then with parts.
// RUN: sed 's/2x150/70x150/g' %s > %t.many.mlir
// RUN: weft-compile %t.many.mlir --compile-from=normalize --target=sm_90a --compile-to=plan -o %t.many.plan.mlir
// RUN: sed 's/tile = .*persistent = [a-z]*/tile = [1, 64, 64], stream = [32], engine = wgmma, warps = 4, stages = 2, order = "row", persistent = false/' %t.many.plan.mlir > %t.many.whole.mlir
// RUN: sed 's/order = "row", persistent = false/order = "tail<132,2,row>", persistent = true/' %t.many.whole.mlir > %t.many.tail.mlir
// RUN: weft-compile %t.many.whole.mlir --compile-from=plan --target=sm_90a -o %t.many.whole.weft --quiet
// RUN: weft-compile %t.many.tail.mlir --compile-from=plan --target=sm_90a -o %t.many.weft --quiet
// RUN: weft-run %t.many.whole.weft --device=emu:sm_90a --seed=3 --output=y=@%t.many.npy
// RUN: weft-run %t.many.weft --device=emu:sm_90a,ctas=reverse --seed=3 --expected-output=y=@%t.many.npy --rtol=1e-2 --atol=2e-3 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --compile-to=plan -o %t.80.mlir
// RUN: sed 's/tile = .*persistent/tile = [1, 64, 64], stream = [32], engine = mma, warps = 4, stages = 2, order = "tail<1,3,row>", persistent/' %t.80.mlir > %t.mma.mlir
// RUN: weft-compile %t.mma.mlir --compile-from=plan --target=sm_80 -o %t.mma.weft --quiet
// RUN: weft-run %t.mma.weft --device=emu:sm_80,ctas=reverse --seed=3 --expected-output=y=@%t.whole.npy --rtol=1e-2 --atol=2e-3 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RESULT: compare "y": ok

// 6 tiles of 64 rows: one CTA for the first, three for each other one; 15 slots of 128 threads with 24 live columns of 48, a maximum and a sum of two rows.
// PTX-DAG: .global .align 128 .b8 {{.*}}arrivals[640]
// PTX-DAG: .global .align 128 .b8 {{.*}}parts[
// PTX: st.global.v4
// PTX: bar{{.*}}sync
// PTX: atom.acq_rel.gpu.global.inc.u32
// PTX: bar{{.*}}sync
// PTX: ld.global.v4

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>
module attributes {tg.symbols = []} {
func.func @main(%q: tensor<2x150x48xf16> {tg.name = "q"}, %k: tensor<2x150x48xf16> {tg.name = "k"}, %v: tensor<2x150x48xf16> {tg.name = "v"})
    -> (tensor<2x150x48xf16> {tg.name = "y"}) {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<2x150x48xf16>, tensor<2x150x48xf16> -> tensor<2x150x150xf32>
  %i = tg.iota 0 : tensor<150x1xi64>
  %j = tg.iota 1 : tensor<1x150xi64>
  %keep = tg.cmp ge %i, %j : tensor<150x1xi64>, tensor<1x150xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %masked = tg.select %keep, %s, %inf : tensor<150x150xi1>, tensor<2x150x150xf32>, tensor<f32>
  %m = tg.reduce max %masked axes = [2] keep_dims : tensor<2x150x150xf32>
  %c = tg.sub %masked, %m : tensor<2x150x150xf32>, tensor<2x150x1xf32>
  %e = tg.exp %c : tensor<2x150x150xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<2x150x150xf32>
  %p = tg.div %e, %l : tensor<2x150x150xf32>, tensor<2x150x1xf32>
  %h = tg.cast %p : tensor<2x150x150xf32> to tensor<2x150x150xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<2x150x150xf16>, tensor<2x150x48xf16> -> tensor<2x150x48xf16>
  return %o : tensor<2x150x48xf16>
}
}
