// Products of a few rows, and of a vector, by weights of 4 bits with a scale and a zero point for blocks of 64: the weights go from memory to
// registers in vectors, two fields of a word become f16 by one LOP3 and one subtraction (the next two, which stay where they are, by one FMA), and the instructions take k in the order
// in which a thread has it. Right on the emulator, with extents that no tile divides.
// REQUIRES: onnx
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-plan-gpu{target=sm_90a}))" --remarks-filter=plan --remark-format=emitRemark -o %t.planned.mlir 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: weft-opt %t.planned.mlir --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-fuse-maps,weft-tk-narrow-maps,weft-tk-slice-steps,weft-tk-stage))" | FileCheck %s --check-prefix=TILES
// RUN: weft-opt %t.planned.mlir --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-fuse-maps,weft-tk-narrow-maps,weft-tk-slice-steps,weft-tk-stage,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline))" -o %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a --emit=ptx | FileCheck %s
// RUN: %python %S/Inputs/unpacked.py %t
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a,sanitizer=on --input=x=@%t.x.npy --input=v=@%t.v.npy --input=w=@%t.w.pb --input=s=@%t.s.npy --input=z=@%t.z.pb --expected-output=y=@%t.y.npy --expected-output=u=@%t.u.npy --rtol=2e-3 --atol=2e-3

// PLAN: 5 rows by a matrix of 4 bits: 16 columns a CTA, steps of 256, unpacked in registers
// PLAN: 1 rows by a matrix of 4 bits

// The matrix is on the left, and eight rows are a tile.
// TILES: tk.dot {{.*}} {depth_order = array<i64: 2, 4, 5, 0, 1, 3>, live_columns = 5 : i64} : !tk.tile<16x256xf16>, !tk.tile<256x8xf16>, <16x8x4xf32>
// The columns that the vector becomes are equal, and one is kept.
// TILES: tk.dot {{.*}} {depth_order = array<i64: 2, 4, 5, 0, 1, 3>} : !tk.tile<16x256xf16>, !tk.tile<256x8xf16>
// TILES: tk.reduce({{.*}} : !tk.tile<16x8xf32>) dims [1] -> !tk.tile<16xf32>

// CHECK-NOT: cvt.{{.*}}f16.{{[us]}}
// CHECK: ld.global{{.*}}v2.b32
// CHECK: lop3.b32 %{{.*}}, %[[W:.*]], 983055, 1677747200, 0x6a;
// CHECK: lop3.b32 %{{.*}}, %[[W]], 15728880, 1677747200, 0x6a;
// CHECK: fma.rn.f16x2
// CHECK: mma.sync.aligned.m16n8k16
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
module {
module @rows attributes {tk.target = "sm_90a"} {
  func.func @kernel(%x: tensor<5x640xf16>, %q: tensor<37x10x64xui4>, %s: tensor<37x10x1xf16>, %z: tensor<37x10x1xui4>) -> tensor<5x37xf16> {
    %0 = tg.cast %q : tensor<37x10x64xui4> to tensor<37x10x64xf32>
    %1 = tg.cast %z : tensor<37x10x1xui4> to tensor<37x10x1xf32>
    %2 = tg.sub %0, %1 : tensor<37x10x64xf32>, tensor<37x10x1xf32>
    %3 = tg.cast %s : tensor<37x10x1xf16> to tensor<37x10x1xf32>
    %4 = tg.mul %2, %3 : tensor<37x10x64xf32>, tensor<37x10x1xf32>
    %5 = tg.cast %4 : tensor<37x10x64xf32> to tensor<37x10x64xf16>
    %6 = tg.reshape %5 : tensor<37x10x64xf16> to tensor<37x640xf16>
    %7 = tg.contract %x, %6 [#mk, #nk, #mn] : tensor<5x640xf16>, tensor<37x640xf16> -> tensor<5x37xf16>
    return %7 : tensor<5x37xf16>
  }
}
module @vector attributes {tk.target = "sm_90a"} {
  func.func @kernel(%x: tensor<640xf16>, %q: tensor<37x10x64xui4>, %s: tensor<37x10x1xf16>) -> tensor<37xf16> {
    %eight = tg.constant dense<8.0> : tensor<f32>
    %0 = tg.cast %q : tensor<37x10x64xui4> to tensor<37x10x64xf32>
    %2 = tg.sub %0, %eight : tensor<37x10x64xf32>, tensor<f32>
    %3 = tg.cast %s : tensor<37x10x1xf16> to tensor<37x10x1xf32>
    %4 = tg.mul %2, %3 : tensor<37x10x64xf32>, tensor<37x10x1xf32>
    %5 = tg.cast %4 : tensor<37x10x64xf32> to tensor<37x10x64xf16>
    %6 = tg.reshape %5 : tensor<37x10x64xf16> to tensor<37x640xf16>
    %7 = tg.contract %x, %6 [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (n, k)>, affine_map<(n, k) -> (n)>] : tensor<640xf16>, tensor<37x640xf16> -> tensor<37xf16>
    return %7 : tensor<37xf16>
  }
}
func.func @main(%x: tensor<5x640xf16> {tg.name = "x"}, %v: tensor<640xf16> {tg.name = "v"}, %w: tensor<37x10x64xui4> {tg.name = "w"}, %s: tensor<37x10x1xf16> {tg.name = "s"}, %z: tensor<37x10x1xui4> {tg.name = "z"}) -> (tensor<5x37xf16> {tg.name = "y"}, tensor<37xf16> {tg.name = "u"}) {
  %0 = tg.dispatch @rows::@kernel(%x, %w, %s, %z) symbols = affine_map<() -> ()> : (tensor<5x640xf16>, tensor<37x10x64xui4>, tensor<37x10x1xf16>, tensor<37x10x1xui4>) -> tensor<5x37xf16>
  %1 = tg.dispatch @vector::@kernel(%v, %w, %s) symbols = affine_map<() -> ()> : (tensor<640xf16>, tensor<37x10x64xui4>, tensor<37x10x1xf16>) -> tensor<37xf16>
  return %0, %1 : tensor<5x37xf16>, tensor<37xf16>
}
}
