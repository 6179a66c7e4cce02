// Predicted instructions beside those that the emulator counts in the kernel that Weft makes: 8 tiles of 16 x 32 x 64, four warps each.
// RUN: weft-compile %s --target=sm_80 --quiet -o %t.weft --remarks=plan 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: weft-run %t.weft --device=emu:A100 --counters | FileCheck %s --check-prefix=COUNTED
// RUN: echo '{"problem": {"kind": "gemm", "m": 64, "n": 64, "k": 64}, "tile": {"m": 16, "n": 32, "k": 64}, "engine": "mma", "warps": 4, "machine": {"device": "A100-40"}}' > %t.json
// RUN: weft counters %t.json | FileCheck %s --check-prefix=PREDICTED

// PLAN: tile = [16, 32], stream = [64], engine = mma, warps = 4
// COUNTED: sm__inst_executed_pipe_tensor.sum {{ *}}128
// COUNTED: sm__inst_executed_pipe_tensor_op_hmma.sum {{ *}}128
// PREDICTED: "launch__grid_size": 8
// PREDICTED: "sm__inst_executed_pipe_tensor.sum": 128
// PREDICTED: "sm__inst_executed_pipe_tensor_op_hmma.sum": 128
module {
  func.func @main(%x: tensor<64x64xf16> {tg.name = "x"}, %w: tensor<64x64xf16> {tg.name = "w"}) -> (tensor<64x64xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
    return %0 : tensor<64x64xf16>
  }
}
