// RUN: weft-opt %s --weft-plan --weft-outline | FileCheck %s

module attributes {tg.symbols = ["batch", "seq"]} {
// Two layers with weights of one shape share their kernel; splats are cloned into it, weights are arguments.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W0:.*]] = tg.weight <"w", 0, 1024>
// CHECK-DAG: %[[W1:.*]] = tg.weight <"w", 1024, 1024>
// CHECK: %[[A:.*]] = tg.dispatch @gemm::@kernel(%{{.*}}, %[[W0]]) symbols = #[[SEQ:.*]] {tg.nodes = ["fc0", "bias0"]}
// CHECK: %[[B:.*]] = tg.dispatch @gemm::@kernel(%[[A]], %[[W1]]) symbols = #[[SEQ]] {tg.nodes = ["fc1"]}
// CHECK: return %[[B]]
func.func @main(%x: tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>>) -> tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>> {
  %w0 = tg.weight <"w", 0, 1024> : tensor<16x16xf32>
  %w1 = tg.weight <"w", 1024, 1024> : tensor<16x16xf32>
  %one = tg.constant dense<1.0> : tensor<f32>
  %0 = tg.contract %x, %w0 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>>, tensor<16x16xf32> -> tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>> loc("fc0")
  %1 = tg.add %0, %one : tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>>, tensor<f32> loc("bias0")
  %2 = tg.contract %1, %w1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>>, tensor<16x16xf32> -> tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>> loc("fc1")
  %3 = tg.add %2, %one : tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>>, tensor<f32> loc("fc1")
  return %3 : tensor<?x16xf32, #tg.dims<()[s0, s1] -> (s1, 16)>>
}
// The kernel numbers its symbols by first use. Its first operand is another kernel's result at one of its dispatches.
// CHECK: module @gemm attributes {
// CHECK-SAME: tg.operand_dims = [#{{.*}}, #{{.*}}], tg.result_dims = [#{{.*}}], tg.steady_operands = array<i64: 1>}
// CHECK: func.func @kernel(%[[X:.*]]: tensor<?x16xf32, #tg.dims<()[s0] -> (s0, 16)>>, %[[W:.*]]: tensor<16x16xf32>, %{{.*}}: index)
// CHECK-SAME: attributes {tg.num_symbols = 1 : i64}
// CHECK: tg.constant dense<1.000000e+00>
// CHECK: tg.contract %[[X]], %[[W]]
// CHECK-NOT: module @
}
