// Two CTAs of a cluster share the steps of one tile: each multiplies half of the reduction, and what each CTA stores
// comes from the other one through distributed shared memory.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: sed 's/split = 2/split = 1/' %s > %t.whole.mlir
// RUN: weft-compile %t.whole.mlir --compile-from=outline --target=sm_90a -o %t.whole.weft --quiet
// RUN: weft-run %t.whole.weft --device=emu:sm_90a --seed=3 --output=y=@%t.npy
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// Four CTAs, whose shares are single blocks; and warpgroups with two blocks of rows, of which each CTA stores one.
// RUN: sed 's/split = 2/split = 4/' %s > %t.four.mlir
// RUN: weft-compile %t.four.mlir --compile-from=outline --target=sm_90a -o %t.four.weft --quiet
// RUN: weft-run %t.four.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/128, 256\]/256, 128]/' %s > %t.tall.mlir
// RUN: weft-compile %t.tall.mlir --compile-from=outline --target=sm_90a -o %t.tall.weft --quiet
// RUN: weft-run %t.tall.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// PTX: .reqnctapercluster 2
// PTX: fence.mbarrier_init.release.cluster
// PTX: mbarrier.arrive.expect_tx
// PTX: barrier.cluster.arrive.relaxed.aligned
// PTX-NOT: barrier.cluster.arrive
// PTX: %cluster_ctarank
// PTX: cp.async.bulk.tensor
// PTX: barrier.cluster.wait;
// PTX: wgmma.wait_group.sync.aligned 0
// PTX: barrier.cluster.wait.aligned
// PTX: mapa.shared::cluster.u32
// PTX: mbarrier.arrive.shared::cluster.b64
// PTX: mbarrier.try_wait.parity
// PTX-COUNT-32: st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32
// PTX: mbarrier.try_wait.parity
// PTX-NOT: barrier.cluster
// PTX-COUNT-32: ld.shared.v4
// PTX: stmatrix
// RESULT: device emu:{{.*}} (sm_90a)

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = affine_map<() -> (256, 256)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<256x256xbf16> {tg.name = "x"}, %w: tensor<256x256xbf16> {tg.name = "w"}) -> (tensor<256x256xbf16> {tg.name = "y"}) {
    %0 = tg.dispatch @product::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
    return %0 : tensor<256x256xbf16>
  }
  module @product attributes {tg.operand_dims = [#x, #x], tg.result_dims = [#x],
      tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 2>} {
    func.func @kernel(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<256x256xbf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<256x256xbf16>, tensor<256x256xbf16> -> tensor<256x256xf32>
      %1 = tg.cast %0 : tensor<256x256xf32> to tensor<256x256xbf16>
      return %1 : tensor<256x256xbf16>
    }
  }
}
