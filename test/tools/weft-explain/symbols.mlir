// Extents that are symbols count as 256; the memory plan takes values for them.
// RUN: weft-compile %s --no-fuse --quiet -o %t.weft
// RUN: weft explain %t.weft | FileCheck %s
// CHECK: traffic   12.3 kB unfused -> 12.3 kB fused
// CHECK: memory    4.10 kB of activations
// RUN: weft explain %t.weft --dim=batch=1000 | FileCheck %s --check-prefix=LARGE
// LARGE: traffic   12.3 kB unfused
// LARGE: memory    16.0 kB of activations
module attributes {tg.symbols = ["batch"]} {
  func.func @main(%x: tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>) -> tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>> {
    %0 = tg.exp %x : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    %1 = tg.neg %0 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    %2 = tg.abs %1 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    %3 = tg.exp %2 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    return %3 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
  }
}
