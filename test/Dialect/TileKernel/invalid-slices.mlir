// Messages of the verifiers about products in slices, and what the CTAs of a cluster send each other.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: !tk.tile<16x8xf16>, %b: !tk.tile<8x8xf16>, %c: !tk.tile<16x8x16xf32>) {
  // expected-error @+1 {{expected [m, k], [k, n] and [m, n], or [m, n, s] with a divisor s of k, got '!tk.tile<16x8xf16>', '!tk.tile<8x8xf16>' and '!tk.tile<16x8x16xf32>'}}
  %0 = tk.dot %a, %b, %c : !tk.tile<16x8xf16>, !tk.tile<8x8xf16>, !tk.tile<16x8x16xf32>
  return
}

// -----

func.func @f(%a: !tk.tile<16x8xf32>, %b: !tk.tile<16x16xf32>, %s: !tk.shared<4 x 8x8xf32>) {
  // expected-error @+1 {{expected tiles of one type and as many slots for each, got}}
  tk.cluster_send %a, %b to %s : !tk.tile<16x8xf32>, !tk.tile<16x16xf32> to !tk.shared<4 x 8x8xf32>
  return
}

// -----

func.func @f(%a: !tk.tile<16x8xf32>, %s: !tk.shared<4 x 8x8xf32>) {
  // expected-error @+1 {{expected a slot for the share of each CTA of the cluster in the rows of a tile, got}}
  tk.cluster_send %a to %s : !tk.tile<16x8xf32> to !tk.shared<4 x 8x8xf32>
  return
}
