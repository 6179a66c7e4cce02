// Layouts that nobody named: what a run takes by the rates of the device decides.
// RUN: weft-opt %s --split-input-file --weft-shard="ranks=4 target=H100" | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-shard="ranks=4 target=H100 link-rate=0.001" | FileCheck %s --check-prefix=SLOW
// RUN: weft-opt %s --split-input-file --weft-shard="ranks=4 target=H100" --remark-policy=all --remarks-filter=shard -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Columns, then rows: one sum over the ranks. By links that are slow, everything is whole.
// CHECK-LABEL: func.func @main(
// CHECK: tg.weight <"m.bin@0:8192x4x14336", 0, 117440512> : tensor<8192x7168xf16>
// CHECK: tg.weight <"m.bin@469762048:1x4x117440512", 0, 117440512> : tensor<7168x8192xf16>
// CHECK-NOT: tg.all_gather
// CHECK: tg.all_reduce add {{.*}} ranks = 4 : tensor<5x8192xf16>
// CHECK-NOT: tg.all_
// CHECK: return
// SLOW-LABEL: func.func @main(
// SLOW-NOT: tg.all_
// SLOW: return
// WHY: remark: [Passed] layout | Category:shard | Function=main | Remark="a layout for 4 ranks: 2 of 2 GEMMs in parts, {{[0-9.]+}} us a run by the model ({{[0-9.]+}} us where every rank does everything), 234.88 MB of weights on a rank (of 939.52 MB)"
// WHY: remark: [Passed] split | Category:shard | Function=main | Remark="'contract': dimension 1 of its domain split in 4; the result: dimension 1; else whole {{[0-9.]+}} us more
func.func @main(%x: tensor<5x8192xf16>) -> tensor<5x8192xf16> {
  %w1 = tg.weight <"m.bin", 0, 469762048> : tensor<8192x28672xf16>
  %w2 = tg.weight <"m.bin", 469762048, 469762048> : tensor<28672x8192xf16>
  %h = tg.contract %x, %w1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<5x8192xf16>, tensor<8192x28672xf16> -> tensor<5x28672xf16>
  %a = tg.sigmoid %h : tensor<5x28672xf16>
  %g = tg.mul %a, %h : tensor<5x28672xf16>, tensor<5x28672xf16>
  %y = tg.contract %g, %w2 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<5x28672xf16>, tensor<28672x8192xf16> -> tensor<5x8192xf16>
  %r = tg.add %y, %x : tensor<5x8192xf16>, tensor<5x8192xf16>
  return %r : tensor<5x8192xf16>
}

// -----

// The same of a size whose GEMMs take less than a message.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: tg.all_
// CHECK: return
// WHY: remark: [Missed] layout | {{.*}} 0 of 2 GEMMs in parts
// WHY: remark: [Missed] whole | {{.*}} every rank does all of it: {{.*}}; else d1 {{[0-9.]+}} us more
func.func @main(%x: tensor<5x64xf16>) -> tensor<5x64xf16> {
  %w1 = tg.weight <"m.bin", 0, 12288> : tensor<64x96xf16>
  %w2 = tg.weight <"m.bin", 12288, 12288> : tensor<96x64xf16>
  %h = tg.contract %x, %w1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<5x64xf16>, tensor<64x96xf16> -> tensor<5x96xf16>
  %y = tg.contract %h, %w2 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<5x96xf16>, tensor<96x64xf16> -> tensor<5x64xf16>
  return %y : tensor<5x64xf16>
}

// -----

// Heads of attention, and the caches that go on from call to call; the products in front give their columns, the one
// behind takes rows.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<1x8x?x128xf16, #{{.*}}> {tg.name = "past.key"}
// CHECK-SAME: tensor<1x8x?x128xf16, #{{.*}}> {tg.name = "past.value"}
// CHECK-SAME: -> (tensor<1x1x4096xf16>, tensor<1x8x?x128xf16, #{{.*}}> {tg.name = "key"}, tensor<1x8x?x128xf16, #{{.*}}> {tg.name = "value"})
// CHECK-NOT: tg.all_gather
// CHECK: tg.all_reduce add {{.*}} ranks = 4 : tensor<1x1x4096xf16>
// CHECK-NOT: tg.all_
// CHECK: return
#row = affine_map<(b, s, n, k) -> (b, s, k)>
#column = affine_map<(b, s, n, k) -> (k, n)>
#result = affine_map<(b, s, n, k) -> (b, s, n)>
#grown = #tg.dims<()[s0] -> (1, 32, s0 + 1, 128)>
#past = #tg.dims<()[s0] -> (1, 32, s0, 128)>
module attributes {tg.symbols = ["past"], tg.symbol_ranges = [[1, 65536, 30000]]} {
func.func @main(%x: tensor<1x1x4096xf16>, %pastk: tensor<1x32x?x128xf16, #past> {tg.name = "past.key"}, %pastv: tensor<1x32x?x128xf16, #past> {tg.name = "past.value"})
    -> (tensor<1x1x4096xf16>, tensor<1x32x?x128xf16, #grown> {tg.name = "key"}, tensor<1x32x?x128xf16, #grown> {tg.name = "value"}) {
  %wq = tg.weight <"m.bin", 0, 33554432> : tensor<4096x4096xf16>
  %wk = tg.weight <"m.bin", 33554432, 33554432> : tensor<4096x4096xf16>
  %wv = tg.weight <"m.bin", 67108864, 33554432> : tensor<4096x4096xf16>
  %wo = tg.weight <"m.bin", 100663296, 33554432> : tensor<4096x4096xf16>
  %q = tg.contract %x, %wq [#row, #column, #result] : tensor<1x1x4096xf16>, tensor<4096x4096xf16> -> tensor<1x1x4096xf16>
  %k = tg.contract %x, %wk [#row, #column, #result] : tensor<1x1x4096xf16>, tensor<4096x4096xf16> -> tensor<1x1x4096xf16>
  %v = tg.contract %x, %wv [#row, #column, #result] : tensor<1x1x4096xf16>, tensor<4096x4096xf16> -> tensor<1x1x4096xf16>
  %qh = tg.reshape %q : tensor<1x1x4096xf16> to tensor<1x32x1x128xf16>
  %kh = tg.reshape %k : tensor<1x1x4096xf16> to tensor<1x32x1x128xf16>
  %vh = tg.reshape %v : tensor<1x1x4096xf16> to tensor<1x32x1x128xf16>
  %ak = tg.concat %pastk, %kh axis = 2 : tensor<1x32x?x128xf16, #past>, tensor<1x32x1x128xf16>
  %av = tg.concat %pastv, %vh axis = 2 : tensor<1x32x?x128xf16, #past>, tensor<1x32x1x128xf16>
  %s = tg.contract %qh, %ak [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, n, k)>, affine_map<(b, h, m, n, k) -> (b, h, m, n)>]
    : tensor<1x32x1x128xf16>, tensor<1x32x?x128xf16, #grown> -> tensor<1x32x1x?xf16, #tg.dims<()[s0] -> (1, 32, 1, s0 + 1)>>
  %max = tg.reduce max %s axes = [3] keep_dims : tensor<1x32x1x?xf16, #tg.dims<()[s0] -> (1, 32, 1, s0 + 1)>>
  %d = tg.sub %s, %max : tensor<1x32x1x?xf16, #tg.dims<()[s0] -> (1, 32, 1, s0 + 1)>>, tensor<1x32x1x1xf16>
  %e = tg.exp %d : tensor<1x32x1x?xf16, #tg.dims<()[s0] -> (1, 32, 1, s0 + 1)>>
  %o = tg.contract %e, %av [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, k, n)>, affine_map<(b, h, m, n, k) -> (b, m, h, n)>]
    : tensor<1x32x1x?xf16, #tg.dims<()[s0] -> (1, 32, 1, s0 + 1)>>, tensor<1x32x?x128xf16, #grown> -> tensor<1x1x32x128xf16>
  %f = tg.reshape %o : tensor<1x1x32x128xf16> to tensor<1x1x4096xf16>
  %y = tg.contract %f, %wo [#row, #column, #result] : tensor<1x1x4096xf16>, tensor<4096x4096xf16> -> tensor<1x1x4096xf16>
  return %y, %ak, %av : tensor<1x1x4096xf16>, tensor<1x32x?x128xf16, #grown>, tensor<1x32x?x128xf16, #grown>
}
}

// -----

// A sum that elementwise ops and a norm of many rows follow: they do a rank's rows, so the sum is scattered, and rows
// are gathered for the next product. (Where weights may be whole on each rank, rows all the way cost less.)
// CHECK-LABEL: func.func @main(
// CHECK: tg.reduce_scatter add {{.*}} -> tensor<512x8192xf16>
// CHECK: tg.reduce add {{.*}} : tensor<512x8192xf16>
// CHECK: tg.all_gather {{.*}} : tensor<512x8192xf16>
// CHECK-NOT: tg.all_reduce
// CHECK: return
func.func @main(%x: tensor<2048x8192xf16>) -> tensor<2048x4194304xf16> {
  %w1 = tg.weight <"m.bin", 0, 68719476736> : tensor<4194304x8192xf16>
  %w2 = tg.weight <"m.bin", 68719476736, 68719476736> : tensor<8192x4194304xf16>
  %w0 = tg.weight <"m.bin", 137438953472, 68719476736> : tensor<8192x4194304xf16>
  %c = tg.contract %x, %w0 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2048x8192xf16>, tensor<8192x4194304xf16> -> tensor<2048x4194304xf16>
  %y = tg.contract %c, %w1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2048x4194304xf16>, tensor<4194304x8192xf16> -> tensor<2048x8192xf16>
  %r = tg.tanh %y : tensor<2048x8192xf16>
  %square = tg.mul %r, %r : tensor<2048x8192xf16>, tensor<2048x8192xf16>
  %sum = tg.reduce add %square axes = [1] keep_dims : tensor<2048x8192xf16>
  %root = tg.rsqrt %sum : tensor<2048x1xf16>
  %n = tg.mul %r, %root : tensor<2048x8192xf16>, tensor<2048x1xf16>
  %h = tg.contract %n, %w2 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2048x8192xf16>, tensor<8192x4194304xf16> -> tensor<2048x4194304xf16>
  return %h : tensor<2048x4194304xf16>
}

// -----

// A table that fits no GPU, read for rows and as a product's weights: each rank has a part of its rows.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IDS:.*]]: tensor<7xi64>
// CHECK: %[[TABLE:.*]] = tg.weight <"m.bin@0:1x4x17179869184", 0, 17179869184> : tensor<1048576x8192xf16>
// CHECK: %[[FIRST:.*]] = tg.weight {{.*}} : tensor<1xi64>
// CHECK: tg.gather %[[TABLE]]
// CHECK: %[[ROWS:.*]] = tg.select {{.*}} : tensor<7x1xi1>, tensor<7x8192xf16>, tensor<f16>
// CHECK: tg.all_reduce add %[[ROWS]] ranks = 4
// CHECK: tg.contract {{.*}} -> tensor<7x1048576xf16>
// CHECK: return
func.func @main(%ids: tensor<7xi64>) -> tensor<7x4194304xf16> {
  %t = tg.weight <"m.bin", 0, 68719476736> : tensor<4194304x8192xf16>
  %x = tg.gather %t, %ids data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>] : tensor<4194304x8192xf16>, tensor<7xi64> -> tensor<7x8192xf16>
  %y = tg.contract %x, %t [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<7x8192xf16>, tensor<4194304x8192xf16> -> tensor<7x4194304xf16>
  return %y : tensor<7x4194304xf16>
}

// -----

// Weights that no layout makes fit: odd extents are no four parts.
// CHECK-LABEL: func.func @main(
// CHECK: tg.contract {{.*}} : tensor<3x5000003xf16>, tensor<5000003x8191xf16> -> tensor<3x8191xf16>
// WHY: warning: shard: expected a layout with at most 68719 MB of weights on a rank, found none below 81910 MB; take more ranks
func.func @main(%x: tensor<3x5000003xf16>) -> tensor<3x8191xf16> {
  %w = tg.weight <"m.bin", 0, 81910049146> : tensor<5000003x8191xf16>
  %y = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<3x5000003xf16>, tensor<5000003x8191xf16> -> tensor<3x8191xf16>
  return %y : tensor<3x8191xf16>
}
