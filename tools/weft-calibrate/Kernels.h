// The microbenchmarks' kernels as PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every parameter is a 64-bit integer, in this order:
//
// clang-format off
//   empty         nothing
//   stream        address, vectors, passes, shift, out  reads `vectors` 16-byte vectors `passes` times, through the L2;
//                                                       in pass p thread t begins p * shift vectors further
//   latency       address, lines, stride, out           one thread: clocks of a read of each line, as 32-bit numbers
//   shared        iterations, out                       reads kSharedBytes of shared memory a thread and iteration
//   block_barrier iterations, out                       barriers of a block; out[0]: clocks of block 0
//   grid_barrier  iterations, counter                   barriers of all blocks; `counter` is zero before
//   mma           iterations, out                       kMmaFlops a warp and iteration, f16 with f32 sums
//   fold_chain    iterations, out                       a step of a fold by the smallest instructions, one after the
//                                                       other: a product, the maximum of its rows, exponentials, a
//                                                       product of these, a barrier of the block; out[0]: clocks
//   group_fold_chain iterations, out                    the same by wgmma, without the barrier (sm_90a)
//   wgmma         iterations, out                       kWgmmaFlops a warpgroup and iteration (sm_90a)
//   cluster_barrier iterations, out                     relaxed barriers of clusters of kClusterCtas blocks (sm_90a);
//                                                       out[0]: clocks of block 0
//   cluster_exchange iterations, repeats, out           each block of a pair sends kExchangedBytes, once or twice, to
//                                                       the other one, adds up the first when all are there, and they
//                                                       meet (sm_90a); out[0]: clocks of block 0
//   cluster_spin clocks                                 clusters of kSpinningCtas blocks that last so long (sm_90a)
// clang-format on
#ifndef WEFT_TOOLS_WEFT_CALIBRATE_KERNELS_H
#define WEFT_TOOLS_WEFT_CALIBRATE_KERNELS_H

#include <cstdint>
#include <string>

namespace weft::calibrate {

inline constexpr int64_t kSharedBytes = 8 * 16;
inline constexpr int64_t kMmaFlops = 8 * 2 * 16 * 8 * 16;
inline constexpr int64_t kClusterCtas = 8, kExchangingCtas = 2, kSpinningCtas = 4;
inline constexpr int64_t kExchangedBytes = 8 * 128 * 16; ///< By a block of 128 threads.
inline constexpr int64_t kWgmmaFlops = 4 * 2 * int64_t(64) * 256 * 16;

/// For sm_80 and up: all but those of sm_90a.
std::string makeKernels();
/// For sm_90a: wgmma and those with clusters.
std::string makeHopperKernels();

} // namespace weft::calibrate

#endif // WEFT_TOOLS_WEFT_CALIBRATE_KERNELS_H
