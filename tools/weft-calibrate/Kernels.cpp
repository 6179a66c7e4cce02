// The microbenchmarks' kernels as PTX; what is repeated is written by loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results depend on everything that is measured and are stored where a test can see them, so that no assembler leaves
// the work out. Clocks are read behind a store that needs what was loaded: instructions issue in order.
#include "Kernels.h"

using namespace weft::calibrate;

static const char *const kHeader = R"(.version 7.0
.target sm_80
.address_size 64

.visible .entry empty()
{
  ret;
}

.visible .entry stream(.param .u64 address, .param .u64 vectors, .param .u64 passes, .param .u64 shift, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %x, %a<4>, %r<4>;
  .reg .b64 %base, %vectors, %passes, %shift, %out, %thread, %threads, %i, %at, %start;
  ld.param.u64 %base, [address];
  ld.param.u64 %vectors, [vectors];
  ld.param.u64 %passes, [passes];
  ld.param.u64 %shift, [shift];
  ld.param.u64 %out, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2;
  cvt.u64.u32 %thread, %r3;
  mov.u32 %r0, %nctaid.x;
  mul.lo.u32 %r0, %r0, %r1;
  cvt.u64.u32 %threads, %r0;
  mov.u32 %x, 0;
  mov.u64 %start, 0;
pass:
  setp.eq.u64 %p, %passes, 0;
  @%p bra done;
  mov.u64 %i, %thread;
vector:
  setp.ge.u64 %p, %i, %vectors;
  @%p bra next;
  add.u64 %at, %i, %start;
  setp.ge.u64 %p, %at, %vectors;
  @%p sub.u64 %at, %at, %vectors;
  shl.b64 %at, %at, 4;
  add.u64 %at, %at, %base;
  ld.global.cg.v4.u32 {%a0, %a1, %a2, %a3}, [%at];
  xor.b32 %a0, %a0, %a1;
  xor.b32 %a2, %a2, %a3;
  xor.b32 %x, %x, %a0;
  xor.b32 %x, %x, %a2;
  add.u64 %i, %i, %threads;
  bra vector;
next:
  add.u64 %start, %start, %shift;
  setp.ge.u64 %p, %start, %vectors;
  @%p sub.u64 %start, %start, %vectors;
  sub.u64 %passes, %passes, 1;
  bra pass;
done:
  setp.ne.u32 %p, %x, 0;
  @%p st.global.u32 [%out], %x;
  ret;
}

.visible .entry latency(.param .u64 address, .param .u64 lines, .param .u64 stride, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %v, %t0, %t1;
  .reg .b64 %at, %lines, %stride, %out;
  .shared .align 4 .b8 sink[4];
  ld.param.u64 %at, [address];
  ld.param.u64 %lines, [lines];
  ld.param.u64 %stride, [stride];
  ld.param.u64 %out, [out];
line:
  mov.u32 %t0, %clock;
  ld.global.cg.u32 %v, [%at];
  st.volatile.shared.u32 [sink], %v;
  mov.u32 %t1, %clock;
  sub.u32 %t1, %t1, %t0;
  st.global.u32 [%out], %t1;
  add.u64 %out, %out, 4;
  add.u64 %at, %at, %stride;
  sub.u64 %lines, %lines, 1;
  setp.ne.u64 %p, %lines, 0;
  @%p bra line;
  ret;
}

.visible .entry block_barrier(.param .u64 iterations, .param .u64 out)
{
  .reg .pred %p, %q;
  .reg .b32 %t, %cta;
  .reg .b64 %n, %out, %t0, %t1;
  ld.param.u64 %n, [iterations];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %cta, %ctaid.x;
  bar.sync 0;
  mov.u64 %t0, %clock64;
again:
  bar.sync 0;
  sub.u64 %n, %n, 1;
  setp.ne.u64 %p, %n, 0;
  @%p bra again;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  or.b32 %t, %t, %cta;
  setp.eq.u32 %q, %t, 0;
  @%q st.global.u64 [%out], %t1;
  ret;
}

.visible .entry grid_barrier(.param .u64 iterations, .param .u64 counter)
{
  .reg .pred %p;
  .reg .b32 %t, %blocks, %want, %seen;
  .reg .b64 %n, %counter;
  ld.param.u64 %n, [iterations];
  ld.param.u64 %counter, [counter];
  mov.u32 %t, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %want, 0;
again:
  add.u32 %want, %want, %blocks;
  bar.sync 0;
  setp.ne.u32 %p, %t, 0;
  @%p bra arrived;
  atom.add.acq_rel.gpu.global.u32 %seen, [%counter], 1;
wait:
  ld.acquire.gpu.global.u32 %seen, [%counter];
  setp.lt.u32 %p, %seen, %want;
  @%p bra wait;
arrived:
  bar.sync 0;
  sub.u64 %n, %n, 1;
  setp.ne.u64 %p, %n, 0;
  @%p bra again;
  ret;
}
)";

static const char *const kClusterBarrier = R"(
.visible .entry cluster_barrier(.param .u64 iterations, .param .u64 out)
.reqnctapercluster 8, 1, 1
{
  .reg .pred %p;
  .reg .b32 %t, %cta;
  .reg .b64 %n, %out, %t0, %t1;
  ld.param.u64 %n, [iterations];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mov.u64 %t0, %clock64;
again:
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  sub.u64 %n, %n, 1;
  setp.ne.u64 %p, %n, 0;
  @%p bra again;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  or.b32 %t, %t, %cta;
  setp.eq.u32 %p, %t, 0;
  @%p st.global.u64 [%out], %t1;
  ret;
}
)";

static const char *const kClusterSpin = R"(
.visible .entry cluster_spin(.param .u64 clocks)
.reqnctapercluster 4, 1, 1
{
  .reg .pred %p;
  .reg .b64 %n, %t0, %t1;
  ld.param.u64 %n, [clocks];
  mov.u64 %t0, %clock64;
again:
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  setp.lt.u64 %p, %t1, %n;
  @%p bra again;
  ret;
}
)";

/// Every thread sends 8 vectors to the other block's slot, 2 KiB apart, and reads those of its own slot when all are
/// there, as tk.cluster_send does.
static std::string makeClusterExchange() {
  std::string stores, sums;
  for (int i = 0; i < 8; ++i) {
    std::string at = std::to_string(2048 * i);
    stores += "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%there+" + at +
              "], {%f0, %f0, %f0, %f0}, [%tell];\n";
    sums += "  ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%here+" + at + "];\n";
    for (const char *term : {"%f1", "%f2", "%f3", "%f4"})
      sums += std::string("  add.f32 %f5, %f5, ") + term + ";\n";
  }
  std::string text = R"(
.visible .entry cluster_exchange(.param .u64 iterations, .param .u64 repeats, .param .u64 out)
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p, %first;
  .reg .b32 %t, %cta, %rank, %here, %there, %told, %tell, %phase, %bytes, %left, %repeats, %step;
  .reg .b64 %n, %out, %t0, %t1, %state;
  .reg .f32 %f<6>;
  .shared .align 16 .b8 slot[32768];
  .shared .align 8 .b8 signal[8];
  ld.param.u64 %n, [iterations];
  ld.param.u32 %repeats, [repeats];
  ld.param.u64 %out, [out];
  shl.b32 %bytes, %repeats, 14;
  sub.u32 %step, 0, %bytes;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %t, %tid.x;
  setp.eq.u32 %first, %t, 0;
  shl.b32 %there, %t, 4;
  mov.u32 %here, slot;
  add.u32 %here, %here, %there;
  mov.u32 %told, signal;
  mov.u32 %rank, %cluster_ctarank;
  xor.b32 %rank, %rank, 1;
  mapa.shared::cluster.u32 %there, %here, %rank;
  mapa.shared::cluster.u32 %tell, %told, %rank;
  @%first mbarrier.init.shared.b64 [%told], 1;
  @%first fence.mbarrier_init.release.cluster;
  mov.f32 %f0, 0f00000000;
  mov.f32 %f5, 0f00000000;
  mov.u32 %phase, 0;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u64 %t0, %clock64;
again:
  @%first mbarrier.arrive.expect_tx.shared.b64 %state, [%told], %bytes;
  mov.u32 %left, %repeats;
send:
)";
  return text + stores + R"(  add.u32 %there, %there, 16384;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %p, %left, 0;
  @%p bra send;
  add.u32 %there, %there, %step;
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [%told], %phase;
  @!%p bra wait;
  xor.b32 %phase, %phase, 1;
)" + sums +
         R"(  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  sub.u64 %n, %n, 1;
  setp.ne.u64 %p, %n, 0;
  @%p bra again;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  or.b32 %t, %t, %cta;
  setp.eq.u32 %p, %t, 0;
  @%p st.global.u64 [%out], %t1;
  setp.neu.f32 %p, %f5, 0f00000000;
  @%p st.global.f32 [%out], %f5;
  ret;
}
)";
}

/// A loop over `body`, which adds to the f32 registers %f0 to %f<count - 1>; their sum goes to `out` if it is not 0.
static std::string makeLoop(const std::string &name, const std::string &start, const std::string &body, int count) {
  std::string text = "\n.visible .entry " + name + "(.param .u64 iterations, .param .u64 out)\n{\n";
  text += "  .reg .pred %p;\n  .reg .b32 %a<8>, %t;\n  .reg .b64 %n, %out, %d<4>;\n  .reg .f32 %f<" +
          std::to_string(count) +
          ">;\n  ld.param.u64 %n, [iterations];\n  ld.param.u64 %out, [out];\n"
          "  mov.u32 %t, %tid.x;\n" +
          start;
  for (int i = 0; i < count; ++i)
    text += "  mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  text += "again:\n" + body + "  sub.u64 %n, %n, 1;\n  setp.ne.u64 %p, %n, 0;\n  @%p bra again;\n";
  for (int i = 1; i < count; ++i)
    text += "  add.f32 %f0, %f0, %f" + std::to_string(i) + ";\n";
  return text + "  setp.neu.f32 %p, %f0, 0f00000000;\n  @%p st.global.f32 [%out], %f0;\n  ret;\n}\n";
}

static std::string listRegisters(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? ", %f" : "%f") + std::to_string(first + i);
  return text + "}";
}

/// From scores to the next product's operand: the maximum of a row over the four lanes that share it, exponentials, a
/// conversion to f16, two registers of scores in one.
static std::string makeScores(int count) {
  std::string text = "  mov.f32 %m, %f0;\n";
  auto name = [](const char *letter, int i) { return std::string("%") + letter + std::to_string(i); };
  for (int i = 1; i < count; ++i)
    text += "  max.f32 %m, %m, " + name("f", i) + ";\n";
  for (int lanes : {1, 2})
    text += "  shfl.sync.bfly.b32 %x, %m, " + std::to_string(lanes) + ", 31, -1;\n  max.f32 %m, %m, %x;\n";
  for (int i = 0; i < count; ++i)
    text += "  sub.f32 " + name("f", i) + ", " + name("f", i) + ", %m;\n  ex2.approx.ftz.f32 " + name("f", i) + ", " +
            name("f", i) + ";\n";
  for (int i = 0; i < count; i += 2)
    text += "  cvt.rn.f16x2.f32 " + name("a", 4 + i / 2) + ", " + name("f", i + 1) + ", " + name("f", i) + ";\n";
  return text;
}

/// A loop over `body`, whose results are the next iteration's accumulators: out[0] has the clocks of block 0.
static std::string makeChain(const std::string &name, const std::string &start, const std::string &body, int count) {
  std::string text = "\n.visible .entry " + name + "(.param .u64 iterations, .param .u64 out)\n{\n" +
                     "  .reg .pred %p;\n  .reg .b32 %a<8>, %t;\n  .reg .b64 %n, %out, %d<4>, %t0, %t1;\n"
                     "  .reg .f32 %m, %x, %f<" +
                     std::to_string(count) +
                     ">;\n  ld.param.u64 %n, [iterations];\n  ld.param.u64 %out, [out];\n  mov.u32 %t, %tid.x;\n" +
                     start;
  for (int i = 0; i < count; ++i)
    text += "  mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  text += "  mov.u64 %t0, %clock64;\nagain:\n" + body +
          "  sub.u64 %n, %n, 1;\n  setp.ne.u64 %p, %n, 0;\n  @%p bra again;\n  mov.u64 %t1, %clock64;\n"
          "  sub.u64 %t1, %t1, %t0;\n  setp.eq.u32 %p, %t, 0;\n  @%p st.global.u64 [%out], %t1;\n";
  return text + "  setp.lt.f32 %p, %f0, 0f00000000;\n  @%p st.global.f32 [%out], %f0;\n  ret;\n}\n";
}

std::string weft::calibrate::makeKernels() {
  std::string mma, loads;
  for (int i = 0; i < 8; ++i) {
    std::string sums = listRegisters(4 * i, 4);
    mma += "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + sums + ", {%a0, %a0, %a0, %a0}, {%a0, %a0}, " +
           sums + ";\n";
    loads += "  ld.volatile.shared.v4.f32 " + listRegisters(4 * i, 4) + ", [%a0+" + std::to_string(2048 * i) + "];\n";
  }
  // 128 threads read 2 KiB at a time; more read the same.
  std::string clear = "  .shared .align 16 .b8 data[16384];\n  mov.u32 %a0, data;\n  and.b32 %a1, %t, 127;\n"
                      "  shl.b32 %a1, %a1, 4;\n  add.u32 %a0, %a0, %a1;\n  mov.u32 %a2, 0;\n";
  for (int i = 0; i < 8; ++i)
    clear += "  st.shared.v4.u32 [%a0+" + std::to_string(2048 * i) + "], {%a2, %a2, %a2, %a2};\n";
  clear += "  bar.sync 0;\n";
  std::string sums = listRegisters(0, 4);
  auto product = [&](const std::string &operand) {
    return "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + sums + ", " + operand + ", {%a0, %a0}, " + sums +
           ";\n";
  };
  std::string chain =
      product("{%a0, %a0, %a0, %a0}") + makeScores(4) + product("{%a4, %a5, %a4, %a5}") + "  bar.sync 0;\n";
  return kHeader + makeLoop("mma", "  mov.u32 %a0, 0;\n", mma, 32) + makeLoop("shared", clear, loads, 32) +
         makeChain("fold_chain", "  mov.u32 %a0, 0;\n", chain, 4);
}

std::string weft::calibrate::makeHopperKernels() {
  // Operands of 64 x 64 and 64 x 256 elements, rows of 128 bytes with the swizzle of 128 bytes; all zero.
  constexpr int bytes = (64 + 256) * 128;
  std::string start = "  .shared .align 1024 .b8 data[" + std::to_string(bytes) +
                      "];\n  mov.u32 %a0, data;\n  mov.u32 %a2, 0;\n  shl.b32 %a1, %t, 4;\nclear:\n"
                      "  add.u32 %a3, %a0, %a1;\n  st.shared.v4.u32 [%a3], {%a2, %a2, %a2, %a2};\n"
                      "  mov.u32 %a4, %ntid.x;\n  shl.b32 %a4, %a4, 4;\n  add.u32 %a1, %a1, %a4;\n"
                      "  setp.lt.u32 %p, %a1, " +
                      std::to_string(bytes) +
                      ";\n  @%p bra clear;\n"
                      "  fence.proxy.async;\n  bar.sync 0;\n"
                      // Address and offset of 1024 bytes between groups of 8 rows in units of 16 bytes, swizzle 1.
                      "  shr.u32 %a1, %a0, 4;\n  and.b32 %a1, %a1, 16383;\n  cvt.u64.u32 %d0, %a1;\n"
                      "  or.b64 %d0, %d0, 0x4000004000010000;\n  add.u64 %d1, %d0, 512;\n";
  std::string body = "  wgmma.fence.sync.aligned;\n", sums = listRegisters(0, 128);
  for (int i = 0; i < 4; ++i) // 16 elements along the reduction are 32 bytes, 2 units.
    body += "  add.u64 %d2, %d0, " + std::to_string(2 * i) + ";\n  add.u64 %d3, %d1, " + std::to_string(2 * i) +
            ";\n  wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " + sums + ", %d2, %d3, 1, 1, 1, 0, 0;\n";
  body += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  std::string scores = listRegisters(0, 8), head = "  wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " + scores;
  std::string wait = "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  std::string chain = "  wgmma.fence.sync.aligned;\n" + head + ", %d0, %d1, 1, 1, 1, 0, 0;\n" + wait + makeScores(8) +
                      "  wgmma.fence.sync.aligned;\n" + head + ", {%a4, %a5, %a6, %a7}, %d1, 1, 1, 1, 0;\n" + wait;
  return ".version 8.1\n.target sm_90a\n.address_size 64\n" + makeLoop("wgmma", start, body, 128) +
         makeChain("group_fold_chain", start, chain, 8) + kClusterBarrier + kClusterSpin + makeClusterExchange();
}
