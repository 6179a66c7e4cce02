// Launches that cannot be made: what a plan that was edited by hand gets to hear.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --compile-to=plan -o %t.mlir
// DEFINE: %{first} =
// DEFINE: %{second} =
// DEFINE: %{third} =
// DEFINE: %{check} =
// DEFINE: %{try} = sed '/%0 = tg.dispatch/s/#map :/#map {%{first}} :/; /%1 = tg.dispatch/s/#map :/#map {%{second}} :/; /%2 = tg.dispatch/s/#map :/#map {%{third}} :/' %t.mlir > %t.edited.mlir && \
// DEFINE:   not weft-compile %t.edited.mlir --compile-from=plan --target=sm_80 --compile-to=lower -o /dev/null 2>&1 | FileCheck %s --check-prefix=%{check}

// REDEFINE: %{first} = tg.launch = array<i64: 0, 0>
// REDEFINE: %{third} = tg.launch = array<i64: 0, 1>
// REDEFINE: %{check} = BETWEEN
// RUN: %{try}
// BETWEEN: error: {{.*}}expected launches (tg.launch) that can start one after the other, got some that wait for each other or for a kernel between their own

// REDEFINE: %{first} = tg.launch = array<i64: 7, 3>
// REDEFINE: %{second} = tg.launch = array<i64: 7, 2>
// REDEFINE: %{third} =
// REDEFINE: %{check} = ORDER
// RUN: %{try}
// ORDER: error: {{.*}}launch 7: expected writers before readers, got a kernel at position 0 that reads what the one at position 1 writes

// REDEFINE: %{second} = tg.launch = array<i64: 7, 3>
// REDEFINE: %{check} = PLACE
// RUN: %{try}
// PLACE: error: {{.*}}expected one dispatch at position 3 of launch 7

// REDEFINE: %{second} = tg.launch = 7
// REDEFINE: %{check} = NUMBERS
// RUN: %{try}
// NUMBERS: error: {{.*}}expected tg.launch = array<i64: launch, position>, got 7 : i64

// REDEFINE: %{first} = tg.launch = array<i64: 0, 0>, tg.launch_order = "row"
// REDEFINE: %{second} = tg.launch = array<i64: 0, 1>
// REDEFINE: %{check} = TEXT
// RUN: %{try}
// TEXT: error: {{.*}}expected tg.launch_order = "chain<g>", got "row"

// REDEFINE: %{first} = tg.launch = array<i64: 0, 0>, tg.launch_order = "chain<2>"
// REDEFINE: %{third} = tg.launch = array<i64: 0, 2>
// REDEFINE: %{check} = THREE
// RUN: %{try}
// THREE: error: {{.*}}tg.launch_order = "chain<2>": expected two kernels, the second of which reads the first, got 3

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<640x64xf16> {tg.name = "x"}, %u: tensor<64x256xf16> {tg.name = "u"}, %d: tensor<256x64xf16> {tg.name = "d"})
      -> (tensor<640x64xf16> {tg.name = "y"}, tensor<640x256xf16> {tg.name = "z"}) {
    %0 = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x64xf16>, tensor<64x256xf16> -> tensor<640x256xf16>
    %1 = tg.contract %0, %d [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x256xf16>, tensor<256x64xf16> -> tensor<640x64xf16>
    %2 = tg.contract %1, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x64xf16>, tensor<64x256xf16> -> tensor<640x256xf16>
    return %1, %2 : tensor<640x64xf16>, tensor<640x256xf16>
  }
}
