// Counters of launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small kernels whose counters follow from their text.
#include "Emulator/Counters/LaunchCounters.h"
#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace weft::emu;
using namespace weft::emu::test;

namespace {

/// %r1 is the thread of the grid, %rd1 and %rd2 the buffers, %rd3 and %rd4 these plus 16 %r1, %r3 shared memory.
KernelCase caseOf(const std::string &body) {
  KernelCase kernel;
  kernel.ptx = module(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .f32 %f<20>;
  .reg .b64 %rd<9>;
  .shared .align 1024 .b8 s[16384];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, %ntid.x;
  mov.u32 %r7, %tid.x;
  mad.lo.u32 %r1, %r5, %r6, %r7;
  mul.wide.u32 %rd5, %r1, 16;
  add.s64 %rd3, %rd1, %rd5;
  add.s64 %rd4, %rd2, %rd5;
  mov.u32 %r3, s;
)" + body + "\n  ret;\n}\n");
  kernel.block.x = 128;
  kernel.grid.x = 2;
  kernel.arguments = {buffer(std::vector<uint32_t>(4096, 1)), buffer(std::vector<uint32_t>(4096, 1))};
  kernel.options.isCounted = true;
  return kernel;
}

class Counted {
public:
  explicit Counted(const KernelCase &kernel) : result(runClean(kernel)) {}
  double operator[](const std::string &name) const {
    for (const Counter &counter : result.launch.counters)
      if (counter.name == name)
        return counter.value;
    ADD_FAILURE() << "no counter " << name;
    return -1;
  }
  KernelResult result;
};

const std::string kRequests = "l1tex__t_requests_pipe_lsu_mem_", kSectors = "l1tex__t_sectors_pipe_lsu_mem_";

/// Eight warps read and write 512 bytes each.
TEST(Counters, CopyOfVectors) {
  Counted counted(caseOf("ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd3];\n"
                         "st.global.v4.u32 [%rd4], {%r8, %r9, %r10, %r11};"));
  EXPECT_EQ(counted["smsp__inst_executed_op_global_ld.sum"], 8);
  EXPECT_EQ(counted[kRequests + "global_op_ld.sum"], 8);
  EXPECT_EQ(counted[kSectors + "global_op_ld.sum"], 8 * 16);
  EXPECT_EQ(counted[kSectors + "global_op_st.sum"], 8 * 16);
  EXPECT_EQ(counted["weft__global_lines.sum"], 2 * 8 * 4);
  EXPECT_EQ(counted["weft__global_ld_bytes.sum"], 4096);
  EXPECT_EQ(counted["dram__sectors_read.sum"], 128);
  EXPECT_EQ(counted["dram__bytes_read.sum"], 4096);
  EXPECT_EQ(counted["lts__t_sectors_op_write.sum"] - counted["weft__l2_fabric_write_sectors.sum"], 128);
  EXPECT_EQ(counted["dram__sectors_write.sum"], 0); // Still in L2.
  // 14 instructions before the body, 2, ret.
  EXPECT_EQ(counted["smsp__inst_executed.sum"], 8 * 15);
  EXPECT_EQ(counted["smsp__thread_inst_executed_pred_on.sum"], 256 * 15);
  EXPECT_EQ(counted["weft__inst_executed_ptx_ld.global.v4.u32.sum"], 8);
  EXPECT_EQ(counted["weft__thread_inst_executed_ptx_ld.global.v4.u32.sum"], 256);
}

TEST(Counters, GuardsCountAsExecuted) {
  Counted counted(caseOf("setp.lt.u32 %p1, %r7, 40;\n@%p1 ld.global.u32 %r8, [%rd3];"));
  EXPECT_EQ(counted["weft__inst_executed_ptx_ld.global.u32.sum"], 8); // Two warps of four have no lane.
  EXPECT_EQ(counted["weft__thread_inst_executed_ptx_ld.global.u32.sum"], 80);
  EXPECT_EQ(counted["smsp__thread_inst_executed.sum"] - counted["smsp__thread_inst_executed_pred_on.sum"], 256 - 80);
  EXPECT_EQ(counted[kRequests + "global_op_ld.sum"], 4);
}

/// The second read of a warp is in L1, unless it passes by.
TEST(Counters, CacheOperators) {
  Counted cached(caseOf("ld.global.u32 %r8, [%rd3];\nld.global.u32 %r9, [%rd3];"));
  EXPECT_EQ(cached["l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"], 128);
  EXPECT_EQ(cached["l1tex__t_sector_hit_rate.pct"], 50);
  Counted bypassed(caseOf("ld.global.cg.u32 %r8, [%rd3];\nld.global.cg.u32 %r9, [%rd3];"));
  EXPECT_EQ(bypassed["l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"], 0);
  EXPECT_EQ(bypassed["dram__sectors_read.sum"], 128);
  EXPECT_EQ(bypassed["lts__t_sectors_op_read.sum"] - bypassed["weft__l2_fabric_sectors.sum"], 256);
}

TEST(Counters, Atomics) {
  Counted counted(caseOf("red.global.add.u32 [%rd1], 1;\n"
                         "atom.global.add.u32 %r8, [%rd4], 1;\n"
                         "setp.eq.u32 %p1, %r7, 0;\n"
                         "@%p1 st.shared.u32 [%r3], 0;\n"
                         "bar.sync 0;\n"
                         "red.shared.add.u32 [%r3], 1;"));
  EXPECT_EQ(counted["smsp__inst_executed_op_global_red.sum"], 8);
  EXPECT_EQ(counted[kSectors + "global_op_red.sum"], 8 * 32); // All lanes at one address: one after the other.
  EXPECT_EQ(counted["smsp__sass_inst_executed_op_global_atom.sum"], 8);
  EXPECT_EQ(counted[kSectors + "global_op_atom.sum"], 8 * 16);
  EXPECT_EQ(counted["smsp__inst_executed_op_shared_atom.sum"], 8);
  EXPECT_EQ(counted["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum"], 8 * 31);
  EXPECT_EQ(counted["weft__cta_barrier_arrivals.sum"], 8);
}

/// Columns of a matrix with rows of 128 bytes: every lane in one bank.
TEST(Counters, BankConflicts) {
  Counted counted(caseOf("shl.b32 %r8, %r7, 7;\nadd.u32 %r8, %r8, %r3;\nst.shared.u32 [%r8], %r1;\n"
                         "ld.shared.u32 %r9, [%r8];"));
  EXPECT_EQ(counted["smsp__inst_executed_op_shared_ld.sum"], 8);
  EXPECT_EQ(counted["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"], 8 * 32);
  EXPECT_EQ(counted["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"], 8 * 31);
  EXPECT_EQ(counted["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"], 2 * 8 * 32);
}

TEST(Counters, MatrixInstructions) {
  Counted counted(caseOf(R"(
  mov.u32 %r8, 0;
  mov.f32 %f0, 0f00000000;
  mul.wide.u32 %rd6, %r7, 16;
  cvt.u32.u64 %r9, %rd6;
  add.u32 %r9, %r9, %r3;
  st.shared.v4.u32 [%r9], {%r8, %r8, %r8, %r8};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r9];
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, {%r10, %r11}, {%f0, %f0, %f0, %f0};
  mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r14, %r15, %r16, %r17}, {%r10, %r11, %r12, %r13}, {%r10, %r11}, {%r8, %r8, %r8, %r8};
)"));
  EXPECT_EQ(counted["sm__inst_executed_pipe_tensor.sum"], 16);
  EXPECT_EQ(counted["sm__inst_executed_pipe_tensor_op_hmma.sum"], 8);
  EXPECT_EQ(counted["sm__inst_executed_pipe_tensor_op_imma.sum"], 8);
  EXPECT_EQ(counted["weft__mma_flops_f16.sum"], 8 * 2 * 16 * 8 * 16);
  EXPECT_EQ(counted["weft__mma_flops_int8.sum"], 8 * 2 * 16 * 8 * 32);
  EXPECT_EQ(counted["smsp__inst_executed_op_ldsm.sum"], 8);
  EXPECT_EQ(counted["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"], 8 * 4);
  EXPECT_EQ(counted["weft__shared_ld_bytes.sum"], 8 * 512);
}

TEST(Counters, Copies) {
  Counted counted(caseOf(R"(
  mul.wide.u32 %rd6, %r7, 16;
  cvt.u32.u64 %r9, %rd6;
  add.u32 %r9, %r9, %r3;
  cp.async.cg.shared.global [%r9], [%rd3], 16;
  cp.async.wait_all;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.eq.u32 %p1, %r1, 0;
  @!%p1 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 2048;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
DONE:
)"));
  EXPECT_EQ(counted["smsp__inst_executed_op_ldgsts.sum"], 8);
  EXPECT_EQ(counted["weft__cp_async_bytes.sum"], 4096);
  EXPECT_EQ(counted[kRequests + "global_op_ld.sum"], 8);
  EXPECT_EQ(counted[kSectors + "global_op_ld.sum"], 128);
  EXPECT_EQ(counted["weft__bulk_copies_issued.sum"], 1);
  EXPECT_EQ(counted["l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"], 2048);
  EXPECT_EQ(counted["lts__t_sectors_op_write.sum"] - counted["weft__l2_fabric_write_sectors.sum"], 64);
}

TEST(Counters, LocalMemoryIsInterleaved) {
  KernelCase kernel = caseOf("st.local.v2.u32 [l], {%r1, %r1};\nld.local.u32 %r8, [l+4];");
  kernel.ptx.insert(kernel.ptx.find("  .shared"), "  .local .align 8 .b8 l[16];\n");
  Counted counted(kernel);
  EXPECT_EQ(counted[kSectors + "local_op_st.sum"], 8 * 8);
  EXPECT_EQ(counted[kSectors + "local_op_ld.sum"], 8 * 4);
}

TEST(Counters, Classes) {
  OpcodeClass mma = classify("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32");
  EXPECT_EQ(mma.kind, OpcodeClass::Mma);
  EXPECT_STREQ(kMatrixTypes[mma.pipe], "tf32");
  EXPECT_EQ(mma.flops, 2u * 16 * 8 * 8);
  OpcodeClass wgmma = classify("wgmma.mma_async.sync.aligned.m64n256k32.f16.e4m3.e5m2");
  EXPECT_EQ(wgmma.kind, OpcodeClass::Wgmma);
  EXPECT_STREQ(kMatrixTypes[wgmma.pipe], "fp8");
  EXPECT_EQ(wgmma.flops, 2u * 64 * 256 * 32 / 4);
  EXPECT_STREQ(kMatrixTypes[classify("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64").pipe], "f64");
  auto onCard = [](std::string_view opcode, uint32_t sm) { return cardInstructions(opcode, classify(opcode), sm); };
  EXPECT_EQ(onCard("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 90), 1u);
  EXPECT_EQ(onCard("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 90), 2u);
  EXPECT_EQ(onCard("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 89), 1u);
  EXPECT_EQ(onCard("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", 90), 2u);
  EXPECT_EQ(onCard("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", 90), 1u);
  EXPECT_EQ(onCard("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 90), 2u);
  EXPECT_EQ(onCard("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 90), 1u);
  EXPECT_EQ(onCard("wgmma.mma_async.sync.aligned.m64n256k32.f16.e4m3.e5m2", 90), 1u);
  EXPECT_EQ(onCard("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", 90), 2u);
  EXPECT_EQ(onCard("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", 90), 4u);
  EXPECT_STREQ(kMatrixTypes[classify("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32").pipe], "f16");
  EXPECT_STREQ(kMatrixTypes[classify("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32").pipe], "bf16");
  EXPECT_EQ(classify("cp.async.bulk.wait_group.read").kind, OpcodeClass::Other);
  EXPECT_EQ(classify("cp.async.bulk.tensor.2d.shared::cluster.global.tile").kind, OpcodeClass::Tma);
  EXPECT_EQ(classify("cp.async.mbarrier.arrive.shared.b64").kind, OpcodeClass::Mbarrier);
  EXPECT_EQ(classify("red.global.add.u32").kind, OpcodeClass::Reduction);
  EXPECT_EQ(classify("redux.sync.add.u32").kind, OpcodeClass::Other);
}

TEST(Counters, Formats) {
  std::vector<Counter> counters = {{"a.sum", 12}, {"long_name.pct", 61.7}};
  EXPECT_EQ(formatCounters(counters), "a.sum                        12\nlong_name.pct             61.70\n");
  EXPECT_EQ(formatCountersJson(counters), "{\n \"a.sum\": 12,\n \"long_name.pct\": 61.70\n}\n");
}

} // namespace
