// Warpgroups of one wave that do with three quarters of an even share (170 registers) at most keep it: what they leave is for the next kernel's CTAs.
// RUN: printf '#!/bin/sh\nbytes=40\ngrep -Eq "$WANTED" $3 && bytes=0\necho "Compiling entry function '"'k0'"'"\necho "0 bytes stack frame, $bytes bytes spill stores, 0 bytes spill loads"\necho "Used $REGISTERS registers"\n' > %t.ptxas
// RUN: chmod +x %t.ptxas
// RUN: env REGISTERS=120 WANTED=reqntid weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=%t.ptxas 2>&1 | FileCheck %s --check-prefix=LEFT --implicit-check-not=setmaxnreg
// LEFT: .reqntid 384
// LEFT: wgmma.mma_async

// Others deal them out anew: those that need more of it, that would spill, or whose CTAs come in several waves.
// RUN: env REGISTERS=128 WANTED=reqntid weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=%t.ptxas 2>&1 | FileCheck %s --check-prefix=DEALT
// RUN: env REGISTERS=120 WANTED=setmaxnreg.inc weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=%t.ptxas 2>&1 | FileCheck %s --check-prefix=DEALT
// RUN: sed 's/512x768/8192x768/g; s/512x1024/8192x1024/g' %s > %t.waves.mlir
// RUN: env REGISTERS=120 WANTED=reqntid weft-compile %t.waves.mlir --compile-from=outline --target=sm_90a --emit=ptx --ptxas=%t.ptxas 2>&1 | FileCheck %s --check-prefix=DEALT
// DEALT: .reqntid 384
// DEALT: setmaxnreg.inc.sync.aligned.u32

module {
  module @product attributes {tg.schedule = #tg.schedule<tile = [128, 64], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
    func.func @kernel(%a: tensor<512x768xf16>, %b: tensor<768x1024xf16>) -> tensor<512x1024xf16> {
      %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<512x768xf16>, tensor<768x1024xf16> -> tensor<512x1024xf16>
      return %0 : tensor<512x1024xf16>
    }
  }
  func.func @main(%a: tensor<512x768xf16> {tg.name = "a"}, %b: tensor<768x1024xf16> {tg.name = "b"}) -> (tensor<512x1024xf16> {tg.name = "y"}) {
    %0 = tg.dispatch @product::@kernel(%a, %b) symbols = affine_map<() -> ()> : (tensor<512x768xf16>, tensor<768x1024xf16>) -> tensor<512x1024xf16>
    return %0 : tensor<512x1024xf16>
  }
}
