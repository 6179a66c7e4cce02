// A timed GPU: what is made on it is freed in the reverse order, whatever was reached.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TimedCard.h"

#include <algorithm>
#include <cstdlib>

using namespace weft;
using namespace weft::tools;
using namespace weft::cuda;
using bundle::Error;

Error TimedCard::open(unsigned ordinal, size_t events) {
  const char *library = std::getenv("WEFT_CUDA_DRIVER");
  if (Error error = Context::create(library ? library : "", ordinal, context))
    return error;
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  if (Error error = describe())
    return error;
  return makeStream(events);
}

TimedCard::~TimedCard() {
  if (!context)
    return;
  Context::Scope scope(*context);
  const Driver &driver = getDriver();
  if (stream)
    (void)driver.streamSynchronize(stream);
  for (Address address : memory)
    (void)driver.memFree(address);
  for (Handle event : events)
    (void)driver.eventDestroy(event);
  if (stream)
    (void)driver.streamDestroy(stream);
}

Error TimedCard::describe() {
  const Driver &driver = getDriver();
  char name[128] = {};
  int l2 = 0, sms = 0, version = driver.getVersion();
  DeviceNumber device = context->getDevice();
  if (Error error = check(driver.deviceGetName(name, int(sizeof name - 1), device), "cuDeviceGetName"))
    return error;
  if (Error error = check(driver.deviceGetAttribute(&l2, L2CacheBytes, device), "cuDeviceGetAttribute"))
    return error;
  if (Error error = check(driver.deviceGetAttribute(&sms, MultiprocessorCount, device), "cuDeviceGetAttribute"))
    return error;
  properties = {name, context->getArchitecture(),
                "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10), sms, l2};
  return {};
}

Error TimedCard::makeStream(size_t count) {
  const Driver &driver = getDriver();
  if (Error error = check(driver.streamCreate(&stream, kStreamNonBlocking), "cuStreamCreate"))
    return error;
  for (size_t i = 0; i < count; ++i) {
    Handle event = nullptr;
    if (Error error = check(driver.eventCreate(&event, 0), "cuEventCreate"))
      return error;
    events.push_back(event);
  }
  return {};
}

Error TimedCard::allocate(uint64_t bytes, Address &address) {
  if (Error error = check(getDriver().memAlloc(&address, std::max<uint64_t>(bytes, 1)), "cuMemAlloc"))
    return error;
  memory.push_back(address);
  return {};
}

Error TimedCard::getMilliseconds(size_t begin, size_t end, double &milliseconds) const {
  float time = 0;
  if (Error error = check(getDriver().eventElapsedTime(&time, events[begin], events[end]), "cuEventElapsedTime"))
    return error;
  milliseconds = double(time);
  return {};
}
