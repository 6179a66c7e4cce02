// Kernels share launches in programs of ranks, too, but none across a collective: those in front of the all_reduce start as one, those behind it as
// another one, also as chains.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --overlap=off --emit=mlir:lower -o - | FileCheck %s
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --overlap=off --merge-launches=chains --emit=mlir:lower -o - | FileCheck %s --check-prefix=CHAINS
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --overlap=1 --merge-launches=chains --emit=mlir:lower -o - | FileCheck %s --check-prefix=BESIDE
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --overlap=1 -o %t.weft --ptxas=off --quiet
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: %python %S/../tools/Inputs/run_ranks.py 2 weft-run %t.cpu.weft --seed=3 --output=y=@%t.y.npy --output=u=@%t.u.npy --rank=RANK > /dev/null
// RUN: %python %S/../tools/Inputs/run_ranks.py 2 weft-run %t.weft --device=emu:sm_80 --seed=3 --expected-output=y=@%t.y.npy --expected-output=u=@%t.u.npy --rank=RANK | FileCheck %s --check-prefix=RESULT

// CHECK: tg.dispatch @launch_min::@kernel(%arg1, %arg0)
// CHECK-NEXT: tg.all_reduce
// CHECK-NEXT: tg.dispatch @sum::@kernel(%arg2)
// CHECK: tg.dispatch @launch_
// CHECK-NOT: tg.dispatch

// CHAINS: tg.dispatch @launch_min::@kernel(%arg1, %arg0)
// CHAINS-NEXT: tg.all_reduce
// CHAINS: tg.dispatch @chain_sum::@kernel(%arg2, %arg0
// CHAINS-NOT: tg.dispatch

// What runs beside the collective is in no launch with what waits for it.
// BESIDE: tg.dispatch @launch_min::@kernel(%arg1, %arg0)
// BESIDE-NEXT: tg.all_reduce {{.*}} {tg.overlap}
// BESIDE-NEXT: tg.dispatch @sum::@kernel(%arg2)
// BESIDE: tg.dispatch @launch_
// BESIDE-NOT: tg.dispatch

// RESULT: device emu:

// What a plan says against it is an error.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --overlap=off --merge-launches=off --compile-to=plan -o %t.mlir
// RUN: sed '/dispatch @min/s/#map {/#map {tg.launch = array<i64: 0, 0>, /; /dispatch @sum/s/#map {/#map {tg.launch = array<i64: 0, 1>, /; /dispatch @min/s/#map :/#map {tg.launch = array<i64: 0, 0>} :/; /dispatch @sum/s/#map :/#map {tg.launch = array<i64: 0, 1>} :/' %t.mlir > %t.across.mlir
// RUN: not weft-compile %t.across.mlir --compile-from=plan --target=sm_80 --compile-to=lower -o /dev/null 2>&1 | FileCheck %s --check-prefix=ACROSS
// ACROSS: error: {{.*}}launch 0: expected no collective between its kernels, got some; take the kernel out of the launch

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<64x512xf32> {tg.name = "x"}, %w: tensor<64x512xf32> {tg.name = "w"}, %v: tensor<64x512xf32> {tg.name = "v"})
      -> (tensor<64xf32> {tg.name = "y"}, tensor<64xf32> {tg.name = "z"}, tensor<64xf32> {tg.name = "u"}) {
    %0 = tg.reduce min %w axes = [1] : tensor<64x512xf32>
    %1 = tg.reduce max %x axes = [1] : tensor<64x512xf32>
    %2 = tg.all_reduce max %1 ranks = 2 : tensor<64xf32>
    %3 = tg.reduce add %v axes = [1] : tensor<64x512xf32>
    %4 = tg.reshape %2 : tensor<64xf32> to tensor<64x1xf32>
    %5 = tg.sub %x, %4 : tensor<64x512xf32>, tensor<64x1xf32>
    %6 = tg.reduce max %5 axes = [1] : tensor<64x512xf32>
    %7 = tg.add %3, %2 : tensor<64xf32>, tensor<64xf32>
    return %6, %0, %7 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
}
