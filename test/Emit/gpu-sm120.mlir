// A GPU with TMA and without warpgroups' products (sm_120) is a row of the table: windows come by TMA for mma.sync, with a producer; matrices by cp.async; folds and
// products fit in its 99 KB of a CTA.
// RUN: weft-compile %s --compile-from=normalize --target=sm_120 --emit=ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx --implicit-check-not=wgmma --implicit-check-not=setmaxnreg --implicit-check-not=multicast
// PTX: .version 8.7
// PTX-NEXT: .target sm_120{{$}}
// PTX-DAG: cp.async.bulk.tensor.4d.shared::cluster.global
// PTX-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// PTX-DAG: cp.async.cg.shared.global
// PTX-DAG: griddepcontrol.wait
// Halves are widened by what they are added to (PTX 8.6), which the emulator has, too.
// PTX-DAG: sub.rn.f32.f16

// The schedule's window is read by TMA because the target has it: sm_89, with as much shared memory, does without.
// RUN: weft-compile %s --compile-from=normalize --target=sm_89 --emit=ptx | FileCheck %s --check-prefix=ADA --implicit-check-not=cp.async.bulk
// ADA: .target sm_89

// RUN: weft-compile %s --compile-from=normalize --target=cpu,RTX5090 --quiet -o %t.weft
// RUN: weft-run %t.weft --seed=3 --output=y=@%t.y.npy --output=z=@%t.z.npy --output=s=@%t.s.npy
// RUN: weft-run %t.weft --device=emu:RTX5090 --seed=3 --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy --expected-output=s=@%t.s.npy --rtol=1e-3 --atol=1e-3
// RUN: weft-run %t.weft --device=emu:sm_120,order=reverse --seed=3 --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy --expected-output=s=@%t.s.npy --rtol=1e-3 --atol=1e-3

#image = affine_map<(n, h, w, o, i, j, c) -> (n, h + i, w + j, c)>
#window = affine_map<(n, h, w, o, i, j, c) -> (o, i, j, c)>
#result = affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>
#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<2x9x13x64xf16> {tg.name = "x"}, %w: tensor<48x3x3x64xf16> {tg.name = "w"}, %a: tensor<70x136xf16> {tg.name = "a"}, %b: tensor<136x200xf16> {tg.name = "b"}, %d: tensor<70x136xf32> {tg.name = "d"})
      -> (tensor<2x9x13x48xf32> {tg.name = "y"}, tensor<70x200xf32> {tg.name = "z"}, tensor<70x136xf32> {tg.name = "s"}) {
    %zero = tg.constant dense<0.0> : tensor<f16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<2x9x13x64xf16>, tensor<f16>
    %1 = tg.contract %0, %w [#image, #window, #result] : tensor<2x11x15x64xf16>, tensor<48x3x3x64xf16> -> tensor<2x9x13x48xf32>
    %2 = tg.contract %a, %b [#l, #r, #o] : tensor<70x136xf16>, tensor<136x200xf16> -> tensor<70x200xf32>
    %c = tg.cast %a : tensor<70x136xf16> to tensor<70x136xf32>
    %3 = tg.sub %c, %d : tensor<70x136xf32>, tensor<70x136xf32>
    return %1, %2, %3 : tensor<2x9x13x48xf32>, tensor<70x200xf32>, tensor<70x136xf32>
  }
}
