// Groups of warps of a CTA that take slices of a product's steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_SLICES_H
#define WEFT_TARGET_SLICES_H

#include <cstdint>

namespace weft::gpu {

/// How many groups of warps share each step of a tile's product by mma.sync, every group with sums of the whole tile:
/// as many as there are warps for each piece of 32 x 32, with which a warp reads an element of shared memory for two
/// instructions, and waits for none of its own. `stepBytes` and `depthBytes`: what a row of an operand has of one step,
/// and of all; a slice of a step is whole instructions deep, and a slice of all long enough to pay for adding them up.
int64_t countSlices(int64_t m, int64_t n, int64_t stepBytes, int64_t depthBytes, int64_t warps);

} // namespace weft::gpu

#endif // WEFT_TARGET_SLICES_H
