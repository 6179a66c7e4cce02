// Kernels whose grids depend on symbols start alone unless a plan, or --merge-launches=chains, says otherwise: then the launch's grid is the sum of theirs,
// or what the GPU holds at once, and counts of CTAs come from the symbols; other extents at each run count anew.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --compile-to=plan -o %t.mlir
// RUN: FileCheck %s --check-prefix=ALONE --input-file=%t.mlir
// RUN: sed '/dispatch @max::/s/ : (/ {tg.launch = array<i64: 0, 0>} : (/; /dispatch @sum::/s/ : (/ {tg.launch = array<i64: 0, 1>} : (/' %t.mlir > %t.edited.mlir
// RUN: weft-compile %t.edited.mlir --compile-from=plan --target=sm_80 --compile-to=lower | FileCheck %s --check-prefix=BESIDE
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=chains --compile-to=lower | FileCheck %s --check-prefix=CHAIN
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-compile %s --compile-from=normalize --target=sm_80,sm_90a --merge-launches=chains --variants=1 --ptxas=off -o %t.weft --quiet
// DEFINE: %{n} =
// DEFINE: %{try} = weft-run %t.cpu.weft --seed=3 --dim=n=%{n} --output=y=@%t.y.npy --output=z=@%t.z.npy && \
// DEFINE:   weft-run %t.weft --device=emu:sm_80,order=reverse --seed=3 --dim=n=%{n} --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT && \
// DEFINE:   weft-run %t.weft --device=emu:sm_90a --seed=3 --dim=n=%{n} --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy | FileCheck %s --check-prefix=RESULT
// REDEFINE: %{n} = 1
// RUN: %{try}
// REDEFINE: %{n} = 7
// RUN: %{try}
// REDEFINE: %{n} = 1031
// RUN: %{try}

// A GPU with fewer SMs than the one that the launch was made for cannot hold all that wait for each other (on GPUs the session is refused: CudaDeviceTest).
// RUN: weft-compile %s --compile-from=normalize --target=A40 --merge-launches=chains --ptxas=off -o %t.a40.weft --quiet
// RUN: weft-run %t.a40.weft --device=emu:A40 --dim=n=1031 --output-max-element-count=0
// RUN: not weft-run %t.a40.weft --device=emu:RTX3050 --dim=n=1031 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: weft-compile %s --compile-from=normalize --target=A40 --merge-launches=chains --compile-to=lower | grep -c "tk.resident_ctas = 336" | FileCheck %s --check-prefix=RESIDENT
// SMALL: 256 of 336 ctas have not started: the others hold the sms
// RESIDENT: {{^1$}}

// ALONE-NOT: tg.launch
// BESIDE: affine_map<()[s0, s1] -> (s0 + 32)>
// BESIDE: tg.dispatch @launch_max::@kernel(%arg1, %arg1) symbols =
// CHAIN: tg.dispatch @chain_max::@kernel
// CHAIN-NOT: tg.dispatch
// RESULT: device emu:{{.*}} 1 dispatches
#n = #tg.dims<()[s0] -> (s0, 256)>
#r = #tg.dims<()[s0] -> (s0)>
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<?x256xf32, #n> {tg.name = "x"}, %w: tensor<?x256xf32, #n> {tg.name = "w"}) -> (tensor<?xf32, #r> {tg.name = "y"}, tensor<256xf32> {tg.name = "z"}) {
    %0 = tg.reduce add %x axes = [1] : tensor<?x256xf32, #n>
    %1 = tg.reduce max %w axes = [1] : tensor<?x256xf32, #n>
    %2 = tg.add %0, %1 : tensor<?xf32, #r>, tensor<?xf32, #r>
    %3 = tg.reduce add %w axes = [0] : tensor<?x256xf32, #n>
    return %2, %3 : tensor<?xf32, #r>, tensor<256xf32>
  }
}
