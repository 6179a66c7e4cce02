// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-kernelize | FileCheck %s

// A result that is the updates of memory: planned over its own places, stored at those that the indices say, if they are within.
// CHECK-DAG: #[[STORE:.*]] = affine_map<(d0, d1){{.*}} -> ({{.*}} floordiv 4, d{{[0-9]}}, {{.*}} mod 4)>
// CHECK: func.func @kernel(%arg0: !tk.global<tensor<8xf32>>, %arg1: !tk.global<tensor<1xi64>>, %[[OUT:.*]]: !tk.global<tensor<2x?x4xf32, #tg.dims<()[s0] -> (2, s0, 4)>>>, %{{.*}}: index)
// CHECK: %[[P:.*]] = tk.load %arg1
// CHECK: arith.cmpi ult
// CHECK: tk.store %{{.*}}, %[[OUT]] map #[[STORE]] indices(%{{.*}}) {{.*}}mask %
module attributes {tg.into = {result = 0 : i64, indices = 1 : i64, type = tensor<2x?x4xf32, #tg.dims<()[s0] -> (2, s0, 4)>>, updates = tensor<2x1x4xf32>, places = tensor<1xi64>,
                              data_map = affine_map<(h, s, d)[p] -> (h, p, d)>, index_maps = [affine_map<(h, s, d) -> (s)>]}} {
func.func @kernel(%x: tensor<8xf32>, %places: tensor<1xi64>, %room: index) -> tensor<8xf32> {
  %0 = tg.mul %x, %x : tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<8xf32>
}
}

// -----

module attributes {tg.into = {result = 1 : i64}} {
// expected-error @below {{expected tg.into to name a result and an operand, got {result = 1 : i64}}}
func.func @kernel(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
}
