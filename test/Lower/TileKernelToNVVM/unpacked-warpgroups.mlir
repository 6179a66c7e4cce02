// A product of many rows by weights of 4 bits with a scale for blocks of 64: warpgroups have the weights on the left, unpack them in the registers
// that wgmma reads, and ask for words several steps ahead; the rows come by TMA. Right on the emulator, with extents that no tile divides.
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-plan-gpu{target=sm_90a}))" --remarks-filter=plan --remark-format=emitRemark -o %t.planned.mlir 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: weft-opt %t.planned.mlir --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-fuse-maps,weft-tk-narrow-maps,weft-tk-stage,weft-tk-roles))" | FileCheck %s --check-prefix=TILES
// RUN: weft-opt %t.planned.mlir --pass-pipeline="builtin.module(builtin.module(weft-kernelize,weft-tk-fuse-maps,weft-tk-narrow-maps,weft-tk-stage,weft-tk-roles,weft-tk-pipeline))" | FileCheck %s --check-prefix=AHEAD
// RUN: weft-compile %t.planned.mlir --compile-from=plan --target=sm_90a --emit=ptx | FileCheck %s
// RUN: %python %S/Inputs/unpacked_warpgroups.py %t
// RUN: weft-compile %t.planned.mlir --compile-from=plan --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a,sanitizer=on --input=x=@%t.x.npy --input=w=@%t.w.pb --input=s=@%t.s.npy --expected-output=y=@%t.y.npy --rtol=2e-3 --atol=2e-3
// REQUIRES: onnx

// PLAN: contraction 1 x 200 x 100 x 640: {{.*}} tiles of {{64|128}}x

// The weights' rows are the tile's, and nothing but the other operand's copies goes through shared memory.
// TILES: tk.roles
// TILES: tk.copy
// TILES-NOT: tk.local_store
// TILES: tk.load {{.*}}i32>
// TILES: tk.map
// TILES-NOT: tk.local_store
// TILES: tk.dot %{{.*}}, %{{.*}} : !tk.tile<{{64|128}}x{{64|128}}xf16>, !tk.shared<

// Words of several steps are under way ahead of the first product.
// AHEAD: tk.roles
// AHEAD-COUNT-3: tk.load {{.*}}i32>
// AHEAD: tk.dot

// The second of neighbouring fields is turned to the upper half, and 2^10 stands beside both.
// CHECK-NOT: cvt.{{.*}}f16.{{[us]}}
// CHECK: shf.l.wrap.b32 %[[T:r[0-9]+]], %{{.*}}
// CHECK: and.b32 %{{.*}}, %[[T]], 983040;
// CHECK: lop3.b32 %{{.*}}, %{{.*}}, 15, 1677747200, 0x6a;
// CHECK: wgmma.mma_async.sync.aligned.m64n{{.*}}k16.f32.f16.f16 {{.*}}}, {%r
module {
module @rows attributes {tk.target = "sm_90a"} {
  func.func @kernel(%x: tensor<100x640xf16>, %q: tensor<200x10x64xui4>, %s: tensor<200x10x1xf16>) -> tensor<100x200xf16> {
    %eight = tg.constant dense<8.0> : tensor<f32>
    %0 = tg.cast %q : tensor<200x10x64xui4> to tensor<200x10x64xf32>
    %1 = tg.sub %0, %eight : tensor<200x10x64xf32>, tensor<f32>
    %2 = tg.cast %s : tensor<200x10x1xf16> to tensor<200x10x1xf32>
    %3 = tg.mul %1, %2 : tensor<200x10x64xf32>, tensor<200x10x1xf32>
    %4 = tg.cast %3 : tensor<200x10x64xf32> to tensor<200x10x64xf16>
    %5 = tg.reshape %4 : tensor<200x10x64xf16> to tensor<200x640xf16>
    %6 = tg.contract %x, %5 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<100x640xf16>, tensor<200x640xf16> -> tensor<100x200xf16>
    return %6 : tensor<100x200xf16>
  }
}
func.func @main(%x: tensor<100x640xf16> {tg.name = "x"}, %w: tensor<200x10x64xui4> {tg.name = "w"}, %s: tensor<200x10x1xf16> {tg.name = "s"}) -> (tensor<100x200xf16> {tg.name = "y"}) {
  %0 = tg.dispatch @rows::@kernel(%x, %w, %s) symbols = affine_map<() -> ()> : (tensor<100x640xf16>, tensor<200x10x64xui4>, tensor<200x10x1xf16>) -> tensor<100x200xf16>
  return %0 : tensor<100x200xf16>
}
}
