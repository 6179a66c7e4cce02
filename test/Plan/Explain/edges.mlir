// Every candidate edge has one remark: passed or missed, with the rule, the bytes on it and the bytes that fusing saves.
// RUN: weft-opt %s --split-input-file --weft-plan --remark-policy=all --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,CPU --implicit-check-not='fused |'
// RUN: weft-opt %s --split-input-file --weft-plan=gpu=true --remark-policy=all --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,GPU --implicit-check-not='fused |'
// RUN: weft-opt %s --split-input-file --weft-plan=fuse=false --remark-policy=all --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=OFF

// The exponential is stretched; nothing else reads the sum.
// CPU: [Missed] not-fused | Category:fusion | Function=main | Remark="R4: 'exp' would be computed again under a broadcast", bytes=16, consumer=tg.add, consumer-node=Add_1, kernels="0,1", producer=tg.exp, producer-node=Exp_0, saved-bytes=32
// GPU: [Missed] not-fused | Category:fusion | Function=main | Remark="G4: 'exp' would be computed again under a broadcast", bytes=16, consumer=tg.add, consumer-node=Add_1, kernels="0,1", producer=tg.exp, producer-node=Exp_0, saved-bytes=32
// CHECK: [Passed] fused | Category:fusion | Function=main | bytes=64, consumer=tg.neg, consumer-node=Neg_2, kernel=1, producer=tg.add, producer-node=Add_1, saved-bytes=128
// OFF: not-fused |{{.*}}Remark="fusion is switched off", bytes=16
// OFF: not-fused |{{.*}}Remark="fusion is switched off", bytes=64
func.func @main(%x: tensor<4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tg.exp %x : tensor<4xf32> loc("Exp_0")
  %1 = tg.add %y, %0 : tensor<4x4xf32>, tensor<4xf32> loc("Add_1")
  %2 = tg.neg %1 : tensor<4x4xf32> loc("Neg_2")
  return %2 : tensor<4x4xf32>
}

// -----

// A reshape on the way is part of the edge. What another op reads too must be written anyway.
// CPU: not-fused |{{.*}}Remark="a reshape is between them, and those of the CPU's plan are between kernels", bytes=64, consumer=tg.exp, kernels="0,1", producer=tg.neg, saved-bytes=64
// CPU: not-fused |{{.*}}consumer=tg.concat{{.*}}producer=tg.neg, saved-bytes=64
// GPU: fused |{{.*}}bytes=64, consumer=tg.exp{{.*}}producer=tg.neg, saved-bytes=64
// GPU: not-fused |{{.*}}Remark="G1: {{.*}}bytes=64, consumer=tg.concat{{.*}}producer=tg.neg, saved-bytes=128
func.func @main(%x: tensor<4x4xf32>) -> (tensor<16xf32>, tensor<8x4xf32>) {
  %0 = tg.neg %x : tensor<4x4xf32>
  %1 = tg.reshape %0 : tensor<4x4xf32> to tensor<16xf32>
  %2 = tg.exp %1 : tensor<16xf32>
  %3 = tg.concat %0, %0 axis = 0 : tensor<4x4xf32>, tensor<4x4xf32>
  return %2, %3 : tensor<16xf32>, tensor<8x4xf32>
}

// -----

// Contractions that share an operand are a candidate pair without an edge.
// GPU: not-fused |{{.*}}Remark="G1: results of different dimensions", consumer=tg.contract, kernels="0,1", producer=tg.contract
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<64x128xf32>, %a: tensor<128x64xf32>, %b: tensor<128x32xf32>) -> (tensor<64x64xf32>, tensor<64x32xf32>) {
  %0 = tg.contract %x, %a [#mk, #kn, #mn] : tensor<64x128xf32>, tensor<128x64xf32> -> tensor<64x64xf32>
  %1 = tg.contract %x, %b [#mk, #kn, #mn] : tensor<64x128xf32>, tensor<128x32xf32> -> tensor<64x32xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x32xf32>
}
