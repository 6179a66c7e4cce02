// Times of single runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One session with its inputs in place, and the clocks of its device.
#ifndef WEFT_BENCH_METER_H
#define WEFT_BENCH_METER_H

#include "Runner.h"

#include <memory>

namespace weft::bench {

using bundle::Error;
using bundle::ErrorCode;

enum class Clock {
  Latency,   ///< Wall clock of one run, from the call until its results are there.
  Device,    ///< On a GPU: from the first kernel's begin to the last one's end, by events; the next run is queued.
  Pipelined, ///< On a GPU: wall clock of many runs that wait for nothing, for each of them. Caches are hot.
};
const char *getName(Clock clock);

class Meter {
public:
  virtual ~Meter() = default;
  /// Of `runner`, which is open and has its inputs, and must outlive the meter. `includesTransfers`: inputs and outputs
  /// are in host memory, whatever the device. Device: a GPU that cannot be used.
  static Error create(run::Runner &runner, const std::string &device, bool includesTransfers,
                      std::unique_ptr<Meter> &meter);

  /// What is measured here; the first clock is the one to compare by.
  virtual std::vector<Clock> getClocks() const = 0;
  /// Appends the milliseconds of `count` runs. `isCold`: before each, more memory than the caches hold is written.
  virtual Error measure(Clock clock, bool isCold, int count, std::vector<double> &times) = 0;
  /// Bytes written before a cold run.
  virtual uint64_t getFlushBytes() const = 0;
  /// "H100 80GB HBM3, sm_90a, CUDA 12.4"; empty where the session's code says it all.
  virtual std::string describeDevice() const { return {}; }
};

std::unique_ptr<Meter> createHostMeter(run::Runner &runner);
/// `ordinal`: of the GPU that the session is on.
Error createCudaMeter(run::Runner &runner, unsigned ordinal, bool includesTransfers, std::unique_ptr<Meter> &meter);

/// Milliseconds of a clock that never goes back.
double now();

} // namespace weft::bench

#endif // WEFT_BENCH_METER_H
