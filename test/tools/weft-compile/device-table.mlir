// --device-table: what `weft calibrate` measured takes the place of the table's rates; text from elsewhere is refused by name.
// RUN: weft-compile %s --target=H100 --quiet -o %t.weft --remarks=plan 2>&1 | FileCheck %s --check-prefix=QUOTED
// RUN: weft-compile %s --target=H100 --quiet -o %t.weft --remarks=plan --device-table=%S/../../../bench/results/h100-calibration.json 2>&1 | FileCheck %s --check-prefix=MEASURED
// Half of the bandwidth, twice the time.
// RUN: sed 's/"dramReadBytesPerSecond": 3.083e+12/"dramReadBytesPerSecond": 1.541e+12/' %S/../../../bench/results/h100-calibration.json > %t.slow.json
// RUN: weft-compile %s --target=H100 --quiet -o %t.weft --remarks=plan --device-table=%t.slow.json 2>&1 | FileCheck %s --check-prefix=SLOW
// RUN: weft-explain %t.weft --device-table=%t.slow.json | FileCheck %s --check-prefix=EXPLAIN
// RUN: weft-calibrate --device=emu:H100 > %t.emulated.json
// RUN: not weft-compile %s --target=H100 -o %t.weft --device-table=%t.emulated.json 2>&1 | FileCheck %s --check-prefix=EMULATED
// RUN: not weft-compile %s --target=H100 -o %t.weft --device-table=%s 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: not weft-compile %s --target=H100 -o %t.weft --device-table=%t.none 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not weft-counters --device-table=%s %t.slow.json 2>&1 | FileCheck %s --check-prefix=JSON

// QUOTED: contraction 1 x 8192 x 256 x 256: {{.*}} us, bound by
// MEASURED: contraction 1 x 8192 x 256 x 256: {{.*}} us, bound by
// SLOW: contraction 1 x 8192 x 256 x 256: {{.*}} us, bound by dram
// EXPLAIN: gemm {{.*}}memory
// EMULATED: expected the calibration of a GPU, got one of an emulated GPU
// JSON: --device-table: {{.*}}: expected
// NONE: --device-table: {{.*}}No such file
module {
  func.func @main(%x: tensor<8192x256xf16> {tg.name = "x"}, %w: tensor<256x256xf16> {tg.name = "w"}) -> (tensor<8192x256xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8192x256xf16>, tensor<256x256xf16> -> tensor<8192x256xf16>
    return %0 : tensor<8192x256xf16>
  }
}
