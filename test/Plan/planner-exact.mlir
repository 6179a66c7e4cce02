// The exact planner: never dearer than the greedy one, and what it searched is said in remarks.
// RUN: weft-opt %s --split-input-file --weft-form-kernels="gpu=true planner=exact" --remarks-filter=.* --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-form-kernels="gpu=true planner=exact no-fuse=exp force-fuse=neg,abs" -o - | FileCheck %s --check-prefix=ASKED
// RUN: not weft-opt %s --split-input-file --weft-form-kernels="planner=best" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: planner: expected weft, dnnfusion, tvm-rules or exact, got `best`

// One region: all of it. What the user asks holds.
// CHECK-LABEL: @main
// CHECK: tg.kernel "gemm_exp_neg_abs"
// CHECK: tg.kernel "gemm"
// CHECK-NOT: tg.kernel
// ASKED: tg.kernel "exp"
// ASKED: tg.kernel "gemm_neg_abs"
// WHY: [Analysis] exact | Category:plan | exact-groups=2, exact-us={{[0-9.]+}}, groups=2, ops=
// WHY: [Analysis] planner | Category:fusion | Function=main | groups=2, ops=
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tg.exp %x : tensor<64x64xf32> loc("exp")
  %1 = tg.neg %0 : tensor<64x64xf32> loc("neg")
  %2 = tg.abs %1 : tensor<64x64xf32> loc("abs")
  %3 = tg.contract %2, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> loc("product")
  %4 = tg.contract %3, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32> loc("again")
  return %4 : tensor<64x64xf32>
}
