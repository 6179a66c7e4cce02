// Several outputs compared: one that differs is enough for exit code 1, whichever it is.
// RUN: weft-compile %s -o %t.weft --quiet
// RUN: weft-run %t.weft --input="2xf32=1 2" --expected-output=p="2xf32=2 3" --expected-output=q="2xf32=-1 -2" | FileCheck %s --check-prefix=BOTH
// RUN: not weft-run %t.weft --input="2xf32=1 2" --expected-output=p="2xf32=2 4" --expected-output=q="2xf32=-1 -2" | FileCheck %s --check-prefix=FIRST
// RUN: not weft-run %t.weft --input="2xf32=1 2" --expected-output=p="2xf32=2 3" --expected-output=q="2xf32=-1 -3" | FileCheck %s --check-prefix=SECOND
// BOTH: compare "p": ok
// BOTH: compare "q": ok
// FIRST: compare "p": FAILED: 1 of 2 elements differ
// FIRST: compare "q": ok
// SECOND: compare "p": ok
// SECOND: compare "q": FAILED: 1 of 2 elements differ
func.func @main(%x: tensor<2xf32> {tg.name = "x"}) -> (tensor<2xf32> {tg.name = "p"}, tensor<2xf32> {tg.name = "q"}) {
  %one = tg.constant dense<1.0> : tensor<f32>
  %0 = tg.add %x, %one : tensor<2xf32>, tensor<f32>
  %1 = tg.neg %x : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
