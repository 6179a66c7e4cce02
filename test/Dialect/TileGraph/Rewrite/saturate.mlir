// Equality saturation against greedy rewriting: the first function needs a step that gains nothing, the second does not.
// RUN: weft-opt %s --weft-saturate=licence=reassociating | FileCheck %s
// RUN: weft-opt %s --weft-saturate=licence=reassociating --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: weft-opt %s --weft-saturate="licence=reassociating max-nodes=6" --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BOUND
// RUN: not weft-opt %s --weft-saturate=prices=cpu,gpu 2>&1 | FileCheck %s --check-prefix=PRICES
// PRICES: error: prices: expected one price list, got `cpu,gpu`

// x y + z + x w = z + x (y + w)
// CHECK-LABEL: @step_without_gain
// CHECK: %[[S:.*]] = tg.add %arg1, %arg3
// CHECK: %[[P:.*]] = tg.mul %arg0, %[[S]]
// CHECK: tg.add %arg2, %[[P]]
// CHECK-NEXT: return
// REMARK: [Analysis] saturated | {{.*}}Function=step_without_gain | Remark="flops 128, greedy 128 (0 rewrites), saturated 96;
// BOUND: [Analysis] greedy | {{.*}}Function=step_without_gain | {{.*}} nodes, extraction proved"
func.func @step_without_gain(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.mul %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = tg.add %0, %z : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.mul %x, %w : tensor<4x8xf32>, tensor<4x8xf32>
  %3 = tg.add %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: @greedy_is_enough
// CHECK: %[[S:.*]] = tg.add %arg1, %arg2
// CHECK: tg.mul %arg0, %[[S]]
// REMARK: [Analysis] greedy | {{.*}}Function=greedy_is_enough | Remark="flops 96, greedy 64 (1 rewrites), saturated 64;{{.*}} saturated, extraction proved"
func.func @greedy_is_enough(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.mul %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = tg.mul %x, %z : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
