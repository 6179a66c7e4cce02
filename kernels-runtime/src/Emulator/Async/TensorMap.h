// The emulator's own tensor map object.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor map is 128 opaque bytes, which kernels pass on and `tensormap.replace` edits. The driver's bits are not
// documented, so the emulator has its own: a magic, the fields of TensorMapSpec in fixed offsets, and a checksum. A map
// that the CUDA driver made is refused, and so is one whose bytes were edited by ordinary stores.
#ifndef WEFT_EMULATOR_ASYNC_TENSORMAP_H
#define WEFT_EMULATOR_ASYNC_TENSORMAP_H

#include "TensorMap/TensorMapSpec.h"

#include <cstddef>
#include <cstdint>

namespace weft::emu {

constexpr size_t kTensorMapBytes = 128;
/// Alignment of the object in memory; tensormap.replace and copies ask for as much as the encoding call.
constexpr size_t kTensorMapAlignment = 64;

/// Writes the map after `checkTensorMap`, whose errors it returns.
bundle::Error encodeTensorMap(const TensorMapSpec &spec, uint8_t bytes[kTensorMapBytes]);

/// Writes the fields unchecked, as tensormap.replace leaves them between two edits.
void packTensorMap(const TensorMapSpec &spec, uint8_t bytes[kTensorMapBytes]);
/// Reads the fields unchecked. Input: these are not bytes of the emulator.
bundle::Error unpackTensorMap(const uint8_t bytes[kTensorMapBytes], TensorMapSpec &spec);

/// unpackTensorMap and checkTensorMap: what a copy does with its map.
bundle::Error decodeTensorMap(const uint8_t bytes[kTensorMapBytes], TensorMapSpec &spec);

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_TENSORMAP_H
