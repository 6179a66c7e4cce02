// Bytes that tensor copies move.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes against element-by-element oracles: a loop nest over coordinates for tiles, a convolution's index arithmetic
// for im2col, the published pictures of the swizzles for the chunks.
#include "Emulator/Async/BoxWalk.h"
#include "Emulator/Async/Swizzle.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

using namespace weft;
using namespace weft::emu;

namespace {

/// What lies in shared memory after the copy: offset (unswizzled) -> global address, or nothing where it was filled.
constexpr uint64_t kFilled = ~uint64_t(0);
std::map<uint32_t, uint64_t> bytesOf(const std::vector<BoxRow> &rows) {
  std::map<uint32_t, uint64_t> bytes;
  for (const BoxRow &row : rows)
    for (uint32_t i = 0; i < row.bytes; ++i) {
      bool isInside = i >= row.insideBegin && i < uint32_t(row.insideBegin + row.insideBytes);
      bytes[row.sharedOffset + i] = isInside ? row.globalAddress + i - row.insideBegin : kFilled;
    }
  return bytes;
}

/// A dense tensor of `dims` with an odd padding between rows.
TensorMapSpec tensor(TensorMapType type, std::vector<uint64_t> dims) {
  TensorMapSpec spec;
  spec.type = type;
  spec.rank = unsigned(dims.size());
  spec.globalAddress = 0x1000;
  uint64_t stride = 0;
  for (unsigned i = 0; i < spec.rank; ++i) {
    spec.globalDim[i] = dims[i];
    stride = i == 0 ? (dims[0] * elementSize(type) + 15) / 16 * 16 + 16 : stride * dims[i];
    if (i + 1 < spec.rank)
      spec.globalStrides[i] = stride;
  }
  return spec;
}

uint64_t addressOf(const TensorMapSpec &spec, const std::vector<int64_t> &place) {
  uint64_t address = spec.globalAddress;
  for (unsigned i = 0; i < spec.rank; ++i) {
    if (place[i] < 0 || place[i] >= int64_t(spec.globalDim[i]))
      return kFilled;
    address += uint64_t(place[i]) * (i == 0 ? elementSize(spec.type) : spec.globalStrides[i - 1]);
  }
  return address;
}

void expectTile(const TensorMapSpec &spec, std::vector<int32_t> at) {
  ASSERT_FALSE(checkTensorMap(spec)) << checkTensorMap(spec).getMessage();
  std::vector<BoxRow> rows;
  walkTile(spec, at.data(), rows);
  std::map<uint32_t, uint64_t> expected;
  unsigned size = elementSize(spec.type);
  uint32_t steps[5] = {1, 1, 1, 1, 1};
  for (unsigned i = 1; i < spec.rank; ++i)
    steps[i] = spec.elementStrides[i];
  uint32_t row = 0;
  uint32_t pitch = std::max(spec.boxDim[0] * size, swizzleSpan(spec.swizzle));
  for (uint32_t e = 0; e < spec.boxDim[4]; e += steps[4])
    for (uint32_t d = 0; d < spec.boxDim[3]; d += steps[3])
      for (uint32_t c = 0; c < spec.boxDim[2]; c += steps[2])
        for (uint32_t b = 0; b < spec.boxDim[1]; b += steps[1], ++row)
          for (uint32_t a = 0; a < spec.boxDim[0]; ++a) {
            uint32_t box[5] = {a, b, c, d, e};
            std::vector<int64_t> place;
            for (unsigned i = 0; i < spec.rank; ++i)
              place.push_back(int64_t(at[i]) + box[i]);
            uint64_t address = addressOf(spec, place);
            for (unsigned byte = 0; byte < size; ++byte)
              expected[row * pitch + a * size + byte] = address == kFilled ? kFilled : address + byte;
          }
  EXPECT_EQ(bytesOf(rows), expected);
  EXPECT_EQ(boxBytes(spec), uint64_t(expected.size()));
}

TEST(BoxWalk, TilesOfEveryRankAndEdge) {
  const TensorMapType types[] = {TensorMapType::UInt8, TensorMapType::BFloat16, TensorMapType::TFloat32,
                                 TensorMapType::Float64};
  for (TensorMapType type : types) {
    int32_t chunk = 16 / int32_t(elementSize(type));
    for (unsigned rank = 1; rank <= 5; ++rank) {
      std::vector<uint64_t> dims = {uint64_t(chunk) * 3 + 1, 5, 4, 3, 3};
      dims.resize(rank);
      TensorMapSpec spec = tensor(type, dims);
      spec.boxDim[0] = uint32_t(chunk) * 2;
      for (unsigned i = 1; i < rank; ++i)
        spec.boxDim[i] = 2 + i % 2;
      for (int32_t shift : {-3, -2, -1, 0, 1, 2, 3, 4, 1000}) {
        std::vector<int32_t> at(rank, shift);
        at[0] *= chunk;
        expectTile(spec, at);
      }
    }
  }
}

TEST(BoxWalk, ElementStridesSkipButNotInTheInnermostDimension) {
  TensorMapSpec spec = tensor(TensorMapType::Float16, {16, 12, 9});
  spec.boxDim[0] = 8, spec.boxDim[1] = 7, spec.boxDim[2] = 5;
  spec.elementStrides[1] = 2, spec.elementStrides[2] = 3;
  EXPECT_EQ(boxBytes(spec), 8u * 4 * 2 * 2);
  expectTile(spec, {8, 1, -1});
  expectTile(spec, {0, -3, 6});
  spec.elementStrides[0] = 2;
  expectTile(spec, {0, 0, 0});
}

TEST(BoxWalk, SwizzledBoxHasOneSpanPerRow) {
  for (unsigned mode = 1; mode < 4; ++mode)
    for (uint32_t inner = 8; inner * 2 <= 16u << mode; inner += 8) {
      TensorMapSpec spec = tensor(TensorMapType::Float16, {64, 16});
      spec.swizzle = TensorMapSwizzle(mode);
      spec.boxDim[0] = inner, spec.boxDim[1] = 8;
      expectTile(spec, {8, -2});
    }
}

struct Convolution {
  unsigned spatial;    ///< 1 to 3.
  int filter[3];       ///< Taps in W, H, D.
  int pad[3], step[3]; ///< Of W, H, D.
  uint64_t extent[3];  ///< Of W, H, D.
};

/// All taps of a convolution: column t of the im2col matrix is one copy. Output pixel (n, d, h, w) reads input pixel
/// step * output - pad + tap.
void expectConvolution(const Convolution &conv) {
  std::vector<uint64_t> dims = {16};
  dims.insert(dims.end(), conv.extent, conv.extent + conv.spatial);
  dims.push_back(2);
  TensorMapSpec spec = tensor(TensorMapType::Float16, dims);
  spec.isIm2col = true;
  spec.channelsPerPixel = 8;
  int outputs[3] = {1, 1, 1}, taps[3] = {1, 1, 1};
  for (unsigned i = 0; i < conv.spatial; ++i) {
    spec.pixelBoxLowerCorner[i] = -conv.pad[i];
    spec.pixelBoxUpperCorner[i] = conv.pad[i] - (conv.filter[i] - 1);
    spec.elementStrides[i + 1] = uint32_t(conv.step[i]);
    outputs[i] = (int(conv.extent[i]) + 2 * conv.pad[i] - conv.filter[i]) / conv.step[i] + 1;
    taps[i] = conv.filter[i];
  }
  int total = 2 * outputs[0] * outputs[1] * outputs[2];
  for (int first : {0, 1, total / 2, total - 2}) {
    spec.pixelsPerColumn = uint32_t(total - first);
    ASSERT_FALSE(checkTensorMap(spec)) << checkTensorMap(spec).getMessage();
    for (int tap = 0; tap < taps[0] * taps[1] * taps[2]; ++tap) {
      int t[3] = {tap % taps[0], tap / taps[0] % taps[1], tap / taps[0] / taps[1]};
      std::map<uint32_t, uint64_t> expected;
      std::vector<int32_t> start;
      for (int p = first; p < total; ++p) {
        int o[3] = {p % outputs[0], p / outputs[0] % outputs[1], p / outputs[0] / outputs[1] % outputs[2]};
        int n = p / (outputs[0] * outputs[1] * outputs[2]);
        std::vector<int64_t> place = {8};
        for (unsigned i = 0; i < conv.spatial; ++i)
          place.push_back(o[i] * conv.step[i] - conv.pad[i] + t[i]);
        place.push_back(n);
        if (p == first) {
          start.assign(place.begin(), place.end());
          for (unsigned i = 0; i < conv.spatial; ++i)
            start[i + 1] -= t[i];
        }
        for (int c = 0; c < 8; ++c) {
          place[0] = 8 + c;
          uint64_t address = addressOf(spec, place);
          for (unsigned byte = 0; byte < 2; ++byte)
            expected[uint32_t((p - first) * 16 + c * 2) + byte] = address == kFilled ? kFilled : address + byte;
        }
      }
      uint16_t offsets[3] = {uint16_t(t[0]), uint16_t(t[1]), uint16_t(t[2])};
      ASSERT_FALSE(checkCoordinates(spec, start.data(), false));
      std::vector<BoxRow> rows;
      walkIm2col(spec, start.data(), offsets, rows);
      EXPECT_EQ(bytesOf(rows), expected) << "tap " << tap << ", first pixel " << first;
    }
  }
}

TEST(BoxWalk, Im2colIsAConvolutionsMatrix) {
  expectConvolution({1, {3, 1, 1}, {1, 0, 0}, {1, 1, 1}, {9, 1, 1}});
  expectConvolution({2, {3, 3, 1}, {1, 1, 0}, {1, 1, 1}, {6, 5, 1}});
  expectConvolution({2, {3, 2, 1}, {2, 0, 0}, {2, 1, 1}, {7, 5, 1}});
  expectConvolution({2, {1, 1, 1}, {0, 0, 0}, {2, 2, 1}, {5, 5, 1}});
  expectConvolution({3, {2, 3, 2}, {1, 1, 0}, {1, 1, 1}, {4, 4, 3}});
}

TEST(BoxWalk, CoordinatesThatTheHardwareRefuses) {
  TensorMapSpec spec = tensor(TensorMapType::Float16, {64, 64});
  spec.boxDim[0] = 8;
  for (int32_t x : {-8, 0, 8, 16}) {
    int32_t at[] = {x, -1};
    EXPECT_FALSE(checkCoordinates(spec, at, false));
  }
  for (int32_t x : {-7, -4, 1, 4, 12}) {
    int32_t at[] = {x, 0};
    EXPECT_NE(checkCoordinates(spec, at, false).getMessage().find("multiple of 16 bytes"), std::string::npos);
  }
  int32_t negative[] = {0, -1};
  EXPECT_NE(checkCoordinates(spec, negative, true).getMessage().find("must not be negative"), std::string::npos);
  spec = tensor(TensorMapType::Float16, {16, 5, 4, 3});
  spec.isIm2col = true;
  spec.channelsPerPixel = 16;
  spec.pixelBoxUpperCorner[0] = -2;
  for (int32_t w : {-1, 3, 4}) {
    int32_t at[] = {0, w, 0, 0};
    EXPECT_NE(checkCoordinates(spec, at, false)
                  .getMessage()
                  .find("coordinate 1 must be inside of the pixel box, which is 0 to 2"),
              std::string::npos)
        << w;
  }
  int32_t last[] = {0, 2, 3, 0};
  EXPECT_FALSE(checkCoordinates(spec, last, false));
}

TEST(BoxWalk, StoresWriteWholeChunks) {
  // 20 columns of f16: the second chunk of 8 ends at column 24; columns 20 to 23 are written too.
  TensorMapSpec spec = tensor(TensorMapType::Float16, {20, 4});
  spec.boxDim[0] = 16;
  int32_t at[] = {8, 0};
  std::vector<BoxRow> rows;
  walkTile(spec, at, rows);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].insideBytes, 24u);
  EXPECT_EQ(storedBytes(rows[0]), 32u);
}

TEST(BoxWalk, FillAndRounding) {
  TensorMapSpec spec;
  EXPECT_EQ(fillByte(spec, 0), 0);
  spec.fill = TensorMapFill::Nan;
  EXPECT_EQ(fillByte(spec, 6) | fillByte(spec, 7) << 8, 0x7ff7);
  // Bits in, bits out of a TFLOAT32 load on an H100.
  const uint32_t values[][2] = {{0x00000001, 0},          {0x807fffff, 0x80800000}, {0x3f800fff, 0x3f800000},
                                {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000},
                                {0x7f800001, 0x7fffe000}, {0xffc12345, 0x7fffe000}, {0x7f7fffff, 0x7f800000},
                                {0x00400000, 0x00400000}, {0x80000000, 0x80000000}, {0x7f800000, 0x7f800000}};
  for (auto [in, out] : values)
    for (TensorMapType type : {TensorMapType::TFloat32, TensorMapType::TFloat32Ftz, TensorMapType::Float32Ftz}) {
      uint32_t bits = in;
      roundLoaded(type, reinterpret_cast<uint8_t *>(&bits), 4);
      EXPECT_EQ(bits, type == TensorMapType::Float32Ftz ? in : out) << std::hex << in;
    }
}

TEST(Swizzle, PermutesChunksAsThePicturesShow) {
  // Row r of a span of S bytes, chunk c: 128B puts it at c ^ r, 64B at c ^ (r / 2), 32B at c ^ (r / 4).
  for (uint32_t span : {32u, 64u, 128u})
    for (uint32_t row = 0; row < 32; ++row)
      for (uint32_t chunk = 0; chunk < span / 16; ++chunk) {
        uint32_t phase = row / (128 / span) % (span / 16);
        EXPECT_EQ(swizzleAddress(4096 + row * span + chunk * 16 + 5, span),
                  4096 + row * span + (chunk ^ phase) * 16 + 5);
      }
  for (uint32_t address = 0; address < 2048; address += 16) {
    EXPECT_EQ(swizzleAddress(address, 0), address);
    for (uint32_t span : {32u, 64u, 128u})
      EXPECT_EQ(swizzleAddress(swizzleAddress(address, span), span), address);
  }
  EXPECT_EQ(swizzlePeriod(128), 1024u);
}

} // namespace
