// Fragments of mma.sync, wgmma, ldmatrix and stmatrix. They are all one pattern: eight groups of four lanes; a group is
// a row (a column of B), a lane of it holds one 32-bit register of consecutive k (two columns of an accumulator);
// further registers go through m, then k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Builders.h"

#include <algorithm>

namespace weft::layout {

unsigned getBits(ElementType type) {
  switch (type) {
  case ElementType::f16:
  case ElementType::bf16:
    return 16;
  case ElementType::tf32:
    return 32;
  case ElementType::fp8:
  case ElementType::s8:
    return 8;
  case ElementType::s4:
    return 4;
  case ElementType::b1:
    return 1;
  case ElementType::f64:
    return 64;
  }
  return 0;
}

std::optional<ElementType> parseElementType(std::string_view name) {
  static const std::pair<std::string_view, ElementType> names[] = {
      {"f16", ElementType::f16},  {"bf16", ElementType::bf16}, {"tf32", ElementType::tf32}, {"fp8", ElementType::fp8},
      {"e4m3", ElementType::fp8}, {"e5m2", ElementType::fp8},  {"s8", ElementType::s8},     {"u8", ElementType::s8},
      {"s4", ElementType::s4},    {"u4", ElementType::s4},     {"b1", ElementType::b1},     {"f64", ElementType::f64}};
  for (const auto &[spelling, type] : names)
    if (spelling == name)
      return type;
  return std::nullopt;
}

namespace {
/// Collects the bases of a fragment whose tile has `rowBits` bits of dim0 (the low ones of a flat tile).
struct Fragment {
  unsigned rowBits, colBits;
  Vectors registers, lanes, warps;

  void add(Vectors &to, bool isRow, unsigned first, unsigned end) const {
    for (unsigned bit = first; bit < end; ++bit)
      to.push_back(uint64_t(1) << (isRow ? bit : rowBits + bit));
  }
  std::optional<LinearLayout> finish() const {
    Dims ins = {{"register", unsigned(registers.size())}, {"lane", unsigned(lanes.size())}};
    if (!warps.empty())
      ins.push_back({"warp", unsigned(warps.size())});
    Vectors columns = registers;
    columns.insert(columns.end(), lanes.begin(), lanes.end());
    columns.insert(columns.end(), warps.begin(), warps.end());
    return LinearLayout::make(ins, {{"dim0", rowBits}, {"dim1", colBits}}, columns);
  }
};
} // namespace

/// A (or the transpose of B when `isB`) of 2^majorBits x 2^kBits, `packed` = log2 of the elements of a 32-bit register.
static Fragment makeOperand(unsigned majorBits, unsigned kBits, unsigned packed, bool isB) {
  Fragment f = isB ? Fragment{kBits, majorBits, {}, {}, {}} : Fragment{majorBits, kBits, {}, {}, {}};
  f.add(f.registers, isB, 0, packed);
  f.add(f.lanes, isB, packed, packed + 2);
  f.add(f.lanes, !isB, 0, 3);
  f.add(f.registers, !isB, 3, std::min(majorBits, 4u));
  f.add(f.registers, isB, packed + 2, kBits);
  f.add(f.warps, !isB, 4, majorBits); // Rows 16, 32 of wgmma's A.
  return f;
}

static Fragment makeAccumulator(unsigned mBits, unsigned nBits) {
  Fragment f{mBits, nBits, {}, {}, {}};
  f.add(f.registers, false, 0, 1);
  f.add(f.lanes, false, 1, 3);
  f.add(f.lanes, true, 0, 3);
  f.add(f.registers, true, 3, std::min(mBits, 4u));
  f.add(f.registers, false, 3, nBits);
  f.add(f.warps, true, 4, mBits);
  return f;
}

/// Whether PTX has the shape mMn8kK for this type.
static bool hasMma(unsigned m, unsigned k, ElementType type) {
  switch (type) {
  case ElementType::f16:
  case ElementType::bf16:
    return m == 16 && (k == 8 || k == 16);
  case ElementType::tf32:
    return m == 16 && (k == 4 || k == 8);
  case ElementType::fp8:
    return m == 16 && (k == 16 || k == 32);
  case ElementType::s8:
    return (m == 16 && (k == 16 || k == 32)) || (m == 8 && k == 16);
  case ElementType::s4:
    return (m == 16 && (k == 32 || k == 64)) || (m == 8 && k == 32);
  case ElementType::b1:
    return (m == 16 && (k == 128 || k == 256)) || (m == 8 && k == 128);
  case ElementType::f64:
    return (m == 16 && (k == 4 || k == 8 || k == 16)) || (m == 8 && k == 4);
  }
  return false;
}

std::optional<LinearLayout> makeMma(unsigned m, unsigned n, unsigned k, ElementType type, Operand operand) {
  if (n != 8 || !hasMma(m, k, type))
    return std::nullopt;
  unsigned mBits = *exactLog2(m), kBits = *exactLog2(k), packed = *exactLog2(std::max(1u, 32 / getBits(type)));
  switch (operand) {
  case Operand::a:
    return makeOperand(mBits, kBits, packed, false).finish();
  case Operand::b:
    return makeOperand(3, kBits, packed, true).finish();
  case Operand::c:
    return makeAccumulator(mBits, 3).finish();
  }
  return std::nullopt;
}

std::optional<LinearLayout> makeWgmmaAccumulator(unsigned n) {
  if (n == 0 || n % 8 != 0 || n > 256)
    return std::nullopt;
  unsigned nBits = 3;
  while (1u << nBits < n)
    ++nBits;
  return makeAccumulator(6, nBits).finish();
}

std::optional<LinearLayout> makeWgmmaA(ElementType type) {
  unsigned bits = getBits(type);
  if (bits < 8 || bits > 32)
    return std::nullopt;
  return makeOperand(6, *exactLog2(256 / bits), *exactLog2(32 / bits), false).finish();
}

std::optional<LinearLayout> makeLdmatrix(unsigned matrices, bool isTransposed) {
  std::optional<unsigned> count = exactLog2(matrices);
  if (!count || *count > 2)
    return std::nullopt;
  // Flat: row bits 0-2, column bits 3-5, matrix bits 6 and up. The lane pairs run along the columns, transposed along
  // the rows.
  unsigned pair = isTransposed ? 0 : 3, group = 3 - pair;
  Vectors columns = {uint64_t(1) << pair};
  for (unsigned bit = 0; bit < *count; ++bit)
    columns.push_back(uint64_t(64) << bit);
  for (unsigned bit = 1; bit < 3; ++bit)
    columns.push_back(uint64_t(1) << (pair + bit));
  for (unsigned bit = 0; bit < 3; ++bit)
    columns.push_back(uint64_t(1) << (group + bit));
  return LinearLayout::make({{"register", 1 + *count}, {"lane", 5}}, {{"row", 3}, {"column", 3}, {"matrix", *count}},
                            columns);
}

} // namespace weft::layout
