// A product that sums along rows which begin anywhere, planned for many rows and run with few: what the copies have behind the sum's end
// adds nothing, by warpgroups whose operands TMA brings, and by copies of 16 bytes. A weight that is not contiguous along the sum ends where it did.
// RUN: weft-compile %s --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --dim=rows=70 --output=y=@%t.y.npy --output=z=@%t.z.npy
// RUN: weft-compile %s --target=sm_80,sm_90a -o %t.weft --quiet --remarks=plan 2>&1 | FileCheck %s
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --dim=rows=70 --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy --rtol=2e-2 --atol=2e-2 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_80,order=reverse --seed=3 --dim=rows=70 --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy --rtol=2e-2 --atol=2e-2 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// CHECK: copied with rows of 320 elements, over which a GEMM contracts
// RESULT: compare "y": ok
// RESULT: compare "z": ok
#x = #tg.dims<()[s0] -> (s0, 313)>
#y = #tg.dims<()[s0] -> (s0, 264)>
module attributes {tg.symbols = ["rows"], tg.symbol_ranges = [array<i64: 1, 65536, 65536>]} {
func.func @main(%x: tensor<?x313xbf16, #x> {tg.name = "x"}, %w: tensor<264x313xbf16> {tg.name = "w"}, %v: tensor<313x264xbf16> {tg.name = "v"})
    -> (tensor<?x264xbf16, #y> {tg.name = "y"}, tensor<?x264xbf16, #y> {tg.name = "z"}) {
  %0 = tg.contract %x, %w [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
      : tensor<?x313xbf16, #x>, tensor<264x313xbf16> -> tensor<?x264xbf16, #y>
  %1 = tg.contract %x, %v [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
      : tensor<?x313xbf16, #x>, tensor<313x264xbf16> -> tensor<?x264xbf16, #y>
  return %0, %1 : tensor<?x264xbf16, #y>, tensor<?x264xbf16, #y>
}
}
