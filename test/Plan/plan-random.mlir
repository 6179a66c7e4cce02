// Schedules that no planner picks, for a GEMM whose extents no tile divides: refused with what was expected, or right, and clean under the sanitizer.
// A tile of 192 rows is one of 256 for wgmma, which reads the last 64 too: what TMA did not fill was read before it was written.
// REQUIRES: onnx
// UNSUPPORTED: asan
// RUN: weft-compile %s --compile-from=outline --target=cpu --quiet -o %t.cpu.weft
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy --output-max-element-count=0
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --compile-to=plan -o %t.hopper.mlir
// RUN: sed 's/sm_90a/sm_80/; s/engine = wgmma/engine = mma/' %t.hopper.mlir > %t.ampere.mlir
// RUN: %python %S/Inputs/random_plans.py %t.hopper.mlir sm_90a %t.npy 1 40 | FileCheck %s
// RUN: %python %S/Inputs/random_plans.py %t.ampere.mlir sm_80 %t.npy 2 20 | FileCheck %s
// CHECK-NOT: tile =
// CHECK: {{[1-9][0-9]+}} ran, {{[0-9]+}} refused, 0 wrong

// RUN: sed 's/sm_90a/sm_80/' %t.hopper.mlir > %t.wgmma.mlir
// RUN: not weft-compile %t.wgmma.mlir --compile-from=plan --target=sm_80 -o %t.weft 2>&1 | FileCheck %s --check-prefix=ENGINE
// ENGINE: kernel product: expected engine = mma or simt on sm_80, got wgmma

// Rows that are dead are copied, as instructions read them; columns that are dead are not.
// RUN: sed 's/tile = \[128, 128\]/tile = [192, 96]/' %t.hopper.mlir > %t.rows.mlir
// RUN: weft-compile %t.rows.mlir --compile-from=plan --target=sm_90a --compile-to=lower | FileCheck %s --check-prefix=BOX
// BOX-DAG: box = array<i64: 64, 256>
// BOX-DAG: box = array<i64: 64, 96>

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = affine_map<() -> (208, 128)>
#w = affine_map<() -> (264, 128)>
#y = affine_map<() -> (208, 264)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<208x128xbf16> {tg.name = "x"}, %w: tensor<264x128xbf16> {tg.name = "w"}) -> (tensor<208x264xbf16> {tg.name = "y"}) {
    %0 = tg.dispatch @product::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<208x128xbf16>, tensor<264x128xbf16>) -> tensor<208x264xbf16>
    return %0 : tensor<208x264xbf16>
  }
  module @product attributes {tg.operand_dims = [#x, #w], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = false, split = 1>} {
    func.func @kernel(%x: tensor<208x128xbf16>, %w: tensor<264x128xbf16>) -> tensor<208x264xbf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<208x128xbf16>, tensor<264x128xbf16> -> tensor<208x264xf32>
      %1 = tg.cast %0 : tensor<208x264xf32> to tensor<208x264xbf16>
      return %1 : tensor<208x264xbf16>
    }
  }
}
