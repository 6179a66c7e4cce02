// force-fuse puts nodes into one kernel with what lies between, or says what forbids it.
// RUN: weft-opt %s --weft-form-kernels="force-fuse=Add_1,Neg_2 fuse=false" | FileCheck %s --check-prefix=PAIR
// RUN: weft-opt %s --weft-form-kernels="force-fuse=Exp_0,Neg_2 fuse=false" | FileCheck %s --check-prefix=BETWEEN
// RUN: weft-opt %s --weft-form-kernels="force-fuse=Exp_0,Add_1;Add_1,Neg_2 fuse=false" | FileCheck %s --check-prefix=BETWEEN
// RUN: not weft-opt %s --weft-form-kernels="force-fuse=Add_1,Concat_3" -o /dev/null 2>&1 | FileCheck %s --check-prefix=RULE
// RUN: not weft-opt %s --weft-form-kernels="force-fuse=Exp_0,Add_1 no-fuse=Exp_0,Add_1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not weft-opt %s --weft-form-kernels="force-fuse=Exp_0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SINGLE
// RUN: not weft-opt %s --weft-form-kernels="force-fuse=Exp_0,Ad_1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not weft-opt %s --weft-form-kernels="force-fuse=Exp_0,Abs_4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=APART

// PAIR: tg.kernel "exp"
// PAIR: tg.kernel "add_neg"
// PAIR: tg.kernel "concat"
// BETWEEN: tg.kernel "exp_add_neg"
// BETWEEN: tg.kernel "concat"
// RULE: error: force-fuse: `Add_1`, `Concat_3` cannot share a kernel: R6: 'concat' does not fuse
// BOTH: error: force-fuse: `Exp_0`, `Add_1` cannot share a kernel: no-fuse: `Exp_0` and `Add_1` are to be in different kernels
// SINGLE: error: force-fuse: expected names of at least two nodes, separated by commas, got `Exp_0`
// NAME: error: force-fuse: no op of the plan computes a node `Ad_1`; did you mean `Add_1`?
// APART: error: force-fuse: `Exp_0`, `Abs_4` cannot share a kernel: R1: more than one op has users outside
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %0 = tg.exp %x : tensor<4x4xf32> loc("Exp_0")
  %1 = tg.add %y, %0 : tensor<4x4xf32>, tensor<4x4xf32> loc("Add_1")
  %2 = tg.neg %1 : tensor<4x4xf32> loc("Neg_2")
  %3 = tg.concat %2, %2 axis = 0 : tensor<4x4xf32>, tensor<4x4xf32> loc("Concat_3")
  %4 = tg.abs %y : tensor<4x4xf32> loc("Abs_4")
  return %3, %4 : tensor<8x4xf32>, tensor<4x4xf32>
}
