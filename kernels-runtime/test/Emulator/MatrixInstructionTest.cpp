// ldmatrix, stmatrix, movmatrix and mma.sync as kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every shape and type of mma.sync on small whole numbers, whose sums are exact in every accumulator, so that each
// element of D tells which elements of A and B met in it; fragments are made here from the indices that the PTX manual
// gives for each element type, one by one. How sums round is MatrixModelTest's matter. The last tests run random
// numbers, for the replay on a GPU.

#include "KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace weft::emu::test;

namespace {

struct Form {
  std::string type; ///< Of the instruction: "f32.f16.f16.f32"
  unsigned rows, depth;
  std::string a, b, d; ///< Types of the elements.
  std::string version = "8.0";
  std::string suffix = ""; ///< ".satfinite" or ".xor.popc"
};

unsigned bitsOf(const std::string &type) {
  if (type == "b1")
    return 1;
  if (type == "s4" || type == "u4")
    return 4;
  if (type == "s8" || type == "u8" || type == "e4m3" || type == "e5m2")
    return 8;
  if (type == "f16" || type == "bf16")
    return 16;
  return type == "f64" ? 64 : 32;
}

/// A small whole number as bits of a type.
uint64_t encodeSmall(const std::string &type, int value) {
  unsigned bits = bitsOf(type);
  uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  if (type[0] == 's' || type[0] == 'u' || type == "b1")
    return uint64_t(int64_t(value)) & mask;
  int exponentBits = type == "f16" || type == "e5m2" ? 5 : type == "e4m3" ? 4 : type == "f64" ? 11 : 8;
  int mantissaBits = type == "tf32" ? 23 : int(bits) - 1 - exponentBits;
  if (value == 0)
    return 0;
  int magnitude = std::abs(value), exponent = std::ilogb(double(magnitude));
  uint64_t mantissa = (uint64_t(magnitude) << mantissaBits >> exponent) & ((uint64_t(1) << mantissaBits) - 1);
  uint64_t biased = uint64_t(exponent + (1 << (exponentBits - 1)) - 1);
  return uint64_t(value < 0) << (bits - 1) | biased << mantissaBits | mantissa;
}

/// The lane, register and position in it of element (row, k) of A, from the manual: groups of neighbours along k.
struct Holder {
  unsigned lane, reg, position;
};

unsigned perRegister(const std::string &type) { return std::max(1u, 32 / bitsOf(type)); }

Holder holderOfA(const Form &form, unsigned row, unsigned k) {
  unsigned n = perRegister(form.a), block = k / (4 * n);
  unsigned lane = row % 8 * 4 + k / n % 4;
  return {lane, form.rows == 16 ? block * 2 + row / 8 : block, k % n};
}

Holder holderOfB(const Form &form, unsigned column, unsigned k) {
  unsigned n = perRegister(form.b);
  return {column * 4 + k / n % 4, k / (4 * n), k % n};
}

Holder holderOfD(const Form &form, unsigned row, unsigned column) {
  unsigned lane = row % 8 * 4 + column / 2;
  if (form.d == "f16")
    return {lane, row / 8, column % 2};
  return {lane, row / 8 * 2 + column % 2, 0};
}

struct Counts {
  unsigned a, b, d;
};
Counts countsOf(const Form &form) {
  return {form.rows * form.depth / 32 / perRegister(form.a), 8 * form.depth / 32 / perRegister(form.b),
          form.rows * 8 / 32 / (form.d == "f16" ? 2 : 1)};
}

std::string listOf(char name, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", %" : "%") + std::string(1, name) + std::to_string(i);
  return list + "}";
}

/// One warp per block: loads its registers, multiplies, stores.
std::string kernelOf(const Form &form) {
  Counts counts = countsOf(form);
  bool isDouble = form.a == "f64";
  std::string word = isDouble ? "b64" : "b32", bytes = isDouble ? "8" : "4";
  std::string text = ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n  .reg ." +
                     word + " %a<" + std::to_string(counts.a) + ">, %b<" + std::to_string(counts.b) + ">, %c<" +
                     std::to_string(counts.d) + ">, %d<" + std::to_string(counts.d) +
                     ">;\n  .reg .b64 %p;\n  .reg .b32 %t, %u;\n  mov.u32 %t, %ctaid.x;\n  mov.u32 %u, %tid.x;\n  "
                     "mad.lo.u32 %t, %t, 32, %u;\n";
  auto move = [&](char name, unsigned count, bool isStore) {
    text += std::string("  ld.param.u64 %p, [p") + name + "];\n  mad.wide.u32 %p, %t, " +
            std::to_string(count * (isDouble ? 8 : 4)) + ", %p;\n";
    for (unsigned i = 0; i < count; ++i) {
      std::string reg = std::string("%") + name + std::to_string(i),
                  place = "[%p+" + std::to_string(i * (isDouble ? 8 : 4)) + "]";
      text += isStore ? "  st.global." + word + " " + place + ", " + reg + ";\n"
                      : "  ld.global." + word + " " + reg + ", " + place + ";\n";
    }
  };
  move('a', counts.a, false);
  move('b', counts.b, false);
  move('c', counts.d, false);
  std::string saturate = form.suffix == ".satfinite" ? form.suffix : "",
              bitOp = form.suffix == ".satfinite" ? "" : form.suffix;
  text += "  mma.sync.aligned.m" + std::to_string(form.rows) + "n8k" + std::to_string(form.depth) + ".row.col" +
          saturate + "." + form.type + bitOp + " " + listOf('d', counts.d) + ", " + listOf('a', counts.a) + ", " +
          listOf('b', counts.b) + ", " + listOf('c', counts.d) + ";\n";
  move('d', counts.d, true);
  return module(text + "  ret;\n}\n", form.version);
}

/// Registers of one warp as bytes, and single elements in them.
class Fragments {
public:
  Fragments(unsigned registers, unsigned registerBytes)
      : registers(registers), registerBytes(registerBytes), bytes(32 * registers * registerBytes) {}
  void set(const Holder &holder, unsigned bits, uint64_t value) {
    uint64_t word = load(holder);
    unsigned shift = holder.position * bits;
    store(holder, word | value << shift);
  }
  uint64_t get(const Holder &holder, unsigned bits) const {
    uint64_t word = load(holder) >> (holder.position * bits);
    return bits == 64 ? word : word & ((uint64_t(1) << bits) - 1);
  }
  unsigned registers, registerBytes;
  Bytes bytes;

private:
  size_t offset(const Holder &holder) const { return (holder.lane * registers + holder.reg) * registerBytes; }
  uint64_t load(const Holder &holder) const {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[offset(holder)], registerBytes);
    return word;
  }
  void store(const Holder &holder, uint64_t word) { std::memcpy(&bytes[offset(holder)], &word, registerBytes); }
};

/// Small numbers that a type has: signed where it is signed.
int draw(std::mt19937 &random, const std::string &type) {
  if (type == "b1")
    return int(random() % 2);
  bool isUnsigned = type[0] == 'u';
  int range = type == "s4" || type == "u4" ? 8 : type == "e5m2" ? 4 : type == "e4m3" ? 8 : 12;
  return isUnsigned ? int(random() % unsigned(2 * range)) : int(random() % unsigned(2 * range)) - range;
}

void checkExact(const Form &form) {
  Counts counts = countsOf(form);
  unsigned word = form.a == "f64" ? 8 : 4;
  std::mt19937 random(form.depth * 7 + form.rows);
  std::vector<std::vector<int>> a(form.rows, std::vector<int>(form.depth)), b(8, std::vector<int>(form.depth)),
      c(form.rows, std::vector<int>(8));
  Fragments fragmentA(counts.a, word), fragmentB(counts.b, word), fragmentC(counts.d, word), fragmentD(counts.d, word);
  for (unsigned k = 0; k < form.depth; ++k) {
    for (unsigned row = 0; row < form.rows; ++row)
      fragmentA.set(holderOfA(form, row, k), bitsOf(form.a), encodeSmall(form.a, a[row][k] = draw(random, form.a)));
    for (unsigned column = 0; column < 8; ++column)
      fragmentB.set(holderOfB(form, column, k), bitsOf(form.b),
                    encodeSmall(form.b, b[column][k] = draw(random, form.b)));
  }
  std::string accumulator = form.d == "f32" ? "tf32" : form.d; // f32 has the layout that encodeSmall gives tf32
  bool isHalf = form.d == "f16";
  for (unsigned row = 0; row < form.rows; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      c[row][column] = int(random() % 201) - 100;
      fragmentC.set(holderOfD(form, row, column), bitsOf(form.d), encodeSmall(accumulator, c[row][column]));
    }
  KernelCase launch;
  launch.ptx = kernelOf(form);
  launch.block.x = 32;
  launch.arguments = {buffer(fragmentA.bytes), buffer(fragmentB.bytes), buffer(fragmentC.bytes),
                      output(fragmentD.bytes.size())};
  KernelResult result = runClean(launch);
  ASSERT_FALSE(result.error) << result.error.getMessage();
  fragmentD.bytes = result.buffers[3];
  for (unsigned row = 0; row < form.rows; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      int sum = c[row][column];
      for (unsigned k = 0; k < form.depth; ++k) {
        int x = a[row][k], y = b[column][k];
        sum += form.suffix == ".xor.popc" ? x ^ y : form.suffix == ".and.popc" ? x & y : x * y;
      }
      if (isHalf && std::abs(sum) > 2048)
        continue; // not exact
      ASSERT_EQ(fragmentD.get(holderOfD(form, row, column), bitsOf(form.d)), encodeSmall(accumulator, sum))
          << form.type << " m" << form.rows << "k" << form.depth << " at " << row << "," << column;
    }
}

std::vector<Form> floatForms() {
  std::vector<Form> forms;
  for (unsigned k : {8u, 16u}) {
    forms.push_back({"f32.f16.f16.f32", 16, k, "f16", "f16", "f32"});
    forms.push_back({"f16.f16.f16.f16", 16, k, "f16", "f16", "f16"});
    forms.push_back({"f32.bf16.bf16.f32", 16, k, "bf16", "bf16", "f32"});
    forms.push_back({"f32.tf32.tf32.f32", 16, k / 2, "tf32", "tf32", "f32"});
    for (const char *a : {"e4m3", "e5m2"})
      for (const char *b : {"e4m3", "e5m2"})
        for (const char *d : {"f32", "f16"})
          forms.push_back({std::string(d) + "." + a + "." + b + "." + d, 16, 2 * k, a, b, d,
                           k == 16 && *d == 'f' && d[1] == '3' ? "8.4" : "8.7"});
  }
  forms.push_back({"f64.f64.f64.f64", 8, 4, "f64", "f64", "f64"});
  for (unsigned k : {4u, 8u, 16u})
    forms.push_back({"f64.f64.f64.f64", 16, k, "f64", "f64", "f64"});
  return forms;
}

} // namespace

TEST(MatrixInstruction, MmaOnFloats) {
  for (const Form &form : floatForms()) {
    checkExact(form);
    if (HasFatalFailure())
      return;
  }
}

TEST(MatrixInstruction, MmaOnIntegers) {
  for (const char *a : {"s8", "u8"})
    for (const char *b : {"s8", "u8"})
      for (const char *suffix : {"", ".satfinite"}) {
        std::string types = std::string("s32.") + a + "." + b + ".s32",
                    nibbles = std::string("s32.") + a[0] + "4." + b[0] + "4.s32";
        checkExact({types, 8, 16, a, b, "s32", "8.0", suffix});
        checkExact({types, 16, 16, a, b, "s32", "8.0", suffix});
        checkExact({types, 16, 32, a, b, "s32", "8.0", suffix});
        std::string a4 = std::string(1, a[0]) + "4", b4 = std::string(1, b[0]) + "4";
        checkExact({nibbles, 8, 32, a4, b4, "s32", "8.0", suffix});
        checkExact({nibbles, 16, 32, a4, b4, "s32", "8.0", suffix});
        checkExact({nibbles, 16, 64, a4, b4, "s32", "8.0", suffix});
        if (HasFatalFailure())
          return;
      }
}

TEST(MatrixInstruction, MmaOnBits) {
  for (const char *op : {".xor.popc", ".and.popc"}) {
    checkExact({"s32.b1.b1.s32", 8, 128, "b1", "b1", "s32", "8.0", op});
    checkExact({"s32.b1.b1.s32", 16, 128, "b1", "b1", "s32", "8.0", op});
    checkExact({"s32.b1.b1.s32", 16, 256, "b1", "b1", "s32", "8.0", op});
  }
}

TEST(MatrixInstruction, IntegersWrapOrSaturate) {
  for (bool isSaturating : {false, true}) {
    Form form = {"s32.s8.s8.s32", 16, 32, "s8", "s8", "s32", "8.0", isSaturating ? ".satfinite" : ""};
    // 32 * 127 * 127 on top of the largest s32.
    Bytes a(32 * 4 * 4, 127), b(32 * 2 * 4, 127);
    KernelCase launch;
    launch.ptx = kernelOf(form);
    launch.block.x = 32;
    launch.arguments = {buffer(a), buffer(b), buffer(std::vector<uint32_t>(128, 0x7fffffff)), output(512)};
    for (uint32_t word : runClean(launch).get<uint32_t>(3))
      ASSERT_EQ(word, isSaturating ? 0x7fffffffu : 0x7fffffffu + 32u * 127 * 127);
  }
}

namespace {

/// Elements of numbered matrices: 256 i + 8 row + column.
uint16_t numbered(unsigned matrix, unsigned row, unsigned column) {
  return uint16_t(256 * matrix + 8 * row + column + 1);
}

std::string moveKernel(unsigned count, bool isTransposed, const std::string &space, bool isStore) {
  std::string n = std::to_string(count), list = listOf('r', count),
              form = ".sync.aligned.m8n8.x" + n + (isTransposed ? ".trans" : "") + space + ".b16 ";
  std::string text = ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n  .shared .align 16 .b8 tile[512];\n  "
                     ".reg .b32 %t, %s, %v, %r<4>;\n  .reg .b64 %in, %out, %g;\n"
                     "  mov.u32 %t, %tid.x;\n  ld.param.u64 %in, [pin];\n  ld.param.u64 %out, [pout];\n  mov.u32 %s, "
                     "tile;\n  mad.lo.u32 %s, %t, 16, %s;\n";
  std::string address = space.empty() ? "[%g]" : "[%s]";
  if (space.empty())
    text += "  cvt.u64.u32 %g, %s;\n  cvta.shared.u64 %g, %g;\n";
  if (isStore) { // registers from memory, matrices to shared memory, which is copied out row by row
    text += "  mad.wide.u32 %in, %t, " + std::to_string(4 * count) + ", %in;\n";
    for (unsigned i = 0; i < count; ++i)
      text += "  ld.global.b32 %r" + std::to_string(i) + ", [%in+" + std::to_string(4 * i) + "];\n";
    text += "  stmatrix" + form + address + ", " + list +
            ";\n  bar.warp.sync -1;\n  mad.wide.u32 %out, %t, 16, %out;\n  .reg .pred %p;\n  setp.lt.u32 %p, %t, " +
            std::to_string(8 * count) + ";\n";
    for (unsigned i = 0; i < 4; ++i)
      text += "  @%p ld.shared.b32 %v, [%s+" + std::to_string(4 * i) + "];\n  @%p st.global.b32 [%out+" +
              std::to_string(4 * i) + "], %v;\n";
  } else {
    text += "  mad.wide.u32 %in, %t, 16, %in;\n";
    for (unsigned i = 0; i < 4; ++i)
      text += "  ld.global.b32 %v, [%in+" + std::to_string(4 * i) + "];\n  st.shared.b32 [%s+" + std::to_string(4 * i) +
              "], %v;\n";
    text += "  bar.warp.sync -1;\n  ldmatrix" + form + list + ", " + address + ";\n  mad.wide.u32 %out, %t, " +
            std::to_string(4 * count) + ", %out;\n";
    for (unsigned i = 0; i < count; ++i)
      text += "  st.global.b32 [%out+" + std::to_string(4 * i) + "], %r" + std::to_string(i) + ";\n";
  }
  return module(text + "  ret;\n}\n");
}

} // namespace

TEST(MatrixInstruction, LdmatrixAndStmatrix) {
  for (unsigned count : {1u, 2u, 4u})
    for (bool isTransposed : {false, true})
      for (const char *space : {".shared", ".shared::cta", ""}) {
        // In shared memory by rows; in registers as the manual's figure has them.
        std::vector<uint16_t> rows(256), fragments(64 * count);
        for (unsigned matrix = 0; matrix < 4; ++matrix)
          for (unsigned row = 0; row < 8; ++row)
            for (unsigned column = 0; column < 8; ++column) {
              rows[matrix * 64 + row * 8 + column] = numbered(matrix, row, column);
              unsigned r = isTransposed ? column : row, c = isTransposed ? row : column;
              if (matrix < count)
                fragments[((r * 4 + c / 2) * count + matrix) * 2 + c % 2] = numbered(matrix, row, column);
            }
        KernelCase load;
        load.ptx = moveKernel(count, isTransposed, space, false);
        load.block.x = 32;
        load.arguments = {buffer(rows), output(128 * count)};
        EXPECT_EQ(runClean(load).get<uint16_t>(1), fragments) << load.ptx;
        KernelCase store = load;
        store.ptx = moveKernel(count, isTransposed, space, true);
        store.arguments = {buffer(fragments), output(128 * count)};
        EXPECT_EQ(runClean(store).get<uint16_t>(1), std::vector<uint16_t>(rows.begin(), rows.begin() + 64 * count))
            << store.ptx;
      }
}

TEST(MatrixInstruction, Movmatrix) {
  KernelCase launch;
  launch.ptx = module(".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n  .reg .b32 %t, %a, %d;\n  .reg .b64 "
                      "%in, %out;\n  mov.u32 %t, %tid.x;\n"
                      "  ld.param.u64 %in, [pin];\n  ld.param.u64 %out, [pout];\n  mad.wide.u32 %in, %t, 4, %in;\n  "
                      "mad.wide.u32 %out, %t, 4, %out;\n"
                      "  ld.global.b32 %a, [%in];\n  movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;\n  st.global.b32 "
                      "[%out], %d;\n  ret;\n}\n");
  launch.block.x = 32;
  std::vector<uint16_t> in(64), out(64);
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      in[row * 8 + column] = numbered(0, row, column);
      out[column * 8 + row] = numbered(0, row, column);
    }
  launch.arguments = {buffer(in), output(128)};
  EXPECT_EQ(runClean(launch).get<uint16_t>(1), out);
}

TEST(MatrixInstruction, Refusals) {
  auto refused = [](const std::string &instruction) {
    return refusal(module(
        ".visible .entry k()\n{\n  .reg .b32 %r<8>;\n  .reg .b64 %p;\n  " + instruction + "\n  ret;\n}\n", "8.7"));
  };
  EXPECT_NE(refused("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r0}, {%r0}, {%r0}, {%r0};").find(".m16n8k16"),
            std::string::npos);
  EXPECT_NE(refused("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0}, {%r0}, {%r0}, {%r0}, %r0, 0;")
                .find("sparse"),
            std::string::npos);
  EXPECT_NE(
      refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%r0}, {%r0}, {%r0}, {%r0};").find("types of C and D"),
      std::string::npos);
  EXPECT_NE(refused("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2];").find("sm_100a"),
            std::string::npos);
}

TEST(MatrixInstruction, RandomNumbersForTheReplay) {
  // Nothing to compare with but the model itself (MatrixModelTest does): each result is near the exact sum.
  for (const Form &form : floatForms()) {
    if (form.a == "f64")
      continue;
    Counts counts = countsOf(form);
    std::mt19937 random(form.depth);
    std::normal_distribution<float> normal;
    auto bits = [&](const std::string &type) -> uint64_t {
      float value = normal(random);
      uint32_t single;
      std::memcpy(&single, &value, 4);
      if (type == "f32" || type == "tf32")
        return single;
      if (type == "bf16")
        return single >> 16;
      // Rebiased by hand; what is too small is zero.
      int exponentBits = type == "e4m3" ? 4 : 5, mantissaBits = type == "f16" ? 10 : type == "e4m3" ? 3 : 2;
      int exponent = int(single >> 23 & 255) - 127 + (1 << (exponentBits - 1)) - 1;
      return exponent < 1 ? 0
                          : (single >> 31) << (exponentBits + mantissaBits) | uint64_t(exponent) << mantissaBits |
                                (single >> (23 - mantissaBits) & ((1u << mantissaBits) - 1));
    };
    const unsigned tiles = 8;
    auto fill = [&](unsigned registers, const std::string &type) {
      std::vector<uint32_t> words(tiles * 32 * registers);
      for (uint32_t &word : words)
        for (unsigned i = 0; i < perRegister(type); ++i)
          word |= uint32_t(bits(type) << (i * bitsOf(type)));
      return words;
    };
    KernelCase launch;
    launch.ptx = kernelOf(form);
    launch.grid.x = tiles;
    launch.block.x = 32;
    launch.arguments = {buffer(fill(counts.a, form.a)), buffer(fill(counts.b, form.b)), buffer(fill(counts.d, form.d)),
                        output(tiles * 32 * counts.d * 4)};
    KernelResult result = runClean(launch);
    ASSERT_FALSE(result.error);
    for (uint32_t word : result.get<uint32_t>(3))
      ASSERT_NE(word & 0x7fffffff, 0x7fffffffu) << form.type;
  }
}
