// Steps of a fold that an affine mask leaves out: from the mask's comparison, not from a flag.
// RUN: weft-opt %s --split-input-file --weft-kernelize --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

// Causal: the tile of rows 128 i .. 128 i + 127 needs the first (128 i + 191) / 64 steps. Long tiles come first: i counts down.
// CHECK-LABEL: func.func @kernel
// CHECK: tk.for_tiles (%[[T:.*]], %{{.*}}) in
// CHECK: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[I:.*]] = arith.subi %[[C3]], %[[T]]
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %c128
// CHECK: %[[LAST:.*]] = arith.addi %c191, %[[ROW]]
// CHECK: arith.maxsi %[[LAST]]
// CHECK: arith.divui %{{.*}}, %c64
// CHECK: %[[END:.*]] = arith.minsi %c8, %{{.*}}
// CHECK: scf.for %{{.*}} = %c0 to %[[END]]
// CHECK: tk.guard
// WHY: steps of the fold behind what the mask keeps are left out
module attributes {tg.schedule = #tg.schedule<tile = [128, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<512x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>) -> tensor<512x32xf32> {
  %row = tg.iota 0 : tensor<512x1xi64>
  %col = tg.iota 1 : tensor<1x512xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %low = tg.constant dense<-1.0e+04> : tensor<f32>
  %width = tg.constant dense<100> : tensor<i64>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf32>
    %keep = tg.cmp le %col, %row : tensor<1x512xi64>, tensor<512x1xi64>
    %x = tg.select %keep, %s, %inf : tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %m2 = tg.max %m, %b : tensor<512x1xf32>, tensor<512x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<512x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<512x1xi1>, tensor<f32>, tensor<512x1xf32>
    %c = tg.sub %m, %safe : tensor<512x1xf32>, tensor<512x1xf32>
    %f = tg.exp %c : tensor<512x1xf32>
    %d = tg.sub %x, %safe : tensor<512x512xf32>, tensor<512x1xf32>
    %e = tg.exp %d : tensor<512x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %g = tg.mul %l, %f : tensor<512x1xf32>, tensor<512x1xf32>
    %l2 = tg.add %g, %t : tensor<512x1xf32>, tensor<512x1xf32>
    %p = tg.cast %e : tensor<512x512xf32> to tensor<512x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<512x512xf16>, tensor<512x32xf16> -> tensor<512x32xf32>
    %h = tg.mul %a, %f : tensor<512x32xf32>, tensor<512x1xf32>
    %a2 = tg.add %h, %o : tensor<512x32xf32>, tensor<512x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<512x1xf32>, tensor<512x1xf32>, tensor<512x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %o = tg.div %a, %l : tensor<512x32xf32>, tensor<512x1xf32>
    tg.fold_yield %o : tensor<512x32xf32>
  } : tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
}

// -----
// A sliding window: from the first place that the first row sees. The mask is added.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: arith.addi %c-99, %{{.*}}
// CHECK: %[[FROM:.*]] = arith.divui
// CHECK: scf.for %{{.*}} = %[[FROM]] to %[[END]]
// WHY: steps of the fold before and behind what the mask keeps are left out
module attributes {tg.schedule = #tg.schedule<tile = [128, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<512x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>) -> tensor<512x32xf32> {
  %row = tg.iota 0 : tensor<512x1xi64>
  %col = tg.iota 1 : tensor<1x512xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %low = tg.constant dense<-1.0e+04> : tensor<f32>
  %width = tg.constant dense<100> : tensor<i64>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf32>
    %causal = tg.cmp le %col, %row : tensor<1x512xi64>, tensor<512x1xi64>
    %first = tg.sub %row, %width : tensor<512x1xi64>, tensor<i64>
    %near = tg.cmp gt %col, %first : tensor<1x512xi64>, tensor<512x1xi64>
    %keep = tg.and %causal, %near : tensor<512x512xi1>, tensor<512x512xi1>
    %mask = tg.select %keep, %zero, %inf : tensor<512x512xi1>, tensor<f32>, tensor<f32>
    %x = tg.add %s, %mask : tensor<512x512xf32>, tensor<512x512xf32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %m2 = tg.max %m, %b : tensor<512x1xf32>, tensor<512x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<512x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<512x1xi1>, tensor<f32>, tensor<512x1xf32>
    %c = tg.sub %m, %safe : tensor<512x1xf32>, tensor<512x1xf32>
    %f = tg.exp %c : tensor<512x1xf32>
    %d = tg.sub %x, %safe : tensor<512x512xf32>, tensor<512x1xf32>
    %e = tg.exp %d : tensor<512x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %g = tg.mul %l, %f : tensor<512x1xf32>, tensor<512x1xf32>
    %l2 = tg.add %g, %t : tensor<512x1xf32>, tensor<512x1xf32>
    %p = tg.cast %e : tensor<512x512xf32> to tensor<512x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<512x512xf16>, tensor<512x32xf16> -> tensor<512x32xf32>
    %h = tg.mul %a, %f : tensor<512x32xf32>, tensor<512x1xf32>
    %a2 = tg.add %h, %o : tensor<512x32xf32>, tensor<512x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<512x1xf32>, tensor<512x1xf32>, tensor<512x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %o = tg.div %a, %l : tensor<512x32xf32>, tensor<512x1xf32>
    tg.fold_yield %o : tensor<512x32xf32>
  } : tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
}

// -----
// The other way round, and scaled afterwards.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %c0 to %[[END]]
// WHY: steps of the fold behind what the mask keeps are left out
module attributes {tg.schedule = #tg.schedule<tile = [128, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<512x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>) -> tensor<512x32xf32> {
  %row = tg.iota 0 : tensor<512x1xi64>
  %col = tg.iota 1 : tensor<1x512xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %low = tg.constant dense<-1.0e+04> : tensor<f32>
  %width = tg.constant dense<100> : tensor<i64>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf32>
    %keep = tg.cmp gt %col, %row : tensor<1x512xi64>, tensor<512x1xi64>
    %two = tg.constant dense<2.0> : tensor<f32>
    %y = tg.select %keep, %inf, %s : tensor<512x512xi1>, tensor<f32>, tensor<512x512xf32>
    %x = tg.mul %y, %two : tensor<512x512xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %m2 = tg.max %m, %b : tensor<512x1xf32>, tensor<512x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<512x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<512x1xi1>, tensor<f32>, tensor<512x1xf32>
    %c = tg.sub %m, %safe : tensor<512x1xf32>, tensor<512x1xf32>
    %f = tg.exp %c : tensor<512x1xf32>
    %d = tg.sub %x, %safe : tensor<512x512xf32>, tensor<512x1xf32>
    %e = tg.exp %d : tensor<512x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %g = tg.mul %l, %f : tensor<512x1xf32>, tensor<512x1xf32>
    %l2 = tg.add %g, %t : tensor<512x1xf32>, tensor<512x1xf32>
    %p = tg.cast %e : tensor<512x512xf32> to tensor<512x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<512x512xf16>, tensor<512x32xf16> -> tensor<512x32xf32>
    %h = tg.mul %a, %f : tensor<512x32xf32>, tensor<512x1xf32>
    %a2 = tg.add %h, %o : tensor<512x32xf32>, tensor<512x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<512x1xf32>, tensor<512x1xf32>, tensor<512x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %o = tg.div %a, %l : tensor<512x32xf32>, tensor<512x1xf32>
    tg.fold_yield %o : tensor<512x32xf32>
  } : tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
}

// -----
// A large number is no -inf: a row that has nothing else would sum such places.
// CHECK-LABEL: func.func @kernel
// CHECK: tk.for_tiles
// CHECK-NOT: arith.minsi
// CHECK: scf.for %{{.*}} = %c0 to %c8
// WHY-NOT: left out
module attributes {tg.schedule = #tg.schedule<tile = [128, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<512x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>) -> tensor<512x32xf32> {
  %row = tg.iota 0 : tensor<512x1xi64>
  %col = tg.iota 1 : tensor<1x512xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %low = tg.constant dense<-1.0e+04> : tensor<f32>
  %width = tg.constant dense<100> : tensor<i64>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf32>
    %keep = tg.cmp le %col, %row : tensor<1x512xi64>, tensor<512x1xi64>
    %x = tg.select %keep, %s, %low : tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %m2 = tg.max %m, %b : tensor<512x1xf32>, tensor<512x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<512x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<512x1xi1>, tensor<f32>, tensor<512x1xf32>
    %c = tg.sub %m, %safe : tensor<512x1xf32>, tensor<512x1xf32>
    %f = tg.exp %c : tensor<512x1xf32>
    %d = tg.sub %x, %safe : tensor<512x512xf32>, tensor<512x1xf32>
    %e = tg.exp %d : tensor<512x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %g = tg.mul %l, %f : tensor<512x1xf32>, tensor<512x1xf32>
    %l2 = tg.add %g, %t : tensor<512x1xf32>, tensor<512x1xf32>
    %p = tg.cast %e : tensor<512x512xf32> to tensor<512x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<512x512xf16>, tensor<512x32xf16> -> tensor<512x32xf32>
    %h = tg.mul %a, %f : tensor<512x32xf32>, tensor<512x1xf32>
    %a2 = tg.add %h, %o : tensor<512x32xf32>, tensor<512x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<512x1xf32>, tensor<512x1xf32>, tensor<512x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %o = tg.div %a, %l : tensor<512x32xf32>, tensor<512x1xf32>
    tg.fold_yield %o : tensor<512x32xf32>
  } : tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
}
