// What the emulator counted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulator measures no times: it counts, and its counts are the same in each run.
#ifndef WEFT_BENCH_COUNTS_H
#define WEFT_BENCH_COUNTS_H

#include "Runner.h"

namespace weft::bench {

/// A counter, summed over the kernels of a run.
struct Count {
  std::string name; ///< As Nsight Compute has it.
  std::string what;
  double value;
};

/// Of the last run of a session on the emulator with counters=on.
std::vector<Count> readCounts(const run::Runner &runner);

/// The sum of the numbers behind each `"NAME": ` in a JSON text; 0 if there are none.
double sumMembers(std::string_view json, std::string_view name);

} // namespace weft::bench

#endif // WEFT_BENCH_COUNTS_H
