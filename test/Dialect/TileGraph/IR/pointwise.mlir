// Every elementwise op parses, prints and infers its type.
// RUN: weft-opt %s | weft-opt | FileCheck %s

// CHECK-LABEL: @unary
func.func @unary(%f: tensor<4x8xf32>, %i: tensor<4x8xi32>, %b: tensor<8xi1>) {
  // CHECK: tg.neg %{{.*}} : tensor<4x8xf32>
  %0 = tg.neg %f : tensor<4x8xf32>
  // CHECK: tg.abs %{{.*}} : tensor<4x8xf32>
  %1 = tg.abs %f : tensor<4x8xf32>
  // CHECK: tg.sign %{{.*}} : tensor<4x8xf32>
  %2 = tg.sign %f : tensor<4x8xf32>
  // CHECK: tg.reciprocal %{{.*}} : tensor<4x8xf32>
  %3 = tg.reciprocal %f : tensor<4x8xf32>
  // CHECK: tg.ceil %{{.*}} : tensor<4x8xf32>
  %4 = tg.ceil %f : tensor<4x8xf32>
  // CHECK: tg.floor %{{.*}} : tensor<4x8xf32>
  %5 = tg.floor %f : tensor<4x8xf32>
  // CHECK: tg.round %{{.*}} : tensor<4x8xf32>
  %6 = tg.round %f : tensor<4x8xf32>
  // CHECK: tg.trunc %{{.*}} : tensor<4x8xf32>
  %7 = tg.trunc %f : tensor<4x8xf32>
  // CHECK: tg.exp %{{.*}} : tensor<4x8xf32>
  %8 = tg.exp %f : tensor<4x8xf32>
  // CHECK: tg.expm1 %{{.*}} : tensor<4x8xf32>
  %9 = tg.expm1 %f : tensor<4x8xf32>
  // CHECK: tg.log %{{.*}} : tensor<4x8xf32>
  %10 = tg.log %f : tensor<4x8xf32>
  // CHECK: tg.log1p %{{.*}} : tensor<4x8xf32>
  %11 = tg.log1p %f : tensor<4x8xf32>
  // CHECK: tg.sqrt %{{.*}} : tensor<4x8xf32>
  %12 = tg.sqrt %f : tensor<4x8xf32>
  // CHECK: tg.rsqrt %{{.*}} : tensor<4x8xf32>
  %13 = tg.rsqrt %f : tensor<4x8xf32>
  // CHECK: tg.erf %{{.*}} : tensor<4x8xf32>
  %14 = tg.erf %f : tensor<4x8xf32>
  // CHECK: tg.sigmoid %{{.*}} : tensor<4x8xf32>
  %15 = tg.sigmoid %f : tensor<4x8xf32>
  // CHECK: tg.sin %{{.*}} : tensor<4x8xf32>
  %16 = tg.sin %f : tensor<4x8xf32>
  // CHECK: tg.cos %{{.*}} : tensor<4x8xf32>
  %17 = tg.cos %f : tensor<4x8xf32>
  // CHECK: tg.tan %{{.*}} : tensor<4x8xf32>
  %18 = tg.tan %f : tensor<4x8xf32>
  // CHECK: tg.asin %{{.*}} : tensor<4x8xf32>
  %19 = tg.asin %f : tensor<4x8xf32>
  // CHECK: tg.acos %{{.*}} : tensor<4x8xf32>
  %20 = tg.acos %f : tensor<4x8xf32>
  // CHECK: tg.atan %{{.*}} : tensor<4x8xf32>
  %21 = tg.atan %f : tensor<4x8xf32>
  // CHECK: tg.sinh %{{.*}} : tensor<4x8xf32>
  %22 = tg.sinh %f : tensor<4x8xf32>
  // CHECK: tg.cosh %{{.*}} : tensor<4x8xf32>
  %23 = tg.cosh %f : tensor<4x8xf32>
  // CHECK: tg.tanh %{{.*}} : tensor<4x8xf32>
  %24 = tg.tanh %f : tensor<4x8xf32>
  // CHECK: tg.asinh %{{.*}} : tensor<4x8xf32>
  %25 = tg.asinh %f : tensor<4x8xf32>
  // CHECK: tg.acosh %{{.*}} : tensor<4x8xf32>
  %26 = tg.acosh %f : tensor<4x8xf32>
  // CHECK: tg.atanh %{{.*}} : tensor<4x8xf32>
  %27 = tg.atanh %f : tensor<4x8xf32>
  // CHECK: tg.neg %{{.*}} : tensor<4x8xi32>
  %28 = tg.neg %i : tensor<4x8xi32>
  // CHECK: tg.abs %{{.*}} : tensor<4x8xi32>
  %29 = tg.abs %i : tensor<4x8xi32>
  // CHECK: tg.sign %{{.*}} : tensor<4x8xi32>
  %30 = tg.sign %i : tensor<4x8xi32>
  // CHECK: tg.is_nan %{{.*}} : tensor<4x8xf32>
  %31 = tg.is_nan %f : tensor<4x8xf32>
  // CHECK: tg.is_inf %{{.*}} {negative = false} : tensor<4x8xf32>
  %32 = tg.is_inf %f {negative = false} : tensor<4x8xf32>
  // CHECK: tg.not %{{.*}} : tensor<8xi1>
  %33 = tg.not %b : tensor<8xi1>
  return
}

// CHECK-LABEL: @binary
func.func @binary(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %i: tensor<4x1xi32>, %j: tensor<5xi32>, %p: tensor<4xi1>) {
  // CHECK: tg.add %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %0 = tg.add %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.sub %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %1 = tg.sub %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.mul %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %2 = tg.mul %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.div %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %3 = tg.div %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.mod %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %4 = tg.mod %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.fmod %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %5 = tg.fmod %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.max %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %6 = tg.max %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.min %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %7 = tg.min %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.pow %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %8 = tg.pow %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.and %{{.*}}, %{{.*}} : tensor<4x1xi32>, tensor<5xi32>
  %9 = tg.and %i, %j : tensor<4x1xi32>, tensor<5xi32>
  // CHECK: tg.or %{{.*}}, %{{.*}} : tensor<4x1xi32>, tensor<5xi32>
  %10 = tg.or %i, %j : tensor<4x1xi32>, tensor<5xi32>
  // CHECK: tg.xor %{{.*}}, %{{.*}} : tensor<4x1xi32>, tensor<5xi32>
  %11 = tg.xor %i, %j : tensor<4x1xi32>, tensor<5xi32>
  // CHECK: tg.shl %{{.*}}, %{{.*}} : tensor<4x1xi32>, tensor<5xi32>
  %12 = tg.shl %i, %j : tensor<4x1xi32>, tensor<5xi32>
  // CHECK: tg.shr %{{.*}}, %{{.*}} : tensor<4x1xi32>, tensor<5xi32>
  %13 = tg.shr %i, %j : tensor<4x1xi32>, tensor<5xi32>
  // CHECK: tg.cmp eq %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %14 = tg.cmp eq %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.cmp ne %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %15 = tg.cmp ne %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.cmp lt %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %16 = tg.cmp lt %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.cmp le %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %17 = tg.cmp le %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.cmp gt %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %18 = tg.cmp gt %x, %y : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.cmp ge %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %19 = tg.cmp ge %x, %y : tensor<4x8xf32>, tensor<8xf32>
  return
}

// The inferred type is the broadcast of the operands.
// CHECK-LABEL: @broadcast
func.func @broadcast(%i: tensor<4x1xi32>, %j: tensor<5xi32>, %c: tensor<3x1x1xi1>) -> tensor<3x4x5xi32> {
  // CHECK: tg.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<3x1x1xi1>, tensor<4x1xi32>, tensor<5xi32>
  %0 = tg.select %c, %i, %j : tensor<3x1x1xi1>, tensor<4x1xi32>, tensor<5xi32>
  return %0 : tensor<3x4x5xi32>
}

// Symbolic extents: equal expressions broadcast to themselves.
// CHECK-LABEL: @symbolic
func.func @symbolic(%x: tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, %y: tensor<8xf32>)
    -> tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>> {
  // CHECK: tg.add %{{.*}}, %{{.*}} : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, tensor<8xf32>
  %0 = tg.add %x, %y : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, tensor<8xf32>
  return %0 : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
}

// CHECK-LABEL: @cast
func.func @cast(%x: tensor<4xf32>) {
  // CHECK: tg.cast %{{.*}} : tensor<4xf32> to tensor<4xf16>
  %0 = tg.cast %x : tensor<4xf32> to tensor<4xf16>
  // CHECK: tg.cast %{{.*}} {saturate = false} : tensor<4xf32> to tensor<4xf8E4M3FN>
  %1 = tg.cast %x {saturate = false} : tensor<4xf32> to tensor<4xf8E4M3FN>
  // CHECK: tg.cast %{{.*}} : tensor<4xf32> to tensor<4xui8>
  %2 = tg.cast %x : tensor<4xf32> to tensor<4xui8>
  return
}
