// The microbenchmarks of what a tiled product takes beside its bytes and operations (TileClocks), as PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each has the parameters (iterations, address, out) and leaves the clocks of a block's loop in out[0]. What is told of
// a copy is the difference of two that do so many and twice as many in an iteration. What an iteration does depends on
// which one it is (%step, %turn), or ptxas does it once, before the loop.
#include "TileKernels.h"

#include <functional>

using namespace weft::calibrate;

static std::string number(int64_t value) { return std::to_string(value); }

/// Registers by kind: %a (32 bits), %d (64 bits), %f, %p; %t: the thread, %at: its 16 bytes of global memory, %s: its
/// position in shared memory, 16 bytes a thread from `slots` on, %a15: of 4 bytes, %clocks: what the body counts
/// itself.
static const char *const kStart = R"(  .reg .pred %p<4>;
  .reg .b16 %h<2>;
  .reg .b32 %a<16>, %t, %s, %slots, %cta;
  .reg .b64 %n, %base, %at, %out, %d<8>, %t0, %t1, %clocks;
  .reg .b32 %turn;
  .reg .f32 %f<72>, %step;
  ld.param.u64 %n, [iterations];
  ld.param.u64 %base, [address];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %slots, slots;
  shl.b32 %s, %t, 4;
  mov.u32 %a0, %ntid.x;
  mad.lo.u32 %a0, %cta, %a0, %t;
  mul.wide.u32 %at, %a0, 16;
  add.u64 %at, %base, %at;
  add.u32 %s, %slots, %s;
  shl.b32 %a15, %t, 2;
  add.u32 %a15, %slots, %a15;
  mov.u64 %clocks, 0;
  mov.u32 %turn, 0;
  mov.f32 %step, 0f00000000;
)";

namespace {
struct TimedLoop {
  std::string name;
  std::string start, body, end;
  int64_t sharedBytes = 1 << 14;
  bool countsItself = false; ///< The body adds to %clocks what is asked for.
};
} // namespace

static std::string makeTimedLoop(const TimedLoop &loop) {
  std::string text =
      "\n.visible .entry " + loop.name + "(.param .u64 iterations, .param .u64 address, .param .u64 out)\n";
  text +=
      "{\n  .shared .align 1024 .b8 slots[" + number(loop.sharedBytes) + "];\n  .shared .align 8 .b8 signals[64];\n" +
      kStart + loop.start + "  bar.sync 0;\n  mov.u64 %t0, %clock64;\nagain:\n" + loop.body +
      "  sub.u64 %n, %n, 1;\n  setp.ne.u64 %p0, %n, 0;\n  @%p0 bra again;\n" + loop.end + "  mov.u64 %t1, %clock64;\n";
  if (!loop.countsItself)
    text += "  sub.u64 %clocks, %t1, %t0;\n";
  return text +
         "  or.b32 %a0, %t, %cta;\n  setp.eq.u32 %p0, %a0, 0;\n  @%p0 st.global.u64 [%out], %clocks;\n  ret;\n}\n";
}

static std::string repeat(int count, const std::function<std::string(int)> &line) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += line(i);
  return text;
}

/// `count` copies of `bytes` a lane, a block's threads side by side; 2,048 bytes of shared memory each.
static std::string makeCopies(int count, int bytes) {
  return repeat(count, [&](int i) {
    std::string from = "[%at+" + number(2048 * i) + "]", wide = "[%s+" + number(2048 * i) + "]",
                narrow = "[%a15+" + number(2048 * i) + "]";
    if (bytes == 16)
      return "  cp.async.cg.shared.global " + wide + ", " + from + ", 16;\n";
    if (bytes == 4)
      return "  cp.async.ca.shared.global " + narrow + ", " + from + ", 4;\n";
    return (i ? "" : std::string("  xor.b64 %at, %at, 2;\n")) + "  ld.global.u16 %h0, " + from + ";\n  st.shared.u16 " +
           narrow + ", %h0;\n";
  });
}

/// Elements that a window slides along: each has an address of its own, of a position that may be outside.
static std::string makeSlidingCopies(int count) {
  return "  add.u32 %turn, %turn, 1;\n  add.u32 %a1, %turn, %t;\n" + repeat(count, [&](int i) {
           return "  add.u32 %a2, %a1, " + number(3 * i) +
                  ";\n  mul.hi.u32 %a3, %a2, 613566757;\n  mad.lo.s32 %a4, %a3, -7, %a2;\n  setp.lt.u32 %p1, %a4, 8;\n"
                  "  setp.lt.and.u32 %p1, %a3, 4096, %p1;\n  mad.lo.u32 %a5, %a3, 7, %a4;\n  mul.wide.u32 %d0, %a5, "
                  "2;\n"
                  "  add.u64 %d0, %base, %d0;\n  mov.u16 %h0, 0;\n  @%p1 ld.global.u16 %h0, [%d0];\n  st.shared.u16 "
                  "[%a15+" +
                  number(2048 * i) + "], %h0;\n";
         });
}

static const char *const kCommitAndWait = "  cp.async.commit_group;\n  cp.async.wait_group 0;\n";

/// Two f32 results as one register of bf16 pairs, `count` of them, to this thread's offsets of shared memory.
static std::string makeConverted(int count) {
  return "  add.f32 %step, %step, 0f3F800000;\n" + repeat(count, [&](int i) {
           return "  cvt.rn.bf16x2.f32 %a" + number(4 + i % 4) + ", %f" + number(i) + ", %step;\n" +
                  (i % 4 == 3 ? "  st.shared.v4.b32 [%s+" + number(2048 * (i / 4)) + "], {%a4, %a5, %a6, %a7};\n" : "");
         });
}

static std::string makeNumbers() {
  return "  cvt.rn.f32.u32 %f0, %t;\n" +
         repeat(63, [](int i) { return "  add.f32 %f" + number(i + 1) + ", %f" + number(i) + ", 0f3F800000;\n"; });
}

std::string weft::calibrate::makeTileKernels() {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
  // One thread's way there and back.
  text += makeTimedLoop({"copy_chain", "", makeCopies(1, 16) + kCommitAndWait, ""});
  // A barrier, and an address that comes from shared memory behind it.
  text += makeTimedLoop({"step_chain", "  mov.u32 %a1, 0;\n  st.shared.u32 [%s], %a1;\n",
                         "  bar.sync 0;\n  add.u32 %a1, %a1, %s;\n  ld.volatile.shared.u32 %a1, [%a1];\n", ""});
  // What a loop of steps has that does nothing in them.
  text += makeTimedLoop({"empty_steps", "", "  cp.async.commit_group;\n  cp.async.wait_group 1;\n  bar.sync 0;\n", ""});
  for (int count : {kCopies, 2 * kCopies}) {
    std::string timed = "  cp.async.wait_group 0;\n  mov.u64 %d6, %clock64;\n" + makeCopies(count, 16) +
                        "  mov.u64 %d7, %clock64;\n  sub.u64 %d7, %d7, %d6;\n  add.u64 %clocks, %clocks, %d7;\n"
                        "  cp.async.commit_group;\n";
    TimedLoop issue{"copy_issue" + number(count), "", timed, "  cp.async.wait_group 0;\n"};
    issue.countsItself = true;
    text += makeTimedLoop(issue);
    text += makeTimedLoop({"narrow_copies" + number(count), "", makeCopies(count, 4) + kCommitAndWait, ""});
    text += makeTimedLoop({"narrowest_copies" + number(count), "", makeCopies(count, 2), ""});
    text += makeTimedLoop({"sliding_copies" + number(count), "", makeSlidingCopies(count), ""});
  }
  for (int count : {kResults, 2 * kResults}) {
    // Results of a thread: pairs, which pass through shared memory, to lines of global memory.
    std::string stores = makeConverted(count) + "  bar.sync 0;\n" +
                         repeat(count / 4,
                                [](int i) {
                                  return "  ld.shared.v4.b32 {%a8, %a9, %a10, %a11}, [%s+" + number(2048 * i) +
                                         "];\n  st.global.v4.b32 [%at+" + number(2048 * i) +
                                         "], {%a8, %a9, %a10, %a11};\n";
                                }) +
                         "  bar.sync 0;\n";
    text += makeTimedLoop({"result_stores" + number(count), makeNumbers(), stores, ""});
    text += makeTimedLoop({"dependent" + number(count), "  mov.f32 %f0, 0f3F800000;\n",
                           repeat(count, [](int) { return std::string("  fma.rn.f32 %f0, %f0, %f0, %f0;\n"); }),
                           "  setp.lt.f32 %p1, %f0, 0f00000000;\n  @%p1 st.global.f32 [%out+8], %f0;\n"});
  }
  // Tensors beside the products: a warp reads pairs of eight rows, 16 bytes of each at a time, as an accumulator's
  // layout has them.
  std::string beside =
      repeat(8, [](int i) { return "  ld.global.u32 %a" + number(8 + i) + ", [%d1+" + number(16 * i) + "];\n"; });
  beside += repeat(8, [](int i) { return "  xor.b32 %a1, %a1, %a" + number(8 + i) + ";\n"; });
  beside += "  add.u32 %a5, %a5, 128;\n  and.b32 %a5, %a5, " + number(kBesideRowBytes - 1) +
            ";\n  cvt.u64.u32 %d2, %a5;\n  add.u64 %d1, %d3, %d2;\n";
  std::string rows =
      "  mov.u32 %a1, 0;\n  mov.u32 %a5, 0;\n  and.b32 %a2, %t, 3;\n  shr.u32 %a3, %t, 2;\n  mad.lo.u32 %a4, %cta, " +
      number(kBesideRows) + ", %a3;\n  mul.wide.u32 %d3, %a4, " + number(kBesideRowBytes) +
      ";\n  mul.wide.u32 %d2, %a2, 4;\n  add.u64 %d3, %d3, %d2;\n  add.u64 %d3, %base, %d3;\n"
      "  mov.u64 %d1, %d3;\n";
  text += makeTimedLoop(
      {"beside_reads", rows, beside, "  setp.ne.u32 %p1, %a1, 0;\n  @%p1 st.global.u32 [%out+8], %a1;\n"});
  // Half a sector each.
  std::string halves = "  mov.u32 %a1, %ntid.x;\n  mad.lo.u32 %a2, %cta, %a1, %t;\n  mul.wide.u32 %d1, %a2, 32;\n"
                       "  add.u64 %d1, %base, %d1;\n  mov.u32 %a3, 0;\n";
  text += makeTimedLoop({"half_sectors", halves, "  st.global.v4.b32 [%d1], {%a3, %a3, %a3, %a3};\n", ""});
  // A CTA's least: its first warp reads what is its own, passes it on, and writes it. Others are there to fill the SM.
  std::string own = "  setp.lt.u32 %p1, %t, 32;\n  mad.lo.u32 %a2, %cta, 32, %t;\n  mul.wide.u32 %d1, %a2, 16;\n"
                    "  add.u64 %d1, %base, %d1;\n";
  text += makeTimedLoop({"least_block", own,
                         "  @%p1 cp.async.cg.shared.global [%s], [%d1], 16;\n" + std::string(kCommitAndWait) +
                             "  bar.sync 0;\n  @%p1 ld.shared.v4.b32 {%a4, %a5, %a6, %a7}, [%s];\n"
                             "  @%p1 st.global.v4.b32 [%d1], {%a4, %a5, %a6, %a7};\n",
                         ""});
  return text;
}

//===--- sm_90a ---===//

/// Barriers of `kSlots` slots from %a12 on, each with so many arrivals.
static std::string makeSignals(int64_t arrivals) {
  return "  mov.u32 %a12, signals;\n  setp.eq.u32 %p3, %t, 0;\n" +
         repeat(2 * kSlots,
                [&](int i) {
                  return "  @%p3 mbarrier.init.shared.b64 [%a12+" + number(8 * i) + "], " +
                         number(i < kSlots ? 1 : arrivals) + ";\n";
                }) +
         "  @%p3 fence.mbarrier_init.release.cluster;\n  @%p3 fence.proxy.async;\n";
}

static std::string waitFor(const std::string &label, const std::string &signal, const std::string &parity) {
  return label + ":\n  mbarrier.try_wait.parity.shared.b64 %p1, [" + signal + "], " + parity + ";\n  @!%p1 bra " +
         label + ";\n";
}

/// Boxes one after the other: a thread asks for one, and for the next when it is there.
static std::string makeBoxChain() {
  std::string copy = "  mbarrier.arrive.expect_tx.shared.b64 %d1, [%a12], " + number(kBoxBytes) +
                     ";\n  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%slots], [%base], " +
                     number(kBoxBytes) + ", [%a12];\n" + waitFor("there", "%a12", "%a13") +
                     "  xor.b32 %a13, %a13, 1;\n";
  return makeTimedLoop({"box_chain", makeSignals(1) + "  mov.u32 %a13, 0;\n", copy, ""});
}

/// Steps of a warpgroup whose boxes are there: a signal, 64 x 128 by 64, and the slot's way back. Where the left
/// operand is in registers each step makes it, as weights are unpacked.
static std::string makeBoxSteps(const std::string &name, bool fromRegisters) {
  std::string sums = "{%f0";
  for (int i = 1; i < 64; ++i)
    sums += ", %f" + number(i);
  sums += "}";
  std::string start = makeSignals(1) +
                      "  mov.u32 %a13, 0;\n  mov.u32 %a1, 0;\n  shl.b32 %a2, %t, 4;\nclear:\n"
                      "  add.u32 %a3, %slots, %a2;\n  st.shared.v4.u32 [%a3], {%a1, %a1, %a1, %a1};\n"
                      "  add.u32 %a2, %a2, 2048;\n  setp.lt.u32 %p1, %a2, 24576;\n  @%p1 bra clear;\n"
                      "  fence.proxy.async;\n  shr.u32 %a1, %slots, 4;\n  and.b32 %a1, %a1, 16383;\n"
                      "  cvt.u64.u32 %d0, %a1;\n  or.b64 %d0, %d0, 0x4000004000010000;\n  add.u64 %d1, %d0, 512;\n" +
                      repeat(64, [](int i) { return "  mov.f32 %f" + number(i) + ", 0f00000000;\n"; }) +
                      repeat(4, [](int i) { return "  mov.u32 %a" + number(4 + i) + ", 0;\n"; });
  std::string body =
      "  @%p3 mbarrier.arrive.shared.b64 %d4, [%a12];\n" + waitFor("full", "%a12", "%a13") +
      "  xor.b32 %a13, %a13, 1;\n" +
      repeat(fromRegisters ? 4 : 0,
             [](int i) { return "  xor.b32 %a" + number(4 + i) + ", %a13, %a" + number(4 + i) + ";\n"; }) +
      "  wgmma.fence.sync.aligned;\n" +
      repeat(4,
             [&](int i) {
               return "  add.u64 %d2, %d0, " + number(2 * i) + ";\n  add.u64 %d3, %d1, " + number(2 * i) +
                      ";\n  wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " + sums +
                      (fromRegisters ? ", {%a4, %a5, %a6, %a7}, %d3, 1, 1, 1, 0;\n" : ", %d2, %d3, 1, 1, 1, 0, 0;\n");
             }) +
      "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  std::string end = "  setp.lt.f32 %p1, %f0, 0f00000000;\n  @%p1 st.global.f32 [%out+8], %f0;\n";
  TimedLoop loop{name, start, body, end};
  loop.sharedBytes = 24576;
  return makeTimedLoop(loop);
}

/// Results to a slot of shared memory, which leaves as a box while the next one is filled.
static std::string makeBoxStores(int count) {
  std::string body = makeConverted(count) +
                     "  fence.proxy.async;\n  bar.sync 0;\n"
                     "  @%p3 cp.async.bulk.global.shared::cta.bulk_group [%base], [%slots], " +
                     number(count * 512) +
                     ";\n  @%p3 cp.async.bulk.commit_group;\n  @%p3 cp.async.bulk.wait_group.read 0;\n  bar.sync 0;\n";
  return makeTimedLoop({"box_stores" + number(count), "  setp.eq.u32 %p3, %t, 0;\n" + makeNumbers(), body,
                        "  @%p3 cp.async.bulk.wait_group 0;\n"});
}

/// Steps of CTAs that copy boxes of `kBoxBytes`. A thread copies, and another one gives the slot back: to its own CTA,
/// or to both of a pair, neither of which then copies before both are done.
static std::string makeBoxRing(const std::string &name, bool isPaired) {
  std::string bytes = number(kBoxBytes);
  std::string start = makeSignals(isPaired ? 2 : 1) + R"(  mov.u32 %a13, 0;
  mov.u32 %a14, 0;
)";
  if (isPaired)
    start += "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  start += "  setp.eq.u32 %p2, %t, 32;\n  setp.lt.u32 %p3, %t, 32;\n  bar.sync 0;\n  @%p3 bra produce;\n";
  std::string next = "  add.u32 %a14, %a14, 1;\n  setp.eq.u32 %p1, %a14, " + number(kSlots) +
                     ";\n  @%p1 mov.u32 %a14, 0;\n  @%p1 xor.b32 %a13, %a13, 1;\n";
  std::string slot =
      "  shl.b32 %a3, %a14, 3;\n  add.u32 %a3, %a12, %a3;\n  add.u32 %a4, %a3, " + number(8 * kSlots) + ";\n";
  // Consumers: warp 1. Its thread tells all producers of the slot, which read nothing that it wrote: a release of the
  // cluster would cost a fence (lib/Lower/TileKernelToNVVM/Mbarrier.cpp).
  std::string body = slot + waitFor("full", "%a3", "%a13");
  if (isPaired)
    body += "  mapa.shared::cluster.u32 %a5, %a4, 0;\n  mapa.shared::cluster.u32 %a6, %a4, 1;\n"
            "  @%p2 mbarrier.arrive.shared::cluster.b64 _, [%a5];\n"
            "  @%p2 mbarrier.arrive.shared::cluster.b64 _, [%a6];\n";
  else
    body += "  @%p2 mbarrier.arrive.shared.b64 %d2, [%a4];\n";
  body += next;
  std::string text = "\n.visible .entry " + name + "(.param .u64 iterations, .param .u64 address, .param .u64 out)\n";
  if (isPaired)
    text += ".reqnctapercluster 2, 1, 1\n";
  text += "{\n  .shared .align 1024 .b8 slots[" + number(kSlots * kBoxBytes) +
          "];\n  .shared .align 8 .b8 signals[64];\n" + kStart + start;
  text += "  mov.u64 %t0, %clock64;\nconsume:\n" + body +
          "  sub.u64 %n, %n, 1;\n  setp.ne.u64 %p0, %n, 0;\n  @%p0 bra consume;\n  mov.u64 %t1, %clock64;\n"
          "  sub.u64 %clocks, %t1, %t0;\n  setp.eq.u32 %p0, %cta, 0;\n  and.pred %p0, %p0, %p2;\n"
          "  @%p0 st.global.u64 [%out], %clocks;\n  bra done;\n";
  // The producer: a thread of warp 0, which starts with all slots free.
  text += "produce:\n  setp.ne.u32 %p3, %t, 0;\n  @%p3 bra done;\n  mov.u32 %a13, 1;\nfill:\n" + slot +
          waitFor("free", "%a4", "%a13") + "  mad.lo.u32 %a7, %a14, " + bytes + ", %slots;\n";
  text += "  mbarrier.arrive.expect_tx.shared.b64 %d3, [%a3], " + bytes +
          ";\n  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a7], [%base], " + bytes +
          ", [%a3];\n" + next + "  sub.u64 %n, %n, 1;\n  setp.ne.u64 %p0, %n, 0;\n  @%p0 bra fill;\n";
  if (isPaired) // No CTA ends while others arrive at its barriers.
    text += "done:\n  bar.warp.sync -1;\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\n  ret;\n}\n";
  else
    text += "done:\n  ret;\n}\n";
  return text;
}

/// All SMs read panels that several of them share, by boxes: in step, or each from another position on.
static std::string makePanelReads(const std::string &name, bool isApart) {
  std::string start = makeSignals(1) +
                      "  mov.u32 %a13, 0;\n  mov.u32 %a14, 0;\n  shr.u32 %a1, %cta, 3;\n  and.b32 %a2, %cta, 7;\n"
                      "  mul.wide.u32 %d1, %a1, " +
                      number(kPanelBytes) + ";\n  add.u64 %d1, %base, %d1;\n  mul.lo.u32 %a4, %a2, " +
                      number(isApart ? kPanelBytes / 8 : 0) + ";\n";
  std::string copy =
      "  cvt.u64.u32 %d2, %a4;\n  add.u64 %d2, %d1, %d2;\n  mbarrier.arrive.expect_tx.shared.b64 %d3, [%a5], " +
      number(kBoxBytes) + ";\n  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a6], [%d2], " +
      number(kBoxBytes) + ", [%a5];\n  add.u32 %a4, %a4, " + number(kBoxBytes) + ";\n  and.b32 %a4, %a4, " +
      number(kPanelBytes - 1) + ";\n";
  std::string slot = "  shl.b32 %a5, %a14, 3;\n  add.u32 %a5, %a12, %a5;\n  mad.lo.u32 %a6, %a14, " +
                     number(kBoxBytes) + ", %slots;\n";
  std::string next = "  add.u32 %a14, %a14, 1;\n  setp.eq.u32 %p1, %a14, " + number(kSlots) +
                     ";\n  @%p1 mov.u32 %a14, 0;\n  @%p1 xor.b32 %a13, %a13, 1;\n";
  start += repeat(kSlots, [&](int) { return slot + copy + next; });
  start += "  mov.u32 %a13, 0;\n";
  std::string body = slot + waitFor("there", "%a5", "%a13") + copy + next;
  std::string end = repeat(kSlots, [&](int i) { return slot + waitFor("last" + number(i), "%a5", "%a13") + next; });
  TimedLoop loop{name, start, body, end};
  loop.sharedBytes = kSlots * kBoxBytes;
  return makeTimedLoop(loop);
}

std::string weft::calibrate::makeTileBoxKernels() {
  return ".version 8.1\n.target sm_90a\n.address_size 64\n" + makeBoxChain() +
         makeBoxSteps("box_steps", /*fromRegisters=*/false) + makeBoxSteps("unpacked_steps", /*fromRegisters=*/true) +
         makeBoxStores(kResults) + makeBoxStores(2 * kResults) + makeBoxRing("box_ring", /*isPaired=*/false) +
         makeBoxRing("paired_ring", /*isPaired=*/true) + makePanelReads("panels_together", /*isApart=*/false) +
         makePanelReads("panels_apart", /*isApart=*/true);
}
