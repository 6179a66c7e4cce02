// Plans by intervals of a symbol: chosen by predicted time, one program in the plan, one bundle, the right one at run time.
// RUN: weft-compile %s --target=H100 --launch-cost=0 --remarks=plan -o %t.weft 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: {{[0-9]+}} dispatches of {{[2-9]}} variants on sm_90a
// REMARK: remark: sm_90a: [Analysis] variants {{.*}}Remark="rows 1, rows 2-{{[0-9]+}}, {{.*}}rows {{[0-9]+}}-"

// The plan is one module, and going on from it makes the same bytes.
// RUN: weft-compile %s --target=H100 --launch-cost=0 --compile-to=plan -o %t.plan.mlir
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.plan.mlir
// PLAN-LABEL: func.func @main(
// PLAN: tg.assume_at_most
// PLAN-NEXT: tg.variants #{{.*}} from [1, 2{{.*}}] to [1, {{.*}}] [@main_0, @main_1{{.*}}](%{{.*}}, %{{.*}}, %{{.*}}) {planned = array<i64: 1, {{.*}}>}
// PLAN-NEXT: return
// PLAN-LABEL: func.func private @main_0(%{{.*}}: tensor<1x256xf16> {tg.name = "x"}
// PLAN: tg.dispatch
// PLAN-LABEL: func.func private @main_1(%{{.*}}: tensor<?x256xf16, #{{.*}}> {tg.name = "x"}
// PLAN-SAME: tg.likely = array<i64: {{[0-9]+}}>
// PLAN: tg.dispatch
// RUN: weft-compile %s --target=H100 --launch-cost=0 --emit=ptx > %t.ptx
// RUN: weft-compile %t.plan.mlir --compile-from=plan --target=H100 --launch-cost=0 --emit=ptx > %t.again.ptx
// RUN: diff %t.ptx %t.again.ptx
// RUN: weft-compile %s --target=H100 --launch-cost=0 --compile-to=outline | weft-opt - | FileCheck %s --check-prefix=OUTLINE
// OUTLINE: tg.variants
// OUTLINE: func.func private @main_1({{.*}}weft.kernels = ["[[KERNEL:.*]]"]
// OUTLINE: tg.dispatch @[[KERNEL]]::@kernel

// Each variant explains itself: all its figures are for the same rows.
// RUN: weft explain %t.weft | FileCheck %s --check-prefix=EXPLAIN --implicit-check-not="them -"
// EXPLAIN: program   sm_90a (H100), variant for rows 1:
// EXPLAIN: {{^}}0  {{[a-z0-9_]+ +4  32 }}
// EXPLAIN: program   sm_90a (H100), variant for rows 2-{{[0-9]+}}:
// EXPLAIN-NEXT: symbols   s0 is rows, estimates for {{[0-9]+}}
// EXPLAIN: compute   [[FLOPS:.* .?FLOP]] ([[FLOPS]] unfused)
// EXPLAIN: {{^}}0  {{[a-z0-9_]+_v1 +4  }}(s0 ceildiv 16) * 32
// RUN: weft explain %t.weft --json | FileCheck %s --check-prefix=JSON
// JSON: "interval":{{ ?}}"rows 1"
// JSON-SAME: "interval":{{ ?}}"rows 2-{{[0-9]+}}"

// One plan for all, and one for a value that is given as likely: no cut.
// RUN: weft-compile %s --target=H100 --launch-cost=0 --variants=1 --compile-to=plan | FileCheck %s --check-prefix=ONE --implicit-check-not=tg.variants
// ONE: module attributes {tg.symbols = ["rows"]}
// RUN: weft-compile %s --target=H100 --launch-cost=0 --variants=1 --dim=rows=1..4096:512 --compile-to=plan | FileCheck %s --check-prefix=LIKELY --implicit-check-not=tg.variants
// LIKELY: module attributes {tg.likely = array<i64: 512>, tg.symbol_ranges = [array<i64: 1, 4096, 512>], tg.symbols = ["rows"]}
// The CPU has one plan.
// RUN: weft-compile %s --compile-to=plan | FileCheck %s --check-prefix=ONE --implicit-check-not=tg.variants

// The same numbers at each extent, in whichever variant: ends, odd ones, a tile and one more.
// RUN: weft-compile %s --quiet -o %t.cpu.weft
// RUN: %python %S/Inputs/at_extents.py %t.cpu.weft %t.weft emu:H100 rows 0 1 2 7 16 17 100 128 129 131 521 | FileCheck %s --check-prefix=SAME
// RUN: weft-compile %s --target=A100-40 --launch-cost=0 --quiet -o %t.a100.weft
// RUN: %python %S/Inputs/at_extents.py %t.cpu.weft %t.a100.weft emu:A100 rows 0 1 2 7 16 17 100 128 129 131 | FileCheck %s --check-prefix=SAME
// SAME: {{[0-9]+}} extents

// The range holds at run time, and is checked where it is given.
// RUN: weft-compile %s --target=H100 --dim=rows=2..64 --quiet -o %t.range.weft
// RUN: weft-run %t.range.weft --device=emu:H100 --dim=rows=64 --output-max-element-count=0
// RUN: not weft-run %t.range.weft --device=emu:H100 --dim=rows=65 2>&1 | FileCheck %s --check-prefix=BOUNDS
// BOUNDS: "rows"
// RUN: not weft-compile %s --dim=rows=64..2 -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not weft-compile %s --dim=rows=2..64:65 -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: --dim: expected name=extent, name=low..high or name=low..high:likely, with low at most likely and likely at most high, got `rows={{.*}}`
// RUN: not weft-compile %s --dim=columns=2..64 -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --dim: the model has no dimension named `columns`; names: rows
// RUN: not weft-compile %s --variants=0 -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not weft-compile %s --variants=17 -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: --variants: expected 1 to 16, got {{0|17}}

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
module attributes {tg.symbols = ["rows"]} {
  func.func @main(%x: tensor<?x256xf16, #tg.dims<()[s0] -> (s0, 256)>> {tg.name = "x"}, %gate: tensor<256x512xf16>, %up: tensor<256x512xf16>)
      -> tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>> {
    tg.assume_at_most affine_map<()[s0] -> (s0, 100000)>, "rows"
    %0 = tg.contract %x, %gate [#l, #r, #o] : tensor<?x256xf16, #tg.dims<()[s0] -> (s0, 256)>>, tensor<256x512xf16> -> tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>>
    %1 = tg.sigmoid %0 : tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>>
    %2 = tg.contract %x, %up [#l, #r, #o] : tensor<?x256xf16, #tg.dims<()[s0] -> (s0, 256)>>, tensor<256x512xf16> -> tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>>
    %3 = tg.mul %1, %2 : tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>>, tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>>
    return %3 : tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>>
  }
}
