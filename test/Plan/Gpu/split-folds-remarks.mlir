// Why a fold stays whole, and the numbers of those that are split.
// RUN: weft-opt %s --split-input-file --weft-split-folds=target=sm_90a --remark-policy=all --remarks-filter=plan 2>&1 >/dev/null | FileCheck %s
// RUN: not weft-opt %s --split-input-file --weft-split-folds=target=sm_10 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: expected a target of sm_80, {{.*}}, got 'sm_10'

// CHECK: fold over 16384 elements, 4 rows in 1 batches on 132 SMs: {{.*}} us whole, {{.*}} us in 128 parts
#x = affine_map<(r, s, c) -> (r, s)>
#v = affine_map<(r, s, c) -> (s, c)>
#y = affine_map<(r, s, c) -> (r, c)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<4x16384xf32>, %v: tensor<16384x64xf32>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<() -> (16384)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>, %a: tensor<4x64xf32>):
      %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<4x16384xf32>
      %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
      %d = tg.sub %x, %m2 : tensor<4x16384xf32>, tensor<4x1xf32>
      %e = tg.exp %d : tensor<4x16384xf32>
      %s = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<4x16384xf32>
      %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
      %f = tg.exp %c : tensor<4x1xf32>
      %k = tg.mul %l, %f : tensor<4x1xf32>, tensor<4x1xf32>
      %l2 = tg.add %k, %s : tensor<4x1xf32>, tensor<4x1xf32>
      %p = tg.contract %e, %v [#x, #v, #y] {tg.streamed} : tensor<4x16384xf32>, tensor<16384x64xf32> -> tensor<4x64xf32>
      %o = tg.mul %a, %f : tensor<4x64xf32>, tensor<4x1xf32>
      %a2 = tg.add %o, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %m2, %l2, %a2 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x64xf32>
    } merge {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>, %a: tensor<4x64xf32>, %n: tensor<4x1xf32>, %q: tensor<4x1xf32>, %b: tensor<4x64xf32>):
      %t = tg.max %m, %n : tensor<4x1xf32>, tensor<4x1xf32>
      %dm = tg.sub %m, %t : tensor<4x1xf32>, tensor<4x1xf32>
      %em = tg.exp %dm : tensor<4x1xf32>
      %dn = tg.sub %n, %t : tensor<4x1xf32>, tensor<4x1xf32>
      %en = tg.exp %dn : tensor<4x1xf32>
      %lm = tg.mul %l, %em : tensor<4x1xf32>, tensor<4x1xf32>
      %ln = tg.mul %q, %en : tensor<4x1xf32>, tensor<4x1xf32>
      %l2 = tg.add %lm, %ln : tensor<4x1xf32>, tensor<4x1xf32>
      %am = tg.mul %a, %em : tensor<4x64xf32>, tensor<4x1xf32>
      %an = tg.mul %b, %en : tensor<4x64xf32>, tensor<4x1xf32>
      %a2 = tg.add %am, %an : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %t, %l2, %a2 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x64xf32>
    } finish {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>, %a: tensor<4x64xf32>):
      %o = tg.div %a, %l : tensor<4x64xf32>, tensor<4x1xf32>
      tg.fold_yield %o : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// CHECK: the fold has no merge
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x16384xf32>, %v: tensor<16384x64xf32>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<() -> (16384)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x16384xf32>, tensor<16384x64xf32> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// CHECK: fold over about 256 elements, 4 rows in 1 batches on 132 SMs: {{.*}} us whole, {{.*}} us in {{[0-9][0-9]+}} parts
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, %v: tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<()[s0] -> (s0)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
      %c = tg.add %a, %b : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %c : tensor<4x64xf32>
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// CHECK: parts may be empty, and merging such a part is not proved to change nothing
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, %v: tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<()[s0] -> (s0)> init [1.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
      %c = tg.add %a, %b : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %c : tensor<4x64xf32>
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// CHECK: merge does not combine its sides by a monoid
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x16384xf32>, %v: tensor<16384x64xf32>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<() -> (16384)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x16384xf32>, tensor<16384x64xf32> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
      %n = tg.neg %b : tensor<4x64xf32>
      %c = tg.add %a, %n : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %c : tensor<4x64xf32>
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// CHECK: fold over 128 elements, {{.*}} in 1 parts
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x128xf32>, %v: tensor<128x64xf32>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<() -> (128)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x128xf32>, tensor<128x64xf32> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
      %c = tg.add %a, %b : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %c : tensor<4x64xf32>
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// CHECK: fold over 16381 elements, {{.*}} in 128 parts
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x16381xf32>, %v: tensor<16381x64xf32>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<() -> (16381)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x16381xf32>, tensor<16381x64xf32> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
      %c = tg.add %a, %b : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %c : tensor<4x64xf32>
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// A plan for lengths like one: the parts for that.
// CHECK: fold over about 128 elements, {{.*}} in 1 parts
module attributes {tg.likely = array<i64: 128>, tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, %v: tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<()[s0] -> (s0)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
      %c = tg.add %a, %b : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %c : tensor<4x64xf32>
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}

// -----
// CHECK: fold over about 16384 elements, {{.*}} in 128 parts
module attributes {tg.likely = array<i64: 16384>, tg.symbols = ["n"]} {
  func.func @main(%x: tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, %v: tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<()[s0] -> (s0)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x64xf32>):
      %p = tg.contract %x, %v [affine_map<(r, s, c) -> (r, s)>, affine_map<(r, s, c) -> (s, c)>, affine_map<(r, s, c) -> (r, c)>] {tg.streamed} : tensor<4x?xf32, #tg.dims<()[s0] -> (4, s0)>>, tensor<?x64xf32, #tg.dims<()[s0] -> (s0, 64)>> -> tensor<4x64xf32>
      %b = tg.add %a, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %b : tensor<4x64xf32>
    } merge {
    ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>):
      %c = tg.add %a, %b : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %c : tensor<4x64xf32>
    } finish {
    ^bb0(%a: tensor<4x64xf32>):
      tg.fold_yield %a : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}
