// Addresses of wgmma operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands laid out as the manual's canonical layouts say, found again through the descriptor; and addresses that an
// H100 read for descriptors with odd starts and base offsets.
#include "Emulator/Async/MatrixDescriptor.h"
#include "Emulator/Async/Swizzle.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace weft::emu;

namespace {

uint64_t encodeMatrixDescriptor(const MatrixDescriptor &descriptor) {
  uint64_t mode = descriptor.span == 0 ? 0 : descriptor.span == 128 ? 1 : descriptor.span == 64 ? 2 : 3;
  return uint64_t(descriptor.start >> 4 & 0x3fff) | uint64_t(descriptor.leadingOffset >> 4 & 0x3fff) << 16 |
         uint64_t(descriptor.strideOffset >> 4 & 0x3fff) << 32 | uint64_t(descriptor.baseOffset & 7) << 49 | mode << 62;
}

TEST(MatrixDescriptor, Bits) {
  MatrixDescriptor descriptor = decodeMatrixDescriptor(4611686293305360384, false); // Of gemm_sm90: 128B, 1024, 16.
  EXPECT_EQ(descriptor.span, 128u);
  EXPECT_EQ(descriptor.strideOffset, 1024u);
  EXPECT_EQ(descriptor.leadingOffset, 16u);
  EXPECT_EQ(descriptor.start, 0u);
  EXPECT_EQ(descriptor.baseOffset, 0u);
  std::mt19937_64 random(1);
  const uint64_t used = 0xc00e3fff3fff3fff;
  for (int i = 0; i < 100; ++i) {
    uint64_t bits = random() & used;
    EXPECT_EQ(encodeMatrixDescriptor(decodeMatrixDescriptor(bits, true)), bits);
  }
}

/// Puts a dense matrix of `extent` x 32 bytes where TMA or a hand-written copy would put it: blocks of 8 rows (or 8 k)
/// by one span, swizzled, `block` bytes apart along K or MN in the way each mode allows.
void expectLayout(uint32_t span, bool isMnMajor, uint32_t extent) {
  MatrixDescriptor descriptor;
  descriptor.start = 2048;
  descriptor.span = span;
  descriptor.isMnMajor = isMnMajor;
  std::vector<uint8_t> shared(1 << 18), dense(extent * 32), found(extent * 32);
  std::mt19937 random(span + extent);
  for (uint8_t &byte : dense)
    byte = uint8_t(random());
  uint32_t lineBytes = span ? span : 16, block = 8 * lineBytes;
  if (!isMnMajor) { // Blocks of 8 rows; without a swizzle the two chunks of K are blocks of their own.
    descriptor.leadingOffset = block;
    descriptor.strideOffset = span ? block : 2 * block;
    for (uint32_t row = 0; row < extent; ++row)
      for (uint32_t byte = 0; byte < 32; ++byte) {
        uint32_t address = span ? row / 8 * block + row % 8 * span + byte
                                : (row / 8 * 2 + byte / 16) * block + row % 8 * 16 + byte % 16;
        shared[swizzleAddress(descriptor.start + address, span)] = dense[row * 32 + byte];
      }
  } else { // Blocks of 8 k by a span of M or N: the blocks of one k group follow each other.
    uint32_t perBlock = lineBytes / 2, blocks = (extent + perBlock - 1) / perBlock;
    descriptor.leadingOffset = span ? block : blocks * block;
    descriptor.strideOffset = span ? blocks * block : block;
    for (uint32_t mn = 0; mn < extent; ++mn)
      for (uint32_t k = 0; k < 16; ++k) {
        uint32_t address = (k / 8 * blocks + mn / perBlock) * block + k % 8 * lineBytes + mn % perBlock * 2;
        std::memcpy(&shared[swizzleAddress(descriptor.start + address, span)], &dense[mn * 32 + k * 2], 2);
      }
  }
  std::vector<uint32_t> addresses;
  chunkAddresses(decodeMatrixDescriptor(encodeMatrixDescriptor(descriptor), isMnMajor), extent, addresses);
  std::vector<uint8_t> chunks;
  for (uint32_t address : addresses)
    chunks.insert(chunks.end(), &shared[address], &shared[address] + 16);
  ASSERT_EQ(chunks.size(), dense.size());
  arrangeChunks(descriptor, extent, chunks.data(), found.data());
  EXPECT_EQ(found, dense) << "span " << span << (isMnMajor ? " MN" : " K") << " extent " << extent;
}

TEST(MatrixDescriptor, CanonicalLayouts) {
  for (uint32_t span : {0u, 32u, 64u, 128u})
    for (bool isMnMajor : {false, true})
      for (uint32_t extent : {8u, 24u, 64u, 136u, 256u})
        expectLayout(span, isMnMajor, extent);
}

TEST(MatrixDescriptor, AddressesReadByAnH100) {
  struct Case {
    bool isMnMajor;
    uint32_t start, leading, stride, base, span, line, chunk, address;
  };
  const Case cases[] = {
#include "MatrixDescriptorCases.inc"
  };
  for (const Case &test : cases) {
    MatrixDescriptor d = {test.start, test.leading, test.stride, test.base, test.span, test.isMnMajor};
    EXPECT_EQ(chunkAddress(d, test.line, test.chunk), test.address)
        << "start " << test.start << " base " << test.base << " span " << test.span << " line " << test.line
        << " chunk " << test.chunk;
  }
}

} // namespace
