// Clusters of products, by the model: where tiles are fewer than SMs their CTAs share the steps of a tile; where L2 limits, tiles side by side read
// once what they have in common. None where one long wave of tiles fills the GPU: requests of tiles that start side by side merge by themselves. An order asked for is one of tiles, not of pairs of them.
// RUN: weft-opt %s --weft-plan-gpu=target=H100 --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s
// RUN: weft-opt %s "--weft-plan-gpu=target=H100 traversal=row" | FileCheck %s --check-prefix=ALONE
// RUN: weft-opt %s --weft-plan-gpu=target=A100-80 | FileCheck %s --check-prefix=ALONE
// CHECK-DAG: Function=few | {{.*}}22 tiles of 128x128x64, {{.*}}; clusters of 4 CTAs share a tile's steps
// CHECK-DAG: Function=wave | {{.*}}128 tiles of 128x128x64, {{.*}}; order column: tiles that read one panel of the larger operand start together
// CHECK-DAG: Function=tall | {{.*}}128 tiles of 128x128x64, 1 CTAs an SM, {{[0-9.]+}} us, bound by {{[a-z]+}}",
// CHECK-DAG: Function=many | {{.*}}2048 tiles of 128x256x64, {{.*}}; clusters of 2 CTAs read once what their tiles have in common
// CHECK-DAG: module @few attributes {tg.schedule = #tg.schedule<{{.*}} split = 4>, tk.target = "sm_90a"}
// CHECK-DAG: module @wave attributes {tg.schedule = #tg.schedule<{{.*}} warps = 4, stages = 6, order = "column", persistent = false, split = 1>, tk.target = "sm_90a"}
// CHECK-DAG: module @tall attributes {tg.schedule = #tg.schedule<{{.*}} warps = 4, stages = 6, order = "row", persistent = false, split = 1>, tk.target = "sm_90a"
// CHECK-DAG: module @many attributes {tg.schedule = #tg.schedule<{{.*}} split = 1, multicast = 2>, tk.target = "sm_90a"}
// ALONE-NOT: multicast =
module @few {
  func.func @kernel(%a: tensor<256x2560xbf16>, %b: tensor<1344x2560xbf16>) -> tensor<256x1344xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<256x2560xbf16>, tensor<1344x2560xbf16> -> tensor<256x1344xbf16>
    return %0 : tensor<256x1344xbf16>
  }
}
module @wave {
  func.func @kernel(%a: tensor<512x14336xbf16>, %b: tensor<4096x14336xbf16>) -> tensor<512x4096xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<512x14336xbf16>, tensor<4096x14336xbf16> -> tensor<512x4096xbf16>
    return %0 : tensor<512x4096xbf16>
  }
}
module @tall {
  func.func @kernel(%a: tensor<4096x14336xbf16>, %b: tensor<512x14336xbf16>) -> tensor<4096x512xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4096x14336xbf16>, tensor<512x14336xbf16> -> tensor<4096x512xbf16>
    return %0 : tensor<4096x512xbf16>
  }
}
module @many {
  func.func @kernel(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8192x8192xbf16>, tensor<8192x8192xbf16> -> tensor<8192x8192xbf16>
    return %0 : tensor<8192x8192xbf16>
  }
}
