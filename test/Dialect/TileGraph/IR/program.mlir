// Ops of programs, printed and parsed; stages keep ops that an op between them must separate in kernels of their own.
// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --weft-plan | FileCheck %s --check-prefix=PLAN

module attributes {tg.symbols = ["n", "count"]} {
  // CHECK-LABEL: func.func private @step(
  func.func private @step(%h: tensor<4xf32>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = tg.mul %h, %w : tensor<4xf32>, tensor<4xf32>
    %1 = tg.add %0, %x : tensor<4xf32>, tensor<4xf32>
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @more(%h: tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
    %0 = tg.constant dense<true> : tensor<i1>
    return %0, %h : tensor<i1>, tensor<4xf32>
  }
  func.func private @then(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func private @else() -> tensor<4xf32> {
    %0 = tg.constant dense<1.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }

  // CHECK-LABEL: func.func @main(
  // PLAN-LABEL: func.func @main(
  func.func @main(%x: tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>, %h: tensor<4xf32>, %c: tensor<i1>, %count: tensor<1xi64>)
      -> (tensor<4xf32>, tensor<?xi64, #tg.dims<()[s0, s1] -> (s1)>>) {
    // CHECK: tg.assume_at_most #{{.*}}, "window along `n`"
    tg.assume_at_most affine_map<()[s0] -> (3, s0 + 2)>, "window along `n`"
    // PLAN: tg.kernel "neg"
    %a = tg.neg %h : tensor<4xf32>
    // CHECK: %[[L:.*]]:2 = tg.loop @step trips #{{.*}} carry(%{{.*}} : tensor<4xf32>) scan(%{{.*}} : tensor<?x4xf32{{.*}}>) capture(%{{.*}} : tensor<4xf32>) {collected_reversed = array<i1: true>, scanned_reversed = array<i1: false>} -> tensor<4xf32>, tensor<?x4xf32
    // PLAN: tg.loop @step
    %l:2 = tg.loop @step trips affine_map<()[s0] -> (s0)> carry(%a : tensor<4xf32>) scan(%x : tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>)
        capture(%h : tensor<4xf32>) {scanned_reversed = array<i1: false>, collected_reversed = array<i1: true>}
        -> tensor<4xf32>, tensor<?x4xf32, #tg.dims<()[s0] -> (s0, 4)>>
    // A kernel of both additions would have to run on both sides of the loop.
    // PLAN: tg.kernel "add"
    %b = tg.add %l#0, %a : tensor<4xf32>, tensor<4xf32>
    // CHECK: tg.loop @more trips #{{.*}} while(%{{.*}} : tensor<i1>) carry(
    %w = tg.loop @more trips affine_map<() -> (9)> while(%c : tensor<i1>) carry(%b : tensor<4xf32>)
        {scanned_reversed = array<i1>, collected_reversed = array<i1>, endless = "expected an end"} -> tensor<4xf32>
    // CHECK: tg.if %{{.*}} then @then(%{{.*}} : tensor<4xf32>) else @else() : tensor<i1> -> tensor<4xf32>
    %r = tg.if %c then @then(%w : tensor<4xf32>) else @else() : tensor<i1> -> tensor<4xf32>
    // CHECK: tg.bind_symbols %{{.*}} as [1], "count" : tensor<1xi64>
    // PLAN: tg.kernel "add"
    // PLAN: tg.bind_symbols
    // PLAN: tg.kernel "iota"
    %more = tg.add %count, %count : tensor<1xi64>, tensor<1xi64>
    tg.bind_symbols %more as [1], "count" : tensor<1xi64>
    %i = tg.iota 0 : tensor<?xi64, #tg.dims<()[s0, s1] -> (s1)>>
    return %r, %i : tensor<4xf32>, tensor<?xi64, #tg.dims<()[s0, s1] -> (s1)>>
  }
}
