// One case for each message of the structure ops' verifiers and type inference.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a map of symbols only, got 1 dimensions}}
func.func @dims_map(%x: tensor<?xf32, #tg.dims<(d0) -> (d0)>>)

// -----

// expected-error @+1 {{expected one extent for each of 2 dimensions, got 1}}
func.func @dims_count(%x: tensor<?x4xf32, #tg.dims<()[s0] -> (s0)>>)

// -----

// expected-error @+1 {{extent of dimension 1 disagrees with the tensor type}}
func.func @dims_value(%x: tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 5)>>)

// -----

func.func @weight_size() {
  // expected-error @+1 {{expected 16 bytes for 'tensor<4xf32>', got 12}}
  %0 = tg.weight <"w", 0, 12> : tensor<4xf32>
  return
}

// -----

func.func @weight_offset() {
  // expected-error @+1 {{expected offset and size not below 0, got -1 and 16}}
  %0 = tg.weight <"w", -1, 16> : tensor<4xf32>
  return
}

// -----

func.func @weight_order() {
  // expected-error @+1 {{expected an order of dimensions 0 to 1, got 1, 1}}
  %0 = tg.weight <"w", 0, 32> order [1, 1] : tensor<4x2xf32>
  return
}

// -----

func.func @weight_order_packed() {
  // expected-error @+1 {{expected elements of whole bytes with an order, got 'tensor<4x2xi4>'}}
  %0 = tg.weight <"w", 0, 4> order [1, 0] : tensor<4x2xi4>
  return
}

// -----

func.func @iota_axis() {
  // expected-error @+1 {{expected axis within [0, 1), got 1}}
  %0 = tg.iota 1 : tensor<4xi64>
  return
}

// -----

func.func @iota_element() {
  // expected-error @+1 {{expected numeric elements, got i1}}
  %0 = tg.iota 0 : tensor<4xi1>
  return
}

// -----

func.func @extents_map() {
  // expected-error @+1 {{expected a map of symbols only, got 1 dimensions}}
  %0 = tg.extents affine_map<(d0) -> (d0)>
  return
}

// -----

func.func @assume_equal() {
  // expected-error @+1 {{expected at least 2 results, got 1}}
  tg.assume_equal affine_map<()[s0] -> (s0)>, "x"
  return
}

// -----

func.func @kernel_types(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected tg.yield to have the kernel's result types}}
  %0 = tg.kernel -> tensor<5xf32> {
    tg.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_yield(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected its region to end in tg.yield}}
  "tg.kernel"() ({
    %0 = tg.exp %x : tensor<4xf32>
  }) : () -> ()
  return
}
