// The reductions of bulk and tensor copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cp.reduce.async.bulk and its tensor form do to each element of the destination. Floating-point sums round to
// nearest even and keep subnormals; min and max prefer the number to a NaN; inc and dec are those of atomics (wrap at
// the source). Bit-equal to an H100 on the types of tensor maps.
#ifndef WEFT_EMULATOR_ASYNC_REDUCE_H
#define WEFT_EMULATOR_ASYNC_REDUCE_H

#include "TensorMap/TensorMapSpec.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::emu {

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };
enum class ReduceType : uint8_t { F16, BF16, F32, F64, U32, S32, U64, S64 };

/// The operation that `word` ("add", "xor", ...) names; false when none.
bool parseReduceOp(std::string_view word, ReduceOp &op);
std::string_view name(ReduceOp op);

unsigned elementSize(ReduceType type);
/// The arithmetic of elements of a tensor map; false for 1- and 2-byte integers, which have none.
bool reduceTypeOf(TensorMapType type, ReduceType &reduceType);
/// Whether a tensor reduction has this operation on this type.
bool isReducible(ReduceOp op, ReduceType type);

/// destination[i] = op(destination[i], source[i]); `bytes` is a multiple of the element size.
void reduceElements(ReduceOp op, ReduceType type, uint8_t *destination, const uint8_t *source, size_t bytes);

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_REDUCE_H
