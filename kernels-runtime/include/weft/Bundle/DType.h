// Facts about element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Width, name and class of each DType of bundle_format.h: one table, read by the builder, the reader, the runtime and
// the tools.
#ifndef WEFT_BUNDLE_DTYPE_H
#define WEFT_BUNDLE_DTYPE_H

#include "weft/bundle_format.h"

#include <string_view>

namespace weft::bundle {

/// Bits that one element occupies in memory (i1: 8); 0 if `dtype` is not a known code.
unsigned getBits(DType dtype);
/// The name used in messages and on command lines: "f32", "bf16", "ui8", "i1", "f8e4m3fn", ...; "?" if unknown.
const char *getName(DType dtype);
/// The type called `name`; false if there is none.
bool parseDType(std::string_view name, DType &dtype);
/// True for integers of at least 8 bits and i1: what a shape program can load.
bool isLoadable(DType dtype);
bool isFloat(DType dtype);
bool isUnsigned(DType dtype);
/// True for the types that collectives combine: those of arithmetic but for 16-bit integers.
bool isReducible(DType dtype);

/// Bytes of a dense tensor of `count` elements; false on overflow or a negative count.
bool getByteSize(DType dtype, int64_t count, int64_t &bytes);

} // namespace weft::bundle

#endif // WEFT_BUNDLE_DTYPE_H
