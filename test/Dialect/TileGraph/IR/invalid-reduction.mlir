// One case for each message of the reduction ops' verifiers and type inference.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @contract_maps(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expected 3 maps (lhs, rhs, result), got 2}}
  %0 = tg.contract %a, %a [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @contract_rank(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expected the rhs map to have 2 dimensions, no symbols and 2 results, got affine_map<(d0, d1) -> (d0)>}}
  %0 = tg.contract %a, %a [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>, affine_map<(m, k) -> (m)>]
      : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @contract_result(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expected the result map to be a projected permutation}}
  %0 = tg.contract %a, %a [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m + k)>]
      : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @contract_extent(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expected domain dimension 2 alone in a result of at least one map}}
  %0 = tg.contract %a, %a [affine_map<(m, k, z) -> (m, k)>, affine_map<(m, k, z) -> (m, k + z)>, affine_map<(m, k, z) -> (m)>]
      : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @contract_bounds(%x: tensor<9xf32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{expected accesses of lhs dimension 0 within [0, 9), got [0, 9]}}
  %0 = tg.contract %x, %w [affine_map<(o, k) -> (o + k)>, affine_map<(o, k) -> (k)>, affine_map<(o, k) -> (o)>]
      : tensor<9xf32>, tensor<3xf32> -> tensor<8xf32>
  return
}

// -----

func.func @contract_element(%a: tensor<4x8xf32>, %b: tensor<8xi32>) {
  // expected-error @+1 {{expected operands and result all float or all integer, got 'f32', 'i32', 'f32'}}
  %0 = tg.contract %a, %b [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>]
      : tensor<4x8xf32>, tensor<8xi32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_axis(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected axis within [0, 2), got 2}}
  %0 = tg.reduce add %x axes = [2] : tensor<4x8xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected axes in increasing order, got 0 after 1}}
  %0 = tg.reduce add %x axes = [1, 0] : tensor<4x8xf32>
  return
}

// -----

func.func @reduce_logical(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected integer or boolean elements for 'and', got 'f32'}}
  %0 = tg.reduce and %x axes = [1] : tensor<4x8xf32>
  return
}

// -----

func.func @reduce_boolean(%x: tensor<4x8xi1>) {
  // expected-error @+1 {{expected numeric elements for 'add', got 'i1'}}
  %0 = tg.reduce add %x axes = [1] : tensor<4x8xi1>
  return
}

// -----

func.func @arg_reduce_kind(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected kind max or min, got add}}
  %0 = tg.arg_reduce add %x axis = 1 : tensor<4x8xf32>
  return
}

// -----

func.func @scan_axis(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected axis within [0, 2), got -1}}
  %0 = tg.scan add %x axis = -1 : tensor<4x8xf32>
  return
}

// -----

func.func @top_k(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected k within [0, extent of the axis], got 9}}
  %0, %1 = tg.top_k %x axis = 1 k = 9 : tensor<4x8xf32>
  return
}

// -----

func.func @contract_extents(%a: tensor<4x8xf32>, %b: tensor<9xf32>) {
  // expected-error @+1 {{expected one extent of domain dimension 1, got 8 and 9}}
  %0 = tg.contract %a, %b [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, affine_map<(m, k) -> (m)>]
      : tensor<4x8xf32>, tensor<9xf32> -> tensor<4xf32>
  return
}
