// Tiles behind the first ones of an order's tail: several CTAs share the steps of a fold or a product, and the last one to come merges and stores.
// RUN: weft-opt %s --split-input-file --weft-kernelize --verify-diagnostics | FileCheck %s

// 300 places are 5 steps of 64 for one CTA of tile 0; of the other two tiles 3 CTAs have one or two each.
// CHECK-LABEL: func.func @kernel
// CHECK: tk.for_tiles (%{{.*}}) in #{{.*}} order "tail<1,3,row>"
// CHECK: %[[NUMBER:.*]], %[[PART:.*]], %[[PARTS:.*]] = tk.tile_part
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c5
// CHECK: %[[LOW:.*]] = arith.divui %[[FIRST]], %[[PARTS]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[PART]], %c1
// CHECK: %[[LAST:.*]] = arith.muli %[[NEXT]], %c5
// CHECK: %[[HIGH:.*]] = arith.divui %[[LAST]], %[[PARTS]]
// CHECK: %[[TURNS:.*]] = arith.subi %[[HIGH]], %[[LOW]]
// CHECK: %[[ONE:.*]] = arith.maxsi %[[TURNS]], %c1
// CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %c0 to %[[ONE]]
// CHECK: arith.addi %[[I]], %[[LOW]]
// CHECK: %[[MERGES:.*]], %[[STORES:.*]] = tk.part_send %[[SUM]] part(%[[NUMBER]], %[[PART]], %[[PARTS]]) of 6 x 3 live 24 : !tk.tile<16x32xf32>
// CHECK: %[[BEFORE:.*]] = arith.subi %[[NUMBER]], %[[PART]]
// CHECK: scf.for %[[Q:.*]] = %c0{{.*}} to %[[MERGES]]
// CHECK: %[[SLOT:.*]] = arith.addi %[[BEFORE]], %[[Q]]
// CHECK: tk.guard
// CHECK: tk.part_receive %[[SLOT]] of 6 live 24 : !tk.tile<16x32xf32>
// CHECK: scf.if %[[STORES]]
// CHECK-NEXT: tk.store
module attributes {tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 1, stages = 2, order = "tail<1,3,row>", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<48x300xf16>, %v: tensor<300x24xf16>) -> tensor<48x24xf32> {
  %r = tg.fold over affine_map<() -> (300)> init [0.0 : f32] update {
  ^bb0(%a: tensor<48x24xf32>):
    %o = tg.contract %x, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<48x300xf16>, tensor<300x24xf16> -> tensor<48x24xf32>
    %b = tg.add %a, %o : tensor<48x24xf32>, tensor<48x24xf32>
    tg.fold_yield %b : tensor<48x24xf32>
  } merge {
  ^bb0(%a: tensor<48x24xf32>, %c: tensor<48x24xf32>):
    %b = tg.add %a, %c : tensor<48x24xf32>, tensor<48x24xf32>
    tg.fold_yield %b : tensor<48x24xf32>
  } finish {
  ^bb0(%a: tensor<48x24xf32>):
    tg.fold_yield %a : tensor<48x24xf32>
  } : tensor<48x24xf32>
  return %r : tensor<48x24xf32>
}
}

// -----
module attributes {tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 1, stages = 2, order = "tail<1,3,row>", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<48x300xf16>, %v: tensor<300x24xf16>) -> tensor<48x24xf32> {
  // expected-error @+1 {{cannot become GPU tiles: expected one fold with a merge, of which CTAs share a tile's steps}}
  %r = tg.fold over affine_map<() -> (300)> init [0.0 : f32] update {
  ^bb0(%a: tensor<48x24xf32>):
    %o = tg.contract %x, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<48x300xf16>, tensor<300x24xf16> -> tensor<48x24xf32>
    %b = tg.add %a, %o : tensor<48x24xf32>, tensor<48x24xf32>
    tg.fold_yield %b : tensor<48x24xf32>
  } merge {
  } finish {
  ^bb0(%a: tensor<48x24xf32>):
    tg.fold_yield %a : tensor<48x24xf32>
  } : tensor<48x24xf32>
  return %r : tensor<48x24xf32>
}
}

// -----
module attributes {tg.schedule = #tg.schedule<tile = [64], engine = simt, warps = 1, stages = 1, order = "tail<1,3,row>", persistent = false, split = 1>} {
// expected-error @+1 {{expected a fold or a GEMM in a kernel whose order has a tail, got tail<1,3,row>}}
func.func @kernel(%x: tensor<300xf32>) -> tensor<300xf32> {
  %r = tg.neg %x : tensor<300xf32>
  return %r : tensor<300xf32>
}
}

// -----
module attributes {tg.schedule = #tg.schedule<tile = [64], engine = simt, warps = 1, stages = 1, order = "tail<5,3,row>", persistent = false, split = 1>} {
// expected-error @+1 {{expected a known number of tiles, above 5 and not split otherwise, with order tail<5,3,row>}}
func.func @kernel(%x: tensor<300xf32>) -> tensor<300xf32> {
  %r = tg.neg %x : tensor<300xf32>
  return %r : tensor<300xf32>
}
}

// -----
// A product: the sums of all parts. Of 2 x 3 or 3 x 2 clusters of two, 4 have 4 parts.
// CHECK-LABEL: func.func @kernel
// CHECK: tk.tile_part
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: tk.dot
// CHECK: %[[ALL:.*]], %[[STORES:.*]], %{{.*}} = tk.part_sum %[[SUM]] part(%{{.*}}, %{{.*}}, %{{.*}}) of 32 x 4 : <64x64xf32>
// CHECK: tk.map({{.*}}%[[ALL]]
// CHECK: scf.if %[[STORES]]
module attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = wgmma, warps = 4, stages = 2, order = "tail<2,4,row>", persistent = true, split = 1, multicast = 2>} {
func.func @kernel(%x: tensor<192x640xf16>, %w: tensor<192x640xf16>) -> tensor<192x192xf16> {
  %r = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<192x640xf16>, tensor<192x640xf16> -> tensor<192x192xf16>
  return %r : tensor<192x192xf16>
}
}

// -----
module attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = wgmma, warps = 4, stages = 2, order = "tail<2,4,row>", persistent = true, split = 2>} {
// expected-error @+1 {{expected a known number of tiles, above 2 and not split otherwise, with order tail<2,4,row>}}
func.func @kernel(%x: tensor<192x640xf16>, %w: tensor<192x640xf16>) -> tensor<192x192xf16> {
  %r = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<192x640xf16>, tensor<192x640xf16> -> tensor<192x192xf16>
  return %r : tensor<192x192xf16>
}
}

// -----
module attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = wgmma, warps = 4, stages = 2, order = "tail<2,4,row>", persistent = true, split = 1>} {
func.func @kernel(%x: tensor<192x640xf16>, %w: tensor<192x640xf16>, %u: tensor<192x640xf16>) -> tensor<192x192xf16> {
  %a = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<192x640xf16>, tensor<192x640xf16> -> tensor<192x192xf16>
  // expected-error @+1 {{cannot become GPU tiles: expected one GEMM, of which CTAs share a tile's steps}}
  %b = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<192x640xf16>, tensor<192x640xf16> -> tensor<192x192xf16>
  %r = tg.mul %a, %b : tensor<192x192xf16>, tensor<192x192xf16>
  return %r : tensor<192x192xf16>
}
}
