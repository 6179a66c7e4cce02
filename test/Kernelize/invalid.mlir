// RUN: weft-opt %s --split-input-file --weft-kernelize --verify-diagnostics

// expected-error @+1 {{expected a kernel module with one function, got 2}}
module {
  func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
  func.func @g(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----
// expected-error @+1 {{expected a kernel body of one block}}
func.func private @kernel(%x: tensor<8xf32>) -> tensor<8xf32>

// -----
// expected-error @+1 {{expected one or more tensors as results}}
func.func @kernel(%x: tensor<8xf32>) { return }

// -----
// expected-error @+1 {{expected tensor arguments followed by index arguments, got 'tensor<8xf32>'}}
func.func @kernel(%s: index, %x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }

// -----
// expected-error @+1 {{expected extents over the 0 symbols of the kernel}}
func.func @kernel(%x: tensor<?xf32, #tg.dims<()[s0] -> (s0)>>) -> tensor<8xf32> {
  %0 = tg.constant dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
// expected-error @+1 {{expected elements of at least 8 bits in a kernel with several results, got 'tensor<8xf32>', 'tensor<8xi4>'}}
func.func @kernel(%x: tensor<8xf32>, %y: tensor<8xi4>) -> (tensor<8xf32>, tensor<8xi4>) {
  return %x, %y : tensor<8xf32>, tensor<8xi4>
}

// -----
module attributes {tg.schedule = #tg.schedule<tile = [8, 8], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
// expected-error @+1 {{expected a schedule with 1 tile extents, one for each dimension of the result}}
func.func @kernel(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----
func.func @kernel(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{cannot become GPU tiles: no rule for this op; --weft-normalize decomposes composites}}
  %0 = tg.softmax %x axis = 1 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----
module attributes {tg.schedule = #tg.schedule<tile = [16], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<100xf32>) -> tensor<10xf32> {
  // expected-error @+1 {{cannot become GPU tiles: expected a tile that holds the whole axis of the operand}}
  %0, %1 = tg.top_k %x axis = 0 k = 10 : tensor<100xf32>
  return %0 : tensor<10xf32>
}
}

// -----
func.func @kernel(%x: tensor<5x14xi8>) -> tensor<5x14xi8> {
  // expected-error @+1 {{cannot become GPU tiles: expected a constant of one value or of at most 64 elements}}
  %0 = tg.constant dense<[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
                          [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
                          [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]]> : tensor<5x14xi8>
  return %0 : tensor<5x14xi8>
}

// -----
func.func @kernel(%x: tensor<2000000xf32>) -> tensor<2000000xf32> {
  // expected-error @+1 {{cannot become GPU tiles: expected an axis of at most 1048576 elements, got 2000000}}
  %0 = tg.scan add %x axis = 0 : tensor<2000000xf32>
  return %0 : tensor<2000000xf32>
}
