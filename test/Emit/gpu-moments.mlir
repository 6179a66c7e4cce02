// Two rows far from 0, in parts: the statistics of parts, then a map that merges them; the CPU has whole rows.
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --emit=mlir:group -o - | FileCheck %s
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --input=x=rand:uniform:3:9:11 --output=y=@%t.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80,sm_90a --ptxas=off -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --input=x=rand:uniform:3:9:11 --expected-output=y=@%t.npy --atol=1e-4 --output-max-element-count=0 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,order=reverse --seed=3 --input=x=rand:uniform:3:9:11 --expected-output=y=@%t.npy --atol=1e-4 --output-max-element-count=0 | FileCheck %s --check-prefix=RESULT

// CHECK-COUNT-2: tg.kernel
// CHECK-NOT: tg.kernel
// RESULT: device emu:
func.func @main(%x: tensor<2x64x2048xf32> {tg.name = "x"}, %w: tensor<64xf32> {tg.name = "w"}) -> (tensor<2x64x2048xf32> {tg.name = "y"}) {
  %n = tg.constant dense<131072.0> : tensor<f32>
  %0 = tg.reshape %x : tensor<2x64x2048xf32> to tensor<2x131072xf32>
  %2 = tg.reduce add %0 axes = [1] keep_dims : tensor<2x131072xf32>
  %3 = tg.div %2, %n : tensor<2x1xf32>, tensor<f32>
  %4 = tg.sub %0, %3 : tensor<2x131072xf32>, tensor<2x1xf32>
  %5 = tg.mul %4, %4 : tensor<2x131072xf32>, tensor<2x131072xf32>
  %6 = tg.reduce add %5 axes = [1] keep_dims : tensor<2x131072xf32>
  %7 = tg.div %6, %n : tensor<2x1xf32>, tensor<f32>
  %8 = tg.rsqrt %7 : tensor<2x1xf32>
  %9 = tg.mul %4, %8 : tensor<2x131072xf32>, tensor<2x1xf32>
  %10 = tg.reshape %9 : tensor<2x131072xf32> to tensor<2x64x2048xf32>
  %11 = tg.reshape %w : tensor<64xf32> to tensor<64x1xf32>
  %12 = tg.mul %10, %11 : tensor<2x64x2048xf32>, tensor<64x1xf32>
  return %12 : tensor<2x64x2048xf32>
}
