// RUN: weft-opt %s --weft-plan-layouts=target=H100 --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-plan-layouts=target=H100 --split-input-file --remarks-filter=plan --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: weft-opt %s --weft-plan-layouts --split-input-file | FileCheck %s --check-prefix=NONE

// NONE-NOT: tg.kernel "copy"

// Rows of 1,531 elements begin anywhere: both operands are copied behind zeros to whole lines, once for all products.
// REMARK: tensor<2946x1531xbf16> is copied with rows of 1536 elements, over which a GEMM contracts
// REMARK: tensor<2048x1531xbf16> is copied with rows of 1536 elements, over which a GEMM contracts
// REMARK-NOT: tensor<2946x1531xbf16> is copied
// REMARK: tensor<1024x1531xbf16> is copied
// REMARK: tensor<?x1531xbf16, {{.*}}> is copied
// REMARK-NOT: is copied
// CHECK-LABEL: func.func @rows
// CHECK: %[[X:.*]] = tg.kernel "copy" -> tensor<2946x1536xbf16> {
// CHECK:   %[[P:.*]] = tg.pad %arg0, %{{.*}} low = [0, 0] high = [0, 5]
// CHECK:   tg.yield %[[P]]
// CHECK: %[[W:.*]] = tg.kernel "copy" -> tensor<2048x1536xbf16> {
// CHECK: tg.kernel "first"
// CHECK:   tg.contract %[[X]], %[[W]] {{.*}} : tensor<2946x1536xbf16>, tensor<2048x1536xbf16> -> tensor<2946x2048xbf16>
// CHECK: %[[V:.*]] = tg.kernel "copy" -> tensor<1024x1536xbf16> {
// CHECK: tg.kernel "second"
// CHECK:   tg.contract %[[X]], %[[V]]
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @rows(%x: tensor<2946x1531xbf16>, %w: tensor<2048x1531xbf16>, %v: tensor<1024x1531xbf16>) -> (tensor<2946x2048xbf16>, tensor<2946x1024xbf16>) {
  %0 = tg.kernel "first" -> tensor<2946x2048xbf16> {
    %2 = tg.contract %x, %w [#a, #b, #c] : tensor<2946x1531xbf16>, tensor<2048x1531xbf16> -> tensor<2946x2048xbf16>
    %3 = tg.tanh %2 : tensor<2946x2048xbf16>
    tg.yield %3 : tensor<2946x2048xbf16>
  }
  %1 = tg.kernel "second" -> tensor<2946x1024xbf16> {
    %2 = tg.contract %x, %v [#a, #b, #c] : tensor<2946x1531xbf16>, tensor<1024x1531xbf16> -> tensor<2946x1024xbf16>
    tg.yield %2 : tensor<2946x1024xbf16>
  }
  return %0, %1 : tensor<2946x2048xbf16>, tensor<2946x1024xbf16>
}

// -----

// An operand that is not contiguous along the sum gets its zeros where it is read.
// CHECK-LABEL: func.func @across
// CHECK: %[[X:.*]] = tg.kernel "copy" -> tensor<?x1536xbf16
// CHECK-NOT: tg.kernel "copy"
// CHECK: %[[P:.*]] = tg.pad %arg1, %{{.*}} low = [0, 0] high = [5, 0]
// CHECK: tg.contract %[[X]], %[[P]]
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = #tg.dims<()[s0] -> (s0, 1531)>
#y = #tg.dims<()[s0] -> (s0, 2048)>
module attributes {tg.symbols = ["rows"], tg.likely = array<i64: 4096>, tg.symbol_ranges = [array<i64: 1, 4096, 4096>]} {
func.func @across(%x: tensor<?x1531xbf16, #x>, %w: tensor<1531x2048xbf16>) -> tensor<?x2048xbf16, #y> {
  %0 = tg.kernel "product" -> tensor<?x2048xbf16, #y> {
    %2 = tg.contract %x, %w [#a, #b, #c] : tensor<?x1531xbf16, #x>, tensor<1531x2048xbf16> -> tensor<?x2048xbf16, #y>
    tg.yield %2 : tensor<?x2048xbf16, #y>
  }
  return %0 : tensor<?x2048xbf16, #y>
}
}

// -----

// Nothing is gained by small products, by products of a row, where an operand is computed from place to place, where the rows that begin
// anywhere do not run along the sum, and where all of them begin at units.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: tg.kernel "copy"
// CHECK-NOT: tg.pad
// CHECK: return
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#t = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @stays(%x: tensor<100x101xbf16>, %w: tensor<90x101xbf16>, %row: tensor<1x1531xbf16>, %v: tensor<2048x1531xbf16>, %big: tensor<4096x1531xbf16>,
                 %even: tensor<4096x1528xbf16>, %odd: tensor<1528x1531xbf16>)
    -> (tensor<100x90xbf16>, tensor<1x2048xbf16>, tensor<4096x2048xbf16>, tensor<4096x1531xbf16>, tensor<4096x4096xbf16>) {
  %0 = tg.kernel "small" -> tensor<100x90xbf16> {
    %5 = tg.contract %x, %w [#a, #b, #c] : tensor<100x101xbf16>, tensor<90x101xbf16> -> tensor<100x90xbf16>
    tg.yield %5 : tensor<100x90xbf16>
  }
  %1 = tg.kernel "row" -> tensor<1x2048xbf16> {
    %5 = tg.contract %row, %v [#a, #b, #c] : tensor<1x1531xbf16>, tensor<2048x1531xbf16> -> tensor<1x2048xbf16>
    tg.yield %5 : tensor<1x2048xbf16>
  }
  %2 = tg.kernel "computed" -> tensor<4096x2048xbf16> {
    %5 = tg.exp %big : tensor<4096x1531xbf16>
    %6 = tg.contract %5, %v [#a, #b, #c] : tensor<4096x1531xbf16>, tensor<2048x1531xbf16> -> tensor<4096x2048xbf16>
    tg.yield %6 : tensor<4096x2048xbf16>
  }
  %3 = tg.kernel "columns" -> tensor<4096x1531xbf16> {
    %5 = tg.contract %even, %odd [#a, #t, #c] : tensor<4096x1528xbf16>, tensor<1528x1531xbf16> -> tensor<4096x1531xbf16>
    tg.yield %5 : tensor<4096x1531xbf16>
  }
  %4 = tg.kernel "units" -> tensor<4096x4096xbf16> {
    %5 = tg.contract %even, %even [#a, #b, #c] : tensor<4096x1528xbf16>, tensor<4096x1528xbf16> -> tensor<4096x4096xbf16>
    tg.yield %5 : tensor<4096x4096xbf16>
  }
  return %0, %1, %2, %3, %4 : tensor<100x90xbf16>, tensor<1x2048xbf16>, tensor<4096x2048xbf16>, tensor<4096x1531xbf16>, tensor<4096x4096xbf16>
}
