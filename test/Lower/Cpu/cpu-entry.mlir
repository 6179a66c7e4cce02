// RUN: weft-opt %s --weft-cpu-entry | FileCheck %s

// The function of the ABI loads two buffers and a symbol, and cuts the scratch memory into aligned parts.
// CHECK: #[[TOTAL:.*]] = affine_map<()[s0] -> (((s0 * 4) ceildiv 64) * 64 + 128)>
// CHECK: tg.scratch = #[[TOTAL]]
// CHECK: llvm.func internal @body{{.*}}no_inline
// CHECK: llvm.func @entry(%[[BUFFERS:.*]]: !llvm.ptr, %[[SCALARS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK: llvm.getelementptr %[[BUFFERS]][1]
// CHECK: %[[N:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %[[SCRATCH]][%{{.*}}]
// CHECK: llvm.udiv
// CHECK: llvm.call @body({{.*}}, %[[N]], %{{.*}}, %{{.*}}, %[[BEGIN]], %[[END]])
module attributes {tg.scratch_parts = [affine_map<()[s0] -> (s0 * 4)>, affine_map<()[s0] -> (100)>]} {
  llvm.func @kernel(%x: !llvm.ptr, %y: !llvm.ptr, %n: i64, %s0: !llvm.ptr, %s1: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
