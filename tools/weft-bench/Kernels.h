// Where the time of a run goes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of single kernels, from a session that starts them one by one.
#ifndef WEFT_BENCH_KERNELS_H
#define WEFT_BENCH_KERNELS_H

#include "Runner.h"

namespace weft::bench {

using bundle::Error;

/// A kernel of the bundle in one run.
struct KernelTime {
  std::string name;
  std::vector<std::string> origins; ///< ONNX nodes that it computes.
  size_t dispatches = 0;
  double milliseconds = 0; ///< Of all its dispatches; mean of the runs.
};

/// Runs the program of `options` in a session of its own until `duration` ms are over, and at least five times. Kernels
/// with most time first.
Error measureKernels(const run::Options &options, double duration, std::vector<KernelTime> &kernels);

} // namespace weft::bench

#endif // WEFT_BENCH_KERNELS_H
