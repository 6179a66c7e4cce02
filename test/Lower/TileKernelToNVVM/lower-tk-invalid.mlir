// What the lowering refuses.
// RUN: weft-opt %s --weft-lower-tk --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a kernel module with a function @kernel of tk ops without results}}
module attributes {tk.target = "sm_80"} {
}

// -----

module attributes {tk.target = "sm_80"} {
  func.func @kernel() attributes {tk.warps = 1 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      // expected-error @+1 {{expected a tile with a layout, got '!tk.tile<32xf32>'; run --weft-tk-layouts first}}
      %0 = tk.constant 0.0 : f32 : !tk.tile<32xf32>
      tk.yield
    }
    return
  }
}

// -----

!t = !tk.tile<64xf32, #tk.layout<"blocked(shape=[64], size=[1], threads=[32], warps=[2], order=[0])">>
module attributes {tk.target = "sm_80"} {
  func.func @kernel() attributes {tk.warps = 1 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      // expected-error @+1 {{expected a layout over 32 lanes and 1 warps}}
      %0 = tk.constant 0.0 : f32 : !t
      tk.yield
    }
    return
  }
}

// -----

!t = !tk.tile<32xf32, #tk.layout<"blocked(shape=[32], size=[1], threads=[32], warps=[1], order=[0])">>
module attributes {tk.target = "sm_80"} {
  func.func @kernel(%y: !tk.global<tensor<32xf32>>) attributes {tk.warps = 1 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %0 = tk.constant 0.0 : f32 : !t
      // expected-error @+2 {{expected a combiner add, max or min}}
      // expected-error @+1 {{failed to legalize operation 'tk.store'}}
      tk.store %0, %y map affine_map<(d0) -> (d0)> combine mul : !t, !tk.global<tensor<32xf32>>
      tk.yield
    }
    return
  }
}

// -----

!t = !tk.tile<32xf32, #tk.layout<"blocked(shape=[32], size=[1], threads=[32], warps=[1], order=[0])">>
module attributes {tk.target = "sm_80"} {
  func.func @kernel(%y: !tk.global<tensor<2x16xf32>>) attributes {tk.warps = 1 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %0 = tk.constant 0.0 : f32 : !t
      // expected-error @+2 {{expected lines of at least 32 bytes that each warp holds by itself, got}}
      // expected-error @+1 {{failed to legalize operation 'tk.store'}}
      tk.store %0, %y map affine_map<(d0) -> (d0 mod 2, d0 floordiv 2)> lines : !t, !tk.global<tensor<2x16xf32>>
      tk.yield
    }
    return
  }
}

// -----

module attributes {tk.target = "sm_80"} {
  func.func @kernel() attributes {tk.warps = 1 : i64} {
    // expected-error @+2 {{expected a traversal: traversal: expected tail<w,p,ORDER> of w whole tiles and p >= 2 parts, got 'tail<2,1,row>'}}
    // expected-error @+1 {{failed to legalize operation 'tk.for_tiles'}}
    tk.for_tiles (%i) in affine_map<() -> (4)> order "tail<2,1,row>" {
      tk.yield
    }
    return
  }
}
