// Work beside the stream of a session.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. An event may be recorded anew as soon as those that wait for it have been started: a wait means what
// the event stood for then.
#include "SideStream.h"

using namespace weft::cuda;
using namespace weft::bundle;

Error SideStream::open() {
  if (side)
    return {};
  if (Error error = driver.check(driver.eventCreate(&begun, kEventDisableTiming), "cuEventCreate"))
    return error;
  return driver.check(driver.streamCreate(&side, kStreamNonBlocking), "cuStreamCreate");
}

SideStream::~SideStream() {
  Context::Scope scope(context);
  if (side) {
    (void)driver.streamSynchronize(side); // Its work may use memory that goes now.
    (void)driver.streamDestroy(side);
  }
  unused.insert(unused.end(), underWay.begin(), underWay.end());
  if (begun)
    unused.push_back(begun);
  for (Handle event : unused)
    (void)driver.eventDestroy(event);
}

Error SideStream::takeEvent(Handle &event) {
  if (unused.empty())
    return driver.check(driver.eventCreate(&event, kEventDisableTiming), "cuEventCreate");
  event = unused.back();
  unused.pop_back();
  return {};
}

Error SideStream::start(Handle main, const std::function<Error(void *)> &start) {
  if (Error error = open())
    return error;
  if (Error error = driver.check(driver.eventRecord(begun, main), "cuEventRecord"))
    return error;
  if (Error error = driver.check(driver.streamWaitEvent(side, begun, 0), "cuStreamWaitEvent"))
    return error;
  Error started = start(side); // The main stream is to join this one, whatever it has.
  Handle end = nullptr;
  if (Error error = takeEvent(end))
    return error;
  underWay.push_back(end);
  Error error = driver.check(driver.eventRecord(end, side), "cuEventRecord");
  return started ? std::move(started) : std::move(error);
}

Error SideStream::await(Handle main, size_t left) {
  if (underWay.size() <= left)
    return {};
  Handle last = nullptr; // They end in their order.
  for (; underWay.size() > left; underWay.pop_front())
    unused.push_back(last = underWay.front());
  return driver.check(driver.streamWaitEvent(main, last, 0), "cuStreamWaitEvent");
}

Error SideStream::settle() {
  if (underWay.empty())
    return {};
  unused.insert(unused.end(), underWay.begin(), underWay.end());
  underWay.clear();
  return driver.check(driver.streamSynchronize(side), "cuStreamSynchronize");
}
