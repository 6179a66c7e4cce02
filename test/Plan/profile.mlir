// Measured times override what the rules estimate, for the device and the shapes that they were measured with.
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{plan} = weft-opt --remark-policy=all --remarks-filter=fusion %t/scaled.mlir

// Between two kernels the scaled operand would stay in an H100's L2, so computing it again does not pay; an A40's L2 does not hold it.
// RUN: %{plan} --weft-plan='gpu=true target=H100' 2> %t/h100.remarks | FileCheck %s --check-prefix=TWO
// RUN: FileCheck %s --check-prefix=ESTIMATE --input-file=%t/h100.remarks
// RUN: %{plan} --weft-plan='gpu=true target=A40 name-subgraphs=true' 2> /dev/null > %t/a40.mlir
// RUN: FileCheck %s --check-prefix=ONE --input-file=%t/a40.mlir
// TWO-COUNT-2: tg.kernel
// TWO-NOT: tg.kernel
// ESTIMATE: not-fused {{.*}}Remark="G2: computing 'mul' again for each tile costs {{[0-9]+}} us and saves {{[0-9]+}} us
// ONE-COUNT-1: tg.kernel
// ONE-NOT: tg.kernel

// Measured on an H100, one kernel is faster; that is obeyed there and nowhere else.
// RUN: %python %S/Inputs/make_profile.py %t/a40.mlir H100 fused 12e-6 16.5e-6 > %t/fused.json
// RUN: %{plan} --weft-plan='gpu=true target=H100 profile=%t/fused.json' 2> %t/fused.remarks | FileCheck %s --check-prefix=ONE
// RUN: FileCheck %s --check-prefix=FUSED --input-file=%t/fused.remarks
// FUSED: [Passed] profile {{.*}} Remark="12.0 us together, 16.5 us apart, measured on H100"
// RUN: %python %S/Inputs/make_profile.py %t/a40.mlir H200 fused 12e-6 > %t/other.json
// RUN: %{plan} --weft-plan='gpu=true target=H100 profile=%t/other.json' 2> /dev/null | FileCheck %s --check-prefix=TWO

// The other way round.
// RUN: %python %S/Inputs/make_profile.py %t/a40.mlir a40 apart 30e-6 25e-6 > %t/apart.json
// RUN: %{plan} --weft-plan='gpu=true target=A40 profile=%t/apart.json' 2> %t/apart.remarks | FileCheck %s --check-prefix=TWO
// RUN: FileCheck %s --check-prefix=APART --input-file=%t/apart.remarks
// APART: not-fused {{.*}}Remark="profile: 30.0 us together, 25.0 us apart, measured on A40

// Another shape of the same ops, and ops that differ: not the record's subgraph.
// RUN: sed 's/8192x/16384x/g' %t/scaled.mlir > %t/more.mlir
// RUN: weft-opt %t/more.mlir --weft-plan='gpu=true target=A40 profile=%t/apart.json' | FileCheck %s --check-prefix=ONE
// RUN: sed 's/tg.mul/tg.max/' %t/scaled.mlir > %t/max.mlir
// RUN: weft-opt %t/max.mlir --weft-plan='gpu=true target=A40 profile=%t/apart.json' | FileCheck %s --check-prefix=ONE
// Names and the order of ops that need not follow each other do not matter.
// RUN: sed 's/%%scale/%%factors/g; s/@main/@other/' %t/scaled.mlir > %t/renamed.mlir
// RUN: weft-opt %t/renamed.mlir --weft-plan='gpu=true target=A40 profile=%t/apart.json' | FileCheck %s --check-prefix=TWO

// A schedule of a record is taken.
// RUN: weft-opt %t/kernel.mlir --weft-plan-gpu='target=H100 name-subgraphs=true' > %t/planned.mlir
// RUN: %python %S/Inputs/make_profile.py %t/planned.mlir H100 fused 3e-6 | sed 's/"choice": "fused"/"schedule": "#tg.schedule<tile = [2048], engine = simt, warps = 8, stages = 1, order = \\"row\\", persistent = false, split = 1>"/' > %t/schedule.json
// RUN: weft-opt %t/kernel.mlir --weft-plan-gpu='target=H100 profile=%t/schedule.json' --remark-policy=all --remarks-filter=plan 2> %t/schedule.remarks | FileCheck %s --check-prefix=SCHEDULE
// RUN: FileCheck %s --check-prefix=TAKEN --input-file=%t/schedule.remarks
// SCHEDULE: tg.schedule = #tg.schedule<tile = [2048], engine = simt, warps = 8
// TAKEN: by the profile: 3.0 us together, measured on H100
// DEFINE: %{bad} = not weft-opt %t/kernel.mlir --weft-plan-gpu='target=H100 profile=%t/bad.json' 2>&1
// RUN: sed 's/#tg.schedule<tile/#tg.nothing<tile/' %t/schedule.json > %t/bad.json
// RUN: %{bad} | FileCheck %s --check-prefix=NOTHING
// RUN: sed 's/warps = 8/warps = 7/' %t/schedule.json > %t/bad.json
// RUN: %{bad} | FileCheck %s --check-prefix=WARPS
// RUN: sed 's/tile = \[2048\]/tile = [2048, 2048]/' %t/schedule.json > %t/bad.json
// RUN: %{bad} | FileCheck %s --check-prefix=RANK
// NOTHING: error: profile: expected a #tg.schedule with 1 tile extents, one for each dimension of the result, got '#tg.nothing<tile
// WARPS-NOT: expected 1 to 32 warps
// WARPS: error: profile: expected a #tg.schedule with 1 tile extents, {{.*}}warps = 7
// RANK: error: profile: expected a #tg.schedule with 1 tile extents, {{.*}}tile = [2048, 2048]

// What is no profile is refused.
// DEFINE: %{refuse} = not weft-opt %t/scaled.mlir --pass-pipeline='builtin.module(func.func(weft-form-kernels{gpu=true
// RUN: %{refuse} profile=%t/absent.json}))' 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: %{refuse} profile=%t/text.json}))' 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: %{refuse} profile=%t/version.json}))' 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: %{refuse} profile=%t/field.json}))' 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: %{refuse} profile=%t/hash.json}))' 2>&1 | FileCheck %s --check-prefix=HASH
// RUN: %{refuse} profile=%t/seconds.json}))' 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: %{refuse} profile=%t/choice.json}))' 2>&1 | FileCheck %s --check-prefix=CHOICE
// RUN: %{refuse} profile=%t/shapes.json}))' 2>&1 | FileCheck %s --check-prefix=SHAPES
// RUN: %python -c "print('[' * 100000)" > %t/deep.json
// RUN: %{refuse} profile=%t/deep.json}))' 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: %{refuse} profile=/dev/zero}))' 2>&1 | FileCheck %s --check-prefix=DEVICE
// ABSENT: error: profile: '{{.*}}absent.json': No such file or directory
// TEXT: error: profile: '{{.*}}text.json': expected JSON:
// VERSION: error: profile: '{{.*}}': expected schema weft.profile/1, got 'weft.profile/9'
// FIELD: error: profile: '{{.*}}': record 0: unknown field 'time'
// HASH: error: profile: '{{.*}}': record 1: subgraph: expected 32 hexadecimal digits
// SECONDS: error: profile: '{{.*}}': record 0: seconds: expected seconds above 0, at most 1e6
// CHOICE: error: profile: '{{.*}}': record 0: choice: expected fused or apart, got 'both'
// SHAPES: error: profile: '{{.*}}': record 0: shapes: expected a list of at most 256 texts
// DEEP: error: profile: '{{.*}}': expected JSON that nests at most 64 deep
// DEVICE: error: profile: '/dev/zero': expected a file

//--- scaled.mlir
func.func @main(%x: tensor<8192x1024xbf16>, %w: tensor<1024x64xbf16>, %scale: tensor<1x1024xbf16>) -> tensor<8192x64xbf16> {
  %s = tg.mul %x, %scale : tensor<8192x1024xbf16>, tensor<1x1024xbf16>
  %c = tg.contract %s, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<8192x1024xbf16>, tensor<1024x64xbf16> -> tensor<8192x64xbf16>
  return %c : tensor<8192x64xbf16>
}

//--- kernel.mlir
module @scale {
  func.func @kernel(%x: tensor<1048576xf16>) -> tensor<1048576xf16> {
    %0 = tg.neg %x : tensor<1048576xf16>
    return %0 : tensor<1048576xf16>
  }
}

//--- text.json
profile
//--- version.json
{"schema": "weft.profile/9", "records": []}
//--- field.json
{"schema": "weft.profile/1", "records": [{"time": 1}]}
//--- hash.json
{"schema": "weft.profile/1", "records": [{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "shapes": [], "seconds": 1e-6},
 {"subgraph": "xyz", "device": "H100", "shapes": [], "seconds": 1e-6}]}
//--- seconds.json
{"schema": "weft.profile/1", "records": [{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "shapes": [], "seconds": -1}]}
//--- choice.json
{"schema": "weft.profile/1", "records": [{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "shapes": [], "seconds": 1, "choice": "both"}]}
//--- shapes.json
{"schema": "weft.profile/1", "records": [{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "seconds": 1}]}
