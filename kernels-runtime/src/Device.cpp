// What devices need not have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answers of devices without streams, recordings and clocks of their own.
#include "Device.h"

#include <ctime>

using namespace weft;
using namespace weft::bundle;

static Error refuseStreams(const Device &device) {
  return Error(ErrorCode::Usage, std::string("device ") + quote(device.getCapabilities().name) +
                                     " has no streams; run without one, or on the device \"cuda\"");
}

Error Device::beginRun(std::optional<void *> stream) { return stream ? refuseStreams(*this) : Error(); }

Error Device::withStream(const std::function<Error(void *)> &) { return refuseStreams(*this); }

Error Device::startBeside(const std::function<Error(void *)> &) { return refuseStreams(*this); }
Error Device::awaitBeside(size_t) { return refuseStreams(*this); }

Error Device::query(bool &isDone) {
  isDone = true;
  return synchronise();
}

Error Device::makeWait(void *) { return refuseStreams(*this); }

uint64_t weft::nowNs() {
  struct timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

Error Device::dispatchTimed(const Launch &launch, uint64_t &nanoseconds) {
  uint64_t begin = nowNs();
  Error error = dispatch(launch);
  if (!error)
    error = synchronise();
  nanoseconds = nowNs() - begin;
  return error;
}

static Error refuseRecordings() { return Error(ErrorCode::Internal, "this device records nothing"); }

Error Device::beginRecording() { return refuseRecordings(); }
Error Device::endRecording(std::unique_ptr<Recording> &) { return refuseRecordings(); }
Error Device::replay(const Recording &) { return refuseRecordings(); }
