// RUN: weft-opt %s --weft-memory-levels --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --weft-memory-levels --remark-policy=all --remarks-filter=levels 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not weft-opt %s --weft-memory-levels=target=sm_10 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: expected a target of sm_80, {{.*}}, got 'sm_10'

// Both operands are staged in shared memory, the sums are registers. From the L2 to the SMs move 4096^3 (1 / 128 + 1 / 256) elements:
// 1,611 MB (research note 2.8). A CTA holds four steps of 128 x 64 and 64 x 256.
// CHECK-LABEL: module @gemm
// CHECK-SAME: tg.level_traffic = {read = 1610612736 : i64, registers = 65536 : i64, shared = 196608 : i64, written = 33554432 : i64}
// CHECK-SAME: level = "register", of = "contract", reason = "accumulator of a GEMM", tile = array<i64: 128, 256>
// CHECK-SAME: bytes = 16384 : i64, level = "shared", of = "argument 0", reason = "a GEMM reads it", tile = array<i64: 128, 64>
// CHECK-SAME: bytes = 32768 : i64, level = "shared", of = "argument 1", reason = "a GEMM reads it", tile = array<i64: 64, 256>
// WHY: levels {{.*}}512 tiles of 64 steps, 0 edges inside: 1610.6 MB read and 33.6 MB written by all SMs; 192.0 KiB of shared memory and 64.0 KiB of registers a tile
module @gemm attributes {tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %c = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
    return %c : tensor<4096x4096xbf16>
  }
}

// Two CTAs of a cluster share a tile's steps: the sums go through the cluster.
// CHECK-LABEL: module @clusters
// CHECK-SAME: level = "cluster", of = "contract", reason = "CTAs of a cluster add their sums"
module @clusters attributes {tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 2>} {
  func.func @kernel(%a: tensor<512x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<512x4096xbf16> {
    %c = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
    return %c : tensor<512x4096xbf16>
  }
}

// Two CTAs of a cluster, with a tile each, read once what these have in common.
// CHECK-LABEL: module @multicasts
// CHECK-SAME: level = "cluster", of = "argument 0", reason = "CTAs of a cluster read it once"
module @multicasts attributes {tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1, multicast = 2>} {
  func.func @kernel(%a: tensor<512x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<512x4096xbf16> {
    %c = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<512x4096xbf16>, tensor<4096x4096xbf16> -> tensor<512x4096xbf16>
    return %c : tensor<512x4096xbf16>
  }
}

// A row's sum through shared memory, everything else in registers; the weight is read by each of the 64 tiles.
// CHECK-LABEL: module @rows
// CHECK-SAME: tg.level_traffic = {read = {{[0-9]+}} : i64
// CHECK-SAME: level = "register", of = "mul", reason = "element by element", tile = array<i64: 1, 1024>
// CHECK-SAME: level = "shared", of = "reduce", reason = "warps add their parts", tile = array<i64: 1, 1>
// WHY: levels {{.*}}64 tiles of 1 steps, 4 edges inside: 0.5 MB read and 0.3 MB written by all SMs
module @rows attributes {tg.schedule = #tg.schedule<tile = [1, 1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<64x1024xf32>, %w: tensor<1024xf32>) -> tensor<64x1024xf32> {
    %s = tg.mul %x, %x : tensor<64x1024xf32>, tensor<64x1024xf32>
    %r = tg.reduce add %s axes = [1] keep_dims : tensor<64x1024xf32>
    %i = tg.rsqrt %r : tensor<64x1xf32>
    %n = tg.mul %x, %i : tensor<64x1024xf32>, tensor<64x1xf32>
    %y = tg.mul %n, %w : tensor<64x1024xf32>, tensor<1024xf32>
    return %y : tensor<64x1024xf32>
  }
}

// Inside of a fold a step of 32 keys of 64 rows: products and what is made of them in registers, as the next product's operand too; what no product
// made (the values' scale) goes through shared memory. The kernel's sums leave out what is inside.
// CHECK-LABEL: module @fold
// CHECK-SAME: level = "register", of = "div"
// CHECK-SAME: bytes = 4096 : i64, level = "register", of = "cast", reason = "fragments of one GEMM are the next one's operand", tile = array<i64: 64, 32>
// CHECK-SAME: bytes = 4096 : i64, level = "shared", of = "mul", reason = "a GEMM reads it", tile = array<i64: 32, 64>
// CHECK-SAME: bytes = 8192 : i64, level = "register", of = "contract", reason = "accumulator of a GEMM", tile = array<i64: 64, 32>
// VALUES-DAG: Function=fold | bytes=256, level=register, op=tg.add, readers="tg.add,tg.div", reason="element by element", tensor-bytes=512
// VALUES-DAG: Function=fold | bytes=4096, level=shared, op=tg.mul, readers=tg.contract, reason="a GEMM reads it", tensor-bytes=32768
module @fold attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [32], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%q: tensor<128x64xbf16>, %k: tensor<256x64xbf16>, %v: tensor<256x64xbf16>, %c: tensor<bf16>) -> tensor<128x64xf32> {
    %r = tg.fold over affine_map<() -> (256)> init [0.0 : f32, 0.0 : f32] update {
    ^bb0(%l: tensor<128x1xf32>, %o: tensor<128x64xf32>):
      %s = tg.contract %q, %k [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          : tensor<128x64xbf16>, tensor<256x64xbf16> -> tensor<128x256xf32>
      %e = tg.exp %s : tensor<128x256xf32>
      %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
      %l2 = tg.add %l, %t : tensor<128x1xf32>, tensor<128x1xf32>
      %p = tg.cast %e : tensor<128x256xf32> to tensor<128x256xbf16>
      %w = tg.mul %v, %c : tensor<256x64xbf16>, tensor<bf16>
      %x = tg.contract %p, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] {tg.streamed}
          : tensor<128x256xbf16>, tensor<256x64xbf16> -> tensor<128x64xf32>
      %o2 = tg.add %o, %x : tensor<128x64xf32>, tensor<128x64xf32>
      tg.fold_yield %l2, %o2 : tensor<128x1xf32>, tensor<128x64xf32>
    } merge {
    } finish {
    ^bb0(%l: tensor<128x1xf32>, %o: tensor<128x64xf32>):
      %d = tg.div %o, %l : tensor<128x64xf32>, tensor<128x1xf32>
      tg.fold_yield %d : tensor<128x64xf32>
    } : tensor<128x64xf32>
    %y = tg.neg %r : tensor<128x64xf32>
    return %y : tensor<128x64xf32>
  }
}

// A remark for each value between two ops, at the op that makes it.
// VALUES-DAG: [Analysis] value | Category:levels | Function=rows | bytes={{[0-9]+}}, level={{.*}}, op=tg.{{.*}}, readers=tg.{{.*}}, reason={{.*}}

// 33.6 MB and what is read and written in between stay in the L2 until the next kernel; after another product they do not.
// CHECK-LABEL: func.func @main
// CHECK: tg.dispatch @gemm{{.*}}tg.operand_levels = ["memory", "memory"]
// CHECK: tg.dispatch @rows{{.*}}tg.operand_levels = ["memory", "memory"]
// CHECK: tg.dispatch @rows{{.*}}tg.operand_levels = ["L2", "memory"]
// CHECK: tg.dispatch @gemm{{.*}}tg.operand_levels = ["memory", "memory"]
// WHY: level {{.*}}0.3 MB come from L2: 1.1 MB move from their making on, the L2 keeps 47.2 MB
// WHY: level {{.*}}33.6 MB come from memory: 202.4 MB move from their making on, the L2 keeps 47.2 MB
func.func @main(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>, %x: tensor<64x1024xf32>, %w: tensor<1024xf32>)
    -> (tensor<4096x4096xbf16>, tensor<64x1024xf32>) {
  %0 = tg.dispatch @gemm::@kernel(%a, %b) symbols = affine_map<() -> ()> : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tg.dispatch @rows::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<64x1024xf32>, tensor<1024xf32>) -> tensor<64x1024xf32>
  %2 = tg.dispatch @rows::@kernel(%1, %w) symbols = affine_map<() -> ()> : (tensor<64x1024xf32>, tensor<1024xf32>) -> tensor<64x1024xf32>
  %3 = tg.dispatch @gemm::@kernel(%0, %b) symbols = affine_map<() -> ()> : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %3, %2 : tensor<4096x4096xbf16>, tensor<64x1024xf32>
}
