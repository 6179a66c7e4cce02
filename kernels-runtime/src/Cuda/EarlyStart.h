// Which kernels start while the one in front still runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that starts early (programmatic dependent launch) gets SMs as they have room, not evenly: where the CTAs of
// the kernel in front leave no room for its share on every SM, it piles up on those that end first, and runs for as
// long as the fullest SM takes (an H100, BERT layer of 4 x 256: 75 us with all kernels early, 68 with these, 71 with
// none). So a kernel starts early if its share fits beside the CTAs in front, or if it fills the GPU by itself: then
// CTAs that come later even it out. One of a CTA for each SM fills the GPU if it asks for more than half of an SM's
// shared memory: then no SM has two (a decode layer of Llama 165.5 us without, 163.3 with, ResNet-50 159.0 and 157.0).
// A few CTAs that find no room stay behind: what they gain is less than what the shared memory costs those around them.
#ifndef WEFT_CUDA_EARLYSTART_H
#define WEFT_CUDA_EARLYSTART_H

#include <array>
#include <cstdint>
#include <optional>

namespace weft::cuda {

/// A GPU's SMs, and what the driver takes of one for each CTA.
struct SmLimits {
  int count = 1, threads = 1, registers = 1, sharedBytes = 1, sharedBytesOfCta = 0;
};

/// Of a CTA; registers of a thread.
struct CtaNeeds {
  unsigned threads, registers, sharedBytes;
};

/// CTAs that an SM holds.
int64_t countResident(const SmLimits &limits, const CtaNeeds &cta);

class EarlyStart {
public:
  /// A launch of `grid` CTAs comes behind those before: the shared memory that each is to ask for if it is to start
  /// early, which only code that `waits` for the launch in front can do.
  std::optional<unsigned> follow(const SmLimits &limits, const CtaNeeds &cta, int64_t grid, bool waits);

private:
  /// A launch of so many CTAs for each SM is in front from now on; whether it may start early.
  bool take(const std::array<double, 3> &each, int64_t share);

  /// Threads, registers and shared memory as parts of an SM's: what the CTAs of the launch in front hold of one.
  std::array<double, 3> held = {1, 1, 1};
};

} // namespace weft::cuda

#endif // WEFT_CUDA_EARLYSTART_H
