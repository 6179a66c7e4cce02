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

// -----
func.func @f(%a: !tk.tile<64x64xf16>, %i: index) {
  // expected-error @+1 {{expected elements of 32 bits, got '!tk.tile<64x64xf16>'}}
  %turns, %stores = tk.part_send %a part (%i, %i, %i) of 96 x 4 : !tk.tile<64x64xf16>
  return
}

// -----
func.func @f(%a: !tk.tile<64x64xf32>, %i: index) {
  // expected-error @+1 {{expected slots for tiles of at least 2 parts, got 95 x 4}}
  %turns, %stores = tk.part_send %a part (%i, %i, %i) of 95 x 4 : !tk.tile<64x64xf32>
  return
}

// -----
func.func @f(%a: !tk.tile<64x64xf32>, %i: index) {
  // expected-error @+1 {{expected pieces of multiples of 4 registers, got 6}}
  %0, %stores, %share = tk.part_sum %a part (%i, %i, %i) of 96 x 4 in pieces of 6 : !tk.tile<64x64xf32>
  return
}

// -----

func.func @f(%a: !tk.tile<16x64xf16>, %b: !tk.tile<64x8xf16>, %c: !tk.tile<16x8x2xf32>) {
  // expected-error @+1 {{expected a depth order that permutes the bits of 32 elements along k, and no live depth, got array<i64: 2, 0, 0, 1, 3>}}
  %0 = tk.dot %a, %b, %c {depth_order = array<i64: 2, 0, 0, 1, 3>} : !tk.tile<16x64xf16>, !tk.tile<64x8xf16>, !tk.tile<16x8x2xf32>
  return
}
