// Two CTAs of a cluster, with tiles below each other, read their weights once: each copies half of the rows, to both. A slot is free
// when it is in both, so consumers give it back in both; CTAs start together, and the thread that copies ends when all of its three slots have come back.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: sed "s/, multicast = 2//" %s > %t.alone.mlir
// RUN: weft-compile %t.alone.mlir --compile-from=outline --target=sm_90a -o %t.alone.weft --quiet
// RUN: weft-run %t.alone.weft --device=emu:sm_90a --seed=3 --output=y=@%t.npy
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// Persistent clusters: 72 pairs of tiles for 66 of them.
// RUN: sed 's/%x: tensor<256x256/%x: tensor<1024x128/; s/%w: tensor<256x256/%w: tensor<2304x128/; s/(tensor<256x256xbf16>, tensor<256x256xbf16>)/(tensor<1024x128xbf16>, tensor<2304x128xbf16>)/; s/: tensor<256x256xbf16>, tensor<256x256xbf16>/: tensor<1024x128xbf16>, tensor<2304x128xbf16>/; s/256x256/1024x2304/g; s/-> (256, 256)/-> (1024, 2304)/; s/persistent = false/persistent = true/' %s > %t.many.mlir
// RUN: weft-compile %t.many.mlir --compile-from=outline --target=sm_90a -o %t.many.weft --quiet
// RUN: sed "s/, multicast = 2//" %t.many.mlir > %t.few.mlir
// RUN: weft-compile %t.few.mlir --compile-from=outline --target=sm_90a -o %t.few.weft --quiet
// RUN: weft-run %t.few.weft --device=emu:sm_90a --seed=3 --output=y=@%t.many.npy
// RUN: weft-run %t.many.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.many.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// Three tiles of rows, the last of 44: a cluster of it and of one past the end, which reads zeros and stores nothing.
// RUN: sed 's/%x: tensor<256x256/%x: tensor<300x256/; s/%w: tensor<256x256/%w: tensor<128x256/; s/(tensor<256x256xbf16>, tensor<256x256xbf16>)/(tensor<300x256xbf16>, tensor<128x256xbf16>)/; s/: tensor<256x256xbf16>, tensor<256x256xbf16>/: tensor<300x256xbf16>, tensor<128x256xbf16>/; s/256x256/300x128/g; s/-> (256, 256)/-> (300, 128)/' %s > %t.past.mlir
// RUN: weft-compile %t.past.mlir --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PAST
// RUN: weft-compile %t.past.mlir --compile-from=outline --target=sm_90a -o %t.past.weft --quiet
// RUN: sed "s/, multicast = 2//" %t.past.mlir > %t.three.mlir
// RUN: weft-compile %t.three.mlir --compile-from=outline --target=sm_90a -o %t.three.weft --quiet
// RUN: weft-run %t.three.weft --device=emu:sm_90a --seed=3 --output=y=@%t.three.npy
// RUN: weft-run %t.past.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.three.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// PAST: .reqnctapercluster 2
// PAST: multicast::cluster

// PTX: .reqnctapercluster 2
// PTX-COUNT-3: prefetch.tensormap
// PTX: mbarrier.init.shared.b64 {{.*}}
// PTX: fence.mbarrier_init.release.cluster
// PTX: barrier.cluster.arrive.relaxed.aligned
// PTX: barrier.cluster.wait
// PTX-NOT: barrier.cluster
// PTX: mbarrier.arrive.expect_tx.shared.b64 {{.*}}
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [
// PTX: mapa.shared::cluster.u32
// PTX: mbarrier.arrive.shared::cluster.b64 _,
// PTX: stmatrix
// PTX: cp.async.bulk.wait_group.read 0
// PTX-NOT: barrier.cluster
// PTX-COUNT-3: mbarrier.try_wait.parity
// PTX-NOT: barrier.cluster
// RESULT: compare "y": ok

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
      tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = false, split = 1, multicast = 2>} {
    func.func @kernel(%x: tensor<256x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<256x256xbf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<256x256xbf16>, tensor<256x256xbf16> -> tensor<256x256xf32>
      %1 = tg.cast %0 : tensor<256x256xf32> to tensor<256x256xbf16>
      return %1 : tensor<256x256xbf16>
    }
  }
}
