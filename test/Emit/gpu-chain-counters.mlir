// A reader whose rows need whole blocks of a writer's polls one counter for all of them: 64 CTAs of sums raise the one
// of their batch, and CTAs of the map wait for theirs: two sets of two counters of 32 bytes, and a word for each of 132 CTAs.
// Sums of 4096 numbers around 0 may be small, but their rounding is that of terms of 64: hence the absolute tolerance.
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --merge-launches=chains --emit=mlir:lower -o - | FileCheck %s
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy --output=z=@%t.z.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80,sm_90a --merge-launches=chains --ptxas=off -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --atol=1e-3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,order=reverse --seed=3 --atol=1e-3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_80,order=depth-first --seed=3 --atol=1e-3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT

// CHECK: tg.dispatch @chain_sum::@kernel
// CHECK: llvm.mlir.global internal @counters(dense<0> : tensor<656xi8>)
// RESULT: device emu:{{.*}} 1 dispatches

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<2x64x4096xf32> {tg.name = "x"}, %w: tensor<2x256x64xf32> {tg.name = "w"})
      -> (tensor<2x64xf32> {tg.name = "y"}, tensor<2x256x64xf32> {tg.name = "z"}) {
    %0 = tg.reduce add %x axes = [2] : tensor<2x64x4096xf32>
    %1 = tg.reshape %0 : tensor<2x64xf32> to tensor<2x1x64xf32>
    %2 = tg.mul %1, %w : tensor<2x1x64xf32>, tensor<2x256x64xf32>
    return %0, %2 : tensor<2x64xf32>, tensor<2x256x64xf32>
  }
}
