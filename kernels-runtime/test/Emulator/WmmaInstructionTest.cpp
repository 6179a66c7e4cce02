// wmma.load, wmma.mma and wmma.store as kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole products through memory on small whole numbers, which are exact: every shape, type, layout and state space,
// dense and with strides. Which lane holds what is not looked at.

#include "KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace weft::emu::test;

namespace {

struct Form {
  unsigned m, n, k;
  std::string a, b, c, d;
  unsigned registersA, registersB, registersC, registersD;
  std::string suffix = "";
  bool isRowA = true, isRowB = false, isRowC = true;
  unsigned padding = 0; ///< Elements between lines, so that the stride is given.
  std::string space = ".global";
};

unsigned bytesOf(const std::string &type) {
  return type == "s8" || type == "u8" ? 1 : type == "f16" || type == "bf16" ? 2 : 4;
}

/// A small whole number as bits of a type.
uint32_t encodeSmall(const std::string &type, int value) {
  if (type[0] == 's' || type[0] == 'u')
    return uint32_t(value) & (type == "s32" ? ~0u : 0xffu);
  float single = float(value);
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  if (type == "bf16")
    return bits >> 16;
  if (type != "f16" || value == 0)
    return bits;
  return (bits >> 31) << 15 | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023);
}

/// A matrix in memory, by rows or columns.
struct Stored {
  unsigned rows, columns, padding, bytes;
  bool isRow;
  Bytes data;
  Stored(unsigned rows, unsigned columns, unsigned padding, const std::string &type, bool isRow)
      : rows(rows), columns(columns), padding(padding), bytes(bytesOf(type)), isRow(isRow),
        data((isRow ? rows : columns) * stride() * bytes) {}
  unsigned stride() const { return (isRow ? columns : rows) + padding; }
  size_t offset(unsigned row, unsigned column) const {
    return size_t(isRow ? row * stride() + column : column * stride() + row) * bytes;
  }
  void set(unsigned row, unsigned column, uint32_t bits) { std::memcpy(&data[offset(row, column)], &bits, bytes); }
  uint32_t get(unsigned row, unsigned column) const {
    uint32_t bits = 0;
    std::memcpy(&bits, &data[offset(row, column)], bytes);
    return bits;
  }
};

std::string listOf(char name, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", %" : "%") + std::string(1, name) + std::to_string(i);
  return list + "}";
}

std::string kernelOf(const Form &form, const Stored &a, const Stored &b, const Stored &c) {
  std::string shape = ".m" + std::to_string(form.m) + "n" + std::to_string(form.n) + "k" + std::to_string(form.k);
  auto layout = [](bool isRow) { return std::string(isRow ? ".row" : ".col"); };
  auto typeOf = [](const std::string &type) { return std::string(type == "f32" ? "f32" : "b32"); };
  auto stride = [](const Stored &matrix) {
    return matrix.padding ? ", " + std::to_string(matrix.stride()) : std::string();
  };
  std::string text = ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n  .shared "
                     ".align 32 .b8 tile[8192];\n  .reg .b32 %a<8>, %b<8>, %s, %v, %i;\n  .reg ." +
                     typeOf(form.c) + " %c<8>;\n  .reg ." + typeOf(form.d) +
                     " %d<8>;\n  .reg .b64 %pa, %pb, %pc, %pd, %w, %from;\n  .reg .pred %p;\n";
  for (const char *name : {"a", "b", "c", "d"})
    text += std::string("  ld.param.u64 %p") + name + ", [p" + name + "];\n";
  std::string address = "[%pa]";
  if (form.space == ".shared") { // A goes through shared memory
    text += "  mov.u32 %i, %tid.x;\n  shl.b32 %i, %i, 2;\nloop:\n  cvt.u64.u32 %w, %i;\n  add.s64 %from, %pa, %w;\n  "
            "ld.global.b32 %v, [%from];\n  mov.u32 %s, tile;\n  add.u32 %s, %s, %i;\n"
            "  st.shared.b32 [%s], %v;\n  add.u32 %i, %i, 128;\n  setp.lt.u32 %p, %i, " +
            std::to_string(a.data.size()) + ";\n  @%p bra loop;\n  bar.warp.sync -1;\n  mov.u32 %s, tile;\n";
    address = "[%s]";
  }
  std::string spaceA = form.space, other = form.space == ".shared" ? ".global" : form.space;
  text += "  wmma.load.a.sync.aligned" + layout(form.isRowA) + shape + spaceA + "." + form.a + " " +
          listOf('a', form.registersA) + ", " + address + stride(a) + ";\n";
  text += "  wmma.load.b.sync.aligned" + layout(form.isRowB) + shape + other + "." + form.b + " " +
          listOf('b', form.registersB) + ", [%pb]" + stride(b) + ";\n";
  text += "  wmma.load.c.sync.aligned" + layout(form.isRowC) + shape + other + "." + form.c + " " +
          listOf('c', form.registersC) + ", [%pc]" + stride(c) + ";\n";
  std::string types =
      form.a == "f16" ? "." + form.d + "." + form.c : "." + form.d + "." + form.a + "." + form.b + "." + form.c;
  text += "  wmma.mma.sync.aligned" + layout(form.isRowA) + layout(form.isRowB) + shape + form.suffix + types + " " +
          listOf('d', form.registersD) + ", " + listOf('a', form.registersA) + ", " + listOf('b', form.registersB) +
          ", " + listOf('c', form.registersC) + ";\n";
  text += "  wmma.store.d.sync.aligned" + layout(form.isRowC) + shape + other + "." + form.d + " [%pd], " +
          listOf('d', form.registersD) + stride(c) + ";\n";
  return module(text + "  ret;\n}\n");
}

void check(const Form &form) {
  std::mt19937 random(form.m + form.k);
  Stored a(form.m, form.k, form.padding, form.a, form.isRowA), b(form.k, form.n, form.padding, form.b, form.isRowB);
  Stored c(form.m, form.n, form.padding, form.c, form.isRowC), d(form.m, form.n, form.padding, form.d, form.isRowC);
  auto fill = [&](Stored &matrix, const std::string &type) {
    std::vector<int> values(matrix.rows * matrix.columns);
    for (unsigned i = 0; i < values.size(); ++i) {
      values[i] = type == "u8" ? int(random() % 16) : int(random() % 16) - 8;
      matrix.set(i / matrix.columns, i % matrix.columns, encodeSmall(type, values[i]));
    }
    return values;
  };
  std::vector<int> x = fill(a, form.a), y = fill(b, form.b), z = fill(c, form.c);
  KernelCase launch;
  launch.ptx = kernelOf(form, a, b, c);
  launch.block.x = 32;
  launch.arguments = {buffer(a.data), buffer(b.data), buffer(c.data), buffer(d.data)};
  KernelResult result = runClean(launch);
  ASSERT_FALSE(result.error) << launch.ptx << result.error.getMessage();
  d.data = result.buffers[3];
  for (unsigned row = 0; row < form.m; ++row)
    for (unsigned column = 0; column < form.n; ++column) {
      int sum = z[row * form.n + column];
      for (unsigned k = 0; k < form.k; ++k)
        sum += x[row * form.k + k] * y[k * form.n + column];
      ASSERT_EQ(d.get(row, column), encodeSmall(form.d, sum)) << launch.ptx << row << "," << column;
    }
}

std::vector<Form> forms() {
  std::vector<Form> all;
  struct Shape {
    unsigned m, n;
    unsigned bfloatA, bfloatB, byteA, byteB;
  };
  for (const Shape &shape : {Shape{16, 16, 4, 4, 2, 2}, Shape{8, 32, 2, 8, 1, 4}, Shape{32, 8, 8, 2, 4, 1}}) {
    for (const char *c : {"f16", "f32"})
      for (const char *d : {"f16", "f32"})
        all.push_back({shape.m, shape.n, 16, "f16", "f16", c, d, 8, 8, std::string(c) == "f16" ? 4u : 8u,
                       std::string(d) == "f16" ? 4u : 8u});
    all.push_back({shape.m, shape.n, 16, "bf16", "bf16", "f32", "f32", shape.bfloatA, shape.bfloatB, 8, 8});
    for (const char *type : {"s8", "u8"})
      for (const char *suffix : {"", ".satfinite"})
        all.push_back({shape.m, shape.n, 16, type, type, "s32", "s32", shape.byteA, shape.byteB, 8, 8, suffix});
  }
  all.push_back({16, 16, 8, "tf32", "tf32", "f32", "f32", 4, 4, 8, 8});
  return all;
}

} // namespace

TEST(WmmaInstruction, EveryShapeAndType) {
  for (const Form &form : forms()) {
    check(form);
    if (HasFatalFailure())
      return;
  }
}

TEST(WmmaInstruction, LayoutsStridesAndSpaces) {
  for (Form form : forms()) {
    form.padding = 16;
    for (bool isRowA : {false, true})
      for (bool isRowB : {false, true})
        for (bool isRowC : {false, true}) {
          form.isRowA = isRowA, form.isRowB = isRowB, form.isRowC = isRowC;
          form.space = isRowA ? isRowB ? ".global" : ".shared" : "";
          check(form);
          if (HasFatalFailure())
            return;
        }
  }
}

TEST(WmmaInstruction, Refusals) {
  auto refused = [](const std::string &instruction) {
    return refusal(
        module(".visible .entry k()\n{\n  .reg .b32 %r<8>;\n  .reg .b64 %p;\n  " + instruction + "\n  ret;\n}\n"));
  };
  EXPECT_NE(refused("wmma.load.a.sync.aligned.row.m16n16k8.global.f16 {%r0}, [%p];").find("m16n16k8"),
            std::string::npos);
  EXPECT_NE(refused("wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r0}, [%p];").find("m16n16k16"),
            std::string::npos);
}
