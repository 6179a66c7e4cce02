// Parts of the reader.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the reader's files and the builder, which checks what it has built. Not for other rooms.
#ifndef WEFT_BUNDLE_VALIDATE_H
#define WEFT_BUNDLE_VALIDATE_H

#include "weft/Bundle/Reader.h"

namespace weft::bundle {

/// An invalid-input error with a printf format.
template <class... Args> Error invalid(const char *format, Args... args) {
  return makeError(ErrorCode::Input, format, args...);
}
inline Error invalid(const char *text) { return Error(ErrorCode::Input, text); }

/// Follows a range that must begin where the previous one of the same table ended; `next` is that offset.
/// `size` is the size of the table.
Error checkRange(const char *table, uint32_t first, uint32_t count, uint32_t size, uint32_t &next);

/// Fails if `string` is not a string of the bundle.
Error checkString(const Tables &tables, const char *what, uint32_t string);

/// Checks GpuModules, GpuKernels and TensorMaps.
Error validateGpuCode(const Tables &tables);

/// Points the table of `kind` in `tables` at the section's bytes.
void bindSection(Tables &tables, SectionKind kind, const uint8_t *bytes, uint64_t size);

/// The ranges that entries own are checked in this order, so that one cursor for each table suffices.
struct EntryCursors {
  uint32_t symbols = 0, ports = 0, instructions = 0, buffers = 0, extents = 0, commands = 0, arguments = 0, scalars = 0;
};

/// Checks entry `index` and advances the cursors over what it owns.
Error validateEntry(const Tables &tables, uint32_t index, EntryCursors &cursors);

} // namespace weft::bundle

#endif // WEFT_BUNDLE_VALIDATE_H
