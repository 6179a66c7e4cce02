// A kernel that reads its symbols in another order than the module has them, beside one that nobody's kernel reads: on the CPU and on a GPU.
// RUN: weft-compile %s --target=cpu,sm_80 -o %t.weft --quiet
// RUN: weft-run %t.weft --input=x="3xf32=1 2 3" --input=y="2x1xf32=10 20" --input=z="5xf32=1 1 1 1 1" | FileCheck %s
// RUN: weft-run %t.weft --device=emu:sm_80 --input=x="3xf32=1 2 3" --input=y="2x1xf32=10 20" --input=z="5xf32=1 1 1 1 1" | FileCheck %s
// CHECK: "s" 2x3xf32=[11 12 13][21 22 23]
// CHECK: "t" 5xf32=[-1 -1 -1 -1 -1]
module attributes {tg.symbols = ["batch", "heads", "seq"]} {
func.func @main(%x: tensor<?xf32, #tg.dims<()[s0, s1, s2] -> (s2)>> {tg.name = "x"}, %y: tensor<?x1xf32, #tg.dims<()[s0, s1, s2] -> (s0, 1)>> {tg.name = "y"},
                %z: tensor<?xf32, #tg.dims<()[s0, s1] -> (s1)>> {tg.name = "z"})
    -> (tensor<?x?xf32, #tg.dims<()[s0, s1, s2] -> (s0, s2)>> {tg.name = "s"}, tensor<?xf32, #tg.dims<()[s0, s1] -> (s1)>> {tg.name = "t"}) {
  %0 = tg.add %x, %y : tensor<?xf32, #tg.dims<()[s0, s1, s2] -> (s2)>>, tensor<?x1xf32, #tg.dims<()[s0, s1, s2] -> (s0, 1)>>
  %1 = tg.neg %z : tensor<?xf32, #tg.dims<()[s0, s1] -> (s1)>>
  return %0, %1 : tensor<?x?xf32, #tg.dims<()[s0, s1, s2] -> (s0, s2)>>, tensor<?xf32, #tg.dims<()[s0, s1] -> (s1)>>
}
}
