// One order of work over several streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session's work is one sequence, since its runs share memory; but runs may come on different streams of the caller,
// which may be gone after the run. So the end of such a run is marked by an event, and what comes next waits for it.
#ifndef WEFT_CUDA_STREAMORDER_H
#define WEFT_CUDA_STREAMORDER_H

#include "Driver.h"

#include <optional>

namespace weft::cuda {

/// The stream that work goes to. Every call but the destructor goes within a Context::Scope.
class StreamOrder {
public:
  explicit StreamOrder(const Context &context) : context(context), driver(context.getDriver()) {}
  /// Waits for the work.
  ~StreamOrder();
  StreamOrder(const StreamOrder &) = delete;
  StreamOrder &operator=(const StreamOrder &) = delete;
  bundle::Error open();

  /// Work goes to the caller's stream from now on; without one, to the own stream.
  bundle::Error begin(std::optional<Handle> caller);
  /// Work goes to the own stream again; the caller's is not touched any more.
  void end();

  /// Makes the work that follows on getCurrent() wait for what went before. Once before each use.
  bundle::Error settle();
  Handle getCurrent() const { return isForeign ? caller : own; }
  Handle getOwn() const { return own; }

  /// Makes `stream`, not necessarily ours, wait for what was started.
  bundle::Error makeWait(Handle stream);

private:
  bundle::Error wait(Handle stream) {
    return driver.check(driver.streamWaitEvent(stream, done, 0), "cuStreamWaitEvent");
  }
  bundle::Error mark(Handle stream) { return driver.check(driver.eventRecord(done, stream), "cuEventRecord"); }

  const Context &context;
  const Driver &driver;
  Handle own = nullptr, caller = nullptr;
  Handle done = nullptr;    ///< Event: the end of the last run on a caller's stream.
  bool isForeign = false;   ///< Work goes to `caller`.
  bool isOwnBehind = false; ///< The own stream does not wait for `done` yet.
};

} // namespace weft::cuda

#endif // WEFT_CUDA_STREAMORDER_H
