// The flags that steer groups, on the CPU and on a GPU; what cannot be done ends with its reason and exit code 2, a plan that does not fit with 5.
// DEFINE: %{exits} = %python -c "import subprocess, sys; sys.exit(subprocess.run(sys.argv[2:]).returncode != int(sys.argv[1]))"
// RUN: weft-compile %s --no-fuse=Add_1,Neg_2 --emit=mlir:group -o - | FileCheck %s --check-prefix=APART
// RUN: weft-compile %s --target=sm_80 --no-fuse=Add_1,Neg_2 --emit=mlir:group -o - | FileCheck %s --check-prefix=APART
// RUN: weft-compile %s --no-fuse --emit=mlir:group -o - | FileCheck %s --check-prefix=NONE
// RUN: weft-compile %s --no-fuse --force-fuse=Exp_0,Add_1 --emit=mlir:group -o - | FileCheck %s --check-prefix=FORCED
// RUN: weft-compile %s --no-fuse=Exp_0 --no-fuse=Neg_2 --emit-plan=%t.plan --quiet -o %t.1.weft
// RUN: weft-compile %s --plan=%t.plan --emit=mlir:group -o - | FileCheck %s --check-prefix=NONE
// RUN: weft-compile %s --target=sm_80 --no-fuse=Neg_2 --emit-plan=%t.gpu.plan --emit=mlir:group -o %t.1
// RUN: weft-compile %s --target=sm_80 --plan=%t.gpu.plan --emit=mlir:group -o %t.2 && diff %t.1 %t.2
// RUN: weft-compile %s --target=sm_80 --planner=tvm-rules --emit-plan=%t.tvm.plan --emit=mlir:group -o %t.3
// RUN: weft-compile %s --target=sm_80 --planner=tvm-rules --plan=%t.tvm.plan --emit=mlir:group -o %t.4 && diff %t.3 %t.4
// RUN: %{exits} 2 weft-compile %s --planner=tvm 2>&1 | FileCheck %s --check-prefix=PLANNER
// PLANNER: error: --planner: expected weft, dnnfusion, tvm-rules or exact, got `tvm`
// APART: tg.kernel "exp_add"
// APART: tg.kernel "neg"
// NONE: tg.kernel "exp"
// NONE: tg.kernel "add"
// NONE: tg.kernel "neg"
// FORCED: tg.kernel "exp_add"
// FORCED: tg.kernel "neg"

// RUN: %{exits} 2 weft-compile %s --no-fuse=Add_11 --target=sm_80 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --no-fuse: no op of the plan computes a node `Add_11`; did you mean `Add_1`?
// RUN: %{exits} 2 weft-compile %s --force-fuse=Exp_0,Neg_2 --no-fuse=Add_1 2>&1 | FileCheck %s --check-prefix=FORCE
// FORCE: error: --force-fuse: `Exp_0`, `Neg_2` cannot share a kernel: no-fuse: `Add_1` is to have a kernel of its own
// RUN: sed 's/tg.neg/tg.sqrt/' %t.plan > %t.bad.plan
// RUN: %{exits} 5 weft-compile %s --plan=%t.bad.plan 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: error: --plan: it does not fit the model: op 'tg.sqrt' of node `Neg_2` of the plan is not in the model
// RUN: not weft-compile %s --plan=%t.plan --target=cpu,sm_80 2>&1 | FileCheck %s --check-prefix=TARGETS
// RUN: not weft-compile %s --emit-plan=%t.plan --target=cpu,sm_80 2>&1 | FileCheck %s --check-prefix=TARGETS
// TARGETS: plan: expected one target, since plans differ, got `cpu,sm_80`
// What is no file of records, a newer one, and a file that does not end: exit code 5, for the CPU and for a GPU; one of another device changes nothing.
// RUN: printf '{"schema": "weft.records/1"}\n{"subgraph": \n{}\n' > %t.cut.json
// RUN: %{exits} 5 weft-compile %s --records=%t.cut.json -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: %{exits} 5 weft-compile %s --target=sm_80 --records=%t.cut.json -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error: --records: '{{.*}}cut.json': line 2: expected JSON:
// RUN: echo '{"schema": "weft.records/2"}' > %t.newer.json
// RUN: %{exits} 5 weft-compile %s --records=%t.newer.json -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error: --records: '{{.*}}newer.json': expected schema weft.records/1 in the first line, as `weft tune` writes it, got 'weft.records/2'
// RUN: %python -c "open(r'%t.huge.json', 'wb').truncate((64 << 20) + 1)"
// RUN: %{exits} 5 weft-compile %s --records=%t.huge.json -o %t.none.weft 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: error: --records: '{{.*}}huge.json': expected at most 64 MiB
// RUN: rm %t.huge.json
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tg.exp %x : tensor<4x4xf32> loc("Exp_0")
  %1 = tg.add %y, %0 : tensor<4x4xf32>, tensor<4x4xf32> loc("Add_1")
  %2 = tg.neg %1 : tensor<4x4xf32> loc("Neg_2")
  return %2 : tensor<4x4xf32>
}
