// A GEMM of f16 with ragged edges, from plain tiles to mma.sync: cp.async with zero fill, one barrier an iteration, for each k16 step and warp
// tile of 64x64 eight ldmatrix.x4 and 32 mma. The first fragments of a step are read ahead of the last products of the step before, behind its
// wait, and the 16 copies of a later step stand behind the second reads.
// RUN: weft-opt %s --weft-tk-stage --weft-tk-pipeline --weft-tk-layouts --weft-tk-allocate --weft-lower-tk | FileCheck %s
// CHECK: tk.shared_bytes = 98304
// CHECK: cp.async.wait_group 1;
// CHECK-NEXT: nvvm.barrier
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4
// CHECK-NOT: ldmatrix
// CHECK: scf.for
// CHECK-NOT: cp.async
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4
// CHECK-COUNT-16: cp.async.cg.shared.global{{.*}}, 16, $2;
// CHECK-NEXT: cp.async.commit_group;
// CHECK-NOT: cp.async
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: cp.async.wait_group 1;
// CHECK-NEXT: nvvm.barrier
// CHECK-NOT: cp.async
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4
// CHECK-NOT: ldmatrix
// CHECK-COUNT-32: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-NOT: cp.async
// CHECK: scf.yield
// CHECK-NOT: weft.first
// CHECK: cp.async.wait_group 0;
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 128 + d1)>
#ga = affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -128 + 199 >= 0, -d1 + s1 * -64 + 223 >= 0)>
#gb = affine_set<(d0, d1)[s0, s1] : (-d0 + s1 * -64 + 223 >= 0, -d1 + s0 * -128 + 135 >= 0)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 128 + d1)>
#gy = affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -128 + 199 >= 0, -d1 + s1 * -128 + 135 >= 0)>
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<200x224xf16>>, %w: !tk.global<tensor<224x136xf16>>, %o: !tk.global<tensor<200x136xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (2, 2)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
      %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x128xf32>) {
        %p = tk.load %x[%i, %k] map #a guard #ga : !tk.global<tensor<200x224xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b guard #gb : !tk.global<tensor<224x136xf16>> -> !tk.tile<64x128xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
        scf.yield %d : !tk.tile<128x128xf32>
      }
      tk.store %sum, %o[%i, %j] map #y guard #gy : !tk.tile<128x128xf32>, !tk.global<tensor<200x136xf32>>
      tk.yield
    }
    return
  }
}
