// Which bytes a tensor copy moves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The traversal orders of tiled and im2col copies, as measured on an H100 for what the PTX manual leaves open.
#include "Emulator/Async/BoxWalk.h"

#include <algorithm>
#include <cstring>

namespace weft::emu {
namespace {

/// The row of `count` elements whose first has coordinate `first` in the innermost dimension and `outer` in the others.
BoxRow makeRow(const TensorMapSpec &spec, int64_t first, uint32_t count, const int64_t *outer, uint32_t sharedOffset) {
  unsigned size = elementSize(spec.type);
  BoxRow row = {0, sharedOffset, uint16_t(count * size), 0, 0};
  uint64_t address = spec.globalAddress;
  for (unsigned i = 1; i < spec.rank; ++i) {
    if (outer[i] < 0 || uint64_t(outer[i]) >= spec.globalDim[i])
      return row;
    address += uint64_t(outer[i]) * spec.globalStrides[i - 1];
  }
  int64_t begin = std::clamp<int64_t>(-first, 0, count);
  int64_t end = std::clamp<int64_t>(int64_t(spec.globalDim[0]) - first, begin, count);
  row.insideBegin = uint16_t(begin * size);
  row.insideBytes = uint16_t((end - begin) * size);
  row.globalAddress = address + uint64_t(first + begin) * size;
  return row;
}

} // namespace

bundle::Error checkCoordinates(const TensorMapSpec &spec, const int32_t *coordinates, bool isStore) {
  if (int64_t(coordinates[0]) * elementSize(spec.type) % 16)
    return bundle::makeError(bundle::ErrorCode::Input,
                             "the innermost coordinate must be at a multiple of 16 bytes, got %d elements of %u bytes",
                             coordinates[0], elementSize(spec.type));
  for (unsigned i = 0; isStore && i < spec.rank; ++i)
    if (coordinates[i] < 0)
      return bundle::makeError(bundle::ErrorCode::Input, "coordinate %u of a store must not be negative, got %d", i,
                               coordinates[i]);
  for (unsigned i = 0; spec.isIm2col && i + 2 < spec.rank; ++i) {
    if (isStore && spec.pixelBoxLowerCorner[i] < 0)
      return bundle::makeError(bundle::ErrorCode::Input,
                               "the lower corner of a store's pixel box must not be negative, got %d",
                               spec.pixelBoxLowerCorner[i]);
    int64_t lower = spec.pixelBoxLowerCorner[i], place = coordinates[i + 1];
    int64_t upper = int64_t(spec.globalDim[i + 1]) - 1 + spec.pixelBoxUpperCorner[i];
    if (place < lower || place > upper)
      return bundle::makeError(bundle::ErrorCode::Input,
                               "coordinate %u must be inside of the pixel box, which is %lld to %lld, got %lld", i + 1,
                               (long long)lower, (long long)upper, (long long)place);
  }
  return {};
}

void walkTile(const TensorMapSpec &spec, const int32_t *coordinates, std::vector<BoxRow> &rows) {
  uint32_t counts[kMaxTensorMapRank] = {1, 1, 1, 1, 1};
  uint32_t index[kMaxTensorMapRank] = {};
  int64_t outer[kMaxTensorMapRank] = {};
  for (unsigned i = 1; i < spec.rank; ++i)
    counts[i] = (spec.boxDim[i] + spec.elementStrides[i] - 1) / spec.elementStrides[i];
  uint32_t pitch = rowPitch(spec);
  rows.clear();
  for (uint32_t sharedOffset = 0;; sharedOffset += pitch) {
    for (unsigned i = 1; i < spec.rank; ++i)
      outer[i] = int64_t(coordinates[i]) + int64_t(index[i]) * spec.elementStrides[i];
    rows.push_back(makeRow(spec, coordinates[0], spec.boxDim[0], outer, sharedOffset));
    unsigned i = 1;
    while (i < spec.rank && ++index[i] == counts[i])
      index[i++] = 0;
    if (i >= spec.rank)
      return;
  }
}

void walkIm2col(const TensorMapSpec &spec, const int32_t *coordinates, const uint16_t *offsets,
                std::vector<BoxRow> &rows) {
  unsigned spatial = spec.rank - 2;
  int64_t place[kMaxTensorMapRank], outer[kMaxTensorMapRank];
  for (unsigned i = 0; i < spec.rank; ++i)
    outer[i] = place[i] = coordinates[i];
  uint32_t pitch = rowPitch(spec);
  rows.clear();
  for (uint32_t pixel = 0; pixel < spec.pixelsPerColumn; ++pixel) {
    for (unsigned i = 0; i < spatial; ++i)
      outer[i + 1] = place[i + 1] + offsets[i];
    outer[spec.rank - 1] = place[spec.rank - 1];
    rows.push_back(makeRow(spec, coordinates[0], spec.channelsPerPixel, outer, pixel * pitch));
    unsigned i = 0;
    for (; i < spatial; ++i) {
      place[i + 1] += spec.elementStrides[i + 1];
      if (place[i + 1] <= int64_t(spec.globalDim[i + 1]) - 1 + spec.pixelBoxUpperCorner[i])
        break;
      place[i + 1] = spec.pixelBoxLowerCorner[i];
    }
    if (i == spatial)
      place[spec.rank - 1] += spec.elementStrides[spec.rank - 1];
  }
}

uint32_t rowPitch(const TensorMapSpec &spec) {
  uint32_t bytes = (spec.isIm2col ? spec.channelsPerPixel : spec.boxDim[0]) * elementSize(spec.type);
  return std::max(bytes, swizzleSpan(spec.swizzle));
}

void roundLoaded(TensorMapType type, uint8_t *data, size_t bytes) {
  if (type != TensorMapType::TFloat32 && type != TensorMapType::TFloat32Ftz)
    return;
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, data + i, 4);
    if ((bits & 0x7fffffff) > 0x7f800000)
      bits = 0x7fffe000;
    else
      bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t(0x1fff);
    std::memcpy(data + i, &bits, 4);
  }
}

} // namespace weft::emu
