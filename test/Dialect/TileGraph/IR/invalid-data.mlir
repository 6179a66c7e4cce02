// One case for each message of the data ops' verifiers and type inference.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @transpose(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected a permutation of 2 dimensions}}
  %0 = tg.transpose %x [1, 1] : tensor<4x8xf32>
  return
}

// -----

func.func @reshape_elements(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected equal numbers of elements, got 32 and 30}}
  %0 = tg.reshape %x : tensor<4x8xf32> to tensor<30xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected result element type 'f32', got 'f16'}}
  %0 = tg.reshape %x : tensor<4x8xf32> to tensor<32xf16>
  return
}

// -----

func.func @bitcast_width(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected element types of one width, got 'f32' and 'i16'}}
  %0 = tg.bitcast %x : tensor<4xf32> to tensor<4xi16>
  return
}

// -----

func.func @bitcast_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected result extents equal to the operand's, got 'tensor<5xi32>'}}
  %0 = tg.bitcast %x : tensor<4xf32> to tensor<5xi32>
  return
}

// -----

func.func @broadcast_op(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an operand that broadcasts to 'tensor<2x8xf32>', got 'tensor<4xf32>'}}
  %0 = tg.broadcast %x : tensor<4xf32> to tensor<2x8xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected offsets, strides and a result of rank 2}}
  %0 = tg.slice %x offsets = [0] strides = [1, 1] : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an offset within [0, 2^40] and a stride that is not 0 in dimension 0, got 0 and 0}}
  %0 = tg.slice %x offsets = [0] strides = [0] : tensor<4xf32> to tensor<4xf32>
  return
}

// -----

func.func @slice_bounds(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected reads of dimension 0 within [0, 4), got offset 1, stride 2, extent 3}}
  %0 = tg.slice %x offsets = [1] strides = [2] : tensor<4xf32> to tensor<3xf32>
  return
}

// -----

func.func @pad_count(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{expected low, high and interior padding for each of 1 dimensions}}
  %0 = tg.pad %x, %v low = [1, 1] high = [0] interior = [0] : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @pad_negative(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{expected padding within [0, 2^40]}}
  %0 = tg.pad %x, %v low = [-1] high = [0] interior = [0] : tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @pad_value(%x: tensor<4xf32>, %v: tensor<1xf32>) {
  // expected-error @+1 {{expected a value of rank 0 and element type 'f32', got 'tensor<1xf32>'}}
  %0 = tg.pad %x, %v low = [1] high = [0] interior = [0] : tensor<4xf32>, tensor<1xf32>
  return
}

// -----

func.func @concat_empty() {
  // expected-error @+2 {{expected at least one operand}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "tg.concat"() {axis = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_rank(%x: tensor<4xf32>, %y: tensor<4x1xf32>) {
  // expected-error @+1 {{expected operands of one rank and element type}}
  %0 = tg.concat %x, %y axis = 0 : tensor<4xf32>, tensor<4x1xf32>
  return
}

// -----

func.func @concat_extent(%x: tensor<4x2xf32>, %y: tensor<4x1xf32>) {
  // expected-error @+1 {{expected equal extents in dimension 1, got 2 and 1}}
  %0 = tg.concat %x, %y axis = 0 : tensor<4x2xf32>, tensor<4x1xf32>
  return
}

// -----

func.func @window_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected one size, stride and dilation for each of 1 dimensions}}
  %0 = tg.window %x dims = [0] sizes = [2] strides = [1, 1] dilations = [1] : tensor<4xf32>
  return
}

// -----

func.func @window_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected window sizes, strides and dilations within [1, 2^40]}}
  %0 = tg.window %x dims = [0] sizes = [0] strides = [1] dilations = [1] : tensor<4xf32>
  return
}

// -----

func.func @window_twice(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{expected distinct window dimensions, got 0 twice}}
  %0 = tg.window %x dims = [0, 0] sizes = [2, 2] strides = [1, 1] dilations = [1, 1] : tensor<4x4xf32>
  return
}

// -----

func.func @window_fit(%x: tensor<4xf32>) {
  // expected-error @+1 {{window of 5 elements does not fit dimension 0 of extent 4}}
  %0 = tg.window %x dims = [0] sizes = [3] strides = [1] dilations = [2] : tensor<4xf32>
  return
}

// -----

func.func @gather_map(%d: tensor<9x8xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected data_map to have 2 dimensions, 1 symbols and 2 results}}
  %0 = tg.gather %d, %i data_map = affine_map<(i, j)[s] -> (s)> index_maps = [affine_map<(i, j) -> (i)>]
      : tensor<9x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_symbol(%d: tensor<9x8xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected each result of data_map to be one symbol or a function of dimensions}}
  %0 = tg.gather %d, %i data_map = affine_map<(i, j)[s] -> (s + i, j)> index_maps = [affine_map<(i, j) -> (i)>]
      : tensor<9x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_index(%d: tensor<9x8xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected index maps of 2 dimensions, no symbols and 1 results}}
  %0 = tg.gather %d, %i data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i, j)>]
      : tensor<9x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_element(%d: tensor<9xf32>, %i: tensor<4xi64>, %u: tensor<4xf16>) {
  // expected-error @+1 {{expected updates of element type 'f32', got 'f16'}}
  %0 = tg.scatter %d, %i, %u data_map = affine_map<(i)[s] -> (s)> index_maps = [affine_map<(i) -> (i)>]
      : tensor<9xf32>, tensor<4xi64>, tensor<4xf16>
  return
}
