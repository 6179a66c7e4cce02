// What was made of a program: tables, answers, JSON; from a bundle or from what is compiled on the spot.
// RUN: weft-compile %s --target=cpu,sm_90a --ptxas=off --cpu=x86-64-v3 --quiet -o %t.weft
// RUN: weft explain %t.weft | FileCheck %s
// RUN: weft explain %s --target=cpu,sm_90a --compile-flag=--ptxas=off --compile-flag=--cpu=x86-64-v3 | FileCheck %s
// CHECK:      model     explain.mlir
// CHECK:      program   cpu: 9 ops -> 2 kernels, 2 distinct
// CHECK-NEXT: planner   weft: 9 ops in 2 groups, {{[0-9.]+}} us by its model; alone {{[0-9.]+}} us
// CHECK-NEXT: compute   1.08 GFLOP (1.08 GFLOP unfused)
// CHECK-NEXT: traffic   25.2 MB unfused -> 8.39 MB fused; by the models 8.39 MB, at least 8.39 MB (compulsory 8.39 MB)
// CHECK-NEXT: results   9.44 MB between ops, of them 7.34 MB never stored
// CHECK-NEXT: edges     9 considered, 7 fused, 2 not
// CHECK-NEXT: levels    cache 7.34 MB on 7 edges, memory 4.19 MB on 2 edges
// CHECK-NEXT: memory    2.10 MB of activations (2.10 MB without sharing)
// CHECK:      #  kernel {{ *}}ops  grid  tile {{ *}}order  edges {{ *}}flops {{ *}}bound  compulsory {{ *}}model  L2 hit %  bound by  us
// CHECK-NEXT: 0  gemm_add_tanh {{ *}}4 {{.*}} 3 cache {{ *}}1.07 GFLOP  5.24 MB     5.24 MB  5.24 MB         -  -          -
// CHECK-NEXT: 1  norm {{ *}}5 {{.*}} 4 cache, 2 memory
// CHECK:      program   sm_90a (H100): 9 ops -> 2 kernels, 2 distinct
// CHECK:      traffic   25.2 MB unfused -> 6.29 MB fused
// CHECK:      time      at least {{.*}} us at the device's peak rates, launches apart
// CHECK:      0  gemm_add_tanh {{ *}}3 {{.*}} 2 register {{ *}}1.07 GFLOP  4.20 MB     4.20 MB  4.20 MB {{ *[0-9.]+}}  memory

// RUN: weft explain %t.weft --target=cpu --why=MatMul_0,Add_1 | FileCheck %s --check-prefix=WHY --match-full-lines
//      WHY:fused on cpu: "MatMul_0" -> "Add_1", in kernel 0 (gemm_add_tanh)
// WHY-NEXT:  tg.contract -> tg.add
// WHY-NEXT:  1.05 MB stay in cache; fusing saves 2.10 MB of traffic
// WHY-NEXT:  override: --no-fuse=MatMul_0,Add_1


// RUN: weft explain %t.weft --target=sm_90a --why-not Tanh_2,Norm_3 | FileCheck %s --check-prefix=WHYNOT --match-full-lines
//      WHYNOT:not fused on sm_90a: "Tanh_2" -> "Norm_3": G5: a widening cast belongs to its consumer
//      WHYNOT:  kernel 0 (gemm_add_tanh), kernel 1 (norm)
// WHYNOT-NEXT:  tg.tanh -> tg.cast
// WHYNOT-NEXT:  1.05 MB go through L2; fusing would save 2.10 MB of traffic, 0.63 us at 3.35 TB/s
// WHYNOT-NEXT:  override: --force-fuse=Tanh_2,Norm_3

// RUN: weft explain %t.weft --target=cpu --why MatMul_0,Norm_3 | FileCheck %s --check-prefix=APART
//      APART: fused on cpu: no edge leads from "MatMul_0" to "Norm_3"
// APART-NEXT: both in kernel 0 (gemm_add_tanh), by what is between them or as parts of one op
// APART-NEXT: "MatMul_0" is read by "Add_1"
// APART-NEXT: "Norm_3" reads "Tanh_2"

// RUN: weft explain %t.weft --json | FileCheck %s --check-prefix=JSON
// JSON: {"schema":"weft.explain/3","model":"explain.mlir"
// JSON: "edge_columns":["producer_node","consumer_node","producer_op","consumer_op","producer_dispatch","consumer_dispatch","reason","bytes","saved_bytes","level","tile_bytes","level_reason","in_fold"]
// JSON: "levels":[{"level":"cache","edges":7,"bytes":{{[0-9.e+]+}}},{"level":"memory","edges":2,
// JSON: "launches":[{{.*}}"problem":{"k":1024,"kind":"gemm","m":512,"n":1024}

// What the planner expected; on the CPU it has no price.
// RUN: weft explain %t.weft --target=sm_90a --json | grep -o '"kernel":"gemm_add_tanh".*"planned_seconds":[0-9.]*e-06' | FileCheck %s --check-prefix=PLANNED
// PLANNED: "seconds":{{[0-9.]+}}e-06,"planned_seconds":
// RUN: weft explain %t.weft --target=cpu --json | not grep planned_seconds

// Where the tensor of each edge is, what a tile holds of it, and why.
// RUN: weft explain %t.weft --levels | FileCheck %s --check-prefix=LEVELS
// LEVELS:      program   cpu
// LEVELS-NEXT: {{ *}}# from {{ *}}to {{ *}}level {{ *}}bytes {{ *}}a tile  why
// LEVELS-NEXT: {{ *}}0 MatMul_0 (tg.contract) Add_1 (tg.add) cache 1.05 MB - tiles of a nest of loops
// LEVELS:      0 -> 1 Norm_3 (tg.cast) Norm_3 (tg.mul) memory 2.10 MB - a buffer between kernels
// LEVELS:      program   sm_90a
// LEVELS:      0 MatMul_0 (tg.contract) Add_1 (tg.add) register 1.05 MB {{[0-9.]+}} kB accumulator of a GEMM
// LEVELS:      0 -> 1 Tanh_2 (tg.tanh) Norm_3 (tg.cast) L2 1.05 MB - 6.29 MB move from its making on, the L2 keeps 47.2 MB
// LEVELS:      1 Norm_3 (tg.reduce) Norm_3 (tg.rsqrt) shared 2.05 kB 4 B warps add their parts
// LEVELS-NEXT: 1 Norm_3 (tg.cast) Norm_3 (tg.mul) register 2.10 MB {{[0-9.]+}} kB element by element
// The explorer's numbers of a plan's launches, and measurements beside predictions.
// RUN: weft explain %t.weft --target=sm_90a --json -o %t.json
// RUN: weft explore --numbers=%t.json | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: "tiles":
// RUN: weft explore -o %t.html --open=%t.json && FileCheck %s --check-prefix=OPENED --input-file=%t.html
// OPENED: const weftLaunches = {{.*}}"name":"gemm_add_tanh"
// RUN: echo '[{"measured": {"dram__bytes_read.sum": 5e6, "dram__bytes_write.sum": 1e6, "lts__t_sector_hit_rate.pct": 81.5, "gpu__time_duration.sum": 4200}}, {}]' > %t.measured
// RUN: weft explain %t.weft --target=sm_90a --measured=%t.measured | FileCheck %s --check-prefix=MEASURED
// MEASURED: bound by   us  measured  L2 hit %   us
// MEASURED: 0  gemm_add_tanh {{.*}} 6.00 MB      81.5  4.2
// MEASURED: 1  norm {{.*}} - {{ *}}- {{ *}}-

// Bundles without an explanation; names, symbols and files that are not there.
// RUN: weft-compile %s --quiet --explain=off -o %t.off.weft
// DEFINE: %{exits} = %python -c "import subprocess, sys; sys.exit(subprocess.run(sys.argv[2:]).returncode != int(sys.argv[1]))"
// RUN: %{exits} 2 weft explain %t.off.weft 2>&1 | FileCheck %s --check-prefix=OFF
// OFF: error: {{.*}} the bundle has no explanation: it was compiled with --explain=off
// RUN: %{exits} 2 weft explain %t.weft --why Nor,Add_1 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --why: no op of the plan computes a node "Nor"; did you mean "Norm_3"?
// RUN: %{exits} 2 weft explain %t.weft --why-not Add_1 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: --why-not: expected two nodes, separated by a comma, got "Add_1"
// RUN: %{exits} 2 weft explain %t.weft --target=sm_80 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: --target: expected one of cpu, sm_90a, got "sm_80"
// RUN: %{exits} 2 weft explain %t.weft --dim=batch 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: error: --dim: expected NAME=NUMBER, got "batch"
// RUN: %{exits} 2 weft explain %t.weft --measured=%t.measured 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: error: --measured: expected --target, since the bundle has 2 programs
// RUN: echo '[]' > %t.none
// RUN: %{exits} 5 weft explain %t.weft --target=cpu --measured=%t.none 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: --measured: {{.*}} expected 2 kernels, one for each dispatch of cpu, got 0
// RUN: %{exits} 2 weft explain %t.weft --compile-flag=--fp=fast 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: error: --compile-flag: expected a model to compile, got the bundle
// RUN: %{exits} 5 weft explain %t.nowhere.weft 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: error: {{.*}}: No such file or directory
// RUN: echo torn > %t.torn.weft
// RUN: %{exits} 5 weft explain %t.torn.weft 2>&1 | FileCheck %s --check-prefix=TORN
// TORN: error: {{.*}}torn.weft
// RUN: %{exits} 2 weft explain %t.nowhere.onnx 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: error: {{.*}}: not compiled
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<512x1024xf16>, %w: tensor<1024x1024xf16>, %b: tensor<1024xf16>) -> tensor<512x1024xf16> {
  %0 = tg.contract %x, %w [#mk, #kn, #mn] : tensor<512x1024xf16>, tensor<1024x1024xf16> -> tensor<512x1024xf16> loc("MatMul_0")
  %1 = tg.add %0, %b : tensor<512x1024xf16>, tensor<1024xf16> loc("Add_1")
  %2 = tg.tanh %1 : tensor<512x1024xf16> loc("Tanh_2")
  %3 = tg.cast %2 : tensor<512x1024xf16> to tensor<512x1024xf32> loc("Norm_3")
  %4 = tg.mul %3, %3 : tensor<512x1024xf32>, tensor<512x1024xf32> loc("Norm_3")
  %5 = tg.reduce add %4 axes = [1] keep_dims : tensor<512x1024xf32> loc("Norm_3")
  %6 = tg.rsqrt %5 : tensor<512x1xf32> loc("Norm_3")
  %7 = tg.mul %3, %6 : tensor<512x1024xf32>, tensor<512x1xf32> loc("Norm_3")
  %8 = tg.cast %7 : tensor<512x1024xf32> to tensor<512x1024xf16> loc("Norm_3")
  return %8 : tensor<512x1024xf16>
}
