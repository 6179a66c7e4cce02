// One case for each message of the composite ops' verifiers and type inference.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @layer_norm_stash(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{expected a float stash type, got 'i32'}}
  %0, %1, %2 = tg.layer_norm %x, %w axis = 1 epsilon = 1.0e-5 stash = i32 : tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @layer_norm_scale(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{expected scale to broadcast to 'tensor<4x8xf32>', got 'tensor<4xf32>'}}
  %0, %1, %2 = tg.layer_norm %x, %w axis = 1 epsilon = 1.0e-5 stash = f32 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @group_norm_rank(%x: tensor<4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{expected an operand of rank 2 or more (batch, channels, ...), got rank 1}}
  %0 = tg.group_norm %x, %w, %w groups = 2 epsilon = 1.0e-5 stash = f32 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @group_norm_groups(%x: tensor<1x4x2xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{expected groups to divide 4 channels, got 3}}
  %0 = tg.group_norm %x, %w, %w groups = 3 epsilon = 1.0e-5 stash = f32 : tensor<1x4x2xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @group_norm_scale(%x: tensor<1x4x2xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected scale and bias of extent 4, got 'tensor<2xf32>'}}
  %0 = tg.group_norm %x, %w, %w groups = 2 epsilon = 1.0e-5 stash = f32 : tensor<1x4x2xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @attention_rank(%q: tensor<8x4x16xf32>) {
  // expected-error @+1 {{expected query, key and value of rank 4 (batch, heads, sequence, width)}}
  %0, %1 = tg.attention %q, %q, %q scale = 1.0 softmax = f32 : tensor<8x4x16xf32>, tensor<8x4x16xf32>, tensor<8x4x16xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<1x3x4x16xf32>, %k: tensor<1x2x4x16xf32>) {
  // expected-error @+1 {{expected the number of query heads to be a multiple of the number of key heads}}
  %0, %1 = tg.attention %q, %k, %k scale = 1.0 softmax = f32 : tensor<1x3x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>
  return
}

// -----

func.func @attention_width(%q: tensor<1x2x4x16xf32>, %k: tensor<1x2x4x8xf32>) {
  // expected-error @+1 {{expected query and key of equal width}}
  %0, %1 = tg.attention %q, %k, %k scale = 1.0 softmax = f32 : tensor<1x2x4x16xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>
  return
}

// -----

func.func @attention_batch(%q: tensor<1x2x4x16xf32>, %k: tensor<2x2x4x16xf32>) {
  // expected-error @+1 {{expected equal batch extents of query, key and value}}
  %0, %1 = tg.attention %q, %k, %k scale = 1.0 softmax = f32 : tensor<1x2x4x16xf32>, tensor<2x2x4x16xf32>, tensor<2x2x4x16xf32>
  return
}

// -----

func.func @attention_length(%q: tensor<1x2x4x16xf32>, %v: tensor<1x2x5x16xf32>) {
  // expected-error @+1 {{expected key and value with equal heads and sequence lengths}}
  %0, %1 = tg.attention %q, %q, %v scale = 1.0 softmax = f32 : tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x5x16xf32>
  return
}

// -----

func.func @attention_stage(%q: tensor<1x2x4x16xf32>) {
  // expected-error @+1 {{expected scores_stage within [0, 3], got 4}}
  %0, %1 = tg.attention %q, %q, %q scale = 1.0 softmax = f32 {scores_stage = 4 : i64}
      : tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>
  return
}

// -----

func.func @attention_softmax(%q: tensor<1x2x4x16xf32>) {
  // expected-error @+1 {{expected a float softmax type, got 'i32'}}
  %0, %1 = tg.attention %q, %q, %q scale = 1.0 softmax = i32 : tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>
  return
}
