// CTAs of a cluster share the steps of a tile that warps multiply by mma.sync and by FMA: each has the sums of some rows, adds what the others send it in
// their order, and does the epilogue of its rows. The reduction of 288 places is 5 steps of 64, the last one ragged: 4 and 8 CTAs have steps beyond it.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PTX
// RUN: sed 's/split = 4/split = 1/' %s > %t.whole.mlir
// RUN: weft-compile %t.whole.mlir --compile-from=outline --target=sm_90a -o %t.whole.weft --quiet
// RUN: weft-run %t.whole.weft --device=emu:sm_90a --seed=3 --output=y=@%t.npy
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/split = 4/split = 8/' %s > %t.eight.mlir
// RUN: weft-compile %t.eight.mlir --compile-from=outline --target=sm_90a -o %t.eight.weft --quiet
// RUN: weft-run %t.eight.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/engine = mma/engine = simt/; s/xf16/xf32/g' %s > %t.fma.mlir
// RUN: sed 's/split = 4/split = 1/' %t.fma.mlir > %t.fma.whole.mlir
// RUN: weft-compile %t.fma.whole.mlir --compile-from=outline --target=sm_90a -o %t.fma.whole.weft --quiet
// RUN: weft-compile %t.fma.mlir --compile-from=outline --target=sm_90a -o %t.fma.weft --quiet
// RUN: weft-run %t.fma.whole.weft --device=emu:sm_90a --seed=3 --output=y=@%t.fma.npy
// RUN: weft-run %t.fma.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.fma.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// No clusters before sm_90a: neighbours meet in memory.
// RUN: weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=off | FileCheck %s --check-prefix=SM80
// RUN: weft-compile %s --compile-from=outline --target=sm_80 -o %t.80.weft --quiet
// RUN: weft-run %t.80.weft --device=emu:sm_80 --seed=3 --rtol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT80
// RUN: weft-run %t.80.weft --device=emu:sm_80,timing=late,order=reverse --seed=3 --rtol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT80
// RESULT80: device emu:{{.*}} (sm_80)
// SM80: .global .align 128 .b8 {{.*}}arrivals[768]
// SM80: .global .align 128 .b8 {{.*}}parts[49152]
// SM80-NOT: cluster
// SM80: st.global.v2.{{[bf]}}32
// SM80: bar{{.*}}sync
// SM80: atom.release.gpu.global.add.u32
// SM80: ld.acquire.gpu.global.u32
// SM80: bar{{.*}}sync
// SM80: ld.global.v4

// PTX: .reqnctapercluster 4
// PTX: barrier.cluster.arrive.relaxed
// PTX: mma.sync
// PTX: barrier.cluster.wait
// PTX: mapa.shared::cluster.u32
// PTX: st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32
// PTX-NOT: barrier.cluster
// PTX: mbarrier.try_wait.parity
// PTX: {{ld.shared|ldmatrix}}
// RESULT: device emu:{{.*}} (sm_90a)

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = affine_map<() -> (40, 288)>
#w = affine_map<() -> (48, 288)>
#b = affine_map<() -> (48)>
#y = affine_map<() -> (40, 48)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<40x288xf16> {tg.name = "x"}, %w: tensor<48x288xf16> {tg.name = "w"}, %b: tensor<48xf32> {tg.name = "b"}, %r: tensor<40x48xf32> {tg.name = "r"}) -> (tensor<40x48xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @product::@kernel(%x, %w, %b, %r) symbols = affine_map<() -> ()> : (tensor<40x288xf16>, tensor<48x288xf16>, tensor<48xf32>, tensor<40x48xf32>) -> tensor<40x48xf32>
    return %0 : tensor<40x48xf32>
  }
  module @product attributes {tg.operand_dims = [#x, #w, #b, #y], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 4>} {
    func.func @kernel(%x: tensor<40x288xf16>, %w: tensor<48x288xf16>, %b: tensor<48xf32>, %r: tensor<40x48xf32>) -> tensor<40x48xf32> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<40x288xf16>, tensor<48x288xf16> -> tensor<40x48xf32>
      %1 = tg.add %0, %b : tensor<40x48xf32>, tensor<48xf32>
      %2 = tg.add %1, %r : tensor<40x48xf32>, tensor<40x48xf32>
      return %2 : tensor<40x48xf32>
    }
  }
}
