// Edges inside of folds: a remark each, their levels, and answers by the nodes' names.
// RUN: weft-opt %s --weft-derive-folds="when=proved numerics=reassociating" --weft-form-kernels=gpu --remark-policy=all --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s
// RUN: weft-compile %s --target=sm_90a --ptxas=off --quiet -o %t.weft
// RUN: weft explain %t.weft --levels | FileCheck %s --check-prefix=LEVELS
// RUN: weft explain %t.weft --why=softmax,mix | FileCheck %s --check-prefix=WHY
// RUN: weft explain %t.weft | FileCheck %s --check-prefix=TABLE

// Each says which fold, and what a kernel for each op would move: the scores are 128 x 128 x 256 of f32.
// CHECK: [Passed] fused {{.*}}bytes=16777216, consumer=tg.mul, consumer-node=scale, inside=tg.fold, kernel=0, producer=tg.contract, producer-node=scores, saved-bytes=33554432
// A state is read by the next step, here its own maker, and by what finishes.
// CHECK: [Passed] fused {{.*}}bytes=65536, consumer=tg.max, consumer-node=mix, inside=tg.fold, kernel=0, producer=tg.max, producer-node=mix
// CHECK: [Passed] fused {{.*}}consumer=tg.contract, consumer-node=mix, inside=tg.fold, kernel=0, producer=tg.exp, producer-node=softmax

// LEVELS: scores (tg.contract) {{ *}}scale (tg.mul) {{ *}}register {{ *}}16.8 MB {{.*}} accumulator of a GEMM
// LEVELS: softmax (tg.reduce) {{ *}}mix (tg.max) {{ *}}register {{ *}}65.5 kB {{.*}} a warp has the whole row
// LEVELS: mix (tg.max) {{ *}}mix (tg.max) {{ *}}register

// WHY: fused on sm_90a: "softmax" -> "mix", in kernel 0
// WHY-NEXT: tg.reduce -> tg.max
// WHY-NEXT: 65.5 kB stay in registers; fusing saves 131 kB of traffic
// WHY-NEXT: both are inside of one fold, by --weft-derive-folds; --planner=dnnfusion and tvm-rules derive none

// TABLE: edges {{ *}}27 considered, 27 fused, 0 not

func.func @main(%q: tensor<128x128x64xf32>, %k: tensor<128x256x64xf32>, %v: tensor<128x256x64xf32>, %c: tensor<f32>) -> tensor<128x128x64xf32> {
  %0 = tg.contract %q, %k [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      : tensor<128x128x64xf32>, tensor<128x256x64xf32> -> tensor<128x128x256xf32> loc("scores")
  %1 = tg.mul %0, %c : tensor<128x128x256xf32>, tensor<f32> loc("scale")
  %2 = tg.reduce max %1 axes = [2] keep_dims : tensor<128x128x256xf32> loc("softmax")
  %3 = tg.sub %1, %2 : tensor<128x128x256xf32>, tensor<128x128x1xf32> loc("softmax")
  %4 = tg.exp %3 : tensor<128x128x256xf32> loc("softmax")
  %5 = tg.reduce add %4 axes = [2] keep_dims : tensor<128x128x256xf32> loc("softmax")
  %6 = tg.div %4, %5 : tensor<128x128x256xf32>, tensor<128x128x1xf32> loc("softmax")
  %7 = tg.contract %6, %v [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      : tensor<128x128x256xf32>, tensor<128x256x64xf32> -> tensor<128x128x64xf32> loc("mix")
  return %7 : tensor<128x128x64xf32>
}
