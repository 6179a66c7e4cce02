// The conditions on tensor maps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conditions that the driver's documentation of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col lists, one
// function for each group of arguments. Where the driver on an H100 accepts more or less than its page says, the
// comment at the condition says so.
#include "TensorMap/TensorMapSpec.h"

#include <cinttypes>

namespace weft {
namespace {

using bundle::Error;
using bundle::ErrorCode;
using bundle::makeError;

constexpr uint64_t kMaxExtent = uint64_t(1) << 32;
constexpr uint64_t kMaxStride = uint64_t(1) << 40;
constexpr uint32_t kMaxBox = 256;
constexpr uint32_t kMaxElementStride = 8;
constexpr uint32_t kMaxPixels = 1024;
/// Not in the documentation: the driver refuses boxes above the shared memory of an SM.
constexpr uint64_t kMaxBoxBytes = 228 * 1024;

Error checkKinds(const TensorMapSpec &spec) {
  if (unsigned(spec.type) >= kNumTensorMapTypes)
    return makeError(ErrorCode::Usage, "tensor map: expected a data type below %u, got %u", kNumTensorMapTypes,
                     unsigned(spec.type));
  if (unsigned(spec.interleave) > unsigned(TensorMapInterleave::Bytes32))
    return makeError(ErrorCode::Usage, "tensor map: expected an interleave below 3, got %u", unsigned(spec.interleave));
  if (unsigned(spec.swizzle) > unsigned(TensorMapSwizzle::Bytes128))
    return makeError(ErrorCode::Usage, "tensor map: expected swizzle none, 32B, 64B or 128B (0 to 3), got %u%s",
                     unsigned(spec.swizzle),
                     unsigned(spec.swizzle) <= 6 ? " (the atoms of 32 and 64 bytes are not of sm_90)" : "");
  if (unsigned(spec.l2Promotion) > unsigned(TensorMapL2Promotion::Bytes256))
    return makeError(ErrorCode::Usage, "tensor map: expected an L2 promotion below 4, got %u",
                     unsigned(spec.l2Promotion));
  if (unsigned(spec.fill) > unsigned(TensorMapFill::Nan))
    return makeError(ErrorCode::Usage, "tensor map: expected an out-of-bounds fill below 2, got %u",
                     unsigned(spec.fill));
  if (spec.fill == TensorMapFill::Nan && !isFloat(spec.type))
    return Error(ErrorCode::Usage, "tensor map: the NaN fill needs a floating-point data type");
  unsigned minRank = spec.isIm2col || spec.interleave != TensorMapInterleave::None ? 3 : 1;
  if (spec.rank < minRank || spec.rank > kMaxTensorMapRank)
    return makeError(ErrorCode::Usage, "tensor map: expected a rank from %u to %u, got %u", minRank, kMaxTensorMapRank,
                     spec.rank);
  if (spec.interleave != TensorMapInterleave::None)
    return Error(ErrorCode::Unsupported,
                 "tensor map: interleaved layouts (16B, 32B) are not supported; use interleave none");
  return {};
}

Error checkTensor(const TensorMapSpec &spec) {
  if (spec.globalAddress % 16)
    return makeError(ErrorCode::Usage, "tensor map: expected a global address that is a multiple of 16, got 0x%" PRIx64,
                     spec.globalAddress);
  for (unsigned i = 0; i < spec.rank; ++i)
    if (spec.globalDim[i] == 0 || spec.globalDim[i] > kMaxExtent)
      return makeError(ErrorCode::Usage, "tensor map: expected a globalDim[%u] from 1 to 2^32, got %" PRIu64, i,
                       spec.globalDim[i]);
  for (unsigned i = 0; i + 1 < spec.rank; ++i)
    if (spec.globalStrides[i] % 16 || spec.globalStrides[i] >= kMaxStride)
      return makeError(ErrorCode::Usage,
                       "tensor map: expected a globalStrides[%u] that is a multiple of 16 below 2^40, got %" PRIu64, i,
                       spec.globalStrides[i]);
  // Element stride 0 is ignored without interleaving, but has the same range.
  for (unsigned i = 0; i < spec.rank; ++i)
    if (spec.elementStrides[i] == 0 || spec.elementStrides[i] > kMaxElementStride)
      return makeError(ErrorCode::Usage, "tensor map: expected an elementStrides[%u] from 1 to %u, got %u", i,
                       kMaxElementStride, spec.elementStrides[i]);
  return {};
}

/// The innermost extent of the box, in bytes, against the granularity of shared memory and the span of the swizzle.
Error checkInner(const TensorMapSpec &spec, uint64_t bytes, const char *name) {
  if (bytes % 16)
    return makeError(ErrorCode::Usage, "tensor map: expected a %s of a multiple of 16 bytes, got %" PRIu64 " bytes",
                     name, bytes);
  if (unsigned span = swizzleSpan(spec.swizzle); span && bytes > span)
    return makeError(ErrorCode::Usage, "tensor map: expected a %s of at most %u bytes for swizzle %uB, got %" PRIu64,
                     name, span, span, bytes);
  return {};
}

Error checkTiled(const TensorMapSpec &spec) {
  for (unsigned i = 0; i < spec.rank; ++i)
    if (spec.boxDim[i] == 0 || spec.boxDim[i] > kMaxBox)
      return makeError(ErrorCode::Usage, "tensor map: expected a boxDim[%u] from 1 to %u, got %u", i, kMaxBox,
                       spec.boxDim[i]);
  return checkInner(spec, uint64_t(spec.boxDim[0]) * elementSize(spec.type), "boxDim[0]");
}

Error checkIm2col(const TensorMapSpec &spec) {
  // The corners share 16 bits of one operand per corner.
  static const int32_t limits[] = {1 << 15, 1 << 7, 1 << 4};
  int32_t limit = limits[spec.rank - 3];
  for (unsigned i = 0; i + 2 < spec.rank; ++i) {
    int32_t lower = spec.pixelBoxLowerCorner[i], upper = spec.pixelBoxUpperCorner[i];
    if (lower < -limit || lower >= limit || upper < -limit || upper >= limit)
      return makeError(ErrorCode::Usage,
                       "tensor map: expected pixel box corners from %d to %d at rank %u, got %d and %d", -limit,
                       limit - 1, spec.rank, lower, upper);
    if (int64_t(spec.globalDim[i + 1]) - 1 + upper < lower)
      return makeError(ErrorCode::Usage, "tensor map: the pixel box is empty in dimension %u (corners %d and %d)",
                       i + 1, lower, upper);
  }
  if (spec.channelsPerPixel == 0 || spec.channelsPerPixel > kMaxBox)
    return makeError(ErrorCode::Usage, "tensor map: expected channelsPerPixel from 1 to %u, got %u", kMaxBox,
                     spec.channelsPerPixel);
  if (spec.pixelsPerColumn == 0 || spec.pixelsPerColumn > kMaxPixels)
    return makeError(ErrorCode::Usage, "tensor map: expected pixelsPerColumn from 1 to %u, got %u", kMaxPixels,
                     spec.pixelsPerColumn);
  return checkInner(spec, uint64_t(spec.channelsPerPixel) * elementSize(spec.type), "channelsPerPixel");
}

} // namespace

unsigned elementSize(TensorMapType type) {
  static const uint8_t sizes[kNumTensorMapTypes] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return sizes[unsigned(type)];
}

bool isFloat(TensorMapType type) { return type >= TensorMapType::Float16; }

unsigned swizzleSpan(TensorMapSwizzle swizzle) {
  return swizzle == TensorMapSwizzle::None ? 0 : 16u << unsigned(swizzle);
}

uint64_t boxBytes(const TensorMapSpec &spec) {
  uint64_t bytes = elementSize(spec.type);
  if (spec.isIm2col)
    return bytes * spec.channelsPerPixel * spec.pixelsPerColumn;
  bytes *= spec.boxDim[0];
  for (unsigned i = 1; i < spec.rank; ++i)
    bytes *= (spec.boxDim[i] + spec.elementStrides[i] - 1) / spec.elementStrides[i];
  return bytes;
}

Error checkTensorMap(const TensorMapSpec &spec) {
  if (Error error = checkKinds(spec))
    return error;
  if (Error error = checkTensor(spec))
    return error;
  if (Error error = spec.isIm2col ? checkIm2col(spec) : checkTiled(spec))
    return error;
  if (uint64_t bytes = boxBytes(spec); bytes > kMaxBoxBytes)
    return makeError(ErrorCode::Usage, "tensor map: expected a box of at most %" PRIu64 " bytes, got %" PRIu64,
                     kMaxBoxBytes, bytes);
  return {};
}

} // namespace weft
