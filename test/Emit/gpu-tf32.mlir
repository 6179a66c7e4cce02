// Products of f32 are exact by default: FMA in f32. --allow-tf32 takes the tensor cores, whose operands have 10 bits of mantissa, to which mma.sync gets
// them rounded. wgmma reads them from shared memory and cuts them off: it is not taken.
// Emulated products of f32 take long; the emulator has sanitized unit tests.
// UNSUPPORTED: asan
// RUN: weft-compile %s --target=sm_80,sm_90a --emit=ptx --ptxas=off -o - | FileCheck %s --check-prefix=EXACT --implicit-check-not=tf32 --implicit-check-not=mma
// RUN: weft-compile %s --target=sm_80,sm_90a --emit=ptx --ptxas=off --allow-tf32 -o - | FileCheck %s --check-prefix=TF32
// RUN: weft-compile %s --target=sm_80,sm_90a --ptxas=off -o %t.exact.weft && weft-compile %s --target=sm_80,sm_90a --ptxas=off --allow-tf32 -o %t.tf32.weft
// RUN: weft-run %t.exact.weft --device=emu:sm_80 --input=x=rand:uniform:1:1.0001:1.0001 --input=w=rand:uniform:1:1:1 --input=u=rand:uniform:1:1.0001:1.0001 --input=v=rand:uniform:1:1:1 --output-max-element-count=1 | FileCheck %s --check-prefix=SUM
// RUN: weft-run %t.exact.weft --device=emu:sm_90a --input=x=rand:uniform:1:1.0001:1.0001 --input=w=rand:uniform:1:1:1 --input=u=rand:uniform:1:1.0001:1.0001 --input=v=rand:uniform:1:1:1 --output-max-element-count=1 | FileCheck %s --check-prefix=SUM
// 1.0009 is nearer to the TF32 behind 1 than to 1.
// RUN: weft-run %t.tf32.weft --device=emu:sm_80 --input=x=rand:uniform:1:1.0009:1.0009 --input=w=rand:uniform:1:1:1 --input=u=rand:uniform:1:1.0009:1.0009 --input=v=rand:uniform:1:1:1 --output-max-element-count=1 | FileCheck %s --check-prefix=ROUNDED
// RUN: weft-run %t.tf32.weft --device=emu:sm_90a --input=x=rand:uniform:1:1.0009:1.0009 --input=w=rand:uniform:1:1:1 --input=u=rand:uniform:1:1.0009:1.0009 --input=v=rand:uniform:1:1:1 --output-max-element-count=1 | FileCheck %s --check-prefix=ROUNDED

// EXACT: .target sm_80
// EXACT: fma.rn.f32
// EXACT: .target sm_90a
// EXACT: fma.rn.f32
// TF32: .target sm_80
// TF32: cvt.rna.tf32.f32
// TF32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// TF32: .target sm_90a
// TF32-NOT: wgmma
// TF32: cvt.rna.tf32.f32
// TF32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// TF32-NOT: wgmma
// SUM: result[0] "y" 512x512xf32=[64.006
// SUM: result[1] "z" 512x512xf32=[64.006
// ROUNDED: result[0] "y" 512x512xf32=[64.0625 ...
// ROUNDED: result[1] "z" 512x512xf32=[64.0625 ...
module {
  func.func @main(%x: tensor<512x64xf32> {tg.name = "x"}, %w: tensor<64x512xf32> {tg.name = "w"}, %u: tensor<512x64xf32> {tg.name = "u"}, %v: tensor<512x64xf32> {tg.name = "v"})
      -> (tensor<512x512xf32> {tg.name = "y"}, tensor<512x512xf32> {tg.name = "z"}) {
    %0 = tg.contract %x, %w [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
        : tensor<512x64xf32>, tensor<64x512xf32> -> tensor<512x512xf32>
    %1 = tg.contract %u, %v [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
        : tensor<512x64xf32>, tensor<512x64xf32> -> tensor<512x512xf32>
    return %0, %1 : tensor<512x512xf32>, tensor<512x512xf32>
  }
}
