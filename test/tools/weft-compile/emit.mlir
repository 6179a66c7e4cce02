// Every kind of output, and going on from a printed phase.
// RUN: weft-compile %s --emit=mlir:import | FileCheck %s --check-prefix=IMPORT
// RUN: weft-compile %s --compile-to=group | FileCheck %s --check-prefix=GROUP
// RUN: weft-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: weft-compile %s --emit=asm --cpu=x86-64-v3 | FileCheck %s --check-prefix=ASM
// RUN: weft-compile %s --emit=obj -o %t.so && llvm-readelf --dynamic --dyn-syms %t.so | FileCheck %s --check-prefix=ELF
// RUN: weft-compile %s --compile-to=group -o %t.group.mlir
// RUN: weft-compile %t.group.mlir --compile-from=group -o %t.weft --time-report --dump=%t.dump 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: FileCheck %s --check-prefix=DUMP --input-file=%t.dump/3-outline.mlir

// IMPORT: tg.softmax
// GROUP-NOT: tg.softmax
// GROUP: tg.kernel
// LLVM: define void @k0(ptr {{.*}}, ptr {{.*}}, i64 {{.*}}, i64 {{.*}}, ptr
// ASM: k0:
// ELF-NOT: libstdc++
// ELF: k0
// TIME: wrote
// TIME: outline
// TIME: native code
// DUMP: tg.dispatch
module {
  func.func @main(%x: tensor<3x40xf32> {tg.name = "x"}) -> (tensor<3x40xf32> {tg.name = "y"}) {
    %0 = tg.softmax %x axis = 1 : tensor<3x40xf32>
    return %0 : tensor<3x40xf32>
  }
}
