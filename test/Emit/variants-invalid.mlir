// Variants that no compile makes: what the writer of launch programs says of them.
// RUN: split-file %s %t
// RUN: not weft-compile %t/results.mlir --compile-from=lower --target=sm_80 -o %t.weft 2>&1 | FileCheck %s --check-prefix=RESULTS
// RUN: not weft-compile %t/body.mlir --compile-from=lower --target=sm_80 -o %t.weft 2>&1 | FileCheck %s --check-prefix=BODY

// RESULTS: error: expected variants to make what the program returns
// BODY: error: expected a body a of one block

//--- results.mlir
module {
  func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tg.variants affine_map<() -> (1)> from [] to [] [@a](%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
  }
}
//--- body.mlir
module {
  func.func private @a(tensor<4xf32>) -> tensor<4xf32>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tg.variants affine_map<() -> (1)> from [] to [] [@a](%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
