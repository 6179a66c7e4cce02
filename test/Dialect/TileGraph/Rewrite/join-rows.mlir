// RUN: weft-opt %s --split-input-file --weft-join-rows | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-join-rows --remarks-filter=plan --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Two streams of tokens with norms and weights of their own, of a symbolic number of places.
// REMARK: the rows of 2 parts are reduced together
// CHECK-LABEL: @streams
// CHECK-SAME: (%[[A:.*]]: tensor<3x5x64xf16>, %[[B:.*]]: tensor<3x?x64xf16, #{{.*}}>, %[[V:.*]]: tensor<64xf16>, %[[W:.*]]: tensor<64xf16>)
// CHECK: %[[X:.*]] = tg.concat %[[A]], %[[B]] axis = 1
// CHECK: %[[WIDE:.*]] = tg.cast %[[X]]
// CHECK: %[[SQUARE:.*]] = tg.mul %[[WIDE]], %[[WIDE]]
// CHECK: %[[SUM:.*]] = tg.reduce add %[[SQUARE]] axes = [2] keep_dims
// CHECK: %[[SCALE:.*]] = tg.rsqrt %[[SUM]]
// CHECK: %[[SCALED:.*]] = tg.mul %[[WIDE]], %[[SCALE]]
// CHECK: %[[NORM:.*]] = tg.cast %[[SCALED]]
// CHECK: %[[VS:.*]] = tg.broadcast %[[V]] : tensor<64xf16> to tensor<5x64xf16>
// CHECK: %[[WS:.*]] = tg.broadcast %[[W]]
// CHECK: %[[WEIGHTS:.*]] = tg.concat %[[VS]], %[[WS]] axis = 0
// CHECK: %[[RESULT:.*]] = tg.mul %[[NORM]], %[[WEIGHTS]]
// CHECK-NOT: tg.reduce
// CHECK: return %[[RESULT]]
#s = #tg.dims<()[s] -> (3, s, 64)>
#one = #tg.dims<()[s] -> (3, s, 1)>
#all = #tg.dims<()[s] -> (3, s + 5, 64)>
module attributes {tg.symbols = ["tokens"]} {
func.func @streams(%a: tensor<3x5x64xf16>, %b: tensor<3x?x64xf16, #s>, %v: tensor<64xf16>, %w: tensor<64xf16>) -> tensor<3x?x64xf16, #all> {
  %a0 = tg.cast %a : tensor<3x5x64xf16> to tensor<3x5x64xf32>
  %a1 = tg.mul %a0, %a0 : tensor<3x5x64xf32>, tensor<3x5x64xf32>
  %a2 = tg.reduce add %a1 axes = [2] keep_dims : tensor<3x5x64xf32>
  %a3 = tg.rsqrt %a2 : tensor<3x5x1xf32>
  %a4 = tg.mul %a0, %a3 : tensor<3x5x64xf32>, tensor<3x5x1xf32>
  %a5 = tg.cast %a4 : tensor<3x5x64xf32> to tensor<3x5x64xf16>
  %a6 = tg.mul %a5, %v : tensor<3x5x64xf16>, tensor<64xf16>
  %b0 = tg.cast %b : tensor<3x?x64xf16, #s> to tensor<3x?x64xf32, #s>
  %b1 = tg.mul %b0, %b0 : tensor<3x?x64xf32, #s>, tensor<3x?x64xf32, #s>
  %b2 = tg.reduce add %b1 axes = [2] keep_dims : tensor<3x?x64xf32, #s>
  %b3 = tg.rsqrt %b2 : tensor<3x?x1xf32, #one>
  %b4 = tg.mul %b0, %b3 : tensor<3x?x64xf32, #s>, tensor<3x?x1xf32, #one>
  %b5 = tg.cast %b4 : tensor<3x?x64xf32, #s> to tensor<3x?x64xf16, #s>
  %b6 = tg.mul %b5, %w : tensor<3x?x64xf16, #s>, tensor<64xf16>
  %c = tg.concat %a6, %b6 axis = 1 : tensor<3x5x64xf16>, tensor<3x?x64xf16, #s>
  return %c : tensor<3x?x64xf16, #all>
}
}

// -----

// The bias behind a product is its epilogue: what is concatenated is the sum, not the product.
// CHECK-LABEL: @epilogues
// CHECK-COUNT-2: tg.add
// CHECK: tg.concat
// CHECK: tg.reduce
// CHECK-NOT: tg.reduce
func.func @epilogues(%a: tensor<4x32xf32>, %b: tensor<6x32xf32>, %c: tensor<32xf32>) -> tensor<10x32xf32> {
  %a0 = tg.add %a, %c : tensor<4x32xf32>, tensor<32xf32>
  %a1 = tg.reduce max %a0 axes = [1] keep_dims : tensor<4x32xf32>
  %a2 = tg.sub %a0, %a1 : tensor<4x32xf32>, tensor<4x1xf32>
  %b0 = tg.add %b, %c : tensor<6x32xf32>, tensor<32xf32>
  %b1 = tg.reduce max %b0 axes = [1] keep_dims : tensor<6x32xf32>
  %b2 = tg.sub %b0, %b1 : tensor<6x32xf32>, tensor<6x1xf32>
  %r = tg.concat %a2, %b2 axis = 0 : tensor<4x32xf32>, tensor<6x32xf32>
  return %r : tensor<10x32xf32>
}

// -----

// A norm that something else reads, too, stays. So do parts that are reduced along the concatenated axis, parts that
// compute different things, and parts that reduce nothing.
// CHECK-LABEL: @read_elsewhere
// CHECK-COUNT-2: tg.reduce
// CHECK: tg.concat
func.func @read_elsewhere(%a: tensor<4x32xf32>, %b: tensor<6x32xf32>) -> (tensor<10x32xf32>, tensor<6x32xf32>) {
  %a1 = tg.reduce max %a axes = [1] keep_dims : tensor<4x32xf32>
  %a2 = tg.sub %a, %a1 : tensor<4x32xf32>, tensor<4x1xf32>
  %b1 = tg.reduce max %b axes = [1] keep_dims : tensor<6x32xf32>
  %b2 = tg.sub %b, %b1 : tensor<6x32xf32>, tensor<6x1xf32>
  %r = tg.concat %a2, %b2 axis = 0 : tensor<4x32xf32>, tensor<6x32xf32>
  return %r, %b2 : tensor<10x32xf32>, tensor<6x32xf32>
}

// CHECK-LABEL: @along_the_axis
// CHECK-COUNT-2: tg.reduce
// CHECK: tg.concat
func.func @along_the_axis(%a: tensor<4x32xf32>, %b: tensor<4x16xf32>) -> tensor<4x48xf32> {
  %a1 = tg.reduce max %a axes = [1] keep_dims : tensor<4x32xf32>
  %a2 = tg.sub %a, %a1 : tensor<4x32xf32>, tensor<4x1xf32>
  %b1 = tg.reduce max %b axes = [1] keep_dims : tensor<4x16xf32>
  %b2 = tg.sub %b, %b1 : tensor<4x16xf32>, tensor<4x1xf32>
  %r = tg.concat %a2, %b2 axis = 1 : tensor<4x32xf32>, tensor<4x16xf32>
  return %r : tensor<4x48xf32>
}

// CHECK-LABEL: @different
// CHECK: tg.reduce max
// CHECK: tg.reduce min
// CHECK: tg.concat
func.func @different(%a: tensor<4x32xf32>, %b: tensor<6x32xf32>) -> tensor<10x32xf32> {
  %a1 = tg.reduce max %a axes = [1] keep_dims : tensor<4x32xf32>
  %a2 = tg.sub %a, %a1 : tensor<4x32xf32>, tensor<4x1xf32>
  %b1 = tg.reduce min %b axes = [1] keep_dims : tensor<6x32xf32>
  %b2 = tg.sub %b, %b1 : tensor<6x32xf32>, tensor<6x1xf32>
  %r = tg.concat %a2, %b2 axis = 0 : tensor<4x32xf32>, tensor<6x32xf32>
  return %r : tensor<10x32xf32>
}

// CHECK-LABEL: @no_rows
// CHECK-COUNT-2: tg.exp
// CHECK: tg.concat
func.func @no_rows(%a: tensor<4x32xf32>, %b: tensor<6x32xf32>) -> tensor<10x32xf32> {
  %a2 = tg.exp %a : tensor<4x32xf32>
  %b2 = tg.exp %b : tensor<6x32xf32>
  %r = tg.concat %a2, %b2 axis = 0 : tensor<4x32xf32>, tensor<6x32xf32>
  return %r : tensor<10x32xf32>
}

// The same row in both parts, and values of one part that a part of the other meets at another place.
// CHECK-LABEL: @crossed
// CHECK-COUNT-2: tg.reduce
// CHECK: tg.concat
func.func @crossed(%a: tensor<4x32xf32>, %b: tensor<4x32xf32>) -> tensor<8x32xf32> {
  %a1 = tg.reduce max %a axes = [1] keep_dims : tensor<4x32xf32>
  %b1 = tg.reduce max %b axes = [1] keep_dims : tensor<4x32xf32>
  %a2 = tg.sub %a, %b1 : tensor<4x32xf32>, tensor<4x1xf32>
  %b2 = tg.sub %b, %a1 : tensor<4x32xf32>, tensor<4x1xf32>
  %a3 = tg.mul %a2, %a1 : tensor<4x32xf32>, tensor<4x1xf32>
  %b3 = tg.mul %b2, %a1 : tensor<4x32xf32>, tensor<4x1xf32>
  %r = tg.concat %a3, %b3 axis = 0 : tensor<4x32xf32>, tensor<4x32xf32>
  return %r : tensor<8x32xf32>
}
