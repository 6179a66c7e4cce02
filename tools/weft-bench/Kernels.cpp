// Where the time of a run goes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"

#include "Meter.h"

#include <algorithm>

using namespace weft;
using namespace weft::bench;

/// Nanoseconds of each dispatch so far.
static std::vector<uint64_t> readTimes(weft_session *session) {
  std::vector<uint64_t> times;
  weft_dispatch dispatch;
  for (size_t i = 0; weft_session_dispatch(session, i, &dispatch) == 0; ++i)
    times.push_back(dispatch.total_ns);
  return times;
}

Error weft::bench::measureKernels(const run::Options &given, double duration, std::vector<KernelTime> &kernels) {
  run::Options options = given;
  options.printPlacement = true; // A session that takes times.
  run::Runner runner(options);
  Error error = runner.open();
  if (!error)
    error = runner.makeInputs(/*saysNotes=*/false);
  if (!error)
    error = runner.run(); // Does not count.
  if (error)
    return error;
  const std::vector<uint64_t> before = readTimes(runner.getSession());
  constexpr int least = 5;
  int runs = 0;
  for (double end = now() + duration; runs < least || now() < end; ++runs)
    if ((error = runner.run()))
      return error;
  const std::vector<uint64_t> after = readTimes(runner.getSession());
  std::map<std::string, KernelTime> byName;
  weft_dispatch dispatch;
  for (size_t i = 0; weft_session_dispatch(runner.getSession(), i, &dispatch) == 0; ++i) {
    KernelTime &kernel = byName[dispatch.kernel];
    kernel.name = dispatch.kernel;
    ++kernel.dispatches;
    kernel.milliseconds += double(after[i] - before[i]) / 1e6 / runs;
    if (kernel.dispatches == 1)
      kernel.origins.assign(dispatch.origins, dispatch.origins + dispatch.origin_count);
  }
  for (auto &[name, kernel] : byName)
    kernels.push_back(std::move(kernel));
  std::sort(kernels.begin(), kernels.end(), [](const KernelTime &a, const KernelTime &b) {
    return a.milliseconds != b.milliseconds ? a.milliseconds > b.milliseconds : a.name < b.name;
  });
  return {};
}
