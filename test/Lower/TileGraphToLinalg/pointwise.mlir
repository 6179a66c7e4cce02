// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file | FileCheck %s

// Half-precision operands are extended where they are read, and each op rounds once. A static 1 broadcasts by the map.
// CHECK: #[[$ROW:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf16>, %[[Y:.*]]: tensor<1x8xf16>, %[[S0:.*]]: index) -> tensor<?x8xf16>
// CHECK: %[[INIT:.*]] = tensor.empty(%[[S0]]) : tensor<?x8xf16>
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[$ROW]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins(%[[X]], %[[Y]] : tensor<?x8xf16>, tensor<1x8xf16>) outs(%[[INIT]] : tensor<?x8xf16>)
// CHECK: %[[L:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[R:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[SUM:.*]] = arith.addf %[[L]], %[[R]] : f32
// CHECK: arith.truncf %[[SUM]] : f32 to f16
func.func @broadcast(%x: tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>>, %y: tensor<1x8xf16>, %s0: index)
    -> tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>> attributes {tg.num_symbols = 1 : i64} {
  %r = tg.add %x, %y : tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>>, tensor<1x8xf16>
  return %r : tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>>
}

// -----

// Booleans are bytes in memory and i1 in between; signedness stays in the op.
// CHECK-LABEL: func.func @booleans
// CHECK-SAME: (%{{.*}}: tensor<4xi8>, %{{.*}}: tensor<4xi8>) -> tensor<4xi8>
// CHECK: %[[LESS:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i8
// CHECK: arith.extui %[[LESS]] : i1 to i8
// CHECK: %[[BIT:.*]] = arith.trunci %{{.*}} : i8 to i1
// CHECK: %[[NOT:.*]] = arith.xori %[[BIT]]
// CHECK: arith.extui %[[NOT]] : i1 to i8
func.func @booleans(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xi1> {
  %c = tg.cmp lt %x, %y : tensor<4xui8>, tensor<4xui8>
  %r = tg.not %c : tensor<4xi1>
  return %r : tensor<4xi1>
}

// -----

// A reduction that keeps its dimension is read without it.
// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$FIRST:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @minus_max
// CHECK: %[[MAX:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$FIRST]]], iterator_types = ["parallel", "reduction"]}
// CHECK-NOT: expand_shape
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$FIRST]], #[[$ID]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins(%{{.*}}, %[[MAX]] : tensor<4x8xf32>, tensor<4xf32>)
func.func @minus_max(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<4x8xf32>
  %r = tg.sub %x, %m : tensor<4x8xf32>, tensor<4x1xf32>
  return %r : tensor<4x8xf32>
}
