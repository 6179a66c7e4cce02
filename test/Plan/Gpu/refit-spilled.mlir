// RUN: weft-opt %s --split-input-file --weft-lower-gpu=target=sm_80 --verify-diagnostics | FileCheck %s
// RUN: not weft-opt %s --split-input-file --weft-lower-gpu=target=sm_80 --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s --check-prefix=REMARK

// A product: tiles that the model gives fewer registers.
// REMARK: {{\[}}Missed] refit | Category:plan | Function=product | Remark="registers spill: planned again with fewer", schedule="#tg.schedule<tile = [128, 128], stream = [64], engine = mma
// CHECK: llvm.func @kernel
module {
  module @product attributes {tg.spilled = [#tg.schedule<tile = [256, 128], stream = [64], engine = mma, warps = 8, stages = 3, order = "row", persistent = false, split = 1>]} {
    func.func @kernel(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
      %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4096x4096xf16>, tensor<4096x4096xf16> -> tensor<4096x4096xf16>
      return %0 : tensor<4096x4096xf16>
    }
  }
}

// -----

// A map, whose planner counts none: more warps for the tile, then half of it.
// REMARK: refit {{.*}}Function=map {{.*}}{{.*}}<tile = [1024], engine = simt, warps = 16
module {
  module @map attributes {tg.spilled = [#tg.schedule<tile = [4096], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>,
                                        #tg.schedule<tile = [2048], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>]} {
    func.func @kernel(%a: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
      %0 = tg.neg %a : tensor<4096x4096xf16>
      return %0 : tensor<4096x4096xf16>
    }
  }
}

// -----

module {
  // expected-error @below {{expected schedules in tg.spilled, got [1]}}
  module @none attributes {tg.spilled = [1]} {
    func.func @kernel(%a: tensor<64xf16>) -> tensor<64xf16> {
      %0 = tg.neg %a : tensor<64xf16>
      return %0 : tensor<64xf16>
    }
  }
}

// -----

module {
  // expected-error @below {{kernel small has no schedule with fewer registers}}
  module @small attributes {tg.spilled = [#tg.schedule<engine = simt, warps = 1, stages = 1, order = "row", persistent = false, split = 1>]} {
    func.func @kernel(%a: tensor<1xf16>) -> tensor<1xf16> {
      %0 = tg.neg %a : tensor<1xf16>
      return %0 : tensor<1xf16>
    }
  }
}
