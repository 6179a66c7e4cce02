// Register layouts against memory: vector width, bank conflicts, ldmatrix, and the choice of a swizzle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"

#include <algorithm>

namespace weft::layout {

static uint64_t lowMask(unsigned bits) { return (uint64_t(1) << bits) - 1; }

static bool isElementWidth(unsigned bits) { return exactLog2(bits) && bits <= 128; }

/// The lanes that go together in a pass, as a number of bits of the lane index.
static unsigned getPassBits(unsigned accessBits) { return accessBits >= 128 ? 3 : accessBits == 64 ? 4 : 5; }

/// The bases of all input dimensions but the registers.
static Vectors getOtherBases(const LinearLayout &layout) {
  Vectors result;
  for (const Dim &dim : layout.ins())
    if (dim.name != "register")
      for (uint64_t base : layout.basesOf(dim.name))
        result.push_back(base);
  return result;
}

std::optional<LinearLayout> getOffsets(const LinearLayout &registers, const LinearLayout &memory) {
  if (memory.ins().size() != 1 || memory.ins()[0].name != "offset" || !memory.isInjective())
    return std::nullopt;
  return registers.invertAndCompose(memory);
}

std::optional<VectorWidth> getVectorWidth(const LinearLayout &registers, const LinearLayout &memory,
                                          unsigned elementBits, unsigned maxBits) {
  std::optional<LinearLayout> offsets = getOffsets(registers, memory);
  if (!offsets || !isElementWidth(elementBits))
    return std::nullopt;
  VectorWidth result;
  Span held(offsets->basesOf("register"));
  uint64_t misaligned = 0; // Offset bits in which threads differ.
  for (uint64_t base : getOtherBases(*offsets))
    misaligned |= base;
  for (unsigned bit = 0; bit < offsets->outBits() && result.elements * 2 * elementBits <= maxBits; ++bit) {
    std::optional<uint64_t> source = held.solve(uint64_t(1) << bit);
    if (!source || (misaligned >> bit & 1))
      break;
    result.registerBits.push_back(*source);
    result.elements *= 2;
  }
  return result;
}

/// Ranks of what the `touched` offsets, in elements, span. Word address = bit address / 32, bank = its low five bits.
/// An element above 32 bits is several words of consecutive banks.
static BankConflicts getConflicts(const Vectors &touched, unsigned elementBits, unsigned passes) {
  unsigned elementShift = *exactLog2(elementBits);
  Span words, banks;
  for (unsigned bit = 5; bit < elementShift; ++bit) {
    words.insert(uint64_t(1) << (bit - 5));
    banks.insert(uint64_t(1) << (bit - 5));
  }
  for (uint64_t offset : touched) {
    uint64_t word = elementShift >= 5 ? offset << (elementShift - 5) : offset >> (5 - elementShift);
    words.insert(word);
    banks.insert(word & 31);
  }
  return {passes, words.rank(), banks.rank()};
}

std::optional<BankConflicts> getBankConflicts(const LinearLayout &registers, const LinearLayout &memory,
                                              unsigned elementBits, unsigned vector) {
  std::optional<VectorWidth> width = getVectorWidth(registers, memory, elementBits);
  std::optional<unsigned> vectorBits = exactLog2(vector);
  if (!width || !vectorBits || vector > width->elements || elementBits < 8)
    return std::nullopt;
  LinearLayout offsets = *getOffsets(registers, memory);
  unsigned accessBits = vector * elementBits, passBits = getPassBits(accessBits);
  Vectors touched = unitVectors(*vectorBits), lanes = offsets.basesOf("lane");
  touched.insert(touched.end(), lanes.begin(), lanes.begin() + std::min<size_t>(passBits, lanes.size()));
  return getConflicts(touched, elementBits, 1u << (5 - passBits));
}

BankConflicts getRowConflicts(const Vectors &rows, unsigned elementBits) {
  Vectors touched = unitVectors(7 - *exactLog2(elementBits));
  touched.insert(touched.end(), rows.begin(), rows.end());
  return getConflicts(touched, elementBits, 1);
}

std::optional<MatrixAccess> getMatrixAccess(const LinearLayout &registers, const LinearLayout &memory,
                                            unsigned elementBits) {
  std::optional<LinearLayout> offsets = getOffsets(registers, memory);
  if (!offsets || offsets->inBits("lane") != 5 || elementBits > 32 || elementBits < 4 || !exactLog2(elementBits))
    return std::nullopt;
  Vectors held = offsets->basesOf("register"), lanes = offsets->basesOf("lane");
  unsigned packed = 5 - *exactLog2(elementBits),
           row = 7 - *exactLog2(elementBits); // log2 of elements in 32 and in 128 bits.
  if (held.size() < packed)
    return std::nullopt;
  bool isPlain = true, isTransposed = elementBits == 16;
  for (unsigned bit = 0; bit < packed; ++bit)
    isPlain &= held[bit] == uint64_t(1) << bit;
  isPlain &= lanes[0] == uint64_t(1) << packed && lanes[1] == uint64_t(2) << packed;
  for (unsigned bit = 0; bit < 3 && isTransposed; ++bit)
    isTransposed = lanes[2 + bit] == uint64_t(1) << bit;
  if (!isPlain && !isTransposed)
    return std::nullopt;
  // What is not within a row chooses rows: their addresses must be multiples of 16 bytes.
  uint64_t rows = 0;
  for (size_t bit = isPlain ? packed : 0; bit < held.size(); ++bit)
    rows |= held[bit];
  for (unsigned bit = isPlain ? 2 : 0; bit < (isPlain ? 5u : 2u); ++bit)
    rows |= lanes[bit];
  for (const Dim &dim : offsets->ins())
    if (dim.name != "register" && dim.name != "lane")
      for (uint64_t base : offsets->basesOf(dim.name))
        rows |= base;
  if (rows & lowMask(row))
    return std::nullopt;
  return MatrixAccess{1u << std::min<size_t>(2, held.size() - packed), !isPlain};
}

Vectors getMatrixRows(const LinearLayout &offsets, const MatrixAccess &access) {
  Vectors lanes = offsets.basesOf("lane");
  if (access.isTransposed) // Row r is the one that bit 0 of the register and bits 0 and 1 of the lane choose.
    return {offsets.basesOf("register")[0], lanes[0], lanes[1]};
  return {lanes[2], lanes[3], lanes[4]};
}

std::optional<BankConflicts> getMatrixConflicts(const LinearLayout &registers, const LinearLayout &memory,
                                                unsigned elementBits) {
  std::optional<MatrixAccess> access = getMatrixAccess(registers, memory, elementBits);
  if (!access)
    return std::nullopt;
  BankConflicts result = getRowConflicts(getMatrixRows(*getOffsets(registers, memory), *access), elementBits);
  result.passes = access->matrices;
  return result;
}

/// Grows two independent lists, both within span(space), to `rank` vectors each and returns a complement in span(space)
/// of both. With A = I + <a_i> and B = I + <b_i>, I the intersection, <a_i + b_i> meets neither; the rest is a
/// complement of A + B.
static Vectors getCommonComplement(Vectors &a, Vectors b, const Vectors &space, size_t rank) {
  auto grow = [&](Vectors &list, const Vectors &candidates) {
    for (uint64_t vector : extend(list, candidates))
      if (list.size() < rank)
        list.push_back(vector);
  };
  grow(a, b);
  grow(a, space);
  grow(b, a);
  grow(b, space);
  Vectors common = intersect(a, b), onlyA = extend(common, a), onlyB = extend(common, b), both = a, result;
  both.insert(both.end(), b.begin(), b.end());
  for (size_t i = 0; i < onlyA.size(); ++i)
    result.push_back(onlyA[i] ^ onlyB[i]);
  for (uint64_t vector : extend(both, space))
    result.push_back(vector);
  return result;
}

/// The first lanes that pass together, as independent vectors of the tile.
static Vectors getPassLanes(const LinearLayout &layout, unsigned passBits) {
  Vectors lanes = layout.basesOf("lane");
  lanes.resize(std::min<size_t>(lanes.size(), passBits));
  return extend({}, lanes);
}

std::optional<SwizzleChoice> chooseSwizzle(const LinearLayout &writer, const LinearLayout &given,
                                           unsigned elementBits) {
  Names ins, outs;
  for (const Dim &dim : given.ins())
    ins.push_back(dim.name);
  for (const Dim &dim : writer.outs())
    outs.push_back(dim.name);
  std::optional<LinearLayout> reader = given.transposed(ins, outs);
  if (!reader || reader->outs() != writer.outs() || !isElementWidth(elementBits) || elementBits < 8 ||
      writer.outBits() > 30)
    return std::nullopt;
  // Vectors: what both hold in registers, away from all in which threads differ.
  Vectors others = getOtherBases(writer);
  for (uint64_t base : getOtherBases(*reader))
    others.push_back(base);
  Vectors held = intersect(writer.basesOf("register"), reader->basesOf("register"));
  others = extend({}, others);
  Vectors vector = extend(intersect(held, others), held);
  vector.resize(std::min<size_t>(vector.size(), 7 - *exactLog2(elementBits)));
  // The rest of the tile: a complement of the vectors that holds all bases of threads, so that every thread's vectors
  // are aligned.
  Vectors fixed = vector, units = unitVectors(writer.outBits());
  fixed.insert(fixed.end(), others.begin(), others.end());
  Vectors space = others;
  for (uint64_t unit : extend(fixed, units))
    space.push_back(unit);
  size_t line = 10 - *exactLog2(elementBits) - vector.size();
  unsigned passBits = getPassBits(elementBits << vector.size());
  Vectors banks = getPassLanes(writer, passBits);
  Vectors segments = getCommonComplement(banks, getPassLanes(*reader, passBits), space, std::min(line, space.size()));
  Vectors columns = vector;
  columns.insert(columns.end(), banks.begin(), banks.end());
  columns.insert(columns.end(), segments.begin(), segments.end());
  std::optional<LinearLayout> memory = LinearLayout::make({{"offset", writer.outBits()}}, writer.outs(), columns);
  if (!memory)
    return std::nullopt;
  return SwizzleChoice{*memory, 1u << vector.size()};
}

} // namespace weft::layout
