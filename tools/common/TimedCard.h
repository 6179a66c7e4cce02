// A GPU behind the CUDA driver whose work is timed: its context, one stream, events on it, memory, and what it is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_TIMEDCARD_H
#define WEFT_TOOLS_COMMON_TIMEDCARD_H

#include "Cuda/Driver.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::tools {

struct CardProperties {
  std::string name, architecture, driver; ///< "NVIDIA H100 80GB HBM3", "sm_90a", "CUDA 13.0".
  int64_t sms = 0, l2Bytes = 0;
};

/// What it holds is freed with it, after the stream has come to its end. Every call but open() goes between the
/// construction and the destruction of a cuda::Context::Scope of getContext(). Errors are the driver's (Device,
/// Resource, Input).
class TimedCard {
public:
  TimedCard() = default;
  TimedCard(const TimedCard &) = delete;
  TimedCard &operator=(const TimedCard &) = delete;
  ~TimedCard();

  /// GPU number `ordinal` (WEFT_CUDA_DRIVER names another library than libcuda.so.1), with `events` events.
  bundle::Error open(unsigned ordinal, size_t events);

  cuda::Context &getContext() const { return *context; }
  const cuda::Driver &getDriver() const { return context->getDriver(); }
  const CardProperties &getProperties() const { return properties; }
  cuda::Handle getStream() const { return stream; }
  bundle::Error check(cuda::Result result, const char *call) const { return getDriver().check(result, call); }

  /// Memory of at least one byte; its contents are not defined.
  bundle::Error allocate(uint64_t bytes, cuda::Address &address);
  /// Until all that went to the stream is done.
  bundle::Error wait() const { return check(getDriver().streamSynchronize(stream), "cuStreamSynchronize"); }
  bundle::Error record(size_t event) const {
    return check(getDriver().eventRecord(events[event], stream), "cuEventRecord");
  }
  /// Between two events that the stream has passed.
  bundle::Error getMilliseconds(size_t begin, size_t end, double &milliseconds) const;

private:
  bundle::Error describe();
  bundle::Error makeStream(size_t count);

  std::shared_ptr<cuda::Context> context;
  CardProperties properties;
  cuda::Handle stream = nullptr;
  std::vector<cuda::Handle> events;
  std::vector<cuda::Address> memory;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_TIMEDCARD_H
