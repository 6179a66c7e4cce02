// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file --verify-diagnostics

// expected-error @below {{'func.func' op expected at least 2 symbol arguments of the kernel, got 1}}
func.func @symbols(%x: tensor<?xf32, #tg.dims<()[s0, s1] -> (s1)>>, %s0: index) {
  return
}

// -----

func.func @extents(%s0: index) -> tensor<1xi64> {
  // expected-error @below {{'tg.extents' op expected at least 2 symbol arguments of the kernel, got 1}}
  %r = tg.extents affine_map<()[s0, s1] -> (s1)>
  return %r : tensor<1xi64>
}

// -----

// expected-error @below {{'func.func' op expected tensor arguments followed by index arguments, got 'tensor<4xf32>'}}
func.func @order(%s0: index, %x: tensor<4xf32>) {
  return
}

// -----

func.func @composite(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'tg.softmax' op expected a primitive in a kernel; --weft-normalize decomposes composites}}
  %r = tg.softmax %x axis = 1 : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
