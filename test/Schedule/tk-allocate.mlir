// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-tk-allocate | FileCheck %s

// Buffers of different times share bytes, behind a barrier; one that lives through both does not.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: tk.shared_bytes = 16384
// CHECK: %[[A:.*]] = tk.alloc at 0
// CHECK: %[[B:.*]] = tk.alloc at 0
// CHECK: %[[C:.*]] = tk.alloc at 8192
// CHECK: tk.local_load %[[A]]
// CHECK-NEXT: tk.barrier
// CHECK-NEXT: tk.local_store %{{.*}}, %[[B]]
module attributes {tk.target = "sm_80"} {
  func.func @kernel(%x: !tk.global<tensor<64x64xf16>>, %y: !tk.global<tensor<64x64xf16>>) attributes {tk.warps = 4 : i64} {
    %a = tk.alloc : !tk.shared<1 x 64x64xf16>
    %b = tk.alloc : !tk.shared<1 x 64x64xf16>
    %c = tk.alloc : !tk.shared<1 x 64x64xf16>
    tk.for_tiles (%t) in affine_map<() -> (4)> {
      %0 = tk.load %x map affine_map<(d0, d1) -> (d0, d1)> : !tk.global<tensor<64x64xf16>> -> !tk.tile<64x64xf16>
      tk.local_store %0, %c : !tk.tile<64x64xf16>, !tk.shared<1 x 64x64xf16>
      tk.local_store %0, %a : !tk.tile<64x64xf16>, !tk.shared<1 x 64x64xf16>
      tk.barrier
      %1 = tk.local_load %a : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
      tk.local_store %1, %b : !tk.tile<64x64xf16>, !tk.shared<1 x 64x64xf16>
      tk.barrier
      %2 = tk.local_load %b : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
      %3 = tk.local_load %c : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
      tk.store %2, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x64xf16>, !tk.global<tensor<64x64xf16>>
      tk.store %3, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x64xf16>, !tk.global<tensor<64x64xf16>>
      tk.yield
    }
    return
  }
}

// -----

// The iterations of a loop read one buffer and fill the other: each has bytes of its own, though one ends where the other begins.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: tk.shared_bytes = 16384
// CHECK: tk.alloc at 0
// CHECK: tk.alloc at 8192
module attributes {tk.target = "sm_80"} {
  func.func @loop(%x: !tk.global<tensor<64x64xf16>>, %y: !tk.global<tensor<64x64xf16>>) attributes {tk.warps = 4 : i64} {
    %a = tk.alloc : !tk.shared<1 x 64x64xf16>
    %b = tk.alloc : !tk.shared<1 x 64x64xf16>
    tk.for_tiles (%t) in affine_map<() -> (4)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %0 = tk.load %x map affine_map<(d0, d1) -> (d0, d1)> : !tk.global<tensor<64x64xf16>> -> !tk.tile<64x64xf16>
      tk.local_store %0, %a : !tk.tile<64x64xf16>, !tk.shared<1 x 64x64xf16>
      tk.barrier
      scf.for %k = %c0 to %c4 step %c1 {
        %1 = tk.local_load %a : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
        tk.local_store %1, %b : !tk.tile<64x64xf16>, !tk.shared<1 x 64x64xf16>
      }
      tk.barrier
      %2 = tk.local_load %b : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
      tk.store %2, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<64x64xf16>, !tk.global<tensor<64x64xf16>>
      tk.yield
    }
    return
  }
}

// -----

module attributes {tk.target = "sm_80"} {
  // expected-error @+1 {{expected at most 166912 bytes of shared memory on sm_80, got 524288; use fewer stages or smaller tiles}}
  func.func @large(%x: !tk.global<tensor<64x64xf16>>) attributes {tk.warps = 4 : i64} {
    // expected-note @+1 {{524288 bytes for `tk.alloc` at 0}}
    %a = tk.alloc : !tk.shared<64 x 64x64xf16>
    tk.for_tiles (%t) in affine_map<() -> (4)> {
      %c0 = arith.constant 0 : index
      %s = tk.slot %a[%c0] : !tk.shared<64 x 64x64xf16> -> !tk.shared<1 x 64x64xf16>
      %1 = tk.local_load %s : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
      tk.yield
    }
    return
  }
}

// -----

// Each role has a loop over tiles; buffers of the consumers' share bytes by their times in that loop. 262144 bytes side by side would be too many.
// CHECK-LABEL: func.func @roles
// CHECK-SAME: tk.shared_bytes = 131072
// CHECK: tk.alloc at 0
// CHECK: tk.alloc at 0
// CHECK: tk.roles
module attributes {tk.target = "sm_90a"} {
  func.func @roles(%x: !tk.global<tensor<256x256xf16>>, %y: !tk.global<tensor<256x256xf16>>) attributes {tk.warps = 8 : i64} {
    %a = tk.alloc : !tk.shared<1 x 256x256xf16>
    %b = tk.alloc : !tk.shared<1 x 256x256xf16>
    tk.roles warps [4, 4] registers [40, 232] {
      tk.for_tiles (%t) in affine_map<() -> (4)> {
        tk.yield
      }
      tk.yield
    }, {
      tk.for_tiles (%t) in affine_map<() -> (4)> {
        %0 = tk.load %x map affine_map<(d0, d1) -> (d0, d1)> : !tk.global<tensor<256x256xf16>> -> !tk.tile<256x256xf16>
        tk.local_store %0, %a : !tk.tile<256x256xf16>, !tk.shared<1 x 256x256xf16>
        tk.barrier
        %1 = tk.local_load %a : !tk.shared<1 x 256x256xf16> -> !tk.tile<256x256xf16>
        tk.local_store %1, %b : !tk.tile<256x256xf16>, !tk.shared<1 x 256x256xf16>
        tk.barrier
        %2 = tk.local_load %b : !tk.shared<1 x 256x256xf16> -> !tk.tile<256x256xf16>
        tk.store %2, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<256x256xf16>, !tk.global<tensor<256x256xf16>>
        tk.yield
      }
      tk.yield
    }
    return
  }
}
