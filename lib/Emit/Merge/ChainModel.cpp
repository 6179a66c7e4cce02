// What a wait costs and what it saves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch less saves what lies between two kernels of a graph (Device::launchSeconds). A wait costs a fence behind the
// last stores, a flag's way to L2 and back, and a barrier on both sides; what a kernel does ahead of its first read
// comes behind it.
#include "ChainModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace weft::emit {

/// Of an H100 in graphs: 0.1 to 0.2 us more than a launch between kernels of few registers (18 waits in MobileNetV2, 68
/// in EfficientNet-B0); about 1 us more where the waiting kernel then makes barriers and fetches tensor maps (a BERT
/// layer, ResNet-50). bench/results/2026-11-21-chains-h100.md.
static constexpr double kWaitSeconds = 2.2e-6, kSetupSeconds = 0.9e-6;

std::string findLoss(llvm::ArrayRef<Part> back, const Device &device) {
  constexpr double micro = 1e6;
  bool hasSetup = llvm::any_of(back, [](const Part &part) { return part.hasBulk; });
  double seconds = kWaitSeconds + (hasSetup ? kSetupSeconds : 0);
  if (seconds < device.launchSeconds)
    return "";
  return llvm::formatv("a wait costs {0:f1} us, a launch {1:f1} us", micro * seconds, micro * device.launchSeconds);
}

} // namespace weft::emit
