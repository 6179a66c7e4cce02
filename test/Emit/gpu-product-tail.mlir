// CTAs that share the steps of a product's last tiles (stream-K of the last round): by warpgroups with a role that copies, alone and in clusters that read once what
// their tiles have in common, also where a cluster's last tile is past the end. Each adds up and stores a share of the tile; where a tile has fewer pieces than parts some have none.
// By warps alone, whose results leave by threads, the last one adds up all. The same bits in whatever order CTAs run.
// REQUIRES: onnx
// DEFINE: %{order} =
// DEFINE: %{more} =
// DEFINE: %{columns} = 128
// DEFINE: %{engine} = wgmma
// DEFINE: %{warps} = 8
// DEFINE: %{try} = sed 's/ORDER/%{order}/; s/MORE/%{more}/; s/\[128, 128\]/[128, %{columns}]/; s/wgmma, warps = 8/%{engine}, warps = %{warps}/' %s > %t.mlir && \
// DEFINE:   weft-compile %t.mlir --compile-from=plan --target=sm_90a --ptxas=off -o %t.weft --quiet && \
// DEFINE:   weft-run %t.weft --device=emu:sm_90a,sanitizer=on --seed=3 --expected-output=y=@%t.whole.npy --rtol=1e-2 --atol=2e-3 --output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT && \
// DEFINE:   weft-run %t.weft --device=emu:sm_90a,ctas=random,seed=5,timing=late,order=reverse --seed=3 --output=y=@%t.random.npy --output-max-element-count=0 && \
// DEFINE:   cmp %t.npy %t.random.npy
// RUN: sed 's/ORDER/row/; s/MORE//' %s > %t.rows.mlir
// RUN: weft-compile %t.rows.mlir --compile-from=plan --target=sm_90a --ptxas=off -o %t.rows.weft --quiet
// RUN: weft-run %t.rows.weft --device=emu:sm_90a --seed=3 --output=y=@%t.whole.npy --output-max-element-count=0
// 3 x 5 tiles, 2 x 5 or 3 x 3 of clusters.
// REDEFINE: %{order} = tail<7,3,row>
// RUN: %{try}
// REDEFINE: %{order} = tail<5,4,column>
// REDEFINE: %{more} = , multicast = 2
// RUN: %{try}
// REDEFINE: %{order} = tail<0,2,row>
// RUN: %{try}
// RUN: weft-compile %t.mlir --compile-from=plan --target=sm_90a --emit=ptx --ptxas=off -o - | FileCheck %s --check-prefix=PTX
// Pieces of 16 columns, 7 of a tile, dealt to 4; more parts than pieces; one warpgroup with two blocks of rows.
// REDEFINE: %{columns} = 112
// REDEFINE: %{order} = tail<6,4,row>
// RUN: %{try}
// REDEFINE: %{more} =
// REDEFINE: %{columns} = 64
// REDEFINE: %{order} = tail<23,5,row>
// RUN: %{try}
// REDEFINE: %{columns} = 128
// REDEFINE: %{warps} = 4
// REDEFINE: %{order} = tail<11,3,row>
// RUN: %{try}
// REDEFINE: %{engine} = mma
// RUN: %{try}
// RUN: weft-compile %t.mlir --compile-from=plan --target=sm_90a --emit=ptx --ptxas=off -o - | FileCheck %s --check-prefix=LAST
// RESULT: compare "y": ok

// PTX: st.global.v4
// PTX: atom.acq_rel.gpu.global.inc.u32
// PTX: ld.acquire.gpu.global.u32
// PTX: ld.global.v4
// PTX: add{{.*}}.f32
// PTX: cp.async.bulk.tensor.2d.global

// Nobody waits.
// LAST: atom.acq_rel.gpu.global.inc.u32
// LAST-NOT: ld.acquire.gpu.global.u32
// LAST: ld.global.v4
// LAST: add{{.*}}.f32

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>
module attributes {tg.symbols = []} {
func.func @main(%x: tensor<300x320xf16> {tg.name = "x"}, %w: tensor<520x320xf16> {tg.name = "w"}, %b: tensor<520xf16> {tg.name = "b"}) -> (tensor<300x520xf16> {tg.name = "y"}) {
  %0 = tg.dispatch @product::@kernel(%x, %w, %b) symbols = affine_map<() -> ()> : (tensor<300x320xf16>, tensor<520x320xf16>, tensor<520xf16>) -> tensor<300x520xf16>
  return %0 : tensor<300x520xf16>
}
module @product attributes {tk.target = "sm_90a", tg.operand_dims = [affine_map<() -> (300, 320)>, affine_map<() -> (520, 320)>, affine_map<() -> (520)>], tg.result_dims = [affine_map<() -> (300, 520)>],
    tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "ORDER", persistent = true, split = 1MORE>} {
func.func @kernel(%x: tensor<300x320xf16>, %w: tensor<520x320xf16>, %b: tensor<520xf16>) -> tensor<300x520xf16> attributes {tg.num_symbols = 0 : i64} {
  %0 = tg.contract %x, %w [#l, #r, #o] : tensor<300x320xf16>, tensor<520x320xf16> -> tensor<300x520xf16>
  %1 = tg.add %0, %b : tensor<300x520xf16>, tensor<520xf16>
  return %1 : tensor<300x520xf16>
}
}
}
