// Which counters there are and for which a CTA waits follows from both kernels' accesses: research/systems.md's table of CuSync's policies, on chains of
// reductions, products and convolutions. One launch holds as many CTAs as an A100 has at once, or as there are tasks.
// DEFINE: %{case} =
// DEFINE: %{try} = weft-compile %S/../Emit/%{case}.mlir --compile-from=normalize --target=sm_80 --compile-to=outline -o %t.mlir && \
// DEFINE:   weft-opt %t.mlir "--weft-lower-gpu=target=sm_80 merge-launches=chains" --mlir-print-ir-after=weft-tk-make-launches -o %t.out 2>&1 | FileCheck %s --check-prefix=%{case}

// Columns of one tile need all rows.
// REDEFINE: %{case} = gpu-chain
// RUN: %{try}
// gpu-chain: tk.launch resident 80 {
// gpu-chain-NEXT: tk.task @sum({{.*}} signals each 64 :
// gpu-chain-NEXT: tk.task @max_mul({{.*}} awaits [#tk.await<all of 0>]

// Two products, the second in tiles of half the rows: two blocks wait for one row of tiles.
// REDEFINE: %{case} = gpu-chain-order
// RUN: %{try}
// gpu-chain-order: tk.launch resident 160 {
// gpu-chain-order-NEXT: tk.task @gemm({{.*}} signals each 4 :
// gpu-chain-order-NEXT: tk.task @gemm_0({{.*}} awaits [#tk.await<consecutive of 0, ctas = 2, step = 4096, first = 0, last = 4095, written = 8192>]

// Two products in tiles of as many rows.
// REDEFINE: %{case} = gpu-chain-choice
// RUN: %{try}
// gpu-chain-choice: tk.task @gemm_0({{.*}} awaits [#tk.await<row of 0, ctas = 4, step = 16384, first = 0, last = 16383, written = 16384>]

// 64 sums that all CTAs of a batch need: they raise one counter.
// REDEFINE: %{case} = gpu-chain-counters
// RUN: %{try}
// gpu-chain-counters: tk.task @sum({{.*}} signals each 64 :
// gpu-chain-counters-NEXT: tk.task @mul({{.*}} awaits [#tk.await<row of 0, ctas = 128, step = 64, first = 0, last = 63, written = 64>]

// Two convolutions: rows and a halo of two of the next one's.
// REDEFINE: %{case} = gpu-chain-refused
// RUN: %{try}
// gpu-chain-refused: tk.task @conv_0({{.*}} awaits [#tk.await<window of 0, ctas = 17, step = 17408, first = 0, last = 19583, written = 17408>]

// What does not wait has no `resident`, and a CTA for each task.
// REDEFINE: %{case} = gpu-merge-launches
// RUN: %{try}
// gpu-merge-launches: tk.launch {
// gpu-merge-launches-NEXT: tk.task
// gpu-merge-launches-NEXT: tk.task
// gpu-merge-launches-NOT: awaits
