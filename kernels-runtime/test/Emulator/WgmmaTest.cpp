// wgmma on every type, layout and source.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One group of two wgmmas: D = A B, then D += +-A * +-B, on small integers, which every type holds exactly. The
// operands lie in shared memory as the manual's canonical layouts say, or A in registers.
#include "TensorMapArgument.h"

#include <cmath>
#include <random>

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

namespace {

constexpr uint32_t kA = 0, kB = 8192, kShared = 40960; ///< In shared memory; A's registers follow in the input.

struct Form {
  const char *d, *a, *b;
  unsigned columns;
  unsigned span = 128;
  bool hasRegisterA = false, isMajorM = false, isMajorN = false;
  int signA = 1, signB = 1;
  bool isSaturating = false;
};

unsigned bitsOf(const std::string &type) {
  return type == "b1" ? 1 : type == "tf32" ? 32 : type == "f16" || type == "bf16" ? 16 : 8;
}
bool isInteger(const std::string &type) { return type == "s8" || type == "u8" || type == "b1"; }

/// The bits of a small integer (-2 to 2; u8 and b1: 0 or more).
uint32_t bitsOf(const std::string &type, int value) {
  static const uint32_t half[] = {0, 0x3c00, 0x4000}, brain[] = {0, 0x3f80, 0x4000}, e4m3[] = {0, 0x38, 0x40},
                        e5m2[] = {0, 0x3c, 0x40};
  unsigned size = unsigned(std::abs(value));
  bool isNegative = value < 0;
  if (type == "f16")
    return half[size] | isNegative << 15;
  if (type == "bf16")
    return brain[size] | isNegative << 15;
  if (type == "tf32")
    return brain[size] << 16 | uint32_t(isNegative) << 31;
  if (type == "e4m3")
    return e4m3[size] | isNegative << 7;
  if (type == "e5m2")
    return e5m2[size] | isNegative << 7;
  return uint32_t(value) & 0xff;
}

std::vector<int> randomMatrix(const std::string &type, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> values(count);
  for (int &value : values)
    value = type == "b1" ? int(random() % 2) : type == "u8" ? int(random() % 3) : int(random() % 5) - 2;
  return values;
}

/// Rows of `depth` elements, dense, 32 bytes each.
std::vector<uint8_t> packed(const std::string &type, const std::vector<int> &values, size_t depth) {
  unsigned bits = bitsOf(type);
  std::vector<uint8_t> bytes(values.size() / depth * 32);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t element = bitsOf(type, values[i]);
    if (bits == 1)
      bytes[i / 8] |= uint8_t(values[i] << i % 8);
    else
      std::memcpy(&bytes[i * bits / 8], &element, bits / 8);
  }
  return bytes;
}

/// Lays dense rows of 32 bytes out at `at` and returns the descriptor (start relative to shared memory).
uint64_t layOut(std::vector<uint8_t> &shared, uint32_t at, const std::vector<uint8_t> &rows, unsigned span,
                bool isMnMajor) {
  uint32_t count = uint32_t(rows.size() / 32), line = span ? span : 16, block = 8 * line, leading = 16, stride = block;
  auto place = [&](uint32_t offset) {
    uint32_t swizzled = span ? ((offset >> 7) & (span / 16 - 1)) << 4 : 0;
    return at + (offset ^ swizzled);
  };
  if (!isMnMajor) {
    if (!span)
      leading = block, stride = 2 * block;
    for (uint32_t row = 0; row < count; ++row)
      for (uint32_t byte = 0; byte < 32; ++byte) {
        uint32_t offset = span ? row / 8 * block + row % 8 * line + byte
                               : (row / 8 * 2 + byte / 16) * block + row % 8 * 16 + byte % 16;
        shared[place(offset)] = rows[row * 32 + byte];
      }
  } else {
    uint32_t perBlock = line / 2, blocks = (count + perBlock - 1) / perBlock;
    leading = span ? block : blocks * block;
    stride = span ? blocks * block : block;
    for (uint32_t mn = 0; mn < count; ++mn)
      for (uint32_t k = 0; k < 16; ++k) {
        uint32_t offset = (k / 8 * blocks + mn / perBlock) * block + k % 8 * line + mn % perBlock * 2;
        std::memcpy(&shared[place(offset)], &rows[mn * 32 + k * 2], 2);
      }
  }
  uint64_t mode = span == 0 ? 0 : span == 128 ? 1 : span == 64 ? 2 : 3;
  return uint64_t(at >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | mode << 62;
}

std::string registers(const char *name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + std::string(name) + std::to_string(i);
  return text + "}";
}

std::string wgmmaText(const Form &form, bool addsToD, int signA, int signB) {
  unsigned depth = 256 / bitsOf(form.a), count = form.columns / (std::string(form.d) == "f16" ? 4 : 2);
  std::string text = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(form.columns) + "k" + std::to_string(depth) +
                     (form.isSaturating ? ".satfinite." : ".") + form.d + "." + form.a + "." + form.b +
                     (std::string(form.a) == "b1" ? ".and.popc " : " ");
  text += registers("d", count) + ", " + (form.hasRegisterA ? registers("a", 4) : "%rd1") + ", %rd2, " +
          (addsToD ? "%p1" : "%p2");
  if (!isInteger(form.a))
    text += ", " + std::to_string(signA) + ", " + std::to_string(signB);
  if (bitsOf(form.a) == 16)
    text += (form.hasRegisterA ? "" : form.isMajorM ? ", 1" : ", 0") + std::string(form.isMajorN ? ", 1" : ", 0");
  return text + ";\n";
}

/// Input to shared memory, A's registers, then the two wgmmas with `between` after the commit, then D.
std::string kernelOf(const Form &form, const std::string &fence = "wgmma.fence.sync.aligned;",
                     const std::string &wait = "wgmma.wait_group.sync.aligned 0;") {
  unsigned count = form.columns / (std::string(form.d) == "f16" ? 4 : 2);
  std::string text = R"(
    .reg .b32 %d<128>;
    .reg .b32 %a<4>;
    mov.u32 %r1, smem;
    mov.u32 %r2, %tid.x;
    ld.param.u64 %rd3, [in];
    cvta.to.global.u64 %rd3, %rd3;
    mul.wide.u32 %rd4, %r2, 16;
    add.u64 %rd4, %rd3, %rd4;
    shl.b32 %r3, %r2, 4;
    add.u32 %r3, %r3, %r1;
    mov.b32 %r4, 0;
FILL:
    ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd4];
    st.shared.v4.b32 [%r3], {%r10, %r11, %r12, %r13};
    add.u64 %rd4, %rd4, 2048;
    add.u32 %r3, %r3, 2048;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p3, %r4, 20;
    @%p3 bra FILL;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.param.u64 %rd1, [descA];
    ld.param.u64 %rd2, [descB];
    shr.u32 %r5, %r1, 4;
    cvt.u64.u32 %rd5, %r5;
    add.u64 %rd1, %rd1, %rd5;
    add.u64 %rd2, %rd2, %rd5;
    mul.wide.u32 %rd6, %r2, 16;
    add.u64 %rd6, %rd3, %rd6;
    ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd6+40960];
    setp.eq.u32 %p1, %r1, %r1;
    setp.ne.u32 %p2, %r1, %r1;
    )" + fence + "\n" +
                     wgmmaText(form, false, 1, 1) + wgmmaText(form, true, form.signA, form.signB) +
                     "wgmma.commit_group.sync.aligned;\n" + wait + R"(
    ld.param.u64 %rd7, [out];
    cvta.to.global.u64 %rd7, %rd7;
    mul.wide.u32 %rd8, %r2, 512;
    add.u64 %rd7, %rd7, %rd8;
)";
  for (unsigned i = 0; i < count; ++i)
    text += "st.global.b32 [%rd7+" + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
  return kernelText(".param .u64 in, .param .u64 out, .param .u64 descA, .param .u64 descB", text, "8.4");
}

struct Prepared {
  KernelCase kernel;
  std::vector<int> expected; ///< [64, columns]
};

Prepared prepare(const Form &form, const std::string &ptx) {
  unsigned depth = 256 / bitsOf(form.a);
  std::vector<int> a = randomMatrix(form.a, 64 * depth, 1), b = randomMatrix(form.b, form.columns * depth, 2);
  std::vector<uint8_t> input(kShared + 2048), rowsA = packed(form.a, a, depth), rowsB = packed(form.b, b, depth);
  uint64_t descriptorA = layOut(input, kA, rowsA, form.span, form.isMajorM);
  uint64_t descriptorB = layOut(input, kB, rowsB, form.span, form.isMajorN);
  for (unsigned t = 0; t < 128;
       ++t) // Register j: row t / 4 of the warp's 16, + 8 if j is odd; the second 16 bytes from j = 2 on.
    for (unsigned j = 0; j < 4; ++j)
      std::memcpy(&input[kShared + t * 16 + j * 4],
                  &rowsA[(t / 32 * 16 + t % 32 / 4 + j % 2 * 8) * 32 + j / 2 * 16 + t % 4 * 4], 4);
  Prepared prepared;
  prepared.kernel.ptx = ptx;
  prepared.kernel.block = {128, 1, 1};
  prepared.kernel.dynamicShared = kShared;
  prepared.kernel.arguments = {buffer(input), output(128 * 512), value(descriptorA), value(descriptorB)};
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < form.columns; ++j) {
      int sum = 0;
      for (unsigned k = 0; k < depth; ++k)
        sum += a[i * depth + k] * b[j * depth + k];
      prepared.expected.push_back(sum + form.signA * form.signB * sum);
    }
  return prepared;
}

/// D as numbers, from the registers of all threads.
std::vector<int> numbers(const Form &form, const std::vector<uint8_t> &out) {
  std::string type = form.d;
  std::vector<int> d(64 * form.columns);
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned i = 0; i < form.columns / 2; ++i) {
      unsigned row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
      uint32_t bits = 0;
      int &number = d[row * form.columns + column];
      if (type == "f16") {
        std::memcpy(&bits, &out[t * 512 + i * 2], 2);
        int exponent = int(bits >> 10 & 31);
        number = exponent == 0 ? 0 : int(std::ldexp(1024 + (bits & 1023), exponent - 25)) * (bits >> 15 ? -1 : 1);
      } else {
        std::memcpy(&bits, &out[t * 512 + i * 4], 4);
        float real;
        std::memcpy(&real, &bits, 4);
        number = type == "s32" ? int(bits) : int(real);
      }
    }
  return d;
}

void expectProduct(const Form &form, bool isAllWays) {
  Prepared prepared = prepare(form, kernelOf(form));
  // Results depend neither on timing nor on order, but the unused registers of D are not initialised.
  KernelResult result = isAllWays ? runAllWays(prepared.kernel) : runClean(prepared.kernel);
  ASSERT_EQ(result.buffers.size(), 4u);
  EXPECT_EQ(numbers(form, result.buffers[1]), prepared.expected) << wgmmaText(form, true, form.signA, form.signB);
}

TEST(Wgmma, EveryTypeFromSharedMemoryAndRegisters) {
  const Form forms[] = {
      {"f32", "f16", "f16", 64},   {"f16", "f16", "f16", 64},   {"f32", "bf16", "bf16", 64},
      {"f32", "tf32", "tf32", 64}, {"f32", "e4m3", "e4m3", 64}, {"f32", "e4m3", "e5m2", 64},
      {"f32", "e5m2", "e4m3", 64}, {"f32", "e5m2", "e5m2", 64}, {"f16", "e4m3", "e4m3", 64},
      {"f16", "e4m3", "e5m2", 64}, {"f16", "e5m2", "e4m3", 64}, {"f16", "e5m2", "e5m2", 64},
      {"s32", "s8", "s8", 64},     {"s32", "s8", "u8", 64},     {"s32", "u8", "s8", 64},
      {"s32", "u8", "u8", 64},     {"s32", "b1", "b1", 64},
  };
  for (Form form : forms)
    for (bool hasRegisterA : {false, true})
      for (bool isSaturating : {false, true}) {
        if (isSaturating && (std::string(form.d) != "s32" || std::string(form.a) == "b1"))
          continue;
        form.hasRegisterA = hasRegisterA;
        form.isSaturating = isSaturating;
        expectProduct(form, !isSaturating);
      }
}

TEST(Wgmma, EveryWidth) {
  for (unsigned columns = 8; columns <= 256; columns += 8) {
    expectProduct({"f32", "f16", "f16", columns}, false);
    expectProduct({"f16", "e4m3", "e4m3", columns}, false);
    if (columns <= 32 || columns % 16 == 0)
      expectProduct({"s32", "s8", "s8", columns}, false);
  }
}

TEST(Wgmma, SwizzlesMajorsAndSigns) {
  for (const char *type : {"f16", "bf16"})
    for (unsigned span : {0u, 32u, 64u, 128u})
      for (unsigned majors = 0; majors < 4; ++majors)
        for (int sign : {1, -1}) {
          Form form = {"f32", type, type, 96, span};
          form.isMajorM = majors & 1;
          form.isMajorN = majors & 2;
          form.signA = sign;
          form.signB = majors == 3 ? -1 : 1;
          expectProduct(form, false);
          form.hasRegisterA = true;
          form.isMajorM = false;
          expectProduct(form, false);
        }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Findings
//===--------------------------------------------------------------------------------------------------------------===//

KernelResult runFaulty(const Form &form, const std::string &ptx) {
  Prepared prepared = prepare(form, ptx);
  prepared.kernel.isDumped = false;
  prepared.kernel.options.timing = AsyncTiming::Late;
  return run(prepared.kernel);
}

TEST(Wgmma, MissingFenceIsFound) {
  Form form = {"f32", "f16", "f16", 16};
  EXPECT_TRUE(runFaulty(form, kernelOf(form, "")).found("wgmma-fence"));
  EXPECT_FALSE(runFaulty(form, kernelOf(form)).found("wgmma-fence"));
  // A register of A that is written between the fence and the second use.
  form.hasRegisterA = true;
  std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
  std::string again = wgmmaText(form, true, 1, 1) + "wgmma.commit_group.sync.aligned;\n" + wait;
  std::string change = "mov.b32 %a0, 0;\n";
  EXPECT_TRUE(runFaulty(form, kernelOf(form, "wgmma.fence.sync.aligned;", wait + change + again)).found("wgmma-fence"));
  EXPECT_FALSE(runFaulty(form, kernelOf(form, "wgmma.fence.sync.aligned;",
                                        wait + change + "wgmma.fence.sync.aligned;\n" + again))
                   .found("wgmma-fence"));
}

TEST(Wgmma, RegistersOfUnfinishedOperationsChangeTheResult) {
  // Late timing: A's registers are overwritten before the operation reads them.
  Form form = {"f32", "f16", "f16", 16};
  form.hasRegisterA = true;
  std::string change = "mov.b32 %a0, 0;\n";
  Prepared prepared = prepare(form, "");
  KernelResult result =
      runFaulty(form, kernelOf(form, "wgmma.fence.sync.aligned;", change + "wgmma.wait_group.sync.aligned 0;"));
  EXPECT_NE(numbers(form, result.buffers[1]), prepared.expected);
  result = runFaulty(form, kernelOf(form, "wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 0;\n" + change));
  EXPECT_EQ(numbers(form, result.buffers[1]), prepared.expected);
}

TEST(Wgmma, WarpsMustAgree) {
  Form form = {"f32", "f16", "f16", 16};
  std::string text = kernelOf(form);
  std::string fence = "wgmma.fence.sync.aligned;\n";
  size_t at = text.find(fence);
  ASSERT_NE(at, std::string::npos);
  // Warp 3 has another B.
  text.insert(at, "shr.u32 %r20, %r2, 5;\nsetp.eq.u32 %p5, %r20, 3;\n@%p5 add.u64 %rd2, %rd2, 2;\n");
  EXPECT_TRUE(runFaulty(form, text).found("wgmma-operands"));
  // Lanes of one warp differ.
  text = kernelOf(form);
  text.insert(at, "setp.eq.u32 %p5, %r2, 5;\n@%p5 add.u64 %rd2, %rd2, 2;\n");
  EXPECT_NE(runFaulty(form, text).error.getMessage().find("one matrix descriptor in all lanes"), std::string::npos);
  // Two warps only.
  Prepared prepared = prepare(form, kernelOf(form));
  prepared.kernel.block = {64, 1, 1};
  prepared.kernel.isDumped = false;
  EXPECT_NE(run(prepared.kernel).error.getMessage().find("wgmma needs four warps"), std::string::npos);
}

TEST(Wgmma, RefusedForms) {
  auto refused = [](const std::string &instruction) {
    return refusal(kernelText("", ".reg .b32 %d<128>;\n" + instruction));
  };
  std::string tail = " {%d0, %d1, %d2, %d3}, %rd1, %rd2, %p1, 1, 1, 0, 0;";
  EXPECT_NE(refused("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16" + tail).find("a multiple of 8 from 8 to 256"),
            std::string::npos);
  EXPECT_NE(refused("wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16" + tail).find("expected k16 for .f16, got k8"),
            std::string::npos);
  EXPECT_NE(refused("wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16" + tail).find("no wgmma of .f16 on .bf16"),
            std::string::npos);
  EXPECT_NE(refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1}, %rd1, %rd2, %p1, 1, 1, 0, 0;")
                .find("a vector of 4 elements"),
            std::string::npos);
}

} // namespace
