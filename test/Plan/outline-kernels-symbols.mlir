// A kernel numbers its symbols by first use; its dispatch gives them in that order, whatever it is in the module.
// RUN: weft-opt %s --weft-plan --weft-outline | FileCheck %s

// CHECK-DAG: #[[ORDER:.*]] = affine_map<()[s0, s1, s2] -> (s2, s0)>
module attributes {tg.symbols = ["batch", "heads", "seq"]} {
// CHECK: tg.dispatch @add::@kernel(%{{.*}}, %{{.*}}) symbols = #[[ORDER]]
// CHECK: func.func @kernel(%{{.*}}: tensor<?xf32, #tg.dims<()[s0] -> (s0)>>, %{{.*}}: tensor<?x1xf32, #tg.dims<()[s0, s1] -> (s1, 1)>>, %{{.*}}: index, %{{.*}}: index)
// CHECK-SAME: attributes {tg.num_symbols = 2 : i64}
func.func @main(%x: tensor<?xf32, #tg.dims<()[s0, s1, s2] -> (s2)>>, %y: tensor<?x1xf32, #tg.dims<()[s0, s1, s2] -> (s0, 1)>>) -> tensor<?x?xf32, #tg.dims<()[s0, s1, s2] -> (s0, s2)>> {
  %0 = tg.add %x, %y : tensor<?xf32, #tg.dims<()[s0, s1, s2] -> (s2)>>, tensor<?x1xf32, #tg.dims<()[s0, s1, s2] -> (s0, 1)>>
  return %0 : tensor<?x?xf32, #tg.dims<()[s0, s1, s2] -> (s0, s2)>>
}
}
