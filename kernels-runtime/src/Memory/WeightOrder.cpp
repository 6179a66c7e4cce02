// Weights whose dimensions kernels read in another order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Once for each weight and GPU, but of gigabytes: planes of the dimension that is innermost as stored and of the one
// that is innermost as seen are transposed block by block, so that both sides move whole lines of the cache.
#include "WeightOrder.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

using namespace weft;
using namespace weft::bundle;

namespace {

constexpr uint64_t kLine = 64, kColumns = 64;
constexpr uint64_t kMostElementBytes = 255; ///< What a record's field holds.

/// `rows` x `columns` elements as seen; in bytes, the way from column to column as stored and from row to row as seen.
struct Plane {
  uint64_t rows = 1, columns = 1, fromStride = 0, toStride = 0;
};

/// Seen dimensions, innermost last.
struct Odometer {
  unsigned rank = 0;
  uint64_t extents[8] = {}, from[8] = {}, to[8] = {}; ///< Strides in bytes.
};

} // namespace

/// A column of a plane is contiguous as stored, a row as seen. `Bytes` is the size of an element, or 0 for
/// `elementBytes`.
template <unsigned Bytes>
static void transpose(const Plane &plane, uint64_t elementBytes, const uint8_t *stored, uint8_t *seen) {
  const uint64_t bytes = Bytes ? Bytes : elementBytes, height = std::max<uint64_t>(kLine / bytes, 1);
  uint8_t block[kColumns * std::max(kLine, kMostElementBytes)]; // Lines of rows at powers of two evict each other.
  for (uint64_t row = 0; row < plane.rows; row += height)
    for (uint64_t column = 0; column < plane.columns; column += kColumns) {
      const uint64_t rows = std::min(height, plane.rows - row), columns = std::min(kColumns, plane.columns - column);
      for (uint64_t c = 0; c < columns; ++c)
        std::memcpy(block + c * height * bytes, stored + (column + c) * plane.fromStride + row * bytes, rows * bytes);
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < columns; ++c)
          std::memcpy(seen + (row + r) * plane.toStride + (column + c) * bytes, block + (c * height + r) * bytes,
                      bytes);
    }
}

/// Takes the plane's dimensions out of `record`; what is left are the planes.
static Plane takePlane(const WeightOrderRecord &record, Odometer &planes) {
  uint64_t storedStrides[8], stride = record.elementBytes;
  for (unsigned d = record.rank; d-- > 0; stride *= record.extents[d])
    storedStrides[d] = stride;
  Plane plane;
  stride = record.elementBytes;
  for (unsigned d = record.rank; d-- > 0;) {
    const unsigned dim = record.order[d];
    const uint64_t extent = record.extents[dim];
    if (d + 1 == record.rank && dim + 1 != record.rank) {
      plane.columns = extent;
      plane.fromStride = storedStrides[dim];
    } else if (dim + 1 == record.rank) {
      plane.rows = extent;
      plane.toStride = stride;
    } else {
      planes.extents[planes.rank] = extent;
      planes.from[planes.rank] = storedStrides[dim];
      planes.to[planes.rank++] = stride;
    }
    stride *= extent;
  }
  return plane;
}

/// Calls `visit` with the indices of each plane, as stored and as seen.
template <typename Visit>
static void forEachPlane(const Odometer &planes, const uint8_t *stored, uint8_t *seen, Visit visit) {
  uint64_t place[8] = {};
  for (unsigned d = 0; d < planes.rank; ++d)
    if (planes.extents[d] == 0)
      return;
  for (unsigned d = 0;;) {
    visit(stored, seen);
    for (d = 0; d < planes.rank; ++d) {
      stored += planes.from[d];
      seen += planes.to[d];
      if (++place[d] < planes.extents[d])
        break;
      stored -= planes.from[d] * planes.extents[d];
      seen -= planes.to[d] * planes.extents[d];
      place[d] = 0;
    }
    if (d == planes.rank)
      return;
  }
}

template <unsigned Bytes> static void reorder(const WeightOrderRecord &record, const uint8_t *stored, uint8_t *seen) {
  Odometer planes;
  const Plane plane = takePlane(record, planes);
  forEachPlane(planes, stored, seen, [&](const uint8_t *from, uint8_t *to) {
    if (plane.fromStride) // Else the innermost dimension stays so: a plane is one row.
      transpose<Bytes>(plane, record.elementBytes, from, to);
    else
      std::memcpy(to, from, plane.rows * record.elementBytes);
  });
}

static void write(const WeightOrderRecord &record, const uint8_t *stored, uint8_t *seen) {
  switch (record.elementBytes) {
  case 1:
    return reorder<1>(record, stored, seen);
  case 2:
    return reorder<2>(record, stored, seen);
  case 4:
    return reorder<4>(record, stored, seen);
  default:
    return reorder<0>(record, stored, seen);
  }
}

Error weft::reorderWeight(const WeightOrderRecord &record, const void *stored, uint64_t bytes, AlignedMemory &seen) {
  if (!seen.allocate(bytes))
    return makeError(ErrorCode::Resource, "no memory for a weight of %" PRIu64 " bytes in another order", bytes);
  if (bytes)
    write(record, static_cast<const uint8_t *>(stored), static_cast<uint8_t *>(seen.get()));
  return {};
}

const uint8_t *WeightView::findPiece() const {
  const auto *data = static_cast<const uint8_t *>(stored);
  return !part ? data : part->outer == 1 ? data + rank * part->pieceBytes : nullptr;
}

const uint8_t *WeightView::findInPlace() const {
  const uint8_t *piece = order ? nullptr : findPiece();
  return piece && isAligned(piece) ? piece : nullptr;
}

Error weft::gatherPart(const WeightView &view, AlignedMemory &memory) {
  const WeightPartRecord &part = *view.part;
  if (!memory.allocate(view.getBytes()))
    return makeError(ErrorCode::Resource, "no memory for %" PRIu64 " bytes of a rank's part of a weight",
                     view.getBytes());
  const auto *from = static_cast<const uint8_t *>(view.stored) + view.rank * part.pieceBytes;
  auto *to = static_cast<uint8_t *>(memory.get());
  for (uint64_t row = 0; row < part.outer; ++row, from += part.parts * part.pieceBytes, to += part.pieceBytes)
    std::memcpy(to, from, part.pieceBytes);
  return {};
}

Error weft::makeSeenWeight(const WeightView &view, AlignedMemory &seen) {
  if (!view.order)
    return gatherPart(view, seen);
  if (const uint8_t *piece = view.findPiece())
    return reorderWeight(*view.order, piece, view.getBytes(), seen);
  AlignedMemory gathered;
  if (Error error = gatherPart(view, gathered))
    return error;
  return reorderWeight(*view.order, gathered.get(), view.getBytes(), seen);
}
