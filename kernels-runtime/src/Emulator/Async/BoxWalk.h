// Which bytes a tensor copy moves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor copy is a list of rows: runs of the innermost dimension, consecutive in global memory and, before the
// swizzle, in shared memory. Elements outside of the tensor are filled on loads and left alone on stores and
// reductions; their bytes count for the mbarrier all the same.
#ifndef WEFT_EMULATOR_ASYNC_BOXWALK_H
#define WEFT_EMULATOR_ASYNC_BOXWALK_H

#include "TensorMap/TensorMapSpec.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::emu {

struct BoxRow {
  uint64_t globalAddress; ///< Of the first byte inside of the tensor (of no meaning when insideBytes is 0).
  uint32_t sharedOffset;  ///< Of the row's first byte from the start of the box, before the swizzle.
  uint16_t bytes;         ///< Of the whole row: a multiple of 16.
  uint16_t insideBegin;   ///< Bytes of the row before the first inside of the tensor.
  uint16_t insideBytes;   ///< Bytes inside of the tensor.
};

/// Bytes of the row that a store or reduction writes: H100s look at the tensor's edge in whole chunks of 16 bytes, so a
/// row that ends within a chunk writes the rest of it too (loads fill it).
inline uint32_t storedBytes(const BoxRow &row) { return (uint32_t(row.insideBytes) + 15) / 16 * 16; }

/// What is wrong with the coordinates of a copy: on an H100 each of these is an illegal instruction. The innermost
/// coordinate is at a multiple of 16 bytes; an im2col copy starts inside of its pixel box; stores and reductions have
/// no negative coordinate (nor a lower corner below 0).
bundle::Error checkCoordinates(const TensorMapSpec &spec, const int32_t *coordinates, bool isStore);

/// The rows of a tiled copy at `coordinates` (innermost first, `spec.rank` of them), in the order of shared memory.
/// `spec` has passed checkTensorMap.
void walkTile(const TensorMapSpec &spec, const int32_t *coordinates, std::vector<BoxRow> &rows);

/// The same of an im2col copy. The walk takes pixelsPerColumn pixels: it starts at `coordinates` (C, W, H, D, N of the
/// rank), steps by the element strides, innermost spatial dimension first, from the lower corner of the pixel box to
/// the upper one (which are offsets from the tensor's first and last pixel), then to the next image. `offsets` (W, H, D
/// of the rank) are added to a pixel's position to address the tensor: the filter's tap.
void walkIm2col(const TensorMapSpec &spec, const int32_t *coordinates, const uint16_t *offsets,
                std::vector<BoxRow> &rows);

/// The byte that fills byte number `i` of shared memory where an element is outside of the tensor.
inline uint8_t fillByte(const TensorMapSpec &spec, unsigned i) {
  // The NaN of every type, wide ones too, is a pattern of 16 bits: 0x7ff7.
  return spec.fill == TensorMapFill::Zero ? 0 : i % 2 ? 0x7f : 0xf7;
}

/// Bytes from one row of the box to the next in shared memory: a swizzled box has one span for each row, of which a
/// shorter row leaves the rest untouched (and uncounted).
uint32_t rowPitch(const TensorMapSpec &spec);

/// Rounds loaded elements as types of tensor maps do on an H100: TFloat32 and TFloat32Ftz to the nearest tf32 (ties to
/// even, NaNs to 0x7fffe000); all other types keep their bits, Float32Ftz too. `bytes` % 4 == 0.
void roundLoaded(TensorMapType type, uint8_t *data, size_t bytes);

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_BOXWALK_H
