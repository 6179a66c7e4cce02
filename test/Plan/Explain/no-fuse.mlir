// no-fuse keeps nodes apart, alone, or by a pattern; a name that is not there, or ops that are one by now, are errors.
// RUN: weft-opt %s --weft-form-kernels="no-fuse=Add_1,Neg_2" | FileCheck %s --check-prefix=APART
// RUN: weft-opt %s --weft-form-kernels="no-fuse=Add_1" | FileCheck %s --check-prefix=ALONE
// RUN: weft-opt %s --weft-form-kernels="no-fuse=Exp_0,Abs_3;Neg_2,Abs_3" | FileCheck %s --check-prefix=TWO
// RUN: weft-opt %s --weft-form-kernels="no-fuse=*_*" | FileCheck %s --check-prefix=EACH
// RUN: weft-opt %s --weft-form-kernels="no-fuse=Add_1,Neg_2" --remark-policy=all --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: not weft-opt %s --weft-form-kernels="no-fuse=Add_11" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not weft-opt %s --weft-form-kernels="no-fuse=Conv*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not weft-opt %s --weft-form-kernels="no-fuse=Nothing_like_it_at_all" -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not weft-opt %s --weft-form-kernels="no-fuse=Add_1," -o /dev/null 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not weft-opt %s --weft-form-kernels="no-fuse=Abs_3,Sqrt_4" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE

// APART: tg.kernel "exp_add"
// APART: tg.kernel "neg_abs"
// APART-NOT: tg.kernel
// ALONE: tg.kernel "exp"
// ALONE: tg.kernel "add"
// ALONE: tg.kernel "neg_abs"
// TWO: tg.kernel "exp_add_neg"
// TWO: tg.kernel "abs"
// EACH: tg.kernel "exp"
// EACH: tg.kernel "add"
// EACH: tg.kernel "neg"
// EACH: tg.kernel "abs"
// WHY: [Missed] not-fused {{.*}}Remark="no-fuse: `Add_1` and `Neg_2` are to be in different kernels", bytes=64, consumer=tg.neg, consumer-node=Neg_2
// NAME: error: no-fuse: no op of the plan computes a node `Add_11`; did you mean `Add_1`?
// PATTERN: error: no-fuse: no op of the plan computes a node `Conv*`{{$}}
// FAR: error: no-fuse: no op of the plan computes a node `Nothing_like_it_at_all`; `weft explain` lists them
// EMPTY: error: no-fuse: expected names of nodes, separated by commas, got `Add_1,`
// ONE: error: no-fuse: `Abs_3` and `Sqrt_4` are parts of one op, 'tg.abs', which cannot be cut
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tg.exp %x : tensor<4x4xf32> loc("Exp_0")
  %1 = tg.add %y, %0 : tensor<4x4xf32>, tensor<4x4xf32> loc("Add_1")
  %2 = tg.neg %1 : tensor<4x4xf32> loc("Neg_2")
  %3 = tg.abs %2 : tensor<4x4xf32> loc(fused["Abs_3", "Sqrt_4"])
  return %3 : tensor<4x4xf32>
}
