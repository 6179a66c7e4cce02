// A group norm of what a convolution stores, far from 0: each tile of the convolution gives the mean and the squared
// deviations of its places for each channel, the norm's kernel merges those of a group.
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --emit=mlir:group -o - | FileCheck %s
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --emit=mlir:group -o - | FileCheck %s
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --input=b=rand:uniform:3:9:11 --output=z=@%t.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80,sm_90a --ptxas=off -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --input=b=rand:uniform:3:9:11 --expected-output=z=@%t.npy --atol=2e-2 --output-max-element-count=0 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,order=reverse --seed=3 --input=b=rand:uniform:3:9:11 --expected-output=z=@%t.npy --atol=2e-2 --output-max-element-count=0 | FileCheck %s --check-prefix=RESULT

// CHECK: tg.kernel "conv
// CHECK-SAME: -> tensor<1x{{.*}}xf16>, tensor<1x64x{{[0-9]+}}x1xf32>, tensor<1x64x{{[0-9]+}}x1xf32>
// CHECK: tg.contract
// CHECK-COUNT-2: tg.reduce
// CHECK: tg.kernel
// CHECK-NOT: tg.kernel
// RESULT: device emu:
#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#f = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
func.func @main(%x: tensor<1x16x34x66xf16> {tg.name = "x"}, %w: tensor<64x16x3x3xf16> {tg.name = "w"}, %b: tensor<64xf16> {tg.name = "b"}) -> (tensor<4x32768xf32> {tg.name = "z"}) {
  %places = tg.constant dense<128.0> : tensor<f32>
  %parts = tg.constant dense<256.0> : tensor<f32>
  %all = tg.constant dense<32768.0> : tensor<f32>
  %c = tg.contract %x, %w [#x, #f, #y] : tensor<1x16x34x66xf16>, tensor<64x16x3x3xf16> -> tensor<1x64x32x64xf16>
  %bias = tg.reshape %b : tensor<64xf16> to tensor<64x1x1xf16>
  %y = tg.add %c, %bias : tensor<1x64x32x64xf16>, tensor<64x1x1xf16>
  %wide = tg.cast %y : tensor<1x64x32x64xf16> to tensor<1x64x32x64xf32>
  %cut = tg.reshape %wide : tensor<1x64x32x64xf32> to tensor<1x64x16x128xf32>
  %ps = tg.reduce add %cut axes = [3] keep_dims : tensor<1x64x16x128xf32>
  %pm = tg.div %ps, %places : tensor<1x64x16x1xf32>, tensor<f32>
  %pd = tg.sub %cut, %pm : tensor<1x64x16x128xf32>, tensor<1x64x16x1xf32>
  %pq = tg.mul %pd, %pd : tensor<1x64x16x128xf32>, tensor<1x64x16x128xf32>
  %pv = tg.reduce add %pq axes = [3] keep_dims : tensor<1x64x16x128xf32>
  %means = tg.reshape %pm : tensor<1x64x16x1xf32> to tensor<4x256xf32>
  %spreads = tg.reshape %pv : tensor<1x64x16x1xf32> to tensor<4x256xf32>
  %0 = tg.reduce add %means axes = [1] keep_dims : tensor<4x256xf32>
  %m = tg.div %0, %parts : tensor<4x1xf32>, tensor<f32>
  %1 = tg.sub %means, %m : tensor<4x256xf32>, tensor<4x1xf32>
  %2 = tg.mul %1, %1 : tensor<4x256xf32>, tensor<4x256xf32>
  %3 = tg.mul %2, %places : tensor<4x256xf32>, tensor<f32>
  %4 = tg.add %3, %spreads : tensor<4x256xf32>, tensor<4x256xf32>
  %5 = tg.reduce add %4 axes = [1] keep_dims : tensor<4x256xf32>
  %6 = tg.div %5, %all : tensor<4x1xf32>, tensor<f32>
  %7 = tg.rsqrt %6 : tensor<4x1xf32>
  %8 = tg.reshape %y : tensor<1x64x32x64xf16> to tensor<4x32768xf16>
  %9 = tg.cast %8 : tensor<4x32768xf16> to tensor<4x32768xf32>
  %10 = tg.sub %9, %m : tensor<4x32768xf32>, tensor<4x1xf32>
  %11 = tg.mul %10, %7 : tensor<4x32768xf32>, tensor<4x1xf32>
  return %11 : tensor<4x32768xf32>
}
