// Extents that are symbols count as 256; the memory plan takes values for them.
// RUN: weft-compile %s --no-fuse --quiet -o %t.weft
// RUN: weft explain %t.weft | FileCheck %s
// CHECK: symbols   s0 is batch, estimates for 256
// CHECK: traffic   12.3 kB unfused -> 12.3 kB fused
// CHECK: memory    4.10 kB of activations
// RUN: weft explain %t.weft --dim=batch=1000 | FileCheck %s --check-prefix=LARGE
// LARGE: traffic   12.3 kB unfused
// LARGE: memory    16.0 kB of activations

// With a likely value, all figures are for that.
// RUN: weft-compile %s --no-fuse --dim=batch=1..64:8 --quiet -o %t.range.weft && weft explain %t.range.weft | FileCheck %s --check-prefix=RANGE
// RANGE: symbols   s0 is batch, estimates for 8
// RANGE: traffic   384 B unfused -> 384 B fused
// RUN: weft explain %t.range.weft --json | FileCheck %s --check-prefix=JSON
// JSON: "assumed":{"batch":8}
module attributes {tg.symbols = ["batch"]} {
  func.func @main(%x: tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>) -> tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>> {
    %0 = tg.exp %x : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    %1 = tg.neg %0 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    %2 = tg.abs %1 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    %3 = tg.exp %2 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
    return %3 : tensor<?x2xf32, #tg.dims<()[s0] -> (s0, 2)>>
  }
}
