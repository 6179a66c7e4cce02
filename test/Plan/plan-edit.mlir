// Each field of a printed plan, edited by hand and compiled on from, changes what it names.
// REQUIRES: onnx
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --compile-to=plan -o %t.mlir
// RUN: %python %S/Inputs/edit_plan.py %t.mlir sm_90a \
// RUN:   'tile = [128, 128] -> tile = [128, 64]' 'stream = [64] -> stream = [128]' 'engine = wgmma -> engine = mma' 'warps = 8 -> warps = 4' \
// RUN:   'stages = 3 -> stages = 4' 'order = "row" -> order = "column"' 'persistent = false -> persistent = true' 'split = 1 -> split = 2' \
// RUN:   'split = 1 -> split = 1, multicast = 2' | FileCheck %s

// RUN: sed 's/stages = 3/stages = 8/' %t.mlir > %t.large.mlir
// RUN: not weft-compile %t.large.mlir --compile-from=plan --target=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: sed 's/warps = 8/warps = 7/' %t.mlir > %t.odd.mlir
// RUN: not weft-compile %t.odd.mlir --compile-from=plan --target=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: sed 's/tg.schedule = #tg.schedule<[^>]*>, //' %t.mlir > %t.none.mlir
// RUN: not weft-compile %t.none.mlir --compile-from=plan --target=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not weft-compile %t.mlir --compile-from=plan --target=sm_80 --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not weft-compile %t.mlir --compile-from=plan --target=cpu -o %t.weft 2>&1 | FileCheck %s --check-prefix=CPU

// What a kernel is like, then each edit with all that it changes. A tile is its boxes and its instruction; with `mma` there are no boxes and no
// producer's warps; CTAs that stay leave a slot for results; a cluster for a split has twice the CTAs, one for a multicast half of a box each.
// CHECK: as planned: launches 1, tk.warps 12 {{.*}}tg.grid affine_map<() -> (320)>, boxes 64, 128 64, 128 64, 16, instructions m64n128k16, barriers 6, multicast False, turns 0
// CHECK-NEXT: {{.*}} tile = [128, 64]: tk.shared_bytes {{[^;]*}}; tg.grid affine_map<() -> (320)> -> affine_map<() -> (640)>; boxes 64, 128 64, 128 64, 16 -> 64, 128 64, 64 64, 16; instructions m64n128k16 -> m64n64k16; code{{$}}
// CHECK-NEXT: {{.*}} stream = [128]: tk.shared_bytes {{[^;]*}}; code{{$}}
// CHECK-NEXT: {{.*}} engine = mma: tk.warps 12 : i64 -> 8 : i64; tk.shared_bytes {{[^;]*}}; boxes 64, 128 64, 128 64, 16 -> ; instructions m64n128k16 -> m16n8k16; barriers 6 -> 0; code{{$}}
// CHECK-NEXT: {{.*}} warps = 4: tk.warps 12 : i64 -> 8 : i64; code{{$}}
// CHECK-NEXT: {{.*}} stages = 4: tk.shared_bytes {{[^;]*}}; barriers 6 -> 8; code{{$}}
// CHECK-NEXT: {{.*}} order = "column": code{{$}}
// CHECK-NEXT: {{.*}} persistent = true: tk.shared_bytes {{[^;]*}}; tg.grid affine_map<() -> (320)> -> affine_map<() -> (320, 132)>; code{{$}}
// CHECK-NEXT: {{.*}} split = 2: tk.shared_bytes {{[^;]*}}; tk.cluster  -> 2 : i64; tg.grid affine_map<() -> (320)> -> affine_map<() -> (640)>; barriers 6 -> 8; code{{$}}
// CHECK-NEXT: {{.*}} multicast = 2: tk.cluster  -> 2 : i64; boxes 64, 128 64, 128 64, 16 -> 64, 128 64, 64 64, 16; multicast False -> True; code{{$}}

// LARGE: expected at most 232448 bytes of shared memory on sm_90a, got {{[0-9]+}}; use fewer stages or smaller tiles
// ODD: expected 1 to 32 warps, a power of two, got 7
// NONE: expected the kernel's plan, a #tg.schedule as tg.schedule of its module; compile on from outline to have one chosen
// OTHER: --target: expected sm_90a, which kernel product was planned for, got sm_80
// CPU: --target: expected sm_90a, which kernel product was planned for, got cpu

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = affine_map<() -> (2048, 512)>
#w = affine_map<() -> (2560, 512)>
#y = affine_map<() -> (2048, 2560)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<2048x512xbf16> {tg.name = "x"}, %w: tensor<2560x512xbf16> {tg.name = "w"}) -> (tensor<2048x2560xbf16> {tg.name = "y"}) {
    %0 = tg.dispatch @product::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<2048x512xbf16>, tensor<2560x512xbf16>) -> tensor<2048x2560xbf16>
    return %0 : tensor<2048x2560xbf16>
  }
  module @product attributes {tg.operand_dims = [#x, #w], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = false, split = 1>} {
    func.func @kernel(%x: tensor<2048x512xbf16>, %w: tensor<2560x512xbf16>) -> tensor<2048x2560xbf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<2048x512xbf16>, tensor<2560x512xbf16> -> tensor<2048x2560xf32>
      %1 = tg.cast %0 : tensor<2048x2560xf32> to tensor<2048x2560xbf16>
      return %1 : tensor<2048x2560xbf16>
    }
  }
}
