// DNNFusion's table of rewrites (PLDI'21): FLOPs before and after for m = 4, n = 8, as its text counts them: mn = 32, common operands not yet shared.
// DEFINE: %{rules} = square-of-reciprocal,product-of-roots,product-of-absolutes,square-of-common,common-factor,factor-with-one,square-minus-product,shift-of-sum,reduce-mul-of-exp
// RUN: weft-opt %s --weft-rewrite="licence=reassociating prices=dnnfusion rules=%{rules}" | FileCheck %s
// RUN: weft-opt %s --weft-rewrite="licence=reassociating prices=dnnfusion rules=%{rules}" --remarks-filter=rewrite --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Recip(A) * Recip(A * B) = Recip(A)^2 * Recip(B): 4mn -> 4mn, and A is read once.
// CHECK-LABEL: @row1
// CHECK: %[[R:.*]] = tg.reciprocal %arg0
// CHECK: %[[S:.*]] = tg.mul %[[R]], %[[R]]
// CHECK: %[[Q:.*]] = tg.reciprocal %arg1
// CHECK: tg.mul %[[S]], %[[Q]]
// REMARK: Remark="square-of-reciprocal: flops
// REMARK: 9 rules considered, 1 rewrites: flops 128 -> 128,
func.func @row1(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.reciprocal %a : tensor<4x8xf32>
  %1 = tg.mul %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.reciprocal %1 : tensor<4x8xf32>
  %3 = tg.mul %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// (A sqrt(B)) (sqrt(B) C) = A B C where B is not negative: 5mn -> 2mn.
// CHECK-LABEL: @row2
// CHECK: %[[B:.*]] = tg.abs
// CHECK: %[[P:.*]] = tg.mul %arg0, %[[B]]
// CHECK: tg.mul %[[P]], %arg2
// REMARK: Remark="product-of-roots: flops
// REMARK: 9 rules considered, 1 rewrites: flops 192 -> 96,
func.func @row2(%a: tensor<4x8xf32>, %x: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %b = tg.abs %x : tensor<4x8xf32>
  %0 = tg.sqrt %b : tensor<4x8xf32>
  %1 = tg.mul %a, %0 : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.sqrt %b : tensor<4x8xf32>
  %3 = tg.mul %2, %c : tensor<4x8xf32>, tensor<4x8xf32>
  %4 = tg.mul %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// Abs(A) B Abs(C) = Abs(A C) B: 4mn -> 3mn.
// CHECK-LABEL: @row3
// CHECK: %[[P:.*]] = tg.mul %arg0, %arg2
// CHECK: %[[A:.*]] = tg.abs %[[P]]
// CHECK: tg.mul %[[A]], %arg1
// REMARK: Remark="product-of-absolutes: flops
// REMARK: 9 rules considered, 1 rewrites: flops 128 -> 96,
func.func @row3(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.abs %a : tensor<4x8xf32>
  %1 = tg.mul %0, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.abs %c : tensor<4x8xf32>
  %3 = tg.mul %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// (A RSum(B)) (RSum(B) C) = A RSum(B)^2 C: 5mn -> 3mn + m.
// CHECK-LABEL: @row4
// CHECK: %[[S:.*]] = tg.reduce add
// CHECK: %[[Q:.*]] = tg.mul %[[S]], %[[S]] : tensor<4x1xf32>, tensor<4x1xf32>
// CHECK: %[[P:.*]] = tg.mul %arg0, %[[Q]]
// CHECK: tg.mul %[[P]], %arg2
// REMARK: Remark="square-of-common: flops
// REMARK: 9 rules considered, 1 rewrites: flops 160 -> 100,
func.func @row4(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.reduce add %b axes = [1] keep_dims : tensor<4x8xf32>
  %1 = tg.mul %a, %0 : tensor<4x8xf32>, tensor<4x1xf32>
  %2 = tg.reduce add %b axes = [1] keep_dims : tensor<4x8xf32>
  %3 = tg.mul %2, %c : tensor<4x1xf32>, tensor<4x8xf32>
  %4 = tg.mul %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// A C + A B = A (B + C): 3mn -> 2mn.
// CHECK-LABEL: @row5
// CHECK: %[[S:.*]] = tg.add %arg2, %arg1
// CHECK: tg.mul %arg0, %[[S]]
// REMARK: Remark="common-factor: flops
// REMARK: 9 rules considered, 1 rewrites: flops 96 -> 64,
func.func @row5(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.mul %a, %c : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = tg.mul %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// A + A B = A (B + 1): 2mn -> 2mn, and A is read once.
// CHECK-LABEL: @row6
// CHECK: %[[ONE:.*]] = tg.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[S:.*]] = tg.add %arg1, %[[ONE]]
// CHECK: tg.mul %arg0, %[[S]]
// REMARK: Remark="factor-with-one: flops
// REMARK: 9 rules considered, 1 rewrites: flops 64 -> 64,
func.func @row6(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.mul %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = tg.add %a, %0 : tensor<4x8xf32>, tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Square(A + B) - (A + B) C = (A + B) (A + B - C): 5mn -> 3mn.
// CHECK-LABEL: @row7
// CHECK: %[[S:.*]] = tg.add %arg0, %arg1
// CHECK: %[[D:.*]] = tg.sub %[[S]], %arg2
// CHECK: tg.mul %[[S]], %[[D]]
// REMARK: Remark="square-minus-product: flops
// REMARK: 9 rules considered, 1 rewrites: flops 160 -> 96,
func.func @row7(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.add %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = tg.mul %0, %0 : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.add %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %3 = tg.mul %2, %c : tensor<4x8xf32>, tensor<4x8xf32>
  %4 = tg.sub %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// (A . B) C + (A . B) D = (A . B) (C + D) for a GEMM: 4 ops -> 3 ops.
// CHECK-LABEL: @row8
// CHECK: %[[G:.*]] = tg.contract
// CHECK: %[[S:.*]] = tg.add %arg2, %arg3
// CHECK: tg.mul %[[G]], %[[S]]
// CHECK-NEXT: return
// REMARK: Remark="common-factor: flops
// REMARK: 9 rules considered, 1 rewrites: flops 1120 -> 1088,
func.func @row8(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %c: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tg.contract %a, %b [#mk, #kn, #mn] : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %1 = tg.mul %0, %c : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tg.mul %0, %d : tensor<4x8xf32>, tensor<4x8xf32>
  %3 = tg.add %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// ReduceSum(BitShift(A)) = BitShift(ReduceSum(A)), modulo 2^n: 2mn -> mn + m.
// CHECK-LABEL: @row9
// CHECK: %[[S:.*]] = tg.reduce add %arg0
// CHECK: tg.shl %[[S]], %arg1 : tensor<4x1xi32>, tensor<4x1xi32>
// REMARK: Remark="shift-of-sum: flops
// REMARK: 9 rules considered, 1 rewrites: flops 64 -> 36,
func.func @row9(%a: tensor<4x8xi32>, %s: tensor<4x1xi32>) -> tensor<4x1xi32> {
  %0 = tg.shl %a, %s : tensor<4x8xi32>, tensor<4x1xi32>
  %1 = tg.reduce add %0 axes = [1] keep_dims : tensor<4x8xi32>
  return %1 : tensor<4x1xi32>
}

// ReduceProd(Exp(A)) = Exp(ReduceSum(A)): 2mn -> mn + m.
// CHECK-LABEL: @row10
// CHECK: %[[S:.*]] = tg.reduce add %arg0
// CHECK: tg.exp %[[S]] : tensor<4xf32>
// REMARK: Remark="reduce-mul-of-exp: flops
// REMARK: 9 rules considered, 1 rewrites: flops 64 -> 36,
func.func @row10(%a: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = tg.exp %a : tensor<4x8xf32>
  %1 = tg.reduce mul %0 axes = [1] : tensor<4x8xf32>
  return %1 : tensor<4xf32>
}
