// A GEMM whose result all ranks need, in parts, through the whole plan: the parts are kernels of their own, started in turn with their collectives, and
// what reads the result does not know of them. The plan's marks decide: without them collectives are in turn.
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --overlap=3 --compile-to=plan -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a,sm_80 --overlap=3 --ptxas=off -o %t.weft --quiet
// RUN: weft-compile %s --compile-from=normalize --target=cpu --overlap=off -o %t.cpu.weft --quiet
// RUN: %python %S/../tools/Inputs/run_ranks.py 2 weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy --rank=RANK > /dev/null
// RUN: %python %S/../tools/Inputs/run_ranks.py 2 weft-run %t.weft --device=emu:sm_90a,sanitizer=on --seed=3 --expected-output=y=@%t.npy --rank=RANK | FileCheck %s --check-prefix=RESULT
// RUN: %python %S/../tools/Inputs/run_ranks.py 2 weft-run %t.weft --device=emu:sm_80,sanitizer=on --seed=3 --expected-output=y=@%t.npy --rank=RANK | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/{tg.overlap}//' %t.mlir > %t.turn.mlir
// RUN: weft-compile %t.turn.mlir --compile-from=plan --target=sm_90a --ptxas=off -o %t.turn.weft --quiet
// RUN: sed 's/{tg.joined}//' %t.mlir > %t.apart.mlir
// RUN: not weft-compile %t.apart.mlir --compile-from=plan --target=sm_90a --ptxas=off -o %t.apart.weft 2>&1 | FileCheck %s --check-prefix=APART
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --overlap=off --compile-to=plan | FileCheck %s --check-prefix=OFF

// CHECK: %[[A:.*]] = tg.dispatch @gemm
// CHECK: %[[P:.*]] = tg.all_reduce add %[[A]] ranks = 2 {tg.overlap} : tensor<56x256xf16>
// CHECK: %[[B:.*]] = tg.dispatch @gemm
// CHECK: %[[Q:.*]] = tg.all_reduce add %[[B]] ranks = 2 {tg.overlap} : tensor<56x256xf16>
// CHECK: %[[C:.*]] = tg.dispatch @gemm
// CHECK: %[[R:.*]] = tg.all_reduce add %[[C]] ranks = 2 {tg.overlap} : tensor<45x256xf16>
// CHECK: %[[S:.*]] = tg.concat %[[P]], %[[Q]], %[[R]] axis = 0 {tg.joined}
// CHECK: tg.dispatch @{{.*}}(%[[S]]

// APART: error: {{.*}}tg.concat
// RESULT: compare "y": ok
// OFF-NOT: tg.overlap
// OFF: tg.all_reduce {{.*}} tensor<157x256xf16>

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<157x128xf16> {tg.name = "x"}, %w: tensor<128x256xf16> {tg.name = "w"}) -> (tensor<157x256xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<157x128xf16>, tensor<128x256xf16> -> tensor<157x256xf16>
    %1 = tg.all_reduce add %0 ranks = 2 : tensor<157x256xf16>
    %2 = tg.neg %1 : tensor<157x256xf16>
    return %2 : tensor<157x256xf16>
  }
}
