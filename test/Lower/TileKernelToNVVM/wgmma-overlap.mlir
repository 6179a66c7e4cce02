// Two dots of a loop side by side on sm_90a, the second one's left operand in registers: right on the emulator at several speeds of what is
// asynchronous. Its sanitizer finds registers of a pending wgmma that are written, and slots that come back too early.
// REQUIRES: onnx
// RUN: weft-opt %s --pass-pipeline="builtin.module(builtin.module(weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.mlir
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a --emit=ptx | FileCheck %s
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a -o %t.weft --quiet
// RUN: %python %S/Inputs/overlap.py %t
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=1 --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --expected-output=o=@%t.o.npy --rtol=1e-2 --atol=1e-1
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=2,timing=late --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --expected-output=o=@%t.o.npy --rtol=1e-2 --atol=1e-1
// RUN: weft-run %t.weft --device=emu:sm_90a,seed=3,timing=early,order=reverse --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --expected-output=o=@%t.o.npy --rtol=1e-2 --atol=1e-1

// The same with turns of the two warpgroups, at the barriers 8 and 9 for both, none of which is left half full.
// RUN: sed "s/split = 1>/split = 1, turns = true>/" %s | weft-opt --pass-pipeline="builtin.module(builtin.module(weft-tk-stage,weft-tk-roles,weft-tk-pipeline,weft-tk-layouts,weft-tk-late-sums,weft-tk-allocate,weft-lower-tk-pipeline,weft-gpu-tensor-maps))" -o %t.turns.mlir
// RUN: weft-compile %t.turns.mlir --compile-from=lower --target=sm_90a --emit=ptx | FileCheck %s --check-prefix=TURNS
// RUN: weft-compile %t.turns.mlir --compile-from=lower --target=sm_90a -o %t.turns.weft --quiet
// RUN: weft-run %t.turns.weft --device=emu:sm_90a,seed=1 --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --expected-output=o=@%t.o.npy --rtol=1e-2 --atol=1e-1
// RUN: weft-run %t.turns.weft --device=emu:sm_90a,seed=2,timing=late --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --expected-output=o=@%t.o.npy --rtol=1e-2 --atol=1e-1
// RUN: weft-run %t.turns.weft --device=emu:sm_90a,seed=3,timing=early,order=reverse --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --expected-output=o=@%t.o.npy --rtol=1e-2 --atol=1e-1

// What a loop over tiles keeps in uniform registers: the arrival's address is in a register ahead of the election, which takes none of shared
// memory's, and descriptors are a base for each dot, to which the instruction's own text adds.
// RUN: weft-compile %t.mlir --compile-from=lower --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=UNIFORM --implicit-check-not="mbarrier.arrive.shared.b64 {{.*}}_smem" --implicit-check-not="add.s64 {{.*}}461168"
// UNIFORM: setmaxnreg.inc
// UNIFORM: add.s64 right, %rd{{[0-9]+}}, 2;
// UNIFORM: bar.warp.sync
// UNIFORM: mov.b32 [[EMPTY:%r[0-9]+]], %r
// UNIFORM: @%p{{[0-9]+}} bra
// UNIFORM: mbarrier.arrive.shared.b64 _, {{\[}}[[EMPTY]]];

// TURNS: bar.arrive %r{{[0-9]+}}, 256;
// TURNS: wgmma.mma_async
// TURNS: wgmma.wait_group.sync.aligned 0
// TURNS: bar.sync {{.*}}, 256
// TURNS: wgmma.fence
// TURNS: wgmma.commit_group
// TURNS-NOT: {{bar.sync|bar.arrive}}
// TURNS: wgmma.commit_group
// TURNS: bar.arrive %r{{[0-9]+}}, 256;
// TURNS: wgmma.wait_group.sync.aligned 1
// TURNS: bar.sync {{.*}}8, 256

// The first iteration.
// CHECK: wgmma.wait_group.sync.aligned 0
// The loop: nothing is moved, converted, stored or waited for between the two groups.
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}}, %rd
// CHECK: wgmma.commit_group
// CHECK-NOT: {{cvt.rn|st.shared|bar.sync|wait_group|mbarrier.try_wait}}
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}}, {%r
// CHECK: wgmma.commit_group
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: mbarrier.try_wait
// CHECK: wgmma.wait_group.sync.aligned 0
#q = affine_map<(d0, d1)[s0] -> (s0 * 128 + d0, d1)>
#k = affine_map<(d0, d1)[s0] -> (s0 * 64 + d1, d0)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#qg = affine_set<(d0, d1)[s0] : (-d0 + s0 * -128 + 191 >= 0)>
#kg = affine_set<(d0, d1)[s0] : (-d1 + s0 * -64 + 231 >= 0)>
#vg = affine_set<(d0, d1)[s0] : (-d0 + s0 * -64 + 231 >= 0)>
module {
module @overlap attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 64], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%q: !tk.global<tensor<192x64xf16>>, %k: !tk.global<tensor<232x64xf16>>, %v: !tk.global<tensor<232x64xf16>>, %o: !tk.global<tensor<192x64xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (2)> order "row" {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x64xf32>
      %queries = tk.load %q[%i] map #q guard #qg : !tk.global<tensor<192x64xf16>> -> !tk.tile<128x64xf16>
      %sum = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x64xf32>) {
        %keys = tk.load %k[%j] map #k guard #kg : !tk.global<tensor<232x64xf16>> -> !tk.tile<64x64xf16>
        %s = tk.dot %queries, %keys, %zero by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        %e = tk.map(%s : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf32> {
        ^bb0(%x: f32):
          %0 = arith.mulf %x, %x : f32
          tk.yield %0 : f32
        }
        %half = tk.map(%acc : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf32> {
        ^bb0(%x: f32):
          %h = arith.constant 0.5 : f32
          %0 = arith.mulf %x, %h : f32
          tk.yield %0 : f32
        }
        %p = tk.map(%e : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf16> {
        ^bb0(%x: f32):
          %0 = arith.truncf %x : f32 to f16
          tk.yield %0 : f16
        }
        %values = tk.load %v[%j] map #v guard #vg : !tk.global<tensor<232x64xf16>> -> !tk.tile<64x64xf16>
        %next = tk.dot %p, %values, %half by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        scf.yield %next : !tk.tile<128x64xf32>
      }
      %y = tk.map(%sum : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf16> {
      ^bb0(%x: f32):
        %0 = arith.truncf %x : f32 to f16
        tk.yield %0 : f16
      }
      tk.store %y, %o[%i] map #q guard #qg : !tk.tile<128x64xf16>, !tk.global<tensor<192x64xf16>>
      tk.yield
    }
    return
  }
}
func.func @main(%q: tensor<192x64xf16> {tg.name = "q"}, %k: tensor<232x64xf16> {tg.name = "k"}, %v: tensor<232x64xf16> {tg.name = "v"}) -> (tensor<192x64xf16> {tg.name = "o"}) {
  %0 = tg.dispatch @overlap::@kernel(%q, %k, %v) symbols = affine_map<() -> ()> : (tensor<192x64xf16>, tensor<232x64xf16>, tensor<232x64xf16>) -> tensor<192x64xf16>
  return %0 : tensor<192x64xf16>
}
}
