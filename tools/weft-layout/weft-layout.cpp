// Prints layouts and what the algebra says of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout algebra on the command line: bases, grids, a register layout in shared memory (vector width, bank
// conflicts, ldmatrix), the conversion between two register layouts. Exit code 2: a layout that does not parse, or
// layouts that do not fit together.
#include "../common/CommandLine.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Text.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace weft;
using namespace weft::layout;
using weft::bundle::Error;
using weft::bundle::ErrorCode;

namespace {
struct Options {
  std::string layout, compose, convert;
  unsigned bits = 16;
  bool isGrid = false;
};
} // namespace

static Error parseFlag(const char *flag, const std::string &text, LinearLayout &layout) {
  std::string error;
  std::optional<LinearLayout> parsed = parseLayout(text, error);
  if (!parsed)
    return Error(ErrorCode::Usage, std::string(flag) + ": " + error);
  layout = *parsed;
  return {};
}

static void printProperties(const LinearLayout &layout) {
  std::printf("%s\n", printLayout(layout).c_str());
  const char *kind = layout.isInjective()    ? layout.isSurjective() ? "bijection" : "one to one"
                     : layout.isSurjective() ? "onto, with broadcast"
                                             : "neither onto nor one to one";
  std::printf("rank: %u of %u input bits, %u output bits (%s)\n", layout.rank(), layout.inBits(), layout.outBits(),
              kind);
}

/// A register layout in memory: where each register goes, and how the access does it.
static Error printAccess(const LinearLayout &registers, const LinearLayout &memory, unsigned bits) {
  std::optional<LinearLayout> offsets = getOffsets(registers, memory);
  std::optional<VectorWidth> width = getVectorWidth(registers, memory, bits);
  if (!offsets || !width)
    return Error(ErrorCode::Usage,
                 "--compose: expected a bijection of the same tile and --bits a power of two up to 128");
  printProperties(*offsets);
  std::printf("vector: %u elements of %u bits\n", width->elements, bits);
  if (std::optional<BankConflicts> banks = getBankConflicts(registers, memory, bits, width->elements))
    std::printf("shared memory: %u wavefronts, %u without conflicts (rank of words %u, of banks %u)\n",
                banks->wavefronts(), banks->passes, banks->wordRank, banks->bankRank);
  std::optional<MatrixAccess> matrix = getMatrixAccess(registers, memory, bits);
  if (matrix)
    std::printf("ldmatrix: x%u%s\n", matrix->matrices, matrix->isTransposed ? ".trans" : "");
  else
    std::printf("ldmatrix: does not apply\n");
  return {};
}

static Error printConversion(const LinearLayout &from, const LinearLayout &to, unsigned bits) {
  std::optional<Conversion> conversion = classifyConversion(from, to);
  if (!conversion)
    return Error(ErrorCode::Usage,
                 "--convert: expected register layouts of the same tile, the first with all elements of the second");
  std::printf("conversion: %s\n", getName(conversion->kind));
  if (conversion->kind == ConversionKind::shuffles)
    std::printf("rounds: %zu\n", planShuffles(*conversion).size());
  std::printf("source: %s\n", printLayout(conversion->source).c_str());
  if (conversion->kind == ConversionKind::shared)
    if (std::optional<SwizzleChoice> choice = chooseSwizzle(from, to, bits))
      std::printf("through: %s, vectors of %u\n", printLayout(choice->memory).c_str(), choice->vector);
  return {};
}

static Error runTool(const Options &options) {
  LinearLayout layout, other;
  if (Error error = parseFlag("--layout", options.layout, layout))
    return error;
  printProperties(layout);
  if (options.isGrid) {
    std::optional<std::string> grid = printGrid(layout);
    if (!grid)
      return Error(ErrorCode::Usage, "--grid: expected a tile of one or two dimensions and at most 16384 elements");
    std::fputs(grid->c_str(), stdout);
  }
  if (!options.compose.empty()) {
    if (Error error = parseFlag("--compose", options.compose, other))
      return error;
    // The map after the layout where the dimensions meet, else the layout in the memory.
    if (std::optional<LinearLayout> composed = layout.compose(other))
      printProperties(*composed);
    else if (Error error = printAccess(layout, other, options.bits))
      return error;
  }
  if (options.convert.empty())
    return {};
  if (Error error = parseFlag("--convert", options.convert, other))
    return error;
  return printConversion(layout, other, options.bits);
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Prints a layout, its grid, and what the layout algebra says of it; docs/layouts.md has the text form.",
               "weft-layout");
  app.add_option("--layout", options.layout,
                 "The layout: blocked(...), mma(...), wgmma(...), ldmatrix(...), smem(...), linear(...)")
      ->required();
  app.add_option("--compose", options.compose,
                 "Apply this layout after it, or, given memory of the same tile, place it there");
  app.add_option("--convert", options.convert, "Convert to this register layout of the same tile");
  app.add_option("--bits", options.bits, "Width of an element (default 16)");
  app.add_flag("--grid", options.isGrid, "Print which lane:register, or which offset, holds each element");
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  if (Error error = runTool(options))
    return tools::reportError("weft-layout", error);
  return 0;
}
