// RUN: weft-opt %s --split-input-file --pass-pipeline="builtin.module(builtin.module(weft-cpu-record))" | FileCheck %s

// CHECK: #[[DYNAMIC:.*]] = affine_map<()[s0] -> (s0, 8)>
// CHECK: #[[PACKED:.*]] = affine_map<()[s0] -> (3)>
// CHECK: module @k attributes {tg.operand_dims = [#[[DYNAMIC]], #[[PACKED]]], tg.ops = ["cast", "neg"], tg.result_dims = [#[[DYNAMIC]]]}
module {
  module @k {
    func.func @kernel(%x: tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, %w: tensor<5xi4>, %n: index)
        -> tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>> {
      %0 = tg.cast %w : tensor<5xi4> to tensor<5xf32>
      %1 = tg.neg %x : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
      return %1 : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
    }
  }
}
