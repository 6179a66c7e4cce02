// RUN: weft-opt %s --weft-lower-gpu=target=sm_90a --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s
// RUN: sed 's/@residual {/@residual attributes {tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = true, split = 1>} {/' %s | not weft-opt --weft-lower-gpu=target=sm_90a --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s --check-prefix=GIVEN

// The residual lies across the product: its tile is changed from rows to columns through shared memory, which the planner does not
// know of. Its first choice does not fit; the next one has less beside it.
// CHECK-DAG: {{\[}}Passed] schedule | Category:plan | Function=residual {{.*}}<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 3
// CHECK-DAG: {{\[}}Missed] refit | Category:plan | Function=residual | Remark="{{[0-9]+}} bytes of shared memory, sm_90a has 232448: planned again with less", {{.*}}<tile = [128, 256], stream = [{{32|64}}], engine = wgmma, warps = 8, stages = {{[2-5]}}
// CHECK-DAG: {{\[}}Passed] schedule | Category:plan | Function=plain
// CHECK: llvm.func @kernel

// A schedule that is given stays, and the message says what does not fit.
// GIVEN-NOT: refit
// GIVEN: error: expected at most 232448 bytes of shared memory on sm_90a, got {{[0-9]+}}; use fewer stages or smaller tiles
// GIVEN-NOT: llvm.func @kernel
module @residual {
  func.func @kernel(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>, %c: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4096x4096xf16>, tensor<4096x4096xf16> -> tensor<4096x4096xf16>
    %1 = tg.transpose %c [1, 0] : tensor<4096x4096xf16>
    %2 = tg.add %0, %1 : tensor<4096x4096xf16>, tensor<4096x4096xf16>
    return %2 : tensor<4096x4096xf16>
  }
}

module @plain {
  func.func @kernel(%a: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
    %0 = tg.neg %a : tensor<4096x4096xf16>
    return %0 : tensor<4096x4096xf16>
  }
}
