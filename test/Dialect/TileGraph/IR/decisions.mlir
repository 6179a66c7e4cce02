// Why a plan is as it is: printed and parsed, and what is not let in.
// RUN: weft-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: tg.decisions of @main_0 attributes {flops = 1000000 : i64, nodes = 2 : i64, remarks_left_out = 3 : i64}
// CHECK-NEXT: tg.planner "weft" groups 1 of 2 costs 2.100000e+00 alone 5.000000e+00
// CHECK-NEXT: tg.edge "tg.exp" "Exp_0" in 0 -> "tg.neg" "" in 0 moves 1000000 saves 2000000 level "register" of 4096 because "element by element" in_fold
// CHECK-NEXT: tg.edge "tg.contract" "a" in -1 -> "tg.contract" "b" in 1 moves -1 saves 0 apart "R2: two contractions"
// CHECK-NEXT: tg.remark "Missed" "no-split" of "plan" in "main" at "mix" : "it has no merge"
tg.decisions of @main_0 attributes {nodes = 2 : i64, flops = 1000000 : i64, remarks_left_out = 3 : i64} {
  tg.planner "weft" groups 1 of 2 costs 2.1 alone 5.0
  tg.edge "tg.exp" "Exp_0" in 0 -> "tg.neg" "" in 0 moves 1000000 saves 2000000 level "register" of 4096 because "element by element" in_fold
  tg.edge "tg.contract" "a" in -1 -> "tg.contract" "b" in 1 moves -1 saves 0 apart "R2: two contractions"
  tg.remark "Missed" "no-split" of "plan" in "main" at "mix" : "it has no merge"
}
func.func private @main_0()

// -----

// expected-error @+1 {{expected tg.planner, tg.edge and tg.remark, got tg.constant}}
tg.decisions {
  %0 = tg.constant dense<1.0> : tensor<f32>
}

// -----

tg.decisions {
  // expected-error @+1 {{expected numbers of dispatches and bytes, or -1, got -2}}
  tg.edge "tg.exp" "" in 0 -> "tg.neg" "" in -2 moves 0 saves 0
}

// -----

tg.decisions {
  // expected-error @+1 {{expected a memory level of what shares a kernel, got one of ops that are apart}}
  tg.edge "tg.exp" "" in 0 -> "tg.neg" "" in 1 moves 0 saves 0 apart "R1" in_fold
}

// -----

func.func @f() {
  // expected-error @+1 {{expects parent op 'builtin.module'}}
  tg.decisions {
  }
  return
}
