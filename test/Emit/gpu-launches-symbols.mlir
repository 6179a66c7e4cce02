// A kernel whose grid depends on symbols starts alone.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --compile-to=plan -o %t.mlir
// RUN: sed '/%0 = tg.dispatch/s/ : (/ {tg.launch = array<i64: 0, 0>} : (/; /%1 = tg.dispatch/s/ : (/ {tg.launch = array<i64: 0, 1>} : (/' %t.mlir > %t.edited.mlir
// RUN: not weft-compile %t.edited.mlir --compile-from=plan --target=sm_80 --compile-to=lower -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: {{.*}}launch 0: expected a lowered kernel whose grid depends on no symbols, without a cluster and variables of its own, got @{{.*}}; take it out of the launch
#n = #tg.dims<()[s0] -> (s0, 256)>
#r = #tg.dims<()[s0] -> (s0)>
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<?x256xf32, #n> {tg.name = "x"}, %w: tensor<?x256xf32, #n> {tg.name = "w"}) -> (tensor<?xf32, #r> {tg.name = "y"}, tensor<?xf32, #r> {tg.name = "z"}) {
    %0 = tg.reduce add %x axes = [1] : tensor<?x256xf32, #n>
    %1 = tg.reduce max %w axes = [1] : tensor<?x256xf32, #n>
    return %0, %1 : tensor<?xf32, #r>, tensor<?xf32, #r>
  }
}
