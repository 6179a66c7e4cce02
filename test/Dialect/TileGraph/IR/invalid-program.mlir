// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @order() {
  // expected-error @+1 {{expected at least 2 results, got 1}}
  tg.assume_at_most affine_map<()[s0] -> (s0)>, "x"
  return
}

// -----

func.func @order_dims() {
  // expected-error @+1 {{expected a map of symbols only, got 1 dimensions}}
  tg.assume_at_most affine_map<(d0) -> (d0, 1)>, "x"
  return
}

// -----

func.func @bind(%x: tensor<2xi64>) {
  // expected-error @+1 {{expected an i64 tensor of 1 elements, got 'tensor<2xi64>'}}
  tg.bind_symbols %x as [0], "x" : tensor<2xi64>
  return
}

// -----

func.func @bind_number(%x: tensor<1xi64>) {
  // expected-error @+1 {{expected numbers of symbols, got -1}}
  tg.bind_symbols %x as [-1], "x" : tensor<1xi64>
  return
}

// -----

func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @loop_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a function @nobody}}
  %r = tg.loop @nobody trips affine_map<() -> (3)> carry(%x : tensor<4xf32>) {scanned_reversed = array<i1>, collected_reversed = array<i1>} -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%x: tensor<5xf32>) -> tensor<5xf32>
func.func @loop_types(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected @body to take}}
  %r = tg.loop @body trips affine_map<() -> (3)> carry(%x : tensor<4xf32>) {scanned_reversed = array<i1>, collected_reversed = array<i1>} -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @loop_trips(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a map of symbols with one result, got}}
  %r = tg.loop @body trips affine_map<() -> (3, 4)> carry(%x : tensor<4xf32>) {scanned_reversed = array<i1>, collected_reversed = array<i1>} -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @loop_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 2 results, got 0}}
  tg.loop @body trips affine_map<() -> (3)> carry(%x : tensor<4xf32>) {scanned_reversed = array<i1>, collected_reversed = array<i1: true>}
  return
}

// -----

func.func private @body(%x: tensor<4xf32>)
func.func @loop_directions(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{expected 1 directions, got 0}}
  tg.loop @body trips affine_map<() -> (3)> scan(%x : tensor<3x4xf32>) {scanned_reversed = array<i1>, collected_reversed = array<i1>}
  return
}

// -----

func.func private @body(%x: tensor<f32>)
func.func @loop_rank(%x: tensor<f32>) {
  // expected-error @+1 {{expected what is scanned and collected to have a dimension}}
  tg.loop @body trips affine_map<() -> (3)> scan(%x : tensor<f32>) {scanned_reversed = array<i1: false>, collected_reversed = array<i1>}
  return
}

// -----

func.func private @body() -> tensor<4xf32>
func.func @if_condition(%x: tensor<2xi1>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a condition of one i1, got 'tensor<2xi1>'}}
  %r = tg.if %x then @body() else @body() : tensor<2xi1> -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body() -> tensor<5xf32>
func.func @if_results(%x: tensor<i1>) -> tensor<4xf32> {
  // expected-error @+1 {{expected @body to return}}
  %r = tg.if %x then @body() else @body() : tensor<i1> -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @a(tensor<4xf32>) -> tensor<4xf32>
func.func @variants_value(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a map of symbols with one result}}
  %r = tg.variants affine_map<()[s0] -> (s0, s0)> from [1] to [1] [@a, @a](%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @a(tensor<4xf32>) -> tensor<4xf32>
func.func @variants_count(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected an interval for each body but the last, got 2 and 2 ends for 2 bodies}}
  %r = tg.variants affine_map<()[s0] -> (s0)> from [1, 2] to [1, 3] [@a, @a](%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @a(tensor<4xf32>) -> tensor<4xf32>
func.func @variants_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected intervals that rise from 0, got 2 to 9 after 3}}
  %r = tg.variants affine_map<()[s0] -> (s0)> from [1, 2] to [3, 9] [@a, @a, @a](%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @variants_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a function @a}}
  %r = tg.variants affine_map<()[s0] -> (s0)> from [] to [] [@a](%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @a(tensor<4xf32>) -> tensor<5xf32>
func.func @variants_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected @a to be of type '(tensor<4xf32>) -> tensor<4xf32>', but for static extents, got '(tensor<4xf32>) -> tensor<5xf32>'}}
  %r = tg.variants affine_map<()[s0] -> (s0)> from [] to [] [@a](%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
