// The records that come with Weft: found beside the tools, and of this product there is one, whether it still has something to say or not.
// RUN: weft-compile %s --compile-from=normalize --compile-to=plan --target=H100 --records=shipped --remarks=plan -o %t.mlir 2> %t.remarks
// RUN: FileCheck %s --input-file=%t.remarks
// RUN: weft-compile %s --compile-from=normalize --compile-to=plan --target=H100 --remarks=plan -o %t.without.mlir 2>&1 | FileCheck %s --check-prefix=WITHOUT
// RUN: weft-compile %s --compile-from=normalize --compile-to=plan --target=A40 --records=shipped --remarks=plan -o %t.without.mlir 2>&1 | FileCheck %s --check-prefix=WITHOUT

// One whose schedule cannot be compiled (any more: two warps are none of wgmma's) is skipped, and the kernel planned as without it.
// RUN: head -1 %weft_src/share/weft/records.jsonl > %t.jsonl
// RUN: grep '"184x3520xbf16"' %weft_src/share/weft/records.jsonl | sed -E 's/"schedule": "[^"]*(\\"[^"]*)*"/"schedule": "#tg.schedule<tile = [64, 64], stream = [64], engine = wgmma, warps = 2, stages = 4, order = \\"row\\", persistent = false, split = 1>"/; s/"seconds": [^,]*/"seconds": 1e-9/' >> %t.jsonl
// RUN: weft-compile %s --compile-from=normalize --compile-to=plan --target=H100 --explain=off --records=%t.jsonl --remarks=plan -o %t.skipped.mlir 2>&1 | FileCheck %s --check-prefix=SKIPPED
// RUN: weft-compile %s --compile-from=normalize --compile-to=plan --target=H100 --explain=off -o %t.without.mlir && diff %t.without.mlir %t.skipped.mlir
// SKIPPED: by a record
// SKIPPED: [Missed] refit {{.*}}a record is skipped: 'tk.dot' op expected operands that wgmma on 2 warps can read
// SKIPPED: [Passed] schedule {{.*}}contraction 1 x 184 x 280 x 3520

// CHECK: {{by a record: .* us, .* as planned, measured on H100 on 20|a record is skipped: .* us are expected of what the planner chooses now}}
// WITHOUT-NOT: {{a record}}

func.func @main(%x: tensor<184x3520xbf16> {tg.name = "x"}, %w: tensor<280x3520xbf16> {tg.name = "w"}) -> (tensor<184x280xbf16> {tg.name = "y"}) {
  %c = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<184x3520xbf16>, tensor<280x3520xbf16> -> tensor<184x280xbf16>
  return %c : tensor<184x280xbf16>
}
