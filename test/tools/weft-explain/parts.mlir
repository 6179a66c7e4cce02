// What a program from a file says of the parts of its kernels is taken where it is what the compiler writes.
// RUN: weft-compile %s --target=sm_90a --emit=mlir:outline -o %t.mlir
// RUN: sed 's/\(  module @[a-z_]* attributes {\)/\1weft.parts = [1 : i64, {name = 2 : i64}, {name = "exp"}], /' %t.mlir > %t.parts.mlir
// RUN: grep -c 'weft.parts' %t.parts.mlir | FileCheck %s --check-prefix=ONE
// RUN: weft-compile %t.parts.mlir --compile-from=outline --target=sm_90a --quiet -o %t.weft
// RUN: weft explain %t.weft | FileCheck %s
// ONE: 1
// CHECK: 1 kernels
func.func @main(%x: tensor<64x64xf32> {tg.name = "x"}) -> (tensor<64x64xf32> {tg.name = "y"}) {
  %0 = tg.exp %x : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
