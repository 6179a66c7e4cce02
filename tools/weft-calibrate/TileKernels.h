// The microbenchmarks of what a tiled product takes beside its bytes and operations, as PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters: iterations, address, out; out[0] gets the clocks of block 0. Of the names that end in a number there are
// two, for so many and twice as many in an iteration (kCopies, or kResults of registers).
//
// clang-format off
//   copy_chain         a thread's copy of 16 bytes, one after the other
//   step_chain         a barrier, and a read of shared memory whose address comes from the one before
//   empty_steps        steps that wait for copies, and do nothing
//   copy_issue4, 8     copies of 16 bytes a lane, without their waits
//   narrow_copies4, 8  copies of 4 bytes a lane
//   narrowest_copies4, 8  elements of 2 bytes, through registers
//   sliding_copies4, 8 the same, each with an address and a mask of its own
//   result_stores16, 32 registers of two results, through shared memory to global memory
//   dependent16, 32    instructions one after the other
//   beside_reads       8 reads of pairs of 8 rows by a warp
//   half_sectors       writes of 16 bytes, a sector each
//   least_block        a block whose first warp copies, stores and ends
//   box_chain          boxes of kBoxBytes one after the other (sm_90a, like all that follow)
//   box_steps          64 x 128 by 64 of a warpgroup, one after the other, with a signal each
//   unpacked_steps     the same with the left operand in registers, which each step makes
//   box_stores16, 32   registers of two results, which leave as a box
//   box_ring           steps of a block that copies boxes and reads nothing of them
//   paired_ring        the same where two blocks wait for each other's slots
//   panels_together    all SMs read panels by boxes, eight of them the same one, in step
//   panels_apart       each from another position of its panel on
// clang-format on
#ifndef WEFT_TOOLS_WEFT_CALIBRATE_TILEKERNELS_H
#define WEFT_TOOLS_WEFT_CALIBRATE_TILEKERNELS_H

#include <cstdint>
#include <string>

namespace weft::calibrate {

/// Fewer than these a loop's own instructions would hide.
inline constexpr int kCopies = 4, kResults = 16;
inline constexpr int kSlots = 4;
inline constexpr int64_t kBoxBytes = 8192, kPanelBytes = 1 << 18, kPanelSms = 8;
inline constexpr int64_t kLeastBytes = 32 * 16;                    ///< Of a block of least_block.
inline constexpr int64_t kBesideBytes = 8 * 4 * 32;                ///< By a warp and iteration.
inline constexpr int64_t kBesideRows = 64, kBesideRowBytes = 4096; ///< Of a block of 256 threads.

/// For sm_80 and up.
std::string makeTileKernels();
/// For sm_90a.
std::string makeTileBoxKernels();

} // namespace weft::calibrate

#endif // WEFT_TOOLS_WEFT_CALIBRATE_TILEKERNELS_H
