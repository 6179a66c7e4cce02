// What is left of a lowered kernel becomes llvm; index has the bits that the module says.
// RUN: weft-opt %s --weft-tk-to-llvm --split-input-file | FileCheck %s

// CHECK: module attributes {tk.target = "sm_80"}
// CHECK: llvm.func @kernel(%[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i64)
// CHECK: llvm.trunc %[[N]] : i64 to i32
// CHECK: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xf16>
module attributes {tk.target = "sm_80", tk.index_bits = 32 : i64} {
  llvm.func @kernel(%p: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} {
    %i = arith.index_cast %n : i64 to index
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %t = arith.index_castui %tid : i32 to index
    %s = arith.addi %i, %t : index
    %o = arith.index_cast %s : index to i64
    %a = llvm.getelementptr %p[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %a : !llvm.ptr<1> -> f32
    %v = vector.from_elements %x, %x : vector<2xf32>
    %h = arith.truncf %v : vector<2xf32> to vector<2xf16>
    llvm.store %h, %p : vector<2xf16>, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// CHECK: llvm.func @kernel
// CHECK: llvm.zext %{{.*}} : i32 to i64
// CHECK: llvm.mul %{{.*}}, %{{.*}} : i64
module attributes {tk.target = "sm_80", tk.index_bits = 64 : i64} {
  llvm.func @kernel(%p: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} {
    %i = arith.index_cast %n : i64 to index
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %t = arith.index_castui %tid : i32 to index
    %s = arith.muli %i, %t : index
    %o = arith.index_cast %s : index to i64
    llvm.store %o, %p : i64, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// Equal predicated loads are one, up to the next write to global memory; what is stored to shared memory is none.
// CHECK-LABEL: llvm.func @loads
// CHECK-COUNT-1: ld.global.b32
// CHECK: llvm.store
// CHECK-NOT: ld.global.b32
// CHECK: st.global.b32
// CHECK-COUNT-1: ld.global.b32
// CHECK-NOT: ld.global.b32
module attributes {tk.target = "sm_80", tk.index_bits = 32 : i64} {
  llvm.func @loads(%p: !llvm.ptr<1>, %s: !llvm.ptr<3>, %f: i32, %c: i1) attributes {nvvm.kernel} {
    %0 = llvm.inline_asm has_side_effects "@$3 ld.global.b32 $0, [$2];", "=r,0,l,b" %f, %p, %c : (i32, !llvm.ptr<1>, i1) -> i32
    llvm.store %0, %s : i32, !llvm.ptr<3>
    %1 = llvm.inline_asm has_side_effects "@$3 ld.global.b32 $0, [$2];", "=r,0,l,b" %f, %p, %c : (i32, !llvm.ptr<1>, i1) -> i32
    %2 = llvm.add %0, %1 : i32
    llvm.inline_asm has_side_effects "st.global.b32 [$1], $0;", "r,l,~{memory}" %2, %p : (i32, !llvm.ptr<1>) -> ()
    %3 = llvm.inline_asm has_side_effects "@$3 ld.global.b32 $0, [$2];", "=r,0,l,b" %f, %p, %c : (i32, !llvm.ptr<1>, i1) -> i32
    llvm.store %3, %s : i32, !llvm.ptr<3>
    llvm.return
  }
}
