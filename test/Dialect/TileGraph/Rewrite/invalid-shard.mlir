// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-shard="ranks=3 requests=w:1,scan:0,x:0,nobody:0"

func.func @main(%i: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @unknown {{shard: `w`: dimension 1 of extent 4 is no multiple of 3 ranks; name another dimension, or leave the tensor whole}}
  %w = tg.weight <"m.bin", 0, 48> : tensor<3x4xf32> loc("w")
  %r = tg.add %i, %w : tensor<3x4xf32>, tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

func.func @main(%i: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @unknown {{shard: `scan`: 'tg.scan' cannot make parts of dimension 0: d0: the op needs all of that dimension at once; d1: an extent of 4 is no multiple of 3 ranks}}
  %r = tg.scan add %i axis = 0 : tensor<3x4xf32> loc("scan")
  return %r : tensor<3x4xf32>
}

// -----

// expected-error @+1 {{shard: `x`: dimension 0 has no static extent; name another dimension, or leave the tensor whole}}
func.func @main(%i: tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {tg.name = "x"}) -> tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {
  return %i : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
}

// -----

// expected-error @+1 {{shard: `w:1`: expected the name of a node, weight, input or output, none matches}}
func.func @main(%i: tensor<3xf32>) -> tensor<3xf32> {
  return %i : tensor<3xf32>
}
