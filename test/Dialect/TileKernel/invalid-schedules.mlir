// What is no #tg.schedule, and what a tile that is no power of two cannot be stored in.
// RUN: weft-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected powers of two in `tile`, or multiples of 8 where engine = wgmma or mma, got [12] and mma}}
module attributes {tg.schedule = #tg.schedule<tile = [12], stream = [16], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {}

// -----
// expected-error @+1 {{expected powers of two in `tile`, or multiples of 8 where engine = wgmma or mma, got [24] and simt}}
module attributes {tg.schedule = #tg.schedule<tile = [24], stream = [16], engine = simt, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {}

// -----
// Beside the longest step of wgmma any number.
// expected-error @+1 {{expected powers of two in `stream`, got [24, 3]}}
module attributes {tg.schedule = #tg.schedule<tile = [4], stream = [24, 3], engine = wgmma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {}

// -----
// expected-error @+1 {{expected powers of two in `stream`, got [16, 3]}}
module attributes {tg.schedule = #tg.schedule<tile = [4], stream = [16, 3], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {}

// -----
// expected-error @+1 {{expected 1 to 32 warps, a power of two, got 3}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = mma, warps = 3, stages = 2, order = "row", persistent = false, split = 1>} {}

// -----
// expected-error @+1 {{expected 1 to 16 stages, got 0}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = simt, warps = 4, stages = 0, order = "row", persistent = false, split = 1>} {}

// -----
// expected-error @+1 {{expected a split of at least 1, got 0}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = wgmma, warps = 4, stages = 1, order = "row", persistent = false, split = 0>} {}

// -----
// expected-error @+1 {{expected a multicast to 1 to 16 CTAs, a power of two, got 3}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = wgmma, warps = 4, stages = 1, order = "row", persistent = false, split = 1, multicast = 3>} {}

// -----
// expected-error @+1 {{expected a multicast to 1 to 16 CTAs, a power of two, got 32}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = wgmma, warps = 4, stages = 1, order = "row", persistent = false, split = 1, multicast = 32>} {}

// -----
// expected-error @+1 {{expected engine = wgmma with a multicast, got mma}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = mma, warps = 4, stages = 1, order = "row", persistent = false, split = 1, multicast = 2>} {}

// -----
// expected-error @+1 {{expected engine = wgmma with turns, got simt}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1, turns = true>} {}

// -----
// expected-error @+1 {{expected multicast or turns, got 'lanes'}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = wgmma, warps = 4, stages = 1, order = "row", persistent = false, split = 1, lanes = 4>} {}

// -----
// expected-error @+1 {{expected turns = true or false, got 'maybe'}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = wgmma, warps = 4, stages = 1, order = "row", persistent = false, split = 1, turns = maybe>} {}

// -----
// expected-error @+1 {{expected a split or a multicast, got split = 2 and multicast = 4}}
module attributes {tg.schedule = #tg.schedule<tile = [4], engine = wgmma, warps = 4, stages = 1, order = "row", persistent = false, split = 2, multicast = 4>} {}

// -----
func.func @f(%y: !tk.global<tensor<64x64xf16>>, %t: !tk.tile<64x64xf16>, %b: !tk.shared<1 x 64x32xf16>) {
  // expected-error @+1 {{expected live columns of whole lines of 32 in a tile of 64, got 48}}
  tk.store_box %t, %y map affine_map<(d0, d1) -> (d0, d1)> through %b {live_columns = 48 : i64} : !tk.tile<64x64xf16>, !tk.global<tensor<64x64xf16>>, !tk.shared<1 x 64x32xf16>
  return
}
