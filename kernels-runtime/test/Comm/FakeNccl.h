// A stand-in for NCCL.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives of processes that have memory in common, which the test maps before it forks. As on GPUs, a call returns
// at once, in a captured stream does nothing but be recorded, and what it started waits for the other ranks without an
// end; the stream of the stand-in for CUDA is not ready meanwhile. A communicator ends when no graph has collectives of
// it any more.
#ifndef WEFT_TEST_COMM_FAKENCCL_H
#define WEFT_TEST_COMM_FAKENCCL_H

#include "../Cuda/FakeCuda.h"

#include <atomic>

namespace weft::test {

/// Of all ranks.
struct FakeNcclMemory {
  static constexpr unsigned kSteps = 64, kRanks = 4, kBytes = 256;
  std::atomic<uint32_t> arrived[kSteps];
  uint8_t slots[kSteps][kRanks][kBytes];
  std::atomic<uint32_t> gone; ///< Ranks whose sessions and communicators are gone.
  char id[128];               ///< That rank 0 has made.
};

/// Of one process. The test's thread and those of the transport and of collectives share it.
struct FakeNccl {
  FakeNcclMemory *memory = nullptr;
  FakeCuda *cuda = nullptr;
  std::atomic<int> asyncError = 0, startError = 0; ///< Of collectives that run, and of calls that start them.
  std::atomic<unsigned> aborts = 0, destroyed = 0, captured = 0;
  std::atomic<unsigned> stuck = 0;       ///< Communicators that were to end while graphs had their collectives.
  std::atomic<unsigned> awaitedGone = 0; ///< Collectives end half a second after so many other ranks are gone.
};

} // namespace weft::test

#endif // WEFT_TEST_COMM_FAKENCCL_H
