// Taps of a window that lie apart are boxes of the image as those side by side are: a step has one of them. So the convolution is wgmma's, with
// copies by TMA, and right on the emulator.
// REQUIRES: onnx
// RUN: weft-compile %s --target=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: %python -c "import numpy as n; g = n.random.default_rng(1); x = g.standard_normal((4, 36, 36, 64)).astype('f2'); f = (g.standard_normal((3, 3, 256, 64)) / 24).astype('f2'); y = sum(n.einsum('nhwc,oc->nhwo', x[:, 2*i:2*i+32, 2*j:2*j+32].astype('f8'), f[i, j].astype('f8')) for i in range(3) for j in range(3)); n.save('%t.x.npy', x); n.save('%t.f.npy', f); n.save('%t.y.npy', y.astype('f2'))"
// RUN: weft-compile %s --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=1 --input=x=@%t.x.npy --input=f=@%t.f.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3

// CHECK: cp.async.bulk.tensor.4d
// CHECK: wgmma.mma_async
func.func @main(%x: tensor<4x36x36x64xf16> {tg.name = "x"}, %f: tensor<3x3x256x64xf16> {tg.name = "f"}) -> (tensor<4x32x32x256xf16> {tg.name = "y"}) {
  %0 = tg.contract %x, %f [affine_map<(n, h, w, o, i, j, c) -> (n, h + 2 * i, w + 2 * j, c)>, affine_map<(n, h, w, o, i, j, c) -> (i, j, o, c)>,
       affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>] : tensor<4x36x36x64xf16>, tensor<3x3x256x64xf16> -> tensor<4x32x32x256xf16>
  return %0 : tensor<4x32x32x256xf16>
}
