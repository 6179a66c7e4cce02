// A module of the import phase to a bundle, twice with equal bytes, and run.
// RUN: weft-compile %s -o %t.weft 2>&1 | FileCheck %s --check-prefix=SUMMARY
// RUN: weft-compile %s -o %t.2.weft --quiet --threads=1
// RUN: cmp %t.weft %t.2.weft
// RUN: weft-run %t.weft --input=x="2x4xf32=1 2 3 4 5 6 7 8" | FileCheck %s --check-prefix=RESULT
// RUN: weft-compile %s -o %t.3.weft --quiet --no-fuse --cpu=x86-64-v2
// RUN: weft-run %t.3.weft --input=x="2x4xf32=1 2 3 4 5 6 7 8" | FileCheck %s --check-prefix=RESULT

// SUMMARY: placement 1 dispatches on cpu (x86-64-v{{[234]}})
// SUMMARY: kernels   1 dispatches of 1 distinct kernels
// SUMMARY: wrote     {{.*}}.weft  {{[1-9][0-9]*}} B (weights 0 B, code {{[1-9][0-9]*}} B) in
// RESULT: 2x4xf32=[1.5 3.5 5.5 7.5][9.5 11.5 13.5 15.5]

module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>> {tg.name = "x"})
      -> (tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>> {tg.name = "y"}) {
    %half = tg.constant dense<-0.5> : tensor<f32>
    %0 = tg.add %x, %x : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>, tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>
    %1 = tg.add %0, %half : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>, tensor<f32>
    return %1 : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>
  }
}
