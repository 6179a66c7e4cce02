// Offsets beyond 2^31 elements are 64 bits wide: 70,000 rows of 70,001 halves, or symbolic ones. bench/large.py runs such kernels on a GPU.
// RUN: weft-compile %s --target=sm_80,sm_90a --emit=ptx --ptxas=off -o - | FileCheck %s
// RUN: weft-compile %s --target=sm_80 --emit=ptx --ptxas=off -o - | not grep -E "lo.[su]32.*70001"

// CHECK: .target sm_80
// CHECK: mul.wide.u32 %rd{{[0-9]+}}, %r{{[0-9]+}}, 70001;
// CHECK: mad.lo.s64
// CHECK: .target sm_90a
// CHECK: mul.wide.u32 %rd{{[0-9]+}}, %r{{[0-9]+}}, 70001;
// CHECK: mad.lo.s64
module attributes {tg.symbols = ["N", "M"]} {
  func.func @main(%x: tensor<70000x70001xf16> {tg.name = "x"}, %b: tensor<70001xf16> {tg.name = "b"},
                  %z: tensor<?x?xf16, #tg.dims<()[s0, s1] -> (s0, s1)>> {tg.name = "z"}, %c: tensor<?xf16, #tg.dims<()[s0, s1] -> (s1)>> {tg.name = "c"})
      -> (tensor<70000x70001xf16> {tg.name = "y"}, tensor<?x?xf16, #tg.dims<()[s0, s1] -> (s0, s1)>> {tg.name = "w"}) {
    %0 = tg.add %x, %b : tensor<70000x70001xf16>, tensor<70001xf16>
    %1 = tg.add %z, %c : tensor<?x?xf16, #tg.dims<()[s0, s1] -> (s0, s1)>>, tensor<?xf16, #tg.dims<()[s0, s1] -> (s1)>>
    return %0, %1 : tensor<70000x70001xf16>, tensor<?x?xf16, #tg.dims<()[s0, s1] -> (s0, s1)>>
  }
}
