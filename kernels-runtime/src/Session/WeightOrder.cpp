//===- WeightOrder.cpp - Weights whose dimensions kernels read in another order ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Once for each weight and card, so plain loops: an odometer over what is written, which is contiguous.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "WeightOrder.h"

#include <cinttypes>
#include <cstring>

using namespace weft;
using namespace weft::bundle;

/// `Bytes` is the size of an element, or 0 for that of the record.
template <unsigned Bytes> static void reorder(const WeightOrderRecord &record, const uint8_t *stored, uint8_t *seen) {
  const uint64_t bytes = Bytes ? Bytes : record.elementBytes;
  uint64_t strides[8], extents[8], place[8] = {}, stride = bytes, count = 1;
  uint64_t storedStrides[8];
  for (unsigned d = record.rank; d-- > 0;) {
    storedStrides[d] = stride;
    stride *= record.extents[d];
    count *= record.extents[d];
  }
  for (unsigned d = 0; d < record.rank; ++d) {
    strides[d] = storedStrides[record.order[d]];
    extents[d] = record.extents[record.order[d]];
  }
  const uint8_t *from = stored;
  for (uint64_t i = 0; i < count; ++i, seen += bytes) {
    std::memcpy(seen, from, bytes);
    for (unsigned d = record.rank; d-- > 0;) {
      from += strides[d];
      if (++place[d] < extents[d])
        break;
      from -= strides[d] * extents[d];
      place[d] = 0;
    }
  }
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
  write(record, static_cast<const uint8_t *>(stored), static_cast<uint8_t *>(seen.get()));
  return {};
}
