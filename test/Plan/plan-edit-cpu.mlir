// The tiles of CPU kernels are fields of the printed plan: it goes on to the same code, and one that is edited changes its kernel's grid alone.
// RUN: weft-compile %s --compile-from=normalize --compile-to=plan -o %t.plan.mlir
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.plan.mlir
// PLAN-DAG: module @gemm{{.*}} attributes {{.*}}tg.tile_sizes = array<i64: 0, 64, 0>
// PLAN-DAG: module @max_sub_exp attributes {{.*}}tg.tile_sizes = array<i64: 32, 0>
// RUN: weft-compile %s --compile-from=normalize --compile-to=lower -o %t.direct.mlir
// RUN: weft-compile %t.plan.mlir --compile-from=plan --compile-to=lower -o %t.again.mlir
// RUN: cmp %t.direct.mlir %t.again.mlir

// RUN: sed 's/array<i64: 32, 0>/array<i64: 5, 0>/' %t.plan.mlir > %t.edited.mlir
// RUN: weft-compile %t.edited.mlir --compile-from=plan --compile-to=lower -o %t.edited.lower.mlir
// RUN: FileCheck %s --check-prefix=GRID --input-file=%t.direct.mlir
// RUN: FileCheck %s --check-prefix=EDITED --input-file=%t.edited.lower.mlir
// GRID: #[[WHICH:map[0-9]*]] = affine_map<() -> (7)>
// GRID: module @max_sub_exp attributes {tg.grid = #[[WHICH]],
// EDITED: #[[WHICH:map[0-9]*]] = affine_map<() -> (40)>
// EDITED: module @max_sub_exp attributes {tg.grid = #[[WHICH]],
// RUN: sed -n '/module @gemm/,/^  }/s/#map[0-9]*//gp' %t.direct.mlir > %t.gemm
// RUN: sed -n '/module @gemm/,/^  }/s/#map[0-9]*//gp' %t.edited.lower.mlir | diff %t.gemm -
// RUN: weft-compile %s --compile-from=normalize -o %t.weft --quiet
// RUN: weft-compile %t.edited.mlir --compile-from=plan -o %t.edited.weft --quiet
// RUN: weft-run %t.weft --seed=3 --output=result=@%t.npy
// RUN: weft-run %t.edited.weft --seed=3 --expected-output=result=@%t.npy

// One that does not fit its kernel is refused.
// RUN: sed 's/array<i64: 32, 0>/array<i64: 5>/' %t.plan.mlir > %t.short.mlir
// RUN: not weft-compile %t.short.mlir --compile-from=plan --quiet -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: tg.tile_sizes: expected 2 tile sizes of at least 0, one for each loop of kernel {{.*}}, got array<i64: 5>

#l = affine_map<(m, n, k) -> (m, k)>
#r = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<200x256xf32> {tg.name = "x"}, %w: tensor<256x512xf32> {tg.name = "w"}) -> (tensor<200x512xf32> {tg.name = "result"}) {
  %0 = tg.contract %x, %w [#l, #r, #o] : tensor<200x256xf32>, tensor<256x512xf32> -> tensor<200x512xf32>
  %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<200x512xf32>
  %2 = tg.sub %0, %1 : tensor<200x512xf32>, tensor<200x1xf32>
  %3 = tg.exp %2 : tensor<200x512xf32>
  return %3 : tensor<200x512xf32>
}
