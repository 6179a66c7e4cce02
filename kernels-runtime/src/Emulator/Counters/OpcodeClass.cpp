// What an opcode counts as.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names are taken apart as the binder put them together: words with dots between.

#include "Emulator/Counters/LaunchCounters.h"

#include <cstdlib>

using namespace weft::emu;

/// The product of the three sizes of "m16n8k16"; 0 if the word is no shape.
static uint64_t volumeOf(std::string_view word) {
  uint64_t volume = 1;
  for (char dimension : {'m', 'n', 'k'}) {
    if (word.empty() || word[0] != dimension)
      return 0;
    word.remove_prefix(1);
    uint64_t size = 0;
    for (; !word.empty() && word[0] >= '0' && word[0] <= '9'; word.remove_prefix(1))
      size = size * 10 + uint64_t(word[0] - '0');
    volume *= size;
  }
  return word.empty() ? volume : 0;
}

/// Index in kMatrixTypes; kMatrixTypeCount if the word is no type of a matrix.
static unsigned matrixType(std::string_view word) {
  static constexpr struct {
    std::string_view word;
    unsigned index;
  } kWords[] = {{"f16", 0}, {"bf16", 1}, {"tf32", 2}, {"e4m3", 3}, {"e5m2", 3}, {"e3m2", 3}, {"e2m3", 3}, {"e2m1", 3},
                {"f64", 4}, {"s8", 5},   {"u8", 5},   {"s4", 6},   {"u4", 6},   {"b1", 7},   {"f32", 2},  {"s32", 5}};
  for (const auto &known : kWords)
    if (known.word == word)
      return known.index;
  return kMatrixTypeCount;
}

static std::string_view nextWord(std::string_view &rest) {
  size_t dot = rest.find('.');
  std::string_view word = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  return word;
}

/// Fills in type and work of a matrix instruction: the second type after the shape is A's, the first is D's.
static void measureMatrix(std::string_view opcode, OpcodeClass &result) {
  uint64_t volume = 0;
  unsigned types = 0;
  for (std::string_view rest = opcode; !rest.empty();) {
    std::string_view word = nextWord(rest);
    if (volume == 0)
      volume = volumeOf(word);
    else if (unsigned type = matrixType(word); type < kMatrixTypeCount && ++types <= 2)
      result.pipe = uint8_t(type);
  }
  if (result.isWmma && types == 2) // wmma on f16 names D and C alone.
    result.pipe = 0;
  // A warp does a quarter of a warpgroup's product.
  result.flops = 2 * volume / (result.kind == OpcodeClass::Wgmma ? 4 : 1);
}

OpcodeClass weft::emu::classify(std::string_view opcode) {
  OpcodeClass result;
  auto begins = [&](std::string_view prefix) { return opcode.substr(0, prefix.size()) == prefix; };
  result.isWmma = begins("wmma.mma.");
  if (begins("mma.") || result.isWmma)
    result.kind = OpcodeClass::Mma;
  else if (begins("wgmma.mma_async"))
    result.kind = OpcodeClass::Wgmma;
  else if (begins("ldmatrix"))
    result.kind = OpcodeClass::Ldmatrix;
  else if (begins("stmatrix"))
    result.kind = OpcodeClass::Stmatrix;
  else if (begins("mbarrier") || begins("cp.async.mbarrier"))
    result.kind = OpcodeClass::Mbarrier;
  else if (begins("red."))
    result.kind = OpcodeClass::Reduction;
  else if (begins("cp.async.bulk.commit") || begins("cp.async.bulk.wait"))
    result.kind = OpcodeClass::Other;
  else if (begins("cp.async.bulk") || begins("cp.reduce.async.bulk"))
    result.kind = OpcodeClass::Tma;
  if (result.kind == OpcodeClass::Mma || result.kind == OpcodeClass::Wgmma)
    measureMatrix(opcode, result);
  return result;
}

unsigned weft::emu::cardInstructions(std::string_view opcode, const OpcodeClass &kind, uint32_t smVersion) {
  constexpr unsigned tf32 = 2, fp8 = 3, int4 = 6, b1 = 7;
  if (kind.kind != OpcodeClass::Mma)
    return 1;
  if (kind.isWmma)
    return kind.pipe == tf32 ? 4 : 2;
  bool isXor = opcode.find(".xor.") != std::string_view::npos;
  return smVersion >= 90 && (kind.pipe == fp8 || kind.pipe == int4 || (kind.pipe == b1 && isXor)) ? 2 : 1;
}
