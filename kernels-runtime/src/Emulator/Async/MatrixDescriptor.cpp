// Matrices of wgmma in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits of the descriptor and addresses of its chunks; the formulas stand in the header.
#include "Emulator/Async/MatrixDescriptor.h"

#include "Emulator/Async/Swizzle.h"

#include <cstring>

namespace weft::emu {
namespace {

constexpr uint32_t kAddressMask = (1u << 18) - 1;

uint32_t field(uint64_t bits, unsigned shift) { return uint32_t(bits >> shift & 0x3fff) << 4; }

} // namespace

MatrixDescriptor decodeMatrixDescriptor(uint64_t bits, bool isMnMajor) {
  static const uint8_t spans[] = {0, 128, 64, 32};
  MatrixDescriptor descriptor;
  descriptor.start = field(bits, 0);
  descriptor.leadingOffset = field(bits, 16);
  descriptor.strideOffset = field(bits, 32);
  descriptor.baseOffset = bits >> 49 & 7;
  descriptor.span = spans[bits >> 62];
  descriptor.isMnMajor = isMnMajor;
  return descriptor;
}

uint32_t chunkAddress(const MatrixDescriptor &descriptor, uint32_t line, uint32_t chunk) {
  uint32_t span = descriptor.span, leading = descriptor.leadingOffset, stride = descriptor.strideOffset;
  uint32_t offset;
  if (!descriptor.isMnMajor)
    offset = line / 8 * stride + (span ? line % 8 * span + chunk * 16 : line % 8 * 16 + chunk * leading);
  else if (span)
    offset = chunk / (span / 16) * leading + chunk % (span / 16) * 16 + line % 8 * span + line / 8 * stride;
  else
    offset = chunk * stride + line % 8 * 16 + line / 8 * leading;
  uint32_t address = (descriptor.start + offset) & kAddressMask;
  uint32_t mask = span ? span / 16 - 1 : 0;
  return address ^ ((((address >> 7) - descriptor.baseOffset) & mask) << 4);
}

void chunkAddresses(const MatrixDescriptor &descriptor, uint32_t extent, std::vector<uint32_t> &addresses) {
  uint32_t lines = descriptor.isMnMajor ? 16 : extent, chunks = descriptor.isMnMajor ? extent / 8 : 2;
  addresses.clear();
  for (uint32_t line = 0; line < lines; ++line)
    for (uint32_t chunk = 0; chunk < chunks; ++chunk)
      addresses.push_back(chunkAddress(descriptor, line, chunk));
}

void arrangeChunks(const MatrixDescriptor &descriptor, uint32_t extent, const uint8_t *chunks, uint8_t *dense) {
  if (!descriptor.isMnMajor) {
    std::memcpy(dense, chunks, size_t(extent) * 32);
    return;
  }
  for (uint32_t k = 0; k < 16; ++k)
    for (uint32_t mn = 0; mn < extent; ++mn)
      std::memcpy(dense + mn * 32 + k * 2, chunks + (k * extent + mn) * 2, 2);
}

} // namespace weft::emu
