// Kernels of one level start as one: rows of two lengths are summed up, by unequal numbers of warps.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --emit=mlir:lower --remarks=fusion -o - 2>%t.remarks | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --emit=mlir:lower --merge-launches=off -o - | FileCheck %s --check-prefix=OFF
// RUN: not weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=maybe -o %t.weft 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy --output=z=@%t.z.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80,sm_90a --ptxas=off -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,order=reverse --seed=3 --expected-output=y=@%t.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT

// IR: tg.dispatch @launch_sum::@kernel(%arg0, %arg1)
// IR-NOT: tg.dispatch
// Each part has its own CTAs; threads that the narrower one lacks leave, and its barriers count the rest.
// IR: module @launch_sum
// IR: nvvm.read.ptx.sreg.ctaid.x
// IR: llvm.cond_br
// IR: nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
// IR-NOT: module @
// REMARK: merged | Category:fusion | Function=main | Remark="2 kernels that do not need each other start as one", kernel=launch_sum
// OFF: tg.dispatch @sum
// OFF: tg.dispatch @max
// WORD: --merge-launches: expected on, independent, chains or off, got `maybe`
// RESULT: device emu:

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<64x8192xf32> {tg.name = "x"}, %w: tensor<100x200xf32> {tg.name = "w"})
      -> (tensor<64xf32> {tg.name = "y"}, tensor<100xf32> {tg.name = "z"}) {
    %0 = tg.reduce add %x axes = [1] : tensor<64x8192xf32>
    %1 = tg.reduce max %w axes = [1] : tensor<100x200xf32>
    return %0, %1 : tensor<64xf32>, tensor<100xf32>
  }
}
