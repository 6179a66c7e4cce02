// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @few(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 2 to 1024 ranks, got 1}}
  %r = tg.all_reduce add %x ranks = 1 : tensor<4xf32>
  return
}

// -----

func.func @kind(%x: tensor<4xi32>) {
  // expected-error @+1 {{expected add, mul, max or min, got or}}
  %r = tg.all_reduce or %x ranks = 2 : tensor<4xi32>
  return
}

// -----

func.func @element(%x: tensor<4xi16>) {
  // expected-error @+1 {{expected floats or integers of 8, 32 or 64 bits, got 'i16'}}
  %r = tg.all_reduce add %x ranks = 2 : tensor<4xi16>
  return
}

// -----

func.func @narrow(%x: tensor<4xi4>) {
  // expected-error @+1 {{expected elements of whole bytes, got 'i4'}}
  %r = tg.all_gather %x : tensor<4xi4> -> tensor<2x4xi4>
  return
}

// -----

func.func @parts(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected parts of type 'tensor<4xf32>', got 'tensor<2xf32>'}}
  %r = tg.reduce_scatter add %x : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @scalar(%x: tensor<f32>) {
  // expected-error @+1 {{expected a dimension of ranks, got 'tensor<f32>'}}
  %r = tg.own_part %x : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @symbolic(%x: tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>) {
  // expected-error @+1 {{expected 2 to 1024 ranks, got an extent that is not static}}
  %r = tg.all_to_all %x : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>
  return
}
