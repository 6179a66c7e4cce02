// Three planners on the same graphs. Each keeps the rules; they differ in which legal groups they find.
// RUN: weft-opt %s --weft-form-kernels=gpu=true | FileCheck %s --check-prefixes=CHECK,WEFT
// RUN: weft-opt %s --weft-form-kernels="gpu=true planner=dnnfusion" --remarks-filter=fusion --remark-format=emitRemark 2>%t.dnn | FileCheck %s --check-prefixes=CHECK,DNN
// RUN: FileCheck %s --check-prefix=WHYDNN --input-file=%t.dnn
// RUN: weft-opt %s --weft-form-kernels="gpu=true planner=tvm-rules" --remarks-filter=fusion --remark-format=emitRemark 2>%t.tvm | FileCheck %s --check-prefixes=CHECK,TVM
// RUN: FileCheck %s --check-prefix=WHYTVM --input-file=%t.tvm
// RUN: weft-opt %s --weft-form-kernels="planner=tvm-rules" | FileCheck %s --check-prefix=CPU

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// What follows a contraction element by element joins it.
// CHECK-LABEL: @epilogue
// CHECK: tg.kernel "gemm_add_tanh"
// CHECK-NOT: tg.kernel
// CPU-LABEL: @epilogue
// CPU: tg.kernel "gemm_add_tanh"
// CPU-NOT: tg.kernel
func.func @epilogue(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tg.contract %x, %w [#mk, #kn, #mn] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = tg.add %0, %y : tensor<64x64xf32>, tensor<64x64xf32>
  %2 = tg.tanh %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// The table refuses two Many-to-Many, and to TVM a reduction is an end: only ours makes rows of them.
// CHECK-LABEL: @softmax
// WEFT: tg.kernel "softmax"
// WEFT-NOT: tg.kernel
// DNN-COUNT-3: tg.kernel
// DNN-NOT: tg.kernel
// TVM-COUNT-4: tg.kernel
// TVM-NOT: tg.kernel
// WHYDNN: dnnfusion: the table refuses one_to_many -> many_to_many
// WHYTVM: tvm-rules: nothing joins a reduction
// CPU-LABEL: @softmax
func.func @softmax(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tg.reduce max %x axes = [1] keep_dims : tensor<64x64xf32>
  %1 = tg.sub %x, %0 : tensor<64x64xf32>, tensor<64x1xf32>
  %2 = tg.exp %1 : tensor<64x64xf32>
  %3 = tg.reduce add %2 axes = [1] keep_dims : tensor<64x64xf32>
  %4 = tg.div %2, %3 : tensor<64x64xf32>, tensor<64x1xf32>
  return %4 : tensor<64x64xf32>
}

// An element-wise op in front of a contraction is its own kernel by TVM's rules; the table takes it, and the rules agree where it is cheap.
// CHECK-LABEL: @prologue
// WEFT: tg.kernel "gemm_neg"
// DNN: tg.kernel "gemm_neg"
// TVM: tg.kernel "neg"
// TVM: tg.kernel "gemm"
// WHYTVM: tvm-rules: an operand of a complex op is computed before
func.func @prologue(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %m = tg.neg %x : tensor<64x64xf16>
  %0 = tg.contract %m, %w [#mk, #kn, #mn] : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  return %0 : tensor<64x64xf16>
}

// Transpositions wait for the second phase, after the contraction has its epilogue.
// CHECK-LABEL: @views
// TVM: tg.kernel "gemm_neg"
// TVM: tg.kernel "exp"
// TVM-NOT: tg.kernel
func.func @views(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tg.contract %x, %w [#mk, #kn, #mn] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = tg.neg %0 : tensor<64x64xf32>
  %2 = tg.transpose %1 [1, 0] : tensor<64x64xf32>
  %3 = tg.exp %2 : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// Padding and window are one operator with the pooling, which takes what follows element by element.
// CHECK-LABEL: @pool
// CHECK: tg.kernel "max_pad_window_neg"
// CHECK-NOT: tg.kernel
func.func @pool(%x: tensor<1x4x16x16xf32>) -> tensor<1x4x8x8xf32> {
  %z = tg.constant dense<0xFF800000> : tensor<f32>
  %p = tg.pad %x, %z low = [0, 0, 0, 0] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<1x4x16x16xf32>, tensor<f32>
  %w = tg.window %p dims = [2, 3] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<1x4x17x17xf32>
  %r = tg.reduce max %w axes = [4, 5] : tensor<1x4x8x8x3x3xf32>
  %n = tg.neg %r : tensor<1x4x8x8xf32>
  return %n : tensor<1x4x8x8xf32>
}

// Several readers: the first op through which all uses pass takes all, or nothing of it.
// CHECK-LABEL: @diamond
// TVM: tg.kernel "exp_neg_tanh_add"
// TVM-NOT: tg.kernel
// CPU-LABEL: @diamond
// CPU: tg.kernel "exp_neg_tanh_add"
func.func @diamond(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tg.exp %x : tensor<64x64xf32>
  %1 = tg.neg %0 : tensor<64x64xf32>
  %2 = tg.tanh %0 : tensor<64x64xf32>
  %3 = tg.add %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// A yellow cell (One-to-Many before One-to-Many) is the model's: here it saves a tensor, so it is fused.
// CHECK-LABEL: @yellow
// DNN: tg.kernel "neg_add"
// DNN-NOT: tg.kernel
// An opaque op joins nothing.
// CHECK-LABEL: @opaque
// CHECK-COUNT-2: tg.kernel
// WHYDNN: G5: 'scan' does not fuse
func.func @yellow(%x: tensor<64xf32>, %y: tensor<64x64xf32>, %z: tensor<8x64x64xf32>) -> tensor<8x64x64xf32> {
  %0 = tg.neg %x : tensor<64xf32>
  %1 = tg.add %y, %0 : tensor<64x64xf32>, tensor<64xf32>
  %2 = tg.add %z, %1 : tensor<8x64x64xf32>, tensor<64x64xf32>
  return %2 : tensor<8x64x64xf32>
}

func.func @opaque(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tg.exp %x : tensor<64x64xf32>
  %1 = tg.scan add %0 axis = 1 : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// Found by the exact search: what two products have in front of both joins when they are together, and a product that ends in a renaming joins one that
// does not. The planner goes over readers and siblings in turns.
// CHECK-LABEL: @rounds
// WEFT: tg.kernel "gemm2_neg
// WEFT-NOT: tg.kernel
func.func @rounds(%x: tensor<64x64xf16>, %v: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> (tensor<8x8x64xf16>, tensor<64x64xf16>) {
  %n = tg.neg %x : tensor<64x64xf16>
  %0 = tg.contract %n, %v [#mk, #kn, #mn] : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  %1 = tg.reshape %0 : tensor<64x64xf16> to tensor<8x8x64xf16>
  %2 = tg.contract %n, %w [#mk, #kn, #mn] : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  return %1, %2 : tensor<8x8x64xf16>, tensor<64x64xf16>
}
