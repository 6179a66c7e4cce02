// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @extent(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{'tg.kernel' op expected domain #tg.domain<d0: 4 parallel, d1: 8 parallel>, as its ops' maps say, got #tg.domain<d0: 8 parallel, d1: 4 parallel>}}
  %r = tg.kernel domain <d0: 8 parallel, d1: 4 parallel> access [] -> tensor<4x8xf32> {
    %0 = tg.exp %x : tensor<4x8xf32>
    tg.yield %0 : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// -----
func.func @count(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{'tg.kernel' op expected maps for 2 values in access, got 1}}
  %r = tg.kernel domain <d0: 4 parallel, d1: 8 parallel> access [[]] -> tensor<4x8xf32> {
    %0 = tg.exp %x : tensor<4x8xf32>
    tg.yield %0 : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// -----
func.func @map(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{'tg.kernel' op expected access [affine_map<(d0, d1) -> (d1, d0)>] of value 0, as its ops' maps say, got [affine_map<(d0, d1) -> (d0, d1)>]}}
  %r = tg.kernel domain <d0: 8 parallel, d1: 8 parallel> access [[affine_map<(d0, d1) -> (d0, d1)>], [affine_map<(d0, d1) -> (d0, d1)>]] -> tensor<8x8xf32> {
    %0 = tg.transpose %x [1, 0] : tensor<8x8xf32>
    tg.yield %0 : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----
// expected-error @+1 {{expected d1, parallel (before reduced ones) or reduce}}
#domain = #tg.domain<d0: 8 reduce, d1: 8 parallel>

// -----
// expected-error @+1 {{expected a dimension, such as d0}}
#domain = #tg.domain<n: 8 parallel>

// -----
// expected-error @+1 {{expected d1 to run along itself or, if it is reduced, an earlier dimension that does, got d2}}
#domain = #tg.domain<d0: 8 parallel, d1: 8 reduce along d2, d2: 8 reduce>
