// --launch-cost: what one more kernel costs, in place of the device table's 3 us: windows in front of a product wait for its sums on sm_80, and have a kernel of their own where a launch costs nothing.
// DEFINE: %{exits} = %python -c "import subprocess, sys; sys.exit(subprocess.run(sys.argv[2:]).returncode != int(sys.argv[1]))"
// RUN: weft-compile %s --target=sm_80 --emit=mlir:group -o - | FileCheck %s --check-prefix=ONE
// RUN: weft-compile %s --target=sm_80 --launch-cost=3 --emit=mlir:group -o - | FileCheck %s --check-prefix=ONE
// RUN: weft-compile %s --target=sm_80 --launch-cost=20 --emit=mlir:group -o - | FileCheck %s --check-prefix=ONE
// RUN: weft-compile %s --target=sm_80 --launch-cost=0 --emit=mlir:group -o - | FileCheck %s --check-prefix=TWO
// RUN: weft-compile %s --target=sm_80,H100,cpu --launch-cost=0 --quiet --ptxas=off -o %t.weft
// RUN: weft-explain %t.weft --target=sm_80 | FileCheck %s --check-prefix=EXPLAIN
// RUN: weft-explain %s --target=sm_80 --compile-flag=--launch-cost=0 | FileCheck %s --check-prefix=EXPLAIN
// TWO-COUNT-2: tg.kernel
// ONE: tg.kernel "depthwise_gemm_max"
// ONE-NOT: tg.kernel
// EXPLAIN: -> 2 kernels
// EXPLAIN: depthwise_max{{ +}}2
// RUN: %{exits} 2 weft-compile %s --target=sm_90a --launch-cost=-1 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: %{exits} 2 weft-compile %s --target=sm_90a --launch-cost=1001 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: %{exits} 2 weft-compile %s --target=sm_90a --launch-cost=nan 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: --launch-cost: expected 0 to 1000 (microseconds), got {{-1|1001|nan}}
// RUN: %{exits} 2 weft-compile %s --launch-cost=20 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: --launch-cost: expected a GPU in --target, got `cpu`
module {
  func.func @main(%x: tensor<1x9x9x960xf16> {tg.name = "x"}, %f: tensor<3x3x960xf16> {tg.name = "f"}, %u: tensor<320x960xf16> {tg.name = "u"}) -> (tensor<1x7x7x320xf16> {tg.name = "y"}) {
    %zero = tg.constant dense<0.0> : tensor<f16>
    %0 = tg.contract %x, %f [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j, c)>,
         affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>] : tensor<1x9x9x960xf16>, tensor<3x3x960xf16> -> tensor<1x7x7x960xf16>
    %1 = tg.max %0, %zero : tensor<1x7x7x960xf16>, tensor<f16>
    %2 = tg.contract %1, %u [affine_map<(n, h, w, o, c) -> (n, h, w, c)>, affine_map<(n, h, w, o, c) -> (o, c)>, affine_map<(n, h, w, o, c) -> (n, h, w, o)>]
         : tensor<1x7x7x960xf16>, tensor<320x960xf16> -> tensor<1x7x7x320xf16>
    return %2 : tensor<1x7x7x320xf16>
  }
}
