// Blocks of rows: what the CTAs of kernels write and read, in the order of their numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Analysis/RowBlocks.h"
#include "Kernels.h"

using namespace mlir;
using namespace weft;
using namespace weft::plan;

static DictionaryAttr rowsOf(ParsedKernel &parsed, ArrayRef<int64_t> tile, StringRef order = "row", int64_t split = 1) {
  KernelToSchedule kernel = parsed.get();
  auto schedule =
      tg::ScheduleAttr::get(&parsed.context, tile, {32}, tg::Engine::Mma, 4, 2, order, false, split, 1, false);
  return tg::makeRowBlocks(kernel.func, kernel.access, schedule);
}

static int64_t numberOf(DictionaryAttr rows, StringRef name) { return rows.getAs<IntegerAttr>(name).getInt(); }
static std::vector<int64_t> readOf(DictionaryAttr rows, unsigned input) {
  return cast<DenseI64ArrayAttr>(rows.getAs<ArrayAttr>("reads")[input]).asArrayRef().vec();
}

TEST(RowBlocks, Products) {
  ParsedKernel parsed(makeProductText(1, 500, 256, 64));
  DictionaryAttr rows = rowsOf(parsed, {1, 64, 128});
  ASSERT_TRUE(rows);
  EXPECT_EQ(numberOf(rows, "ctas"), 2);
  EXPECT_EQ(numberOf(rows, "blocks"), 8) << "the last one is not full";
  EXPECT_EQ(rows.getAs<DenseI64ArrayAttr>("writes").asArrayRef().vec(), std::vector<int64_t>{64 * 256});
  EXPECT_EQ(readOf(rows, 0), (std::vector<int64_t>{64 * 64, 0, 64 * 64 - 1}));
  EXPECT_EQ(readOf(rows, 1), (std::vector<int64_t>{0, 0, 64 * 256 - 1})) << "all blocks read all of it";
}

TEST(RowBlocks, ABatchIsRows) {
  ParsedKernel parsed(makeProductText(6, 128, 256, 64));
  DictionaryAttr rows = rowsOf(parsed, {1, 64, 128});
  ASSERT_TRUE(rows);
  EXPECT_EQ(numberOf(rows, "ctas"), 4);
  EXPECT_EQ(numberOf(rows, "blocks"), 6);
  EXPECT_EQ(readOf(rows, 1), (std::vector<int64_t>{64 * 256, 0, 64 * 256 - 1}));
}

TEST(RowBlocks, WindowsReadTheirNeighbours) {
  ParsedKernel parsed(makeWindowText(32, 16, 64));
  DictionaryAttr rows = rowsOf(parsed, {4, 32, 64});
  ASSERT_TRUE(rows);
  EXPECT_EQ(numberOf(rows, "blocks"), 8);
  EXPECT_EQ(readOf(rows, 0), (std::vector<int64_t>{4 * 34 * 16, 0, 6 * 34 * 16 - 1})) << "two rows more than it steps";
}

TEST(RowBlocks, OtherOrdersHaveNone) {
  ParsedKernel product(makeProductText(1, 512, 256, 64)), fold(makeAttentionText(2, 256, 64, false));
  EXPECT_FALSE(rowsOf(product, {1, 64, 128}, "column"));
  EXPECT_FALSE(rowsOf(product, {1, 64, 128}, "row", 2)) << "parts of sums";
  EXPECT_FALSE(rowsOf(product, {64, 128})) << "a tile of another rank";
  EXPECT_FALSE(rowsOf(fold, {1, 64, 64})) << "the longest tiles come first";
}

TEST(RowBlocks, PlacesBeyond64Bits) {
  // Strides of the result leave 64 bits: nothing is known, and nothing wraps.
  ParsedKernel huge("func.func @kernel(%x: tensor<2x1x1xf16>) -> tensor<2x4294967296x4294967296xf16> {\n"
                    "  %0 = tg.broadcast %x : tensor<2x1x1xf16> to tensor<2x4294967296x4294967296xf16>\n"
                    "  return %0 : tensor<2x4294967296x4294967296xf16>\n}");
  EXPECT_FALSE(rowsOf(huge, {1, 1073741824, 4}));
}
