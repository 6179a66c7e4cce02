// Kernels that read each other's results start as one: rows are summed up, and columns scaled by the sums.
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --merge-launches=chains --emit=mlir:lower --remarks=fusion -o - 2>%t.remarks | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=chains --emit=ptx -o - | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=independent --emit=mlir:lower -o - | FileCheck %s --check-prefix=LEVELS
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy --output=z=@%t.z.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80,sm_90a --merge-launches=chains --ptxas=off -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,order=reverse --seed=3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_80,order=depth-first --seed=3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT
// Runs of a session go on counting from where the one before was.
// RUN: weft-bench %t.weft --device=emu:sm_80 | FileCheck %s --check-prefix=BENCH

// The sums are a result of the launch, and no operand.
// IR: tg.dispatch @chain_sum::@kernel(%arg0, %arg1)
// IR-NOT: tg.dispatch
// IR: module @chain_sum
// IR-SAME: tg.operand_dims = [#{{[a-z0-9]+}}, #{{[a-z0-9]+}}], tg.result_dims = [#{{[a-z0-9]+}}, #{{[a-z0-9]+}}]
// Two sets of a counter for the first part, and a word for each CTA: in which it counts.
// IR: llvm.mlir.global internal @counters(dense<0> :
// IR: llvm.func @kernel(%[[X:.*]]: !llvm.ptr<1>, %[[W:.*]]: !llvm.ptr<1>, %[[Y:.*]]: !llvm.ptr<1>, %[[Z:.*]]: !llvm.ptr<1>)
// IR: "ld.relaxed.gpu.global.u32 $0, [$1];"
// IR: llvm.load {{.*}} invariant
// IR: "red.release.gpu.global.add.u32 [$0], $1;"
// IR: "ld.acquire.gpu.global.u32 $0, [$1];"
// IR: nvvm.barrier
// IR-COUNT-2: "st.relaxed.gpu.global.u32 [$0], $1;"
// REMARK: merged | Category:fusion | Function=main | Remark="2 kernels start as one, and wait for each other in it", kernel=chain_sum

// PTX: .global .align 128 .b8 k0_counters[
// PTX: ld.relaxed.gpu.global.u32
// The sums are read coherently, the factors are not.
// PTX: bar.sync {{.*}}0, 512;
// PTX: ld.global.b32
// PTX: ld.global.nc.b32
// All threads are done with a task's shared memory before the next one begins.
// PTX: barrier.sync 15, 512;
// PTX: ld.global.nc.v4
// PTX: barrier.sync 15, 512;
// PTX: red.release.gpu.global.add.u32
// PTX: ld.acquire.gpu.global.u32
// PTX: st.relaxed.gpu.global.u32

// LEVELS-COUNT-2: tg.dispatch @
// RESULT: device emu:{{.*}} 1 dispatches
// BENCH: smsp__inst_executed.sum

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<64x8192xf32> {tg.name = "x"}, %w: tensor<64x128xf32> {tg.name = "w"})
      -> (tensor<64xf32> {tg.name = "y"}, tensor<128xf32> {tg.name = "z"}) {
    %0 = tg.reduce add %x axes = [1] : tensor<64x8192xf32>
    %1 = tg.reshape %0 : tensor<64xf32> to tensor<64x1xf32>
    %2 = tg.mul %1, %w : tensor<64x1xf32>, tensor<64x128xf32>
    %3 = tg.reduce max %2 axes = [0] : tensor<64x128xf32>
    return %0, %3 : tensor<64xf32>, tensor<128xf32>
  }
}
