// The emulator's own tensor map object.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 128 bytes of a tensor map: packing, unpacking, and telling foreign bytes from ours.
#include "Emulator/Async/TensorMap.h"

#include <cstring>

namespace weft::emu {
namespace {

using bundle::Error;
using bundle::ErrorCode;

constexpr uint64_t kMagic = 0x3150414d54464557; // "WEFTMAP1"

/// The layout; extents are stored less one, so that 2^32 and 256 fit.
struct Packed {
  uint64_t magic;
  uint64_t globalAddress;
  uint64_t globalStrides[4];
  uint32_t globalDim[5];
  uint16_t boxDim[5];
  int16_t lower[3];
  int16_t upper[3];
  uint16_t channels;
  uint16_t pixels;
  uint8_t elementStrides[5];
  uint8_t type, rank, isIm2col, interleave, swizzle, l2Promotion, fill;
  uint8_t zero[14];
  uint64_t checksum; ///< Of all bytes before it.
};
static_assert(sizeof(Packed) == kTensorMapBytes, "the format has 128 bytes");
static_assert(offsetof(Packed, checksum) == kTensorMapBytes - 8, "no padding");

/// FNV-1a over the bytes before the checksum.
uint64_t checksumOf(const Packed &packed) {
  uint64_t hash = 0xcbf29ce484222325;
  uint8_t bytes[offsetof(Packed, checksum)];
  std::memcpy(bytes, &packed, sizeof(bytes));
  for (uint8_t byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

} // namespace

void packTensorMap(const TensorMapSpec &spec, uint8_t bytes[kTensorMapBytes]) {
  Packed packed = {};
  packed.magic = kMagic;
  packed.globalAddress = spec.globalAddress;
  for (unsigned i = 0; i < 4; ++i)
    packed.globalStrides[i] = spec.globalStrides[i];
  for (unsigned i = 0; i < kMaxTensorMapRank; ++i) {
    packed.globalDim[i] = uint32_t(spec.globalDim[i] - 1);
    packed.boxDim[i] = uint16_t(spec.boxDim[i]);
    packed.elementStrides[i] = uint8_t(spec.elementStrides[i]);
  }
  for (unsigned i = 0; i < 3; ++i) {
    packed.lower[i] = int16_t(spec.pixelBoxLowerCorner[i]);
    packed.upper[i] = int16_t(spec.pixelBoxUpperCorner[i]);
  }
  packed.channels = uint16_t(spec.channelsPerPixel);
  packed.pixels = uint16_t(spec.pixelsPerColumn);
  packed.type = uint8_t(spec.type);
  packed.rank = uint8_t(spec.rank);
  packed.isIm2col = spec.isIm2col;
  packed.interleave = uint8_t(spec.interleave);
  packed.swizzle = uint8_t(spec.swizzle);
  packed.l2Promotion = uint8_t(spec.l2Promotion);
  packed.fill = uint8_t(spec.fill);
  packed.checksum = checksumOf(packed);
  std::memcpy(bytes, &packed, sizeof(packed));
}

Error unpackTensorMap(const uint8_t bytes[kTensorMapBytes], TensorMapSpec &spec) {
  Packed packed;
  std::memcpy(&packed, bytes, sizeof(packed));
  if (packed.magic != kMagic)
    return Error(ErrorCode::Input,
                 "these 128 bytes are no tensor map of the emulator; encode it for the emulator's device "
                 "(maps that the CUDA driver encoded cannot be read)");
  if (packed.checksum != checksumOf(packed))
    return Error(ErrorCode::Input, "the tensor map was changed by something other than tensormap.replace");
  spec = TensorMapSpec();
  spec.globalAddress = packed.globalAddress;
  for (unsigned i = 0; i < 4; ++i)
    spec.globalStrides[i] = packed.globalStrides[i];
  for (unsigned i = 0; i < kMaxTensorMapRank; ++i) {
    spec.globalDim[i] = uint64_t(packed.globalDim[i]) + 1;
    spec.boxDim[i] = packed.boxDim[i];
    spec.elementStrides[i] = packed.elementStrides[i];
  }
  for (unsigned i = 0; i < 3; ++i) {
    spec.pixelBoxLowerCorner[i] = packed.lower[i];
    spec.pixelBoxUpperCorner[i] = packed.upper[i];
  }
  spec.channelsPerPixel = packed.channels;
  spec.pixelsPerColumn = packed.pixels;
  spec.type = TensorMapType(packed.type);
  spec.rank = packed.rank;
  spec.isIm2col = packed.isIm2col;
  spec.interleave = TensorMapInterleave(packed.interleave);
  spec.swizzle = TensorMapSwizzle(packed.swizzle);
  spec.l2Promotion = TensorMapL2Promotion(packed.l2Promotion);
  spec.fill = TensorMapFill(packed.fill);
  return {};
}

Error encodeTensorMap(const TensorMapSpec &spec, uint8_t bytes[kTensorMapBytes]) {
  if (Error error = checkTensorMap(spec))
    return error;
  packTensorMap(spec, bytes);
  return {};
}

Error decodeTensorMap(const uint8_t bytes[kTensorMapBytes], TensorMapSpec &spec) {
  if (Error error = unpackTensorMap(bytes, spec))
    return error;
  return checkTensorMap(spec);
}

} // namespace weft::emu
