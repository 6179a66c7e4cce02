// One case for each message of the elementwise ops' verifiers and type inference.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @element_types(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @+1 {{expected operands of one element type, got 'f32' and 'f16'}}
  %0 = tg.add %x, %y : tensor<4xf32>, tensor<4xf16>
  return
}

// -----

func.func @broadcast(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{expected shapes that broadcast together, got [4] and [3]}}
  %0 = tg.add %x, %y : tensor<4xf32>, tensor<3xf32>
  return
}

// -----

func.func @cast_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected result extents equal to the operand's, got 'tensor<5xf16>' for 'tensor<4xf32>'}}
  %0 = tg.cast %x : tensor<4xf32> to tensor<5xf16>
  return
}

// -----

func.func @cast_round_up(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected result element type f8E8M0FNU with 'round_up', got 'f16'}}
  %0 = tg.cast %x {round_up = true} : tensor<4xf32> to tensor<4xf16>
  return
}
