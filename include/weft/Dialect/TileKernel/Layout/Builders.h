// The layouts that kernels use: blocked registers, matrix fragments of PTX instructions, shared memory with and without
// swizzle. Registers count elements, not 32-bit registers: a 32-bit register of f16 is two values of the dimension
// "register". All extents are powers of two. Builders give nothing when their parameters describe no layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_LAYOUT_BUILDERS_H
#define WEFT_DIALECT_TILEKERNEL_LAYOUT_BUILDERS_H

#include "weft/Dialect/TileKernel/Layout/LinearLayout.h"

namespace weft::layout {

using Extents = std::vector<uint64_t>;

/// log2 of a power of two up to 2^60.
std::optional<unsigned> exactLog2(uint64_t value);
/// "dim0", "dim1", ...
std::string dimName(unsigned dim);

/// Registers, lanes and warps in blocks. A thread holds sizePerThread contiguous elements, a warp threadsPerWarp
/// threads (32 in all), a block warps warps; `order` lists the dimensions from fastest to slowest. A shape larger than
/// the block wraps around into more registers; a smaller one is held several times (zero bases). All lists have the
/// rank of `shape`.
struct Blocked {
  Extents shape, sizePerThread, threadsPerWarp, warps;
  std::vector<unsigned> order;
};
std::optional<LinearLayout> makeBlocked(const Blocked &blocked);

/// Operand A is [m, k], B is [k, n], accumulator C (and D) is [m, n], as (dim0, dim1).
enum class Operand { a, b, c };
enum class ElementType { f16, bf16, tf32, fp8, s8, s4, b1, f64 };
unsigned getBits(ElementType type);
std::optional<ElementType> parseElementType(std::string_view name); ///< e4m3, e5m2, u8 and u4 are spellings, too.

/// The fragment of mma.sync.mMnNkK, as (register, lane) -> tile. The shapes of the PTX ISA, less the m8n8k4 of f16
/// (Volta's), which has quads of another form.
std::optional<LinearLayout> makeMma(unsigned m, unsigned n, unsigned k, ElementType type, Operand operand);

/// The accumulator of wgmma.m64nNk*, as (register, lane, warp) -> [64, N]; N is 8, 16, ... 256. When N is no power of
/// two the layout is that of the next one, and the fragment is its registers 0 ... N/2 - 1, which hold exactly the
/// columns below N.
std::optional<LinearLayout> makeWgmmaAccumulator(unsigned n);
/// Operand A of wgmma from registers, as (register, lane, warp) -> [64, 256 bits of k].
std::optional<LinearLayout> makeWgmmaA(ElementType type);

/// What ldmatrix leaves in registers and stmatrix takes from them: (register, lane) -> (row, column, matrix) of 8x8
/// matrices of 16-bit elements; matrices is 1, 2 or 4.
std::optional<LinearLayout> makeLdmatrix(unsigned matrices, bool isTransposed);

/// Shared memory, as offset (in elements) -> tile; `order` from fastest to slowest.
struct Shared {
  Extents shape;
  std::vector<unsigned> order;
  unsigned elementBits = 16;
};
std::optional<LinearLayout> makeShared(const Shared &shared);
/// With the vectors of `vec` elements of a row in the order XOR (row / perPhase) % maxPhase; columns are order[0], rows
/// order[1].
std::optional<LinearLayout> makeSwizzled(const Shared &shared, unsigned vec, unsigned perPhase, unsigned maxPhase);
/// With the swizzle of tensor maps and wgmma descriptors; `bytes` is 32, 64 or 128: 16-byte chunk XOR bits 7 and up of
/// the address. Rows wider than `bytes` are cut into panels of that width, one after the other. The tile starts at a
/// multiple of 1,024 bytes.
std::optional<LinearLayout> makeTmaSwizzled(const Shared &shared, unsigned bytes);

} // namespace weft::layout

#endif // WEFT_DIALECT_TILEKERNEL_LAYOUT_BUILDERS_H
