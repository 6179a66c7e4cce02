// Launches of several kernels: what is printed, and what is proved.
// RUN: weft-opt %s --split-input-file --verify-diagnostics | weft-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @kernel
func.func private @sums(!tk.global<tensor<64x256xf32>>, !tk.global<tensor<64xf32>>)
func.func private @scale(!tk.global<tensor<64xf32>>, !tk.global<tensor<64xf32>>)
func.func @kernel(%x: !tk.global<tensor<64x256xf32>>, %s: !tk.global<tensor<64xf32>>, %y: !tk.global<tensor<64xf32>>) attributes {tk.warps = 4 : i64} {
  // CHECK: tk.launch resident 132
  tk.launch resident 132 {
    // CHECK: tk.task @sums(%{{.*}}, %{{.*}}) ctas #{{.*}} signals each 1 : !tk.global<tensor<64x256xf32>>, !tk.global<tensor<64xf32>>
    tk.task @sums(%x, %s) ctas affine_map<() -> (16)> signals each 1 : !tk.global<tensor<64x256xf32>>, !tk.global<tensor<64xf32>>
    // CHECK: awaits [#tk.await<row of 0, ctas = 1, step = 4, first = 0, last = 3, written = 4>]
    tk.task @scale(%s, %y) ctas affine_map<() -> (16)> awaits [#tk.await<row of 0, ctas = 1, step = 4, first = 0, last = 3, written = 4>]
      : !tk.global<tensor<64xf32>>, !tk.global<tensor<64xf32>>
  }
  // Two tasks in turns: four groups of four and four CTAs.
  // CHECK: tk.launch resident 132 turns {{\[}}4, 4, 4]
  tk.launch resident 132 turns [4, 4, 4] {
    tk.task @sums(%x, %s) ctas affine_map<() -> (16)> signals each 1 : !tk.global<tensor<64x256xf32>>, !tk.global<tensor<64xf32>>
    tk.task @scale(%s, %y) ctas affine_map<() -> (16)> awaits [#tk.await<row of 0, ctas = 1, step = 4, first = 0, last = 3, written = 4>]
      : !tk.global<tensor<64xf32>>, !tk.global<tensor<64xf32>>
  }
  // Numbers of CTAs may be products of symbols where all of a task is waited for; no task that waits needs no `resident`.
  return
}
// CHECK-LABEL: func @symbols
func.func private @rows(!tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index)
func.func @symbols(%s: !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, %n: index) attributes {tk.warps = 4 : i64} {
  // CHECK: tk.launch {
  tk.launch {
    tk.task @rows(%s, %n) ctas affine_map<()[s0] -> (s0)> : !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index
    tk.task @rows(%s, %n) ctas affine_map<()[s0] -> (s0)> : !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index
  }
  // CHECK: awaits [#tk.await<all of 0>]
  tk.launch resident 8 {
    tk.task @rows(%s, %n) ctas affine_map<()[s0] -> (s0)> signals each 1073741824 : !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index
    tk.task @rows(%s, %n) ctas affine_map<()[s0] -> (s0)> awaits [#tk.await<all of 0>] : !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index
  }
  return
}

// -----
// The first group of readers needs a row of the writers' second one: it would never end.
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @turns(%s: !tk.global<tensor<64xf32>>) {
  tk.launch resident 8 turns [4, 4, 4] {
    tk.task @task(%s) ctas affine_map<() -> (16)> signals each 1 : !tk.global<tensor<64xf32>>
    // expected-error @+1 {{expected an order in which tasks come behind those they wait for, got CTA 3 of task 1 in front of CTA 4 of task 0}}
    tk.task @task(%s) ctas affine_map<() -> (16)> awaits [#tk.await<window of 0, ctas = 1, step = 4, first = 0, last = 4, written = 4>] : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @cycle(%s: !tk.global<tensor<64xf32>>) {
  tk.launch resident 8 {
    // expected-error @+1 {{expected to wait for an earlier task of the launch, got #tk.await<all of 1>}}
    tk.task @task(%s) ctas affine_map<() -> (16)> awaits [#tk.await<all of 1>] : !tk.global<tensor<64xf32>>
    tk.task @task(%s) ctas affine_map<() -> (16)> signals each 16 : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @silent(%s: !tk.global<tensor<64xf32>>) {
  tk.launch resident 8 {
    tk.task @task(%s) ctas affine_map<() -> (16)> : !tk.global<tensor<64xf32>>
    // expected-error @+1 {{expected to wait for a task that signals, got #tk.await<all of 0>}}
    tk.task @task(%s) ctas affine_map<() -> (16)> awaits [#tk.await<all of 0>] : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @resident(%s: !tk.global<tensor<64xf32>>) {
  // expected-error @+1 {{expected `resident` CTAs if and only if tasks wait for each other}}
  tk.launch {
    tk.task @task(%s) ctas affine_map<() -> (16)> signals each 16 : !tk.global<tensor<64xf32>>
    tk.task @task(%s) ctas affine_map<() -> (16)> awaits [#tk.await<all of 0>] : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @rows(!tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index)
func.func @symbols(%s: !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, %n: index) {
  tk.launch resident 8 {
    tk.task @rows(%s, %n) ctas affine_map<()[s0] -> (s0)> signals each 1 : !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index
    // expected-error @+1 {{expected to wait for all of a task whose CTAs depend on symbols}}
    tk.task @rows(%s, %n) ctas affine_map<()[s0] -> (s0)> awaits [#tk.await<row of 0, ctas = 1, step = 4, first = 0, last = 3, written = 4>] : !tk.global<tensor<?xf32, #tg.dims<()[s0] -> (s0)>>>, index
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @turnsOfOne(%s: !tk.global<tensor<64xf32>>) {
  // expected-error @+1 {{expected `turns` of three positive numbers for two tasks with known numbers of CTAs}}
  tk.launch turns [4, 4, 4] {
    tk.task @task(%s) ctas affine_map<() -> (16)> : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @callee(%s: !tk.global<tensor<64xf16>>) {
  tk.launch {
    // expected-error @+1 {{expected operand 0 of type '!tk.global<tensor<64xf32>>', got '!tk.global<tensor<64xf16>>'}}
    tk.task @task(%s) ctas affine_map<() -> (16)> : !tk.global<tensor<64xf16>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @count(%s: !tk.global<tensor<64xf32>>) {
  tk.launch {
    // expected-error @+1 {{expected 1 operands as @task takes, got 2}}
    tk.task @task(%s, %s) ctas affine_map<() -> (16)> : !tk.global<tensor<64xf32>>, !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func @missing(%s: !tk.global<tensor<64xf32>>) {
  tk.launch {
    // expected-error @+1 {{expected a function of the module without results, got @none}}
    tk.task @none(%s) ctas affine_map<() -> (16)> : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @ctas(%s: !tk.global<tensor<64xf32>>) {
  tk.launch {
    // expected-error @+1 {{expected a positive number of CTAs, got 0}}
    tk.task @task(%s) ctas affine_map<() -> (0)> : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @maps(%s: !tk.global<tensor<64xf32>>) {
  tk.launch {
    // expected-error @+1 {{expected `ctas` without dimensions, with 0 symbols and a result}}
    tk.task @task(%s) ctas affine_map<()[s0] -> (s0)> : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
func.func private @task(!tk.global<tensor<64xf32>>)
func.func @signal(%s: !tk.global<tensor<64xf32>>) {
  tk.launch {
    // expected-error @+1 {{expected a counter for a positive number of CTAs, got 0}}
    tk.task @task(%s) ctas affine_map<() -> (4)> signals each 0 : !tk.global<tensor<64xf32>>
  }
  return
}

// -----
// expected-error @+1 {{expected a policy (all, row, row_block, consecutive, window or strided), got `rows`}}
#a = #tk.await<rows of 0>

// -----
// expected-error @+1 {{expected the number of a task, got -1}}
#a = #tk.await<all of -1>

// -----
// expected-error @+1 {{expected positive ctas, step and written, and last from first on, got 0, 4, 4 and 0 to 3}}
#a = #tk.await<row of 0, ctas = 0, step = 4, first = 0, last = 3, written = 4>

// -----
// expected-error @+1 {{expected the policy that the numbers say, window, got row}}
#a = #tk.await<row of 0, ctas = 1, step = 4, first = -1, last = 4, written = 4>
