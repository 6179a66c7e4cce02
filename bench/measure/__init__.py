"""Parts of the GPU benchmark: `bundles` (what is made elsewhere), `table` (results, ratios, text; no PyTorch), `timing`, `peers` and
`weft_runner` (PyTorch on a GPU)."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
