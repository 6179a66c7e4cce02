// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected an extent of one result without dimensions, got affine_map<() -> (64, 2)>}}
  %r = tg.fold over affine_map<() -> (64, 2)> init [0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected an initial value for each of 1 states, and a state, got 2}}
  %r = tg.fold over affine_map<() -> (64)> init [0.0 : f32, 0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected an initial value of the element type of 'tensor<4xf32>', got 0.000000e+00 : f16}}
  %r = tg.fold over affine_map<() -> (64)> init [0.0 : f16] update {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected `finish` to take 'tensor<4xf32>', got 'tensor<2xf32>'}}
  %r = tg.fold over affine_map<() -> (64)> init [0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<2xf32>):
    tg.fold_yield %l : tensor<2xf32>
  } : tensor<2xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected `merge` to yield 'tensor<4xf32>'}}
  %r = tg.fold over affine_map<() -> (64)> init [0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } merge {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    tg.fold_yield %a, %b : tensor<4xf32>, tensor<4xf32>
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected an op with `tg.streamed` in `update`}}
  %r = tg.fold over affine_map<() -> (64)> init [0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  %r = tg.fold over affine_map<() -> (32)> init [0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    // expected-error @+1 {{expected a streamed op to reduce affine_map<() -> (32)> elements}}
    %s = tg.reduce add %x axes = [1] {tg.streamed} : tensor<4x64xf32>
    %n = tg.add %l, %s : tensor<4xf32>, tensor<4xf32>
    tg.fold_yield %n : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected a positive number of parts and a positive unit, got 0 and 16}}
  %r = tg.fold over affine_map<() -> (64)> in 0 parts of 16 init [0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    %s = tg.reduce add %x axes = [1] {tg.streamed} : tensor<4x64xf32>
    tg.fold_yield %s : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expected results with a leading dimension of 3 parts, got 'tensor<4xf32>'}}
  %r = tg.fold over affine_map<() -> (64)> in 3 parts of 16 init [0.0 : f32] update {
  ^bb0(%l: tensor<4xf32>):
    %s = tg.reduce add %x axes = [1] {tg.streamed} : tensor<4x64xf32>
    tg.fold_yield %s : tensor<4xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4xf32>):
    tg.fold_yield %l : tensor<4xf32>
  } : tensor<4xf32>
  return
}
