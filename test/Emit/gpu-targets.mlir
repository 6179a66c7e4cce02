// One bundle for several targets: an entry for each, weights and constants once, the same result everywhere.
// RUN: weft-compile %s --target=sm_80,H100,cpu -o %t.weft --ptxas=off 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: weft-run %t.weft --input=x="2x4xf32=1 2 3 4 5 6 7 8" | FileCheck %s --check-prefixes=RESULT,CPU
// RUN: weft-run %t.weft --device=emu:sm_86 --input=x="2x4xf32=1 2 3 4 5 6 7 8" | FileCheck %s --check-prefixes=RESULT,AMPERE
// RUN: weft-run %t.weft --device=emu:H200 --input=x="2x4xf32=1 2 3 4 5 6 7 8" | FileCheck %s --check-prefixes=RESULT,HOPPER
// RUN: weft-run %t.weft --device=emu:H100 --entry=main@sm_80 --dim=n=70 --input=x="rand:uniform:1:2:2" --output-max-element-count=2 | FileCheck %s --check-prefix=EXPLICIT

// SUMMARY: placement 1 dispatches on cpu
// SUMMARY: placement 1 dispatches on sm_80 (A100-80)
// SUMMARY: placement 1 dispatches on sm_90a (H100)
// SUMMARY: kernels   1 dispatches of 1 distinct kernels on cpu
// SUMMARY: kernels   1 dispatches of 1 distinct kernels on sm_80
// SUMMARY: kernels   1 dispatches of 1 distinct kernels on sm_90a
// CPU: device cpu
// AMPERE: device emu:{{.*}} (sm_80)
// HOPPER: device emu:{{.*}} (sm_90a)
// RESULT: 2x4xf32=[2 6 12 20][6 14 24 36]
// EXPLICIT: (sm_80)
// EXPLICIT: 70x4xf32=[3 6

!t = tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>

module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: !t {tg.name = "x"}) -> (!t {tg.name = "y"}) {
    %c = tg.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %0 = tg.mul %x, %c : !t, tensor<4xf32>
    %1 = tg.add %0, %c : !t, tensor<4xf32>
    return %1 : !t
  }
}
