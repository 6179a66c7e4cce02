// The last tiles of a long product are shared by CTAs that would have nothing to do: not where the last wave is whole, nor where sums are few. Whatever
// follows elementwise is of each CTA's share.
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-plan-gpu{target=sm_90a}))" | FileCheck %s
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-plan-gpu{target=sm_90a}))" --remarks-filter=plan --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// 192 tiles on 132 SMs: 66 of 96 clusters' tiles whole, the others in two parts each.
// CHECK: module @long {{.*}}order = "tail<66,2,{{[a-z<>0-9,-]+}}>", persistent = true, split = 1, multicast = 2>
// CHECK-NOT: tail<
// CHECK: module @gate {{.*}}order = "tail<66,2,
// REMARK: contraction 1 x 1000 x 6144 x 14336: 192 tiles {{.*}}; 2 CTAs share each tile behind the first 66

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>
module {
module @long { func.func @kernel(%x: tensor<1000x14336xbf16>, %w: tensor<6144x14336xbf16>) -> tensor<1000x6144xbf16> {
  %0 = tg.contract %x, %w [#l, #r, #o] : tensor<1000x14336xbf16>, tensor<6144x14336xbf16> -> tensor<1000x6144xbf16>
  return %0 : tensor<1000x6144xbf16>
} }
module @whole { func.func @kernel(%x: tensor<1408x14336xbf16>, %w: tensor<6144x14336xbf16>) -> tensor<1408x6144xbf16> {
  %0 = tg.contract %x, %w [#l, #r, #o] : tensor<1408x14336xbf16>, tensor<6144x14336xbf16> -> tensor<1408x6144xbf16>
  return %0 : tensor<1408x6144xbf16>
} }
module @short { func.func @kernel(%x: tensor<1000x512xbf16>, %w: tensor<6144x512xbf16>) -> tensor<1000x6144xbf16> {
  %0 = tg.contract %x, %w [#l, #r, #o] : tensor<1000x512xbf16>, tensor<6144x512xbf16> -> tensor<1000x6144xbf16>
  return %0 : tensor<1000x6144xbf16>
} }
module @gate { func.func @kernel(%x: tensor<1000x14336xbf16>, %w: tensor<6144x14336xbf16>) -> tensor<1000x6144xbf16> {
  %0 = tg.contract %x, %w [#l, #r, #o] : tensor<1000x14336xbf16>, tensor<6144x14336xbf16> -> tensor<1000x6144xf32>
  %1 = tg.sigmoid %0 : tensor<1000x6144xf32>
  %2 = tg.mul %0, %1 : tensor<1000x6144xf32>, tensor<1000x6144xf32>
  %3 = tg.cast %2 : tensor<1000x6144xf32> to tensor<1000x6144xbf16>
  return %3 : tensor<1000x6144xbf16>
} }
}
