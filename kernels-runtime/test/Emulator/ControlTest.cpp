// Control flow, splits and calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace weft::emu;
using namespace weft::emu::test;

static const char *kSquare = R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra done;
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  mul.lo.s32 %r6, %r6, %r6;
  st.global.u32 [%rd5], %r6;
done:
  ret;
}
)";

TEST(Control, Square) {
  std::vector<uint32_t> in(1000), want(1000);
  for (uint32_t i = 0; i < 1000; ++i) {
    in[i] = i * 2654435761u;
    want[i] = in[i] * in[i];
  }
  KernelCase kernel;
  kernel.ptx = module(kSquare);
  kernel.grid.x = 8;
  kernel.block.x = 128;
  kernel.arguments = {buffer(in), output(4000), value(uint32_t(1000))};
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(1), want);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Branches
//===--------------------------------------------------------------------------------------------------------------===//

/// A kernel without input that stores %r1 of every thread.
static std::string kernelOf(const std::string &body, const std::string &before = "", const std::string &end = "ret") {
  return module(before + R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %d<8>;
  .reg .b64 %o;
  .reg .b32 %t;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %o, %t, 4, %o;
)" + body + "\n  st.global.u32 [%o], %r1;\n  " +
                end + ";\n}\n");
}

static KernelCase caseOf(const std::string &ptx, uint32_t threads = 64) {
  KernelCase kernel;
  kernel.ptx = ptx;
  kernel.block.x = threads;
  kernel.arguments = {output(threads * 4)};
  return kernel;
}

static std::vector<uint32_t> outputOf(const std::string &ptx, uint32_t threads = 64) {
  return runAllWays(caseOf(ptx, threads)).get<uint32_t>(0);
}

TEST(Control, NestedDivergence) {
  std::vector<uint32_t> out = outputOf(kernelOf(R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
outer:
  and.b32 %r3, %t, 3;
  setp.eq.u32 %p1, %r3, 1;
  @%p1 bra one;
  setp.eq.u32 %p2, %r3, 2;
  @%p2 bra two;
  add.u32 %r1, %r1, 1;
  bra join;
one:
  mov.u32 %r4, 0;
inner:
  add.u32 %r1, %r1, 10;
  add.u32 %r4, %r4, 1;
  setp.le.u32 %p3, %r4, %r2;
  @%p3 bra inner;
  bra.uni join;
two:
  add.u32 %r1, %r1, 1000;
  @%p2 bra join;
  trap;
join:
  activemask.b32 %r5;
  popc.b32 %r5, %r5;
  add.u32 %r2, %r2, 1;
  shr.u32 %r6, %t, 3;
  setp.le.u32 %p4, %r2, %r6;
  @%p4 bra outer;
  pmevent 3;
  pmevent.mask 5;)"));
  for (uint32_t t = 0; t < 64; ++t) {
    uint32_t want = 0;
    for (uint32_t round = 0; round <= t / 8; ++round)
      want += t % 4 == 1 ? 10 * (round + 1) : t % 4 == 2 ? 1000 : 1;
    EXPECT_EQ(out[t], want) << t;
  }
}

TEST(Control, IndexedBranch) {
  std::string ptx = kernelOf(R"(
targets: .branchtargets a, b, c, b;
  and.b32 %r2, %t, 3;
  brx.idx %r2, targets;
a:
  mov.u32 %r1, 100;
  bra join;
b:
  mov.u32 %r1, 200;
  bra join;
c:
  mov.u32 %r1, 300;
join:
  activemask.b32 %r3;
  add.u32 %r1, %r1, %r3;)");
  std::vector<uint32_t> out = outputOf(ptx, 32);
  const uint32_t want[] = {100, 200, 300, 200};
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(out[t], want[t % 4] - 1); // All have met again: %r3 is -1.
  std::string wide = ptx;
  wide.replace(wide.find("%t, 3;"), 6, "%t, 7;");
  EXPECT_NE(run(caseOf(wide, 32)).error.getMessage().find("index 4 is outside of the list of 4 targets"),
            std::string::npos);
}

TEST(Control, ExitAndTrap) {
  std::vector<uint32_t> out = outputOf(kernelOf(R"(
  mov.u32 %r1, 5;
  st.global.u32 [%o], 9;
  setp.gt.u32 %p1, %t, 40;
  @%p1 exit;)",
                                                "", "exit"));
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], t > 40 ? 9u : 5u);
  KernelCase kernel = caseOf(kernelOf("  mov.u32 %r1, 1;\n  setp.eq.u32 %p1, %t, 37;\n  @%p1 trap;"));
  KernelResult result = run(kernel);
  EXPECT_NE(result.error.getMessage().find("thread (37,0,0): the kernel has executed a trap"), std::string::npos)
      << result.error.getMessage();
  kernel.ptx = kernelOf("  mov.u32 %r1, 1;\n  brkpt;");
  EXPECT_NE(run(kernel).error.getMessage().find("breakpoint, and there is no debugger"), std::string::npos);
  kernel.ptx = kernelOf("  mov.u32 %r1, 1;\n  setp.eq.u32 %p1, %t, 37;\n  @%p1 bra.uni x;\nx:");
  EXPECT_NE(run(kernel).error.getMessage().find("the branch is .uni, but its threads do not agree"), std::string::npos);
}

TEST(Control, InstructionLimit) {
  KernelCase kernel = caseOf(kernelOf("  mov.u32 %r1, 0;\nx:\n  add.u32 %r1, %r1, 1;\n  bra x;"), 32);
  kernel.options.instructionLimit = 100000;
  EXPECT_NE(run(kernel).error.getMessage().find("more than 100000 warp instructions"), std::string::npos);
  kernel.ptx = kernelOf("  mov.u32 %r1, 0;\nx:\n  st.global.u32 [%o], %r1;\n  bra x;");
  kernel.options.interleaving = Interleaving::DepthFirst;
  EXPECT_NE(run(kernel).error.getMessage().find("more than 100000 warp instructions"), std::string::npos);
  kernel.ptx = kernelOf("  mov.u32 %r1, 0;\nx:\n  mov.u32 %r1, 7;\n  bra x;");
  kernel.options.instructionLimit = uint64_t(1) << 40;
  EXPECT_NE(run(kernel).error.getMessage().find("livelock"), std::string::npos);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Calls
//===--------------------------------------------------------------------------------------------------------------===//

static const char *kFunctions = R"(
.func (.param .b32 result) fib(.param .b32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .local .align 4 .b8 kept[4];
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra small;
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %r2;
    call.uni (r), fib, (a);
    ld.param.b32 %r3, [r];
  }
  st.local.u32 [kept], %r3;
  sub.u32 %r2, %r1, 2;
  {
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %r2;
    call (r), fib, (a);
    ld.param.b32 %r4, [r];
  }
  ld.local.u32 %r5, [kept];
  add.u32 %r1, %r5, %r4;
small:
  st.param.b32 [result], %r1;
  ret;
}
.func (.reg .b32 z) twice(.reg .b32 x, .reg .b32 y)
{
  .reg .pred %p<2>;
  setp.gt.u32 %p1, x, 20;
  mov.u32 z, y;
  @%p1 ret;
  add.u32 z, x, x;
  ret.uni;
}
)";

TEST(Control, RecursionAndReturns) {
  std::vector<uint32_t> out = outputOf(kernelOf(R"(
  and.b32 %r2, %t, 3;
  {
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %r2;
    call (r), fib, (a);
    ld.param.b32 %r1, [r];
  }
  activemask.b32 %r3;
  call (%r4), twice, (%t, 1000000);
  add.u32 %r1, %r1, %r4;
  not.b32 %r3, %r3;
  add.u32 %r1, %r1, %r3;)",
                                                kFunctions));
  const uint32_t fib[] = {0, 1, 1, 2}; // Deeper calls overflow an H100's default stack.
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], fib[t % 4] + (t > 20 ? 1000000 : 2 * t));
}

TEST(Control, IndirectCalls) {
  std::string functions = R"(
.func (.param .b32 result) plus(.param .b32 n)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [n];
  add.u32 %r1, %r1, 1000;
  st.param.b32 [result], %r1;
  ret;
}
.func (.param .b32 result) times(.param .b32 n)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [n];
  mul.lo.u32 %r1, %r1, 10;
  st.param.b32 [result], %r1;
  ret;
}
.global .u64 table[2] = {plus, times};
)";
  std::string ptx = kernelOf(R"(
  and.b32 %r2, %t, 1;
  mov.u64 %d1, table;
  mad.wide.u32 %d1, %r2, 8, %d1;
  ld.global.u64 %d2, [%d1];
  mov.u64 %d3, plus;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
  {
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %t;
    call (r), %d2, (a), proto;
    ld.param.b32 %r1, [r];
    st.param.b32 [a], %t;
    call (r), %d3, (a), proto;
    ld.param.b32 %r3, [r];
  }
  add.u32 %r1, %r1, %r3;)",
                             functions);
  std::vector<uint32_t> out = outputOf(ptx);
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], (t & 1 ? 10 * t : t + 1000) + t + 1000);
}

/// The address of a parameter is a local one, and good in functions that are called with it.
TEST(Control, AddressesOfParameters) {
  std::string functions = R"(
.func (.param .b32 result) pick(.param .b64 pointer)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [pointer];
  ld.u32 %r1, [%d1];
  ld.u32 %r2, [%d1+4];
  sub.u32 %r1, %r1, %r2;
  st.u32 [%d1+4], %r1;
  st.param.b32 [result], %r1;
  ret;
}
.func (.param .b32 result) take(.param .align 8 .b8 box[8])
{
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  mov.b64 %d1, box;
  ld.local.u32 %r1, [%d1];
  cvta.local.u64 %d2, %d1;
  {
    .param .b64 a;
    .param .b32 r;
    st.param.b64 [a], %d2;
    call (r), pick, (a);
    ld.param.b32 %r2, [r];
  }
  ld.local.u32 %r3, [%d1+4];
  add.u32 %r1, %r1, %r2;
  add.u32 %r1, %r1, %r3;
  st.param.b32 [result], %r1;
  ret;
}
)";
  std::vector<uint32_t> out = outputOf(kernelOf(R"(
  mul.lo.u32 %r2, %t, 100;
  {
    .param .align 8 .b8 a[8];
    .param .b32 r;
    st.param.b32 [a], %r2;
    st.param.b32 [a+4], %t;
    call (r), take, (a);
    ld.param.b32 %r1, [r];
  })",
                                                functions));
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], 100 * t + 99 * t + 99 * t);
}

TEST(Control, EndlessRecursion) {
  std::string function = R"(
.func forever()
{
  call forever, ();
  ret;
}
)";
  KernelResult result = run(caseOf(kernelOf("  mov.u32 %r1, 1;\n  call forever, ();", function)));
  EXPECT_NE(result.error.getMessage().find("the stack overflows: 1024 calls deep"), std::string::npos)
      << result.error.getMessage();
}

TEST(Control, Refusals) {
  auto refused = [](const std::string &body, const std::string &what) {
    std::string message = refusal(kernelOf(body, ".extern .func (.param .b32 r) printf(.param .b32 a);"));
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  refused("  alloca.u64 %d1, 16;", "memory of a size known at run time is not supported");
  refused("  { .param .b32 a; .param .b32 r; call (r), printf, (a); }", "is declared only");
  refused("  bra.wide x;\nx:", "modifier .wide is not known here");
}

TEST(Control, Launches) {
  auto messageOf = [](KernelCase kernel) { return run(kernel).error.getMessage(); };
  KernelCase kernel = caseOf(kernelOf("  mov.u32 %r1, 1;"));
  kernel.block.x = 2000;
  EXPECT_NE(messageOf(kernel).find("expected a block of 1 to 1024 threads, got (2000,1,1)"), std::string::npos);
  kernel.block.x = 32;
  kernel.grid.x = 3;
  kernel.cluster.x = 2;
  EXPECT_NE(messageOf(kernel).find("is no multiple of clusters of (2,1,1)"), std::string::npos);
  kernel.cluster.x = 1;
  kernel.entry = "other";
  EXPECT_NE(messageOf(kernel).find("the module has no entry \"other\""), std::string::npos);
  kernel.entry = "k";
  kernel.dynamicShared = 232449;
  EXPECT_NE(messageOf(kernel).find("232449 bytes of shared memory per cta, GPU H100 has 232448"), std::string::npos);
  kernel.dynamicShared = 0;
  kernel.card = "A100";
  EXPECT_NE(messageOf(kernel).find("the module is for .target sm_90a, GPU A100 is sm_80"), std::string::npos);
  kernel.card = "TPU";
  EXPECT_NE(messageOf(kernel).find("no emulated GPU is called \"TPU\""), std::string::npos);
}

/// The same seed, the same everything; another seed, another interleaving.
TEST(Control, Determinism) {
  KernelCase kernel;
  kernel.ptx = module(R"(
.visible .entry k(.param .u64 counter, .param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [counter];
  ld.param.u64 %d2, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mad.wide.u32 %d2, %r1, 4, %d2;
  atom.relaxed.gpu.global.add.u32 %r4, [%d1], 1;
  st.global.u32 [%d2], %r4;
  ret;
}
)");
  kernel.grid.x = 50;
  kernel.block.x = 128;
  kernel.arguments = {buffer(std::vector<uint32_t>(1)), output(6400 * 4)};
  kernel.isDumped = false;
  std::vector<std::vector<uint32_t>> orders;
  for (uint64_t seed : {1, 1, 2}) {
    kernel.options.seed = seed;
    orders.push_back(runClean(kernel).get<uint32_t>(1));
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
}
