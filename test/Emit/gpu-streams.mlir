// What TMA copies once of a tensor that the L2 cannot keep leaves the cache first.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=TMA
// Twice the rows: two waves, of which the second reads the weights again. Smaller weights: they may still be there for the next kernel.
// RUN: sed 's/512/1024/g' %s > %t.waves.mlir
// RUN: weft-compile %t.waves.mlir --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/14336/2048/g' %s > %t.small.mlir
// RUN: weft-compile %t.small.mlir --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=KEPT
// One row: loads of registers do without.
// RUN: sed 's/512/1/g; s/tile = \[128, 128\]/tile = [1, 1]/; s/stream = \[64\]/stream = [2048]/; s/engine = wgmma/engine = simt/' %s > %t.one.mlir
// RUN: weft-compile %t.one.mlir --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=LOAD

// TMA: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{{.*}}], [{{.*}}], [{{[^,]*}}];
// TMA: createpolicy.fractional.L2::evict_first.b64 [[POLICY:%rd[0-9]+]], 1.0;
// TMA: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [{{.*}}], [{{.*}}], [{{[^,]*}}], [[POLICY]];
// KEPT-NOT: cache_hint
// KEPT: cp.async.bulk.tensor.2d.shared::cluster
// KEPT-NOT: cache_hint
// LOAD-NOT: cache_hint
// LOAD: ld.global.nc.v4.b32
// LOAD-NOT: cache_hint
#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = affine_map<() -> (512, 14336)>
#w = affine_map<() -> (4096, 14336)>
#y = affine_map<() -> (512, 4096)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<512x14336xbf16> {tg.name = "x"}, %w: tensor<4096x14336xbf16> {tg.name = "w"}) -> (tensor<512x4096xbf16> {tg.name = "y"}) {
    %0 = tg.dispatch @product::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<512x14336xbf16>, tensor<4096x14336xbf16>) -> tensor<512x4096xbf16>
    return %0 : tensor<512x4096xbf16>
  }
  module @product attributes {tg.steady_operands = array<i64: 0, 1>, tg.operand_dims = [#x, #w], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
    func.func @kernel(%x: tensor<512x14336xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<512x4096xbf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<512x14336xbf16>, tensor<4096x14336xbf16> -> tensor<512x4096xf32>
      %1 = tg.cast %0 : tensor<512x4096xf32> to tensor<512x4096xbf16>
      return %1 : tensor<512x4096xbf16>
    }
  }
}
