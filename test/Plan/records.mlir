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
// RUN: %python %S/Inputs/make_records.py %t/a40.mlir H100 fused 12e-6 16.5e-6 > %t/fused.json
// RUN: %{plan} --weft-plan='gpu=true target=H100 records=%t/fused.json' 2> %t/fused.remarks | FileCheck %s --check-prefix=ONE
// RUN: FileCheck %s --check-prefix=FUSED --input-file=%t/fused.remarks
// FUSED: [Passed] record {{.*}} Remark="12.0 us together, 16.5 us apart, measured on H100"
// RUN: %python %S/Inputs/make_records.py %t/a40.mlir H200 fused 12e-6 > %t/other.json
// RUN: %{plan} --weft-plan='gpu=true target=H100 records=%t/other.json' 2> /dev/null | FileCheck %s --check-prefix=TWO

// The other way round.
// RUN: %python %S/Inputs/make_records.py %t/a40.mlir a40 apart 30e-6 25e-6 > %t/apart.json
// RUN: %{plan} --weft-plan='gpu=true target=A40 records=%t/apart.json' 2> %t/apart.remarks | FileCheck %s --check-prefix=TWO
// RUN: FileCheck %s --check-prefix=APART --input-file=%t/apart.remarks
// APART: not-fused {{.*}}Remark="records: 30.0 us together, 25.0 us apart, measured on A40

// Another shape of the same ops, and ops that differ: not the record's subgraph.
// RUN: sed 's/8192x/16384x/g' %t/scaled.mlir > %t/more.mlir
// RUN: weft-opt %t/more.mlir --weft-plan='gpu=true target=A40 records=%t/apart.json' | FileCheck %s --check-prefix=ONE
// RUN: sed 's/tg.mul/tg.max/' %t/scaled.mlir > %t/max.mlir
// RUN: weft-opt %t/max.mlir --weft-plan='gpu=true target=A40 records=%t/apart.json' | FileCheck %s --check-prefix=ONE
// Names and the order of ops that need not follow each other do not matter.
// RUN: sed 's/%%scale/%%factors/g; s/@main/@other/' %t/scaled.mlir > %t/renamed.mlir
// RUN: weft-opt %t/renamed.mlir --weft-plan='gpu=true target=A40 records=%t/apart.json' | FileCheck %s --check-prefix=TWO

// A schedule of a record is taken.
// RUN: weft-opt %t/kernel.mlir --weft-plan-gpu='target=H100 name-subgraphs=true' > %t/planned.mlir
// RUN: %python %S/Inputs/make_records.py %t/planned.mlir H100 fused 3e-6 | sed 's/"choice": "fused"/"planned_seconds": 3.3e-6, "date": "2026-11-23", "version": "weft 0.1.0", "schedule": "#tg.schedule<tile = [2048], engine = simt, warps = 8, stages = 1, order = \\"row\\", persistent = false, split = 1>"/' > %t/schedule.json
// RUN: weft-opt %t/kernel.mlir --weft-plan-gpu='target=H100 records=%t/schedule.json' --remark-policy=all --remarks-filter=plan 2> %t/schedule.remarks | FileCheck %s --check-prefix=SCHEDULE
// RUN: FileCheck %s --check-prefix=TAKEN --input-file=%t/schedule.remarks
// SCHEDULE: tg.record = "3.0 us, 3.3 as planned, measured on H100 on 2026-11-23", tg.schedule = #tg.schedule<tile = [2048], engine = simt, warps = 8
// TAKEN: by a record: 3.0 us, 3.3 as planned, measured on H100 on 2026-11-23

// So it is where the extents are like the record's, and the tile cuts them into as many parts; the record of the very shape comes first.
// RUN: sed 's/1048576/1048064/g' %t/kernel.mlir > %t/near.mlir
// DEFINE: %{schedule} = --weft-plan-gpu='target=H100 records=%t/schedule.json' --remark-policy=all --remarks-filter=plan
// RUN: weft-opt %t/near.mlir %{schedule} 2> %t/near.remarks | FileCheck %s --check-prefix=NEAR
// RUN: FileCheck %s --check-prefix=NEARBY --input-file=%t/near.remarks
// NEAR: tile = [2048], engine = simt, warps = 8
// NEARBY: by a record: 3.0 us, 3.3 as planned, measured on H100 on 2026-11-23 with 1048576xf16 results
// One tile more; other types; and one that had gained less than 3 %.
// RUN: sed 's/1048576/1048577/g' %t/kernel.mlir | weft-opt %{schedule} 2> /dev/null | FileCheck %s --check-prefix=FAR
// RUN: sed 's/1048576xf16/1048064xf32/g' %t/kernel.mlir | weft-opt %{schedule} 2> /dev/null | FileCheck %s --check-prefix=FAR
// RUN: sed -i 's/3.3e-6/3.05e-6/' %t/schedule.json
// RUN: weft-opt %t/near.mlir %{schedule} 2> /dev/null | FileCheck %s --check-prefix=FAR
// FAR-NOT: tile = [2048], engine = simt, warps = 8
// FAR-NOT: tg.record

// One whose schedule is none for the kernel (any more) is skipped, and says so.
// DEFINE: %{bad} = weft-opt %t/kernel.mlir --weft-plan-gpu='target=H100 records=%t/bad.json' --remark-policy=all --remarks-filter=plan 2>&1
// RUN: sed 's/#tg.schedule<tile/#tg.nothing<tile/' %t/schedule.json > %t/bad.json
// RUN: %{bad} | FileCheck %s --check-prefixes=NOTHING,SKIPPED
// RUN: sed 's/warps = 8/warps = 7/' %t/schedule.json > %t/bad.json
// RUN: %{bad} | FileCheck %s --check-prefixes=WARPS,SKIPPED
// RUN: sed 's/tile = \[2048\]/tile = [2048, 2048]/' %t/schedule.json > %t/bad.json
// RUN: %{bad} | FileCheck %s --check-prefixes=RANK,SKIPPED
// RUN: sed 's/engine = simt, warps = 8/engine = wgmma, warps = 8/; s/H100/A40/' %t/schedule.json > %t/bad.json
// RUN: weft-opt %t/kernel.mlir --weft-plan-gpu='target=A40 records=%t/bad.json' --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s --check-prefix=WGMMA
// NOTHING: [Missed] schedule {{.*}}a record is skipped: expected a #tg.schedule with 1 tile extents, one for each dimension of the result, got '#tg.nothing<tile
// WARPS-NOT: expected 1 to 32 warps
// WARPS: [Missed] schedule {{.*}}a record is skipped: expected a #tg.schedule with 1 tile extents, {{.*}}warps = 7
// RANK: [Missed] schedule {{.*}}a record is skipped: expected a #tg.schedule with 1 tile extents, {{.*}}tile = [2048, 2048]
// WGMMA: [Missed] schedule {{.*}}a record is skipped: A40 has no wgmma, got
// SKIPPED: tg.schedule = #tg.schedule<tile

// What is no file of records is refused.
// DEFINE: %{refuse} = not weft-opt %t/scaled.mlir --pass-pipeline='builtin.module(func.func(weft-form-kernels{gpu=true
// RUN: %{refuse} records=%t/absent.json}))' 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: %{refuse} records=%t/text.json}))' 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: %{refuse} records=%t/version.json}))' 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: %{refuse} records=%t/field.json}))' 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: %{refuse} records=%t/hash.json}))' 2>&1 | FileCheck %s --check-prefix=HASH
// RUN: %{refuse} records=%t/seconds.json}))' 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: %{refuse} records=%t/choice.json}))' 2>&1 | FileCheck %s --check-prefix=CHOICE
// RUN: %{refuse} records=%t/shapes.json}))' 2>&1 | FileCheck %s --check-prefix=SHAPES
// RUN: %{refuse} records=%t/whole.json}))' 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: %python -c "print('{\"schema\": \"weft.records/1\"}\n' + '[' * 100000)" > %t/deep.json
// RUN: %{refuse} records=%t/deep.json}))' 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: %{refuse} records=/dev/zero}))' 2>&1 | FileCheck %s --check-prefix=DEVICE
// ABSENT: error: records: '{{.*}}absent.json': No such file or directory
// TEXT: error: records: '{{.*}}text.json': expected schema weft.records/1 in the first line, as `weft tune` writes it, got 'profile'
// VERSION: error: records: '{{.*}}': expected schema weft.records/1 in the first line, as `weft tune` writes it, got 'weft.records/9'
// FIELD: error: records: '{{.*}}': line 2: unknown field 'time'
// HASH: error: records: '{{.*}}': line 3: subgraph: expected 32 hexadecimal digits
// SECONDS: error: records: '{{.*}}': line 2: seconds: expected seconds above 0, at most 1e6
// CHOICE: error: records: '{{.*}}': line 2: choice: expected fused or apart, got 'both'
// SHAPES: error: records: '{{.*}}': line 2: shapes: expected a list of at most 256 texts
// WHOLE: error: records: '{{.*}}': line 2: expected JSON:
// DEEP: error: records: '{{.*}}': line 2: expected JSON that nests at most 64 deep
// The last line of a file that a tuner did not end is no error.
// RUN: truncate -s -2 %t/whole.json
// RUN: weft-opt %t/scaled.mlir --weft-plan='gpu=true target=H100 records=%t/whole.json' | FileCheck %s --check-prefix=TWO
// DEVICE: error: records: '/dev/zero': expected a file

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
{"schema": "weft.records/9"}
//--- field.json
{"schema": "weft.records/1"}
{"time": 1}
//--- hash.json
{"schema": "weft.records/1"}
{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "shapes": [], "seconds": 1e-6}
{"subgraph": "xyz", "device": "H100", "shapes": [], "seconds": 1e-6}
//--- seconds.json
{"schema": "weft.records/1"}
{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "shapes": [], "seconds": -1}
//--- choice.json
{"schema": "weft.records/1"}
{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "shapes": [], "seconds": 1, "choice": "both"}
//--- shapes.json
{"schema": "weft.records/1"}
{"subgraph": "0123456789abcdef0123456789abcdef", "device": "H100", "seconds": 1}
//--- whole.json
{"schema": "weft.records/1"}
not whole
