// Matrices of wgmma in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 64-bit descriptor by which wgmma names a matrix in shared memory, and the address of each of its elements. With
// T = elements in 16 bytes, S = the swizzle's span, L and B the leading and stride byte offsets, and chunk c of 16
// bytes:
//
//   K-major, row r (of M or N), chunk c in {0, 1} of the 32 bytes of K:
//     no swizzle   (r / 8) B + (r % 8) 16 + c L
//     swizzle S    (r / 8) B + (r % 8) S + c 16
//   MN-major (16-bit types), k of 16, chunk c of 8 elements of M or N:
//     no swizzle   c B + (k % 8) 16 + (k / 8) L
//     swizzle S    (c / (S/16)) L + (c % (S/16)) 16 + (k % 8) S + (k / 8) B
//
// This offset is added to the start address, and the sum is swizzled by its own bits (Swizzle.h) after the base
// offset is taken from the line number.
#ifndef WEFT_EMULATOR_ASYNC_MATRIXDESCRIPTOR_H
#define WEFT_EMULATOR_ASYNC_MATRIXDESCRIPTOR_H

#include <cstdint>
#include <vector>

namespace weft::emu {

struct MatrixDescriptor {
  uint32_t start = 0;         ///< Byte address in the shared window, below 2^18.
  uint32_t leadingOffset = 0; ///< Bytes.
  uint32_t strideOffset = 0;  ///< Bytes.
  uint32_t baseOffset = 0;    ///< 0 to 7: lines of 128 bytes.
  uint32_t span = 0;          ///< Bytes of the swizzle: 0, 32, 64 or 128.
  bool isMnMajor = false;     ///< From the instruction, not from the descriptor.
};

MatrixDescriptor decodeMatrixDescriptor(uint64_t bits, bool isMnMajor);

/// Byte address of 16-byte chunk number `chunk` of `line`: line is a row of M or N and chunk counts along K (K-major),
/// or line is a k and chunk counts along M or N (MN-major).
uint32_t chunkAddress(const MatrixDescriptor &descriptor, uint32_t line, uint32_t chunk);

/// The addresses of all chunks of a matrix of `extent` rows of M or N by 32 bytes of K (K-major), or `extent` elements
/// of 2 bytes by 16 of k (MN-major): line after line.
void chunkAddresses(const MatrixDescriptor &descriptor, uint32_t extent, std::vector<uint32_t> &addresses);

/// Brings chunks in the order of chunkAddresses (`chunks`: 16 bytes each) to a dense matrix of `extent` rows by 32
/// bytes of K, row-major; for MN-major operands it transposes. extent % 8 == 0.
void arrangeChunks(const MatrixDescriptor &descriptor, uint32_t extent, const uint8_t *chunks, uint8_t *dense);

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_MATRIXDESCRIPTOR_H
