// A transposition whose rows begin at any element: a warp reads a line of 32 places at a time, of which a thread has eight channels, and what it stores along the channels
// passes through shared memory in vectors of 16 bytes. Rows of whole vectors do as before.
// RUN: weft-compile %s --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s
// RUN: weft-compile %s --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy
// RUN: weft-compile %s --target=sm_80,sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --expected-output=y=@%t.npy --rtol=0 --atol=0 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,order=reverse --seed=3 --expected-output=y=@%t.npy --rtol=0 --atol=0 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// CHECK: ld.global.nc.b16
// CHECK: st.shared.v4
// CHECK: ld.shared.v4
// CHECK: st.global.v4
// RESULT: device emu:
func.func @main(%x: tensor<3x104x237xbf16> {tg.name = "x"}) -> (tensor<3x237x104xbf16> {tg.name = "y"}) {
  %0 = tg.transpose %x [0, 2, 1] : tensor<3x104x237xbf16>
  return %0 : tensor<3x237x104xbf16>
}
