// The order of any launch's tiles, by the simulation of what its access maps read: folds with uneven work, batches, windows.
// RUN: weft-opt %s --weft-plan-gpu=target=H100 --remark-policy=all --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s
// RUN: weft-opt %s "--weft-plan-gpu=target=H100 traversal=grouped<4>" --remark-policy=all --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=HAND
// RUN: weft-opt %s "--weft-plan-gpu=target=H100 traversal=column@2" --remark-policy=all --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not weft-opt %s "--weft-plan-gpu=traversal=each<3,column>" 2>&1 | FileCheck %s --check-prefix=RUNS
// RUN: not weft-opt %s "--weft-plan-gpu=traversal=row@9" 2>&1 | FileCheck %s --check-prefix=DIMS

// RUNS: error: each: expected tile rows in 3 equal runs, got
// DIMS: error: traversal: expected 1 to 8 dimensions of columns behind '@', got '9'

// A causal fold: CTAs go on from tile to tile, and every other round comes backwards, so that who had the longest tile of a round gets the
// shortest one of the next. Heads on their own (`each`) would begin with their longest tiles in one CTA after the other. Columns of all heads
// gain less than 3 %, and read the keys and values of all of them again and again.
// CHECK: Function=causal | Remark="fold over 4096 elements: {{[^"]*}}; order zigzag<132,row>: zigzag<132,row> 16{{[0-9.]+}} MB 45{{[0-9]}} us (L2 9{{[0-9]}} %), zigzag<132,column> 3{{[0-9.]+}} MB 44{{[0-9]}} us {{[^"]*}}", schedule={{.*}}order = "zigzag<132,row>", persistent = true
// HAND: Function=causal | Remark="{{[^"]*}}; order grouped<4> of 64 x 32 tiles as asked for"
// TWO: Function=causal | Remark="{{[^"]*}}; order column@2 of 16 x 128 tiles as asked for", schedule={{.*}}order = "column@2"
module @causal {
  func.func @kernel(%q: tensor<2x8x4x4096x128xbf16>, %k: tensor<2x8x4096x128xbf16>, %v: tensor<2x8x4096x128xbf16>) -> tensor<2x8x4x4096x128xbf16> {
    %low = tg.constant dense<0xFF800000> : tensor<f32>
    %i = tg.iota 0 : tensor<4096x1xi64>
    %j = tg.iota 1 : tensor<1x4096xi64>
    %r = tg.fold over affine_map<() -> (4096)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
    ^bb0(%m: tensor<2x8x4x4096x1xf32>, %l: tensor<2x8x4x4096x1xf32>, %a: tensor<2x8x4x4096x128xf32>):
      %keep = tg.cmp le %j, %i : tensor<1x4096xi64>, tensor<4096x1xi64>
      %s0 = tg.contract %q, %k [affine_map<(b, g, h, i, j, d) -> (b, g, h, i, d)>, affine_map<(b, g, h, i, j, d) -> (b, g, j, d)>, affine_map<(b, g, h, i, j, d) -> (b, g, h, i, j)>] : tensor<2x8x4x4096x128xbf16>, tensor<2x8x4096x128xbf16> -> tensor<2x8x4x4096x4096xf32>
      %s = tg.select %keep, %s0, %low : tensor<4096x4096xi1>, tensor<2x8x4x4096x4096xf32>, tensor<f32>
      %t = tg.reduce max %s axes = [4] keep_dims {tg.streamed} : tensor<2x8x4x4096x4096xf32>
      %m2 = tg.max %m, %t : tensor<2x8x4x4096x1xf32>, tensor<2x8x4x4096x1xf32>
      %d = tg.sub %s, %m2 : tensor<2x8x4x4096x4096xf32>, tensor<2x8x4x4096x1xf32>
      %e = tg.exp %d : tensor<2x8x4x4096x4096xf32>
      %u = tg.reduce add %e axes = [4] keep_dims {tg.streamed} : tensor<2x8x4x4096x4096xf32>
      %c = tg.sub %m, %m2 : tensor<2x8x4x4096x1xf32>, tensor<2x8x4x4096x1xf32>
      %f = tg.exp %c : tensor<2x8x4x4096x1xf32>
      %l1 = tg.mul %l, %f : tensor<2x8x4x4096x1xf32>, tensor<2x8x4x4096x1xf32>
      %l2 = tg.add %l1, %u : tensor<2x8x4x4096x1xf32>, tensor<2x8x4x4096x1xf32>
      %p = tg.cast %e : tensor<2x8x4x4096x4096xf32> to tensor<2x8x4x4096x4096xbf16>
      %w = tg.contract %p, %v [affine_map<(b, g, h, i, d, j) -> (b, g, h, i, j)>, affine_map<(b, g, h, i, d, j) -> (b, g, j, d)>, affine_map<(b, g, h, i, d, j) -> (b, g, h, i, d)>] {tg.streamed} : tensor<2x8x4x4096x4096xbf16>, tensor<2x8x4096x128xbf16> -> tensor<2x8x4x4096x128xf32>
      %a1 = tg.mul %a, %f : tensor<2x8x4x4096x128xf32>, tensor<2x8x4x4096x1xf32>
      %a2 = tg.add %a1, %w : tensor<2x8x4x4096x128xf32>, tensor<2x8x4x4096x128xf32>
      tg.fold_yield %m2, %l2, %a2 : tensor<2x8x4x4096x1xf32>, tensor<2x8x4x4096x1xf32>, tensor<2x8x4x4096x128xf32>
    } merge {
    } finish {
    ^bb0(%m: tensor<2x8x4x4096x1xf32>, %l: tensor<2x8x4x4096x1xf32>, %a: tensor<2x8x4x4096x128xf32>):
      %o = tg.div %a, %l : tensor<2x8x4x4096x128xf32>, tensor<2x8x4x4096x1xf32>
      %y = tg.cast %o : tensor<2x8x4x4096x128xf32> to tensor<2x8x4x4096x128xbf16>
      tg.fold_yield %y : tensor<2x8x4x4096x128xbf16>
    } : tensor<2x8x4x4096x128xbf16>
    return %r : tensor<2x8x4x4096x128xbf16>
  }
}

// A convolution of a large image has more boxes than the time allows to simulate: of a part of its steps the bytes are too many, and
// count against an order only. Rows stay.
// CHECK: Function=window | Remark="{{[^"]*}}; order row: row {{[0-9.]+}} MB {{[^"]*}}", schedule={{.*}}order = "row"
module @window {
  func.func @kernel(%x: tensor<1x512x512x256xbf16>, %w: tensor<256x1x2x256xbf16>) -> tensor<1x256x512x511xbf16> {
    %0 = tg.contract %x, %w [affine_map<(n, o, y, x, c, r, s) -> (n, y + r, x + s, c)>, affine_map<(n, o, y, x, c, r, s) -> (o, r, s, c)>, affine_map<(n, o, y, x, c, r, s) -> (n, o, y, x)>] : tensor<1x512x512x256xbf16>, tensor<256x1x2x256xbf16> -> tensor<1x256x512x511xbf16>
    return %0 : tensor<1x256x512x511xbf16>
  }
}

// Sixteen products whose matrices all fit the L2: nothing moves twice in any order.
// CHECK: Function=batch | Remark="contraction 16 x 512 x 512 x 512: {{[^"]*}}", schedule={{.*}}order = "row"
module @batch {
  func.func @kernel(%x: tensor<16x512x512xbf16>, %w: tensor<16x512x512xbf16>) -> tensor<16x512x512xbf16> {
    %0 = tg.contract %x, %w [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>] : tensor<16x512x512xbf16>, tensor<16x512x512xbf16> -> tensor<16x512x512xbf16>
    return %0 : tensor<16x512x512xbf16>
  }
}
