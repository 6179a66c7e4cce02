// One order of work over several streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. A run on a caller's stream costs one wait and one event.
#include "StreamOrder.h"

using namespace weft::cuda;
using namespace weft::bundle;

Error StreamOrder::open() {
  if (Error error = driver.check(driver.streamCreate(&own, kStreamNonBlocking), "cuStreamCreate"))
    return error;
  return driver.check(driver.eventCreate(&done, kEventDisableTiming), "cuEventCreate");
}

StreamOrder::~StreamOrder() {
  Context::Scope scope(context);
  if (isOwnBehind)
    (void)driver.eventSynchronize(done);
  if (own) {
    (void)driver.streamSynchronize(own); // Kernels may use code and memory that go now.
    (void)driver.streamDestroy(own);
  }
  if (done)
    (void)driver.eventDestroy(done);
}

Error StreamOrder::begin(std::optional<Handle> stream) {
  if (!stream || *stream == own)
    return {};
  int status = 0;
  if (Error error = driver.check(driver.streamIsCapturing(*stream, &status), "cuStreamIsCapturing"))
    return error;
  if (status) // Our events would spoil the capture, and what it holds would use memory that may go.
    return Error(ErrorCode::Unsupported,
                 "the stream is being captured; run on it outside of the capture: runs that come "
                 "again are recorded as CUDA graphs here");
  if (!isOwnBehind) // The own stream has work that `done` does not stand for.
    if (Error error = mark(own))
      return error;
  if (Error error = wait(*stream))
    return error;
  caller = *stream;
  isForeign = true;
  return {};
}

void StreamOrder::end() {
  if (!isForeign)
    return;
  isForeign = false;
  isOwnBehind = true;
  if (mark(caller)) // What comes next cannot wait in the order of streams.
    (void)driver.streamSynchronize(caller);
}

Error StreamOrder::settle() {
  if (isForeign || !isOwnBehind)
    return {};
  if (wait(own)) // The host can wait instead.
    if (Error error = driver.check(driver.eventSynchronize(done), "cuEventSynchronize"))
      return error;
  isOwnBehind = false;
  return {};
}

Error StreamOrder::makeWait(Handle stream) {
  if (stream == own)
    return settle();
  if (!isOwnBehind)
    if (Error error = mark(own))
      return error;
  return wait(stream);
}
