// A plan goes to a file and comes back as the same groups, whatever the planner would choose; one that does not fit is refused.
// RUN: weft-opt %s --weft-form-kernels="no-fuse=Add_1,Neg_2 emit-plan=%t.plan" -o %t.first
// RUN: FileCheck %s --input-file=%t.plan
// RUN: weft-opt %s --weft-form-kernels="plan=%t.plan emit-plan=%t.again" -o %t.second
// RUN: diff %t.first %t.second && diff %t.plan %t.again
// CHECK: tg.kernel "exp_add"
// CHECK: tg.kernel "neg_abs"
// CHECK: loc("Add_1")

// Weights are told by their places: files may have other names.
// RUN: sed 's/w.bin/renamed.bin/' %t.plan > %t.renamed
// RUN: weft-opt %s --weft-form-kernels="plan=%t.renamed" | diff %t.first -

// RUN: sed 's/"w.bin", 64/"w.bin", 128/' %t.plan > %t.weights
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.weights" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: error: plan: it does not fit the model: other weights: it reads 64 bytes at 128 of 'w.bin' as 'tensor<4x4xf32>' (`w`), which the model has not

// RUN: sed 's/tg.neg/tg.sqrt/' %t.plan > %t.op
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.op" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OP
// OP: error: plan: it does not fit the model: op 'tg.sqrt' of node `Neg_2` of the plan is not in the model

// RUN: sed 's/4x4xf32>/4x8xf32>/g; s/8x4xf32>/8x8xf32>/g; s/, 64, 64/, 64, 128/' %t.plan > %t.shape
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.shape" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: plan: it does not fit the model: input 0: expected 'tensor<4x4xf32>', got 'tensor<4x8xf32>'

// RUN: sed 's/tg.neg %[0-9a-z]*/tg.neg %arg0/' %t.plan > %t.operand
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.operand" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPERAND
// OPERAND: error: plan: it does not fit the model: op 'tg.neg' of node `Neg_2` of the plan is not in the model

// RUN: grep -v 'tg.abs' %t.plan | sed 's/tg.yield %3/tg.yield %2/' > %t.torn
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.torn" -o /dev/null 2>&1 | FileCheck %s --check-prefix=TORN
// TORN: error: plan: {{.*}} is not a module of Weft: 

// RUN: echo 'func.func @main(%%x: tensor<4x4xf32>) -> tensor<4x4xf32> { return %%x : tensor<4x4xf32> }' > %t.empty
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.empty" -o /dev/null 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: plan: it does not fit the model: it returns other values
// RUN: echo 'func.func @other() { return }' > %t.other
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.other" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: plan: {{.*}} has no function @main
// RUN: not weft-opt %s --weft-form-kernels="plan=%t.nowhere" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: error: plan: cannot open input file
// RUN: not weft-opt %s --weft-form-kernels="emit-plan=%t.nowhere/p" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRITE
// WRITE: error: plan: cannot open output file

// A group that breaks a rule is refused as any.
// RUN: not weft-opt %s --weft-form-kernels="plan=%S/Inputs/illegal-plan.mlir" -o /dev/null 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: error: plan: the ops of kernel "mine" cannot share a kernel: R6: 'concat' does not fuse
func.func @main(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %w = tg.weight <"w.bin", 64, 64> : tensor<4x4xf32> loc("w")
  %0 = tg.exp %x : tensor<4x4xf32> loc("Exp_0")
  %1 = tg.add %0, %w : tensor<4x4xf32>, tensor<4x4xf32> loc("Add_1")
  %2 = tg.neg %1 : tensor<4x4xf32> loc("Neg_2")
  %3 = tg.abs %2 : tensor<4x4xf32> loc("Abs_3")
  %4 = tg.concat %3, %3 axis = 0 : tensor<4x4xf32>, tensor<4x4xf32>
  return %4 : tensor<8x4xf32>
}
