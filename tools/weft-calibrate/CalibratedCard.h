// What the microbenchmarks need of a GPU: memory, and kernels that are timed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_CALIBRATE_CALIBRATEDCARD_H
#define WEFT_TOOLS_WEFT_CALIBRATE_CALIBRATEDCARD_H

#include "TimedCard.h"
#include "weft/Bundle/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::calibrate {

using bundle::Error;
using bundle::ErrorCode;

struct CardDescription : tools::CardProperties {
  bool isEmulated = false; ///< Times are instructions issued, one a clock and SM; they say nothing of the GPU.
};

/// A start of a kernel. Parameters are 64-bit integers.
struct KernelStart {
  std::string entry;
  int64_t grid = 1, block = 32;
  std::vector<uint64_t> parameters;
  int64_t cluster = 1; ///< As the kernel demands it: the driver sees that for itself.
};

class CalibratedCard {
public:
  virtual ~CalibratedCard() = default;
  virtual const CardDescription &getDescription() const = 0;
  /// Makes the entries of a module known.
  virtual Error load(const std::string &ptx) = 0;
  /// Zeroed memory, freed with the GPU.
  virtual Error allocate(uint64_t bytes, uint64_t &address) = 0;
  virtual Error read(uint64_t address, void *target, uint64_t bytes) = 0;
  /// Seconds for `count` starts one after the other. An error names the kernel: after a fault nothing else does.
  Error time(const KernelStart &start, int count, double &seconds) {
    return run(start, count, seconds).within("kernel " + bundle::quote(start.entry));
  }

private:
  virtual Error run(const KernelStart &start, int count, double &seconds) = 0;
};

/// GPU number `ordinal` of the CUDA driver (WEFT_CUDA_DRIVER names another library than libcuda.so.1).
Error openCudaCard(unsigned ordinal, std::unique_ptr<CalibratedCard> &card);
/// `text`: what follows "emu:", as weft-emu's --device.
Error openEmulatedCard(const std::string &text, std::unique_ptr<CalibratedCard> &card);

} // namespace weft::calibrate

#endif // WEFT_TOOLS_WEFT_CALIBRATE_CALIBRATEDCARD_H
