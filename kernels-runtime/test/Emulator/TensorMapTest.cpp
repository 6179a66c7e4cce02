// Conditions on tensor maps and their 128 bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which maps are refused, as the driver of an H100 (580.159) answered for the same arguments; and the emulator's
// format.
#include "Emulator/Async/TensorMap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

using namespace weft;
using weft::bundle::ErrorCode;

namespace {

TensorMapSpec tiled() {
  TensorMapSpec spec;
  spec.rank = 2;
  spec.globalAddress = 0x10000;
  spec.globalDim[0] = spec.globalDim[1] = 64;
  spec.globalStrides[0] = 128;
  spec.boxDim[0] = spec.boxDim[1] = 64;
  spec.swizzle = TensorMapSwizzle::Bytes128;
  return spec;
}

TensorMapSpec im2col() {
  TensorMapSpec spec;
  spec.isIm2col = true;
  spec.rank = 4;
  spec.globalAddress = 0x10000;
  uint64_t dims[] = {64, 16, 16, 4}, strides[] = {128, 2048, 32768};
  std::copy(dims, dims + 4, spec.globalDim);
  std::copy(strides, strides + 3, spec.globalStrides);
  for (int i = 0; i < 2; ++i)
    spec.pixelBoxLowerCorner[i] = spec.pixelBoxUpperCorner[i] = -1;
  spec.channelsPerPixel = spec.pixelsPerColumn = 64;
  spec.swizzle = TensorMapSwizzle::Bytes128;
  return spec;
}

struct Case {
  const char *what;
  bool isIm2col;
  std::function<void(TensorMapSpec &)> change;
  const char *message; ///< Part of the error; null if the map is good.
};

TEST(TensorMap, RefusesWhatTheDriverRefuses) {
  auto swizzle = [](unsigned n) { return TensorMapSwizzle(n); };
  const Case cases[] = {
      {"as it is", false, [](auto &) {}, nullptr},
      {"rank 0", false, [](auto &s) { s.rank = 0; }, "rank from 1 to 5, got 0"},
      {"rank 6", false, [](auto &s) { s.rank = 6; }, "rank from 1 to 5, got 6"},
      {"unaligned address", false, [](auto &s) { s.globalAddress += 8; }, "multiple of 16, got 0x10008"},
      {"null address", false, [](auto &s) { s.globalAddress = 0; }, nullptr},
      {"extent 0", false, [](auto &s) { s.globalDim[0] = 0; }, "globalDim[0] from 1 to 2^32, got 0"},
      {"extent 2^32", false, [](auto &s) { s.globalDim[1] = uint64_t(1) << 32; }, nullptr},
      {"extent 2^32 + 1", false, [](auto &s) { s.globalDim[1] = (uint64_t(1) << 32) + 1; }, "globalDim[1]"},
      {"stride 8", false, [](auto &s) { s.globalStrides[0] = 8; }, "globalStrides[0] that is a multiple of 16"},
      {"stride below the row", false, [](auto &s) { s.globalStrides[0] = 64; }, nullptr},
      {"stride 0", false, [](auto &s) { s.globalStrides[0] = 0; }, nullptr},
      {"stride 2^40", false, [](auto &s) { s.globalStrides[0] = uint64_t(1) << 40; }, "below 2^40"},
      {"stride 2^40 - 16", false, [](auto &s) { s.globalStrides[0] = (uint64_t(1) << 40) - 16; }, nullptr},
      {"box 0", false, [](auto &s) { s.boxDim[1] = 0; }, "boxDim[1] from 1 to 256, got 0"},
      {"box 256", false, [](auto &s) { s.boxDim[1] = 256; }, nullptr},
      {"box 257", false, [](auto &s) { s.boxDim[1] = 257; }, "boxDim[1] from 1 to 256, got 257"},
      {"box of 14 bytes", false, [](auto &s) { s.boxDim[0] = 7; }, "boxDim[0] of a multiple of 16 bytes, got 14"},
      {"box above the tensor", false, [](auto &s) { s.globalDim[0] = 16, s.globalDim[1] = 4; }, nullptr},
      {"element stride 0", false, [](auto &s) { s.elementStrides[1] = 0; }, "elementStrides[1] from 1 to 8, got 0"},
      {"element stride 8", false, [](auto &s) { s.elementStrides[1] = 8; }, nullptr},
      {"element stride 9", false, [](auto &s) { s.elementStrides[1] = 9; }, "elementStrides[1]"},
      {"ignored element stride 0", false, [](auto &s) { s.elementStrides[0] = 0; }, "elementStrides[0]"},
      {"ignored element stride 2", false, [](auto &s) { s.elementStrides[0] = 2; }, nullptr},
      {"64 bytes in 32", false, [&](auto &s) { s.swizzle = swizzle(1), s.boxDim[0] = 32; }, "at most 32 bytes"},
      {"128 bytes in 64", false, [&](auto &s) { s.swizzle = swizzle(2); }, "at most 64 bytes for swizzle 64B, got 128"},
      {"256 bytes in 128", false, [](auto &s) { s.boxDim[0] = 128; }, "at most 128 bytes"},
      {"48 bytes in 128", false, [](auto &s) { s.boxDim[0] = 24; }, nullptr},
      {"swizzle of 32-byte atoms", false, [&](auto &s) { s.swizzle = swizzle(4); }, "not of sm_90"},
      {"swizzle 7", false, [&](auto &s) { s.swizzle = swizzle(7); }, "0 to 3), got 7"},
      {"interleave at rank 2", false, [](auto &s) { s.interleave = TensorMapInterleave::Bytes16; }, "rank from 3 to 5"},
      {"L2 promotion 4", false, [](auto &s) { s.l2Promotion = TensorMapL2Promotion(4); }, "L2 promotion below 4"},
      {"NaN fill of f16", false, [](auto &s) { s.fill = TensorMapFill::Nan; }, nullptr},
      {"NaN fill of u16", false, [](auto &s) { s.fill = TensorMapFill::Nan, s.type = TensorMapType::UInt16; },
       "floating-point"},
      {"fill 2", false, [](auto &s) { s.fill = TensorMapFill(2); }, "fill below 2, got 2"},
      {"type 13", false, [](auto &s) { s.type = TensorMapType(13); }, "data type below 13, got 13"},
      {"box of 228 KB", false,
       [](auto &s) {
         s.swizzle = TensorMapSwizzle(0), s.type = TensorMapType::Float32, s.boxDim[0] = 256, s.boxDim[1] = 228;
       },
       nullptr},
      {"box of 231 KB", false,
       [](auto &s) {
         s.swizzle = TensorMapSwizzle(0), s.type = TensorMapType::Float32, s.boxDim[0] = 256, s.boxDim[1] = 231;
       },
       "at most 233472 bytes"},
      {"im2col as it is", true, [](auto &) {}, nullptr},
      {"im2col rank 2", true, [](auto &s) { s.rank = 2; }, "rank from 3 to 5, got 2"},
      {"corner -129", true, [](auto &s) { s.pixelBoxLowerCorner[0] = -129; }, "from -128 to 127 at rank 4"},
      {"empty pixel box", true, [](auto &s) { s.pixelBoxLowerCorner[0] = 0, s.pixelBoxUpperCorner[0] = -16; },
       "pixel box is empty in dimension 1"},
      {"no channels", true, [](auto &s) { s.channelsPerPixel = 0; }, "channelsPerPixel from 1 to 256"},
      {"8 bytes of channels", true, [](auto &s) { s.channelsPerPixel = 4; }, "multiple of 16 bytes, got 8"},
      {"no pixels", true, [](auto &s) { s.pixelsPerColumn = 0; }, "pixelsPerColumn from 1 to 1024"},
      {"1024 pixels", true, [](auto &s) { s.pixelsPerColumn = 1024; }, nullptr},
      {"1025 pixels", true, [](auto &s) { s.pixelsPerColumn = 1025; }, "pixelsPerColumn from 1 to 1024, got 1025"},
      {"channels above the span", true, [&](auto &s) { s.swizzle = swizzle(1); }, "at most 32 bytes"},
  };
  for (const Case &test : cases) {
    TensorMapSpec spec = test.isIm2col ? im2col() : tiled();
    test.change(spec);
    bundle::Error error = checkTensorMap(spec);
    EXPECT_EQ(bool(error), test.message != nullptr) << test.what << ": " << error.getMessage();
    if (error && test.message) {
      EXPECT_EQ(error.getCode(), ErrorCode::Usage) << test.what;
      EXPECT_NE(error.getMessage().find(test.message), std::string::npos) << test.what << ": " << error.getMessage();
    }
  }
}

TEST(TensorMap, RefusesInterleavedLayouts) {
  TensorMapSpec spec = tiled();
  spec.rank = 3;
  spec.globalStrides[1] = 8192;
  spec.interleave = TensorMapInterleave::Bytes16;
  EXPECT_EQ(checkTensorMap(spec).getCode(), ErrorCode::Unsupported);
}

TEST(TensorMap, FormatKeepsEveryField) {
  for (TensorMapSpec spec : {tiled(), im2col()}) {
    spec.globalAddress = 0x7fff12345670;
    spec.globalDim[spec.rank - 1] = uint64_t(1) << 32;
    spec.globalStrides[0] = (uint64_t(1) << 40) - 16;
    spec.elementStrides[1] = 8;
    spec.boxDim[1] = spec.isIm2col ? 1 : 256;
    spec.l2Promotion = TensorMapL2Promotion::Bytes256;
    spec.fill = TensorMapFill::Nan;
    uint8_t bytes[emu::kTensorMapBytes];
    ASSERT_FALSE(emu::encodeTensorMap(spec, bytes));
    TensorMapSpec read;
    ASSERT_FALSE(emu::decodeTensorMap(bytes, read));
    EXPECT_EQ(read.type, spec.type);
    EXPECT_EQ(read.swizzle, spec.swizzle);
    EXPECT_EQ(read.l2Promotion, spec.l2Promotion);
    EXPECT_EQ(read.fill, spec.fill);
    EXPECT_EQ(read.interleave, spec.interleave);
    EXPECT_EQ(read.isIm2col, spec.isIm2col);
    EXPECT_EQ(read.rank, spec.rank);
    EXPECT_EQ(read.globalAddress, spec.globalAddress);
    EXPECT_TRUE(std::equal(spec.globalDim, spec.globalDim + 5, read.globalDim));
    EXPECT_TRUE(std::equal(spec.globalStrides, spec.globalStrides + 4, read.globalStrides));
    EXPECT_TRUE(std::equal(spec.elementStrides, spec.elementStrides + 5, read.elementStrides));
    EXPECT_TRUE(std::equal(spec.boxDim, spec.boxDim + 5, read.boxDim));
    EXPECT_TRUE(std::equal(spec.pixelBoxLowerCorner, spec.pixelBoxLowerCorner + 3, read.pixelBoxLowerCorner));
    EXPECT_TRUE(std::equal(spec.pixelBoxUpperCorner, spec.pixelBoxUpperCorner + 3, read.pixelBoxUpperCorner));
    EXPECT_EQ(read.channelsPerPixel, spec.channelsPerPixel);
    EXPECT_EQ(read.pixelsPerColumn, spec.pixelsPerColumn);
  }
}

TEST(TensorMap, RefusesForeignAndChangedBytes) {
  uint8_t bytes[emu::kTensorMapBytes] = {};
  TensorMapSpec read;
  EXPECT_NE(emu::decodeTensorMap(bytes, read).getMessage().find("no tensor map of the emulator"), std::string::npos);
  ASSERT_FALSE(emu::encodeTensorMap(tiled(), bytes));
  for (size_t i = 8; i < sizeof(bytes); ++i) {
    bytes[i] ^= 1;
    EXPECT_NE(emu::decodeTensorMap(bytes, read).getMessage().find("changed by something other"), std::string::npos)
        << i;
    bytes[i] ^= 1;
  }
  // Unchecked fields pass unpackTensorMap, as between two edits of tensormap.replace, and fail when used.
  TensorMapSpec spec = tiled();
  spec.boxDim[0] = 128;
  emu::packTensorMap(spec, bytes);
  EXPECT_FALSE(emu::unpackTensorMap(bytes, read));
  EXPECT_EQ(emu::decodeTensorMap(bytes, read).getCode(), ErrorCode::Usage);
}

} // namespace
