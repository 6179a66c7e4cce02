// Products of 8-bit integers, each operand with a sign or without, are of tensor cores: the same sums as on the CPU. One with a sign and one without
// by wgmma is of PTX 8.4; what needs nothing newer is as old as it was.
// RUN: weft-compile %s --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --output=mixed=@%t.cpu.mixed.npy --output=other=@%t.cpu.other.npy --output=signed=@%t.cpu.signed.npy --output=unsigned=@%t.cpu.unsigned.npy
// RUN: weft-compile %s --target=sm_90a,sm_80 -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:H100 --output=mixed=@%t.h.mixed.npy --output=other=@%t.h.other.npy --output=signed=@%t.h.signed.npy --output=unsigned=@%t.h.unsigned.npy
// RUN: weft-run %t.weft --device=emu:A100 --output=mixed=@%t.a.mixed.npy --output=other=@%t.a.other.npy --output=signed=@%t.a.signed.npy --output=unsigned=@%t.a.unsigned.npy
// RUN: cmp %t.cpu.mixed.npy %t.h.mixed.npy
// RUN: cmp %t.cpu.other.npy %t.h.other.npy
// RUN: cmp %t.cpu.signed.npy %t.h.signed.npy
// RUN: cmp %t.cpu.unsigned.npy %t.h.unsigned.npy
// RUN: cmp %t.cpu.mixed.npy %t.a.mixed.npy
// RUN: cmp %t.cpu.other.npy %t.a.other.npy
// RUN: cmp %t.cpu.signed.npy %t.a.signed.npy
// RUN: cmp %t.cpu.unsigned.npy %t.a.unsigned.npy
// RUN: weft-compile %s --target=sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=MMA
// RUN: sed "s/160/1024/g; s/72x/512x/g; s/x72/x512/g; s/x96x/x512x/g" %s > %t.large.mlir
// RUN: weft-compile %t.large.mlir --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --output=mixed=@%t.cpu.mixed.npy --output=unsigned=@%t.cpu.unsigned.npy
// RUN: weft-compile %t.large.mlir --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:H100 --output=mixed=@%t.h.mixed.npy --output=unsigned=@%t.h.unsigned.npy
// RUN: cmp %t.cpu.mixed.npy %t.h.mixed.npy
// RUN: cmp %t.cpu.unsigned.npy %t.h.unsigned.npy
// RUN: weft-compile %t.large.mlir --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=WGMMA

// MMA: .version 7.4
// MMA-DAG: mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32
// MMA-DAG: mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32
// MMA-DAG: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
// MMA-DAG: mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32
// WGMMA: .version 8.4
// WGMMA-DAG: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.s32.u8.s8
// WGMMA-DAG: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.s32.s8.u8
// WGMMA-DAG: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.s32.s8.s8
// WGMMA-DAG: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.s32.u8.u8
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
module {
  func.func @main(%u: tensor<160x96xui8> {tg.name = "u"}, %s: tensor<160x96xi8> {tg.name = "s"}, %v: tensor<72x96xui8> {tg.name = "v"}, %t: tensor<72x96xi8> {tg.name = "t"})
      -> (tensor<160x72xi32> {tg.name = "mixed"}, tensor<160x72xi32> {tg.name = "other"}, tensor<160x72xi32> {tg.name = "signed"}, tensor<160x72xi32> {tg.name = "unsigned"}) {
    %0 = tg.contract %u, %t [#lhs, #rhs, #out] : tensor<160x96xui8>, tensor<72x96xi8> -> tensor<160x72xi32>
    %1 = tg.contract %s, %v [#lhs, #rhs, #out] : tensor<160x96xi8>, tensor<72x96xui8> -> tensor<160x72xi32>
    %2 = tg.contract %s, %t [#lhs, #rhs, #out] : tensor<160x96xi8>, tensor<72x96xi8> -> tensor<160x72xi32>
    %3 = tg.contract %u, %v [#lhs, #rhs, #out] : tensor<160x96xui8>, tensor<72x96xui8> -> tensor<160x72xi32>
    return %0, %1, %2, %3 : tensor<160x72xi32>, tensor<160x72xi32>, tensor<160x72xi32>, tensor<160x72xi32>
  }
}
