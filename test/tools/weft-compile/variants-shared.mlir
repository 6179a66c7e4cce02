// What several variants have is one kernel: the norms of all variants have two schedules beside the static one of one row, the products eight. Names for
// explanations (tg.shapes is of a variant's likely extents) keep no equal ones apart.
// RUN: weft-compile %s --target=H100 --ptxas=off --quiet -o %t.weft
// RUN: grep -a -o "^.visible .entry" %t.weft | count 11
// RUN: weft-compile %s --target=H100 --ptxas=off --quiet --explain=off -o %t.bare.weft
// RUN: grep -a -o "^.visible .entry" %t.bare.weft | count 11
// RUN: weft-explain %t.weft | FileCheck %s
// CHECK: variant for rows 1:
// CHECK: {{^}}1  softmax
// CHECK: variant for rows 2-{{[0-9]+}}:
// CHECK: {{^}}1  softmax_v1
// CHECK: variant for rows 33-{{[0-9]+}}:
// CHECK: {{^}}1  softmax_v1

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
module attributes {tg.symbols = ["rows"]} {
  func.func @main(%x: tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> {tg.name = "x"}, %w: tensor<4096x1024xf16>)
      -> tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>> {
    %0 = tg.contract %x, %w [#l, #r, #o] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x1024xf16> -> tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>>
    %1 = tg.softmax %0 axis = 1 : tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>>
    return %1 : tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>>
  }
}
