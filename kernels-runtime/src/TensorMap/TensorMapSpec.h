// What a tensor map says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col as one struct, and the conditions that those
// calls put on them, so that a device that hands them to the driver and the emulator, which has a format of its own,
// refuse the same maps. Enumerators have the driver's numbers. Extents are in elements, strides in bytes, and index 0
// is the innermost dimension everywhere.
#ifndef WEFT_TENSORMAP_TENSORMAPSPEC_H
#define WEFT_TENSORMAP_TENSORMAPSPEC_H

#include "weft/Bundle/Error.h"

#include <cstdint>

namespace weft {

constexpr unsigned kMaxTensorMapRank = 5;

enum class TensorMapType : uint8_t {
  UInt8,
  UInt16,
  UInt32,
  Int32,
  UInt64,
  Int64,
  Float16,
  Float32,
  Float64,
  BFloat16,
  Float32Ftz,
  TFloat32,
  TFloat32Ftz,
};
constexpr unsigned kNumTensorMapTypes = 13;

enum class TensorMapInterleave : uint8_t { None, Bytes16, Bytes32 };
enum class TensorMapSwizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };
enum class TensorMapL2Promotion : uint8_t { None, Bytes64, Bytes128, Bytes256 };
enum class TensorMapFill : uint8_t { Zero, Nan };

struct TensorMapSpec {
  TensorMapType type = TensorMapType::Float16;
  TensorMapInterleave interleave = TensorMapInterleave::None;
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;
  TensorMapL2Promotion l2Promotion = TensorMapL2Promotion::None;
  TensorMapFill fill = TensorMapFill::Zero; ///< Of elements outside of the tensor, on loads.
  bool isIm2col = false;
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  uint64_t globalDim[kMaxTensorMapRank] = {1, 1, 1, 1, 1};
  uint64_t globalStrides[kMaxTensorMapRank - 1] = {}; ///< Of dimensions 1 to rank - 1.
  uint32_t elementStrides[kMaxTensorMapRank] = {1, 1, 1, 1, 1};
  // Tiled: the extents that a copy traverses; it takes ceil(boxDim / elementStrides) elements of them.
  uint32_t boxDim[kMaxTensorMapRank] = {1, 1, 1, 1, 1};
  // Im2col: the dimensions are C, W, H, D, N (those that the rank has); corners are of W, H, D.
  int32_t pixelBoxLowerCorner[kMaxTensorMapRank - 2] = {};
  int32_t pixelBoxUpperCorner[kMaxTensorMapRank - 2] = {};
  uint32_t channelsPerPixel = 1;
  uint32_t pixelsPerColumn = 1;
};

/// Bytes of an element: 1, 2, 4 or 8.
unsigned elementSize(TensorMapType type);
bool isFloat(TensorMapType type);
/// Bytes within which the 16-byte chunks of a swizzled box are permuted: 32, 64 or 128; 0 for none.
unsigned swizzleSpan(TensorMapSwizzle swizzle);
/// Bytes that one copy of the map writes to, or reads from, shared memory: the amount by which a load completes its
/// mbarrier.
uint64_t boxBytes(const TensorMapSpec &spec);

/// Usage (a value that the driver's calls refuse with CUDA_ERROR_INVALID_VALUE) or Unsupported (interleaved layouts).
bundle::Error checkTensorMap(const TensorMapSpec &spec);

} // namespace weft

#endif // WEFT_TENSORMAP_TENSORMAPSPEC_H
