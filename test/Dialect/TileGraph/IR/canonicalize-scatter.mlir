// Updates between movements say by their maps what is moved.
// RUN: weft-opt %s --weft-simplify --split-input-file | FileCheck %s

#rows = affine_map<(p, b, h, d)[s] -> (s, b, h, d)>
#at = affine_map<(p, b, h, d) -> (p)>

// As index_copy along dimension 2 is exported: neither the memory nor the new rows are moved.
// CHECK: #[[$ROWS:.*]] = affine_map<(d0, d1, d2, d3)[s0] -> (d0, d1, s0, d3)>
// CHECK: #[[$AT:.*]] = affine_map<(d0, d1, d2, d3) -> (d2)>
// CHECK-LABEL: func.func @index_copy(
// CHECK-NEXT: %[[R:.*]] = tg.scatter %arg0, %arg1, %arg2 data_map = #[[$ROWS]] index_maps = [#[[$AT]]] {tg.distinct} : tensor<2x3x8x4xf32>
// CHECK-NEXT: return %[[R]]
func.func @index_copy(%x: tensor<2x3x8x4xf32>, %p: tensor<5xi64>, %u: tensor<2x3x5x4xf32>) -> tensor<2x3x8x4xf32> {
  %0 = tg.transpose %x [2, 0, 1, 3] : tensor<2x3x8x4xf32>
  %1 = tg.transpose %u [2, 0, 1, 3] : tensor<2x3x5x4xf32>
  %2 = tg.scatter %0, %p, %1 data_map = #rows index_maps = [#at] {tg.distinct} : tensor<8x2x3x4xf32>, tensor<5xi64>, tensor<5x2x3x4xf32>
  %3 = tg.transpose %2 [1, 2, 0, 3] : tensor<8x2x3x4xf32>
  return %3 : tensor<2x3x8x4xf32>
}

// -----

#rows = affine_map<(p, b, d)[s] -> (s, b, d)>
#at = affine_map<(p, b, d) -> (p)>

// Another transposition behind it is not the inverse; what others read too stays.
// CHECK-LABEL: func.func @other(
// CHECK-DAG: tg.transpose %arg0 [2, 0, 1]
// CHECK-DAG: tg.transpose %arg0 [1, 0, 2]
// CHECK-DAG: tg.transpose %{{.*}} [2, 0, 1]
// CHECK-DAG: tg.transpose %{{.*}} [1, 0, 2]
// CHECK: return
func.func @other(%x: tensor<2x2x2xf32>, %p: tensor<2xi64>, %u: tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>) {
  %0 = tg.transpose %x [2, 0, 1] : tensor<2x2x2xf32>
  %1 = tg.scatter %0, %p, %u data_map = #rows index_maps = [#at] : tensor<2x2x2xf32>, tensor<2xi64>, tensor<2x2x2xf32>
  %2 = tg.transpose %1 [2, 0, 1] : tensor<2x2x2xf32>
  %3 = tg.transpose %x [1, 0, 2] : tensor<2x2x2xf32>
  %4 = tg.scatter %3, %p, %u data_map = #rows index_maps = [#at] : tensor<2x2x2xf32>, tensor<2xi64>, tensor<2x2x2xf32>
  %5 = tg.transpose %4 [1, 0, 2] : tensor<2x2x2xf32>
  return %2, %4, %5 : tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>
}

// -----


// Updates of two dimensions that meet in one place: the last one counts, in the order of both.
// CHECK-LABEL: func.func @order(
// CHECK: tg.transpose
// CHECK: tg.scatter
func.func @order(%x: tensor<8x4xf32>, %p: tensor<3x2xi64>, %u: tensor<2x3x4xf32>) -> tensor<8x4xf32> {
  %0 = tg.transpose %u [1, 0, 2] : tensor<2x3x4xf32>
  %1 = tg.scatter %x, %p, %0 data_map = affine_map<(i, j, d)[s] -> (s, d)> index_maps = [affine_map<(i, j, d) -> (i, j)>] : tensor<8x4xf32>, tensor<3x2xi64>, tensor<3x2x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

#elements = affine_map<(b, s, d)[p] -> (b, p, d)>
#each = affine_map<(b, s, d) -> (b, s, d)>

// An index for each element, that is one for each row.
// CHECK: #[[$ROW:.*]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-LABEL: func.func @elements(
// CHECK-NEXT: %[[R:.*]] = tg.scatter %arg0, %arg1, %arg2 data_map = #{{.*}} index_maps = [#[[$ROW]]] : tensor<2x8x4xf32>, tensor<5xi64>, tensor<2x5x4xf32>
// CHECK-NEXT: return %[[R]]
func.func @elements(%x: tensor<2x8x4xf32>, %p: tensor<5xi64>, %u: tensor<2x5x4xf32>) -> tensor<2x8x4xf32> {
  %0 = tg.reshape %p : tensor<5xi64> to tensor<1x5x1xi64>
  %1 = tg.broadcast %0 : tensor<1x5x1xi64> to tensor<2x5x4xi64>
  %2 = tg.scatter %x, %1, %u data_map = #elements index_maps = [#each] : tensor<2x8x4xf32>, tensor<2x5x4xi64>, tensor<2x5x4xf32>
  return %2 : tensor<2x8x4xf32>
}

// -----

// CHECK-LABEL: func.func @other_rows(
// CHECK: tg.reshape
// CHECK: tg.scatter
func.func @other_rows(%x: tensor<8x4xf32>, %p: tensor<2x3xi64>, %u: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %0 = tg.reshape %p : tensor<2x3xi64> to tensor<6xi64>
  %1 = tg.scatter %x, %0, %u data_map = affine_map<(s, d)[p] -> (p, d)> index_maps = [affine_map<(s, d) -> (s)>] : tensor<8x4xf32>, tensor<6xi64>, tensor<6x4xf32>
  return %1 : tensor<8x4xf32>
}
