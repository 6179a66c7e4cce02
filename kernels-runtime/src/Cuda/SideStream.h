// Work beside the stream of a session.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second stream that forks from the first one and joins it again by events, inside of a capture as outside: a graph
// has the same two branches. What is started here runs in its order.
#ifndef WEFT_CUDA_SIDESTREAM_H
#define WEFT_CUDA_SIDESTREAM_H

#include "Driver.h"

#include <deque>
#include <functional>
#include <vector>

namespace weft::cuda {

/// Every call but the destructor goes within a Context::Scope.
class SideStream {
public:
  explicit SideStream(const Context &context) : context(context), driver(context.getDriver()) {}
  /// Waits for the work.
  ~SideStream();
  SideStream(const SideStream &) = delete;
  SideStream &operator=(const SideStream &) = delete;

  /// What `start` starts on the stream that it gets begins after what `main` has now.
  bundle::Error start(Handle main, const std::function<bundle::Error(void *)> &start);
  /// What `main` gets from now on begins when all but the last `left` of these are done.
  bundle::Error await(Handle main, size_t left);
  /// Of a run that has failed: nothing is under way any more.
  bundle::Error settle();

private:
  bundle::Error open();
  bundle::Error takeEvent(Handle &event);

  const Context &context;
  const Driver &driver;
  Handle side = nullptr;
  Handle begun = nullptr;      ///< Event: what the next start waits for.
  std::deque<Handle> underWay; ///< Events: the ends of what was started and not awaited.
  std::vector<Handle> unused;
};

} // namespace weft::cuda

#endif // WEFT_CUDA_SIDESTREAM_H
