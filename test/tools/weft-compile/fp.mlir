// What --fp=strict (the default) and --fp=fast let the code generator do: docs/codegen.md, "Numerics".
// RUN: weft-compile %s --emit=llvm --cpu=x86-64-v3 | FileCheck %s --check-prefix=STRICT
// RUN: weft-compile %s --emit=llvm --cpu=x86-64-v3 --fp=fast | FileCheck %s --check-prefix=FAST

// An elementwise chain has no flag at all: x * y + x rounds twice.
// STRICT-LABEL: define internal fastcc void @body(
// STRICT-NOT:   contract
// STRICT-NOT:   reassoc
// STRICT:       fmul <8 x float>
// STRICT:       fadd <8 x float>
// STRICT-LABEL: define void @k0(
// FAST-LABEL:   define internal fastcc void @body(
// FAST:         fmul fast <8 x float>
// FAST:         fadd fast <8 x float>
// FAST-LABEL:   define void @k0(

// The sum of a row is split into vectors of partial sums, by a flag on the additions of that sum alone.
// STRICT-LABEL: define internal fastcc void @body(
// STRICT:       fsub <8 x float>
// STRICT:       fmul <8 x float>
// STRICT:       fadd reassoc <8 x float> %vec.phi
// STRICT:       call reassoc float @llvm.vector.reduce.fadd
// STRICT-LABEL: define void @k1(

// A contraction is multiply-adds along K, in order, into accumulators of their own.
// STRICT-LABEL: define internal fastcc void @body(
// STRICT-NOT:   reassoc
// STRICT:       call <8 x float> @llvm.fmuladd.v8f32
// STRICT-NOT:   reassoc
// STRICT-LABEL: define void @k2(

module {
  func.func @main(%x: tensor<512x1024xf32> {tg.name = "x"}, %y: tensor<512x1024xf32> {tg.name = "y"},
                  %z: tensor<1024x512xf32> {tg.name = "z"})
      -> (tensor<512x1024xf32> {tg.name = "a"}, tensor<512xf32> {tg.name = "b"}, tensor<512x512xf32> {tg.name = "c"}) {
    %0 = tg.mul %x, %y : tensor<512x1024xf32>, tensor<512x1024xf32>
    %1 = tg.add %0, %x : tensor<512x1024xf32>, tensor<512x1024xf32>
    %2 = tg.sub %x, %y : tensor<512x1024xf32>, tensor<512x1024xf32>
    %3 = tg.mul %2, %2 : tensor<512x1024xf32>, tensor<512x1024xf32>
    %4 = tg.reduce add %3 axes = [1] : tensor<512x1024xf32>
    %5 = tg.contract %x, %z [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<512x1024xf32>, tensor<1024x512xf32> -> tensor<512x512xf32>
    return %1, %4, %5 : tensor<512x1024xf32>, tensor<512xf32>, tensor<512x512xf32>
  }
}
