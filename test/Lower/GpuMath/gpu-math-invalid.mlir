// RUN: weft-opt %s --weft-gpu-math --split-input-file --verify-diagnostics

func.func @atan2(%x: f32) -> f32 {
  // expected-error @+1 {{op 'math.atan2' has no form on a GPU for its types}}
  %0 = math.atan2 %x, %x : f32
  return %0 : f32
}

// -----

func.func @matrix(%x: vector<2x2xf32>) -> vector<2x2xf32> {
  // expected-error @+1 {{op 'math.exp' has no form on a GPU for its types}}
  %0 = math.exp %x : vector<2x2xf32>
  return %0 : vector<2x2xf32>
}
