"""Parts of the GPU benchmarks: `bundles` and `prepare` (what is made elsewhere), `table` and `sweep_table` (results, ratios, text; no PyTorch),
`children` (cases in processes of their own), `run_case`, `timing`, `peers` and `weft_runner` (PyTorch on a GPU)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
