// Messages about slots in shared memory.
// RUN: weft-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a pitch that is a multiple of 1024 below the tile's 16384 bytes, got 16384}}
func.func private @f(!tk.shared<2 x 128x64xf16, pitch = 16384>)

// -----
// expected-error @+1 {{expected a pitch that is a multiple of 1024 below the tile's 16384 bytes, got 1000}}
func.func private @f(!tk.shared<2 x 128x64xf16, pitch = 1000>)

// -----
func.func @f(%x: !tk.global<tensor<8xf16>>, %b: !tk.shared<1 x 8xf16>) {
  // expected-error @+1 {{expected live indices of each dimension of '!tk.shared<1 x 8xf16>', by engine tma, got [9]}}
  tk.copy %x map affine_map<(d0) -> (d0)>, %b engine tma {live = array<i64: 9>} : !tk.global<tensor<8xf16>>, !tk.shared<1 x 8xf16>
  return
}

// -----
func.func @f(%x: !tk.global<tensor<8xf16>>, %b: !tk.shared<1 x 8xf16>) {
  // expected-error @+1 {{expected live indices of each dimension of '!tk.shared<1 x 8xf16>', by engine tma, got [4]}}
  tk.copy %x map affine_map<(d0) -> (d0)>, %b engine cp_async {live = array<i64: 4>} : !tk.global<tensor<8xf16>>, !tk.shared<1 x 8xf16>
  return
}
