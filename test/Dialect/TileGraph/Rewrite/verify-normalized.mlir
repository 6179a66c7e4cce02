// RUN: weft-opt %s --weft-verify-normalized --split-input-file --verify-diagnostics

func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tg.gelu' op expected primitives only after normalization, got a composite}}
  %0 = tg.gelu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @foreign() -> index {
  // expected-error@+1 {{'arith.constant' op expected ops of builtin, func and tg only after normalization}}
  %0 = arith.constant 1 : index
  return %0 : index
}

// -----

func.func @normal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tg.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
