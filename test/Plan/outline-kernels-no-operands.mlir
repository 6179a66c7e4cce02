// RUN: weft-opt %s --weft-plan=fuse=false --weft-outline | FileCheck %s

// What a kernel without operands makes is a kernel's result like any other: who reads it may not start ahead of it.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tg.iota 0 : tensor<8xf32>
  %1 = tg.add %x, %0 : tensor<8xf32>, tensor<8xf32>
  return %1 : tensor<8xf32>
}
// CHECK: %[[IOTA:.*]] = tg.dispatch @iota::@kernel()
// CHECK: tg.dispatch @add::@kernel(%{{.*}}, %[[IOTA]])
// CHECK: module @iota
// CHECK: module @add attributes {{{.*}}tg.steady_operands = array<i64: 0>}
