//===- CudaMeter.cpp - Times of runs on a card --------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Runs go to a stream of the meter's, with inputs and outputs in the card's memory. A cold run follows a write of twice
// the L2 cache on the same stream. Uses the runtime's table of the driver, since tools link no CUDA either.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Cuda/Driver.h"
#include "Meter.h"

#include <algorithm>
#include <cstdlib>

using namespace weft;
using namespace weft::bench;
using namespace weft::cuda;

namespace {
class CudaMeter : public Meter {
public:
  explicit CudaMeter(run::Runner &runner, bool includesTransfers)
      : session(runner.getSession()), inputs(runner.getInputViews()), outputs(runner.getOutputPorts().size()),
        includesTransfers(includesTransfers) {}
  ~CudaMeter() override;
  Error open(unsigned ordinal);

  std::vector<Clock> getClocks() const override;
  Error measure(Clock clock, bool isCold, int count, std::vector<double> &times) override;
  uint64_t getFlushBytes() const override { return flushBytes; }
  std::string describeDevice() const override { return description; }

private:
  Error check(Result result, const char *call) const { return context->getDriver().check(result, call); }
  Error describe();
  Error allocate(uint64_t bytes, Address &address);
  Error moveInputs(unsigned ordinal);
  Error run();
  Error flush();
  Error wait() { return check(context->getDriver().streamSynchronize(stream), "cuStreamSynchronize"); }
  Error measureLatency(bool isCold, int count, std::vector<double> &times);
  Error measureDevice(bool isCold, int count, std::vector<double> &times);
  Error measurePipelined(int count, std::vector<double> &times);

  weft_session *session;
  std::vector<weft_tensor> inputs, outputs;
  bool includesTransfers;
  std::shared_ptr<Context> context;
  std::string description;
  Handle stream = nullptr;
  std::vector<Handle> events;
  std::vector<Address> memory;
  Address flushMemory = 0;
  uint64_t flushBytes = 0;
  unsigned char flushValue = 0;
};
} // namespace

/// Runs that are queued at a time, each between two events.
static constexpr size_t kBatch = 16;

Error CudaMeter::open(unsigned ordinal) {
  const char *library = std::getenv("WEFT_CUDA_DRIVER");
  if (Error error = Context::create(library ? library : "", ordinal, context))
    return error;
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  const Driver &driver = context->getDriver();
  if (Error error = describe())
    return error;
  if (Error error = check(driver.streamCreate(&stream, kStreamNonBlocking), "cuStreamCreate"))
    return error;
  for (size_t i = 0; i < 2 * kBatch; ++i) {
    events.push_back(nullptr);
    if (Error error = check(driver.eventCreate(&events.back(), 0), "cuEventCreate"))
      return error;
  }
  if (Error error = allocate(flushBytes, flushMemory))
    return std::move(error).within("memory to flush the L2 cache");
  return includesTransfers ? Error() : moveInputs(ordinal);
}

CudaMeter::~CudaMeter() {
  if (!context)
    return;
  Context::Scope scope(*context);
  const Driver &driver = context->getDriver();
  if (stream)
    (void)driver.streamSynchronize(stream);
  for (Handle event : events)
    if (event)
      (void)driver.eventDestroy(event);
  for (Address address : memory)
    (void)driver.memFree(address);
  if (stream)
    (void)driver.streamDestroy(stream);
}

Error CudaMeter::describe() {
  const Driver &driver = context->getDriver();
  char name[128] = {};
  int l2 = 0, multiprocessors = 0;
  DeviceNumber device = context->getDevice();
  if (Error error = check(driver.deviceGetName(name, int(sizeof name - 1), device), "cuDeviceGetName"))
    return error;
  if (Error error = check(driver.deviceGetAttribute(&l2, L2CacheBytes, device), "cuDeviceGetAttribute"))
    return error;
  if (Error error =
          check(driver.deviceGetAttribute(&multiprocessors, MultiprocessorCount, device), "cuDeviceGetAttribute"))
    return error;
  int version = driver.getVersion();
  description = std::string(name) + ", " + context->getArchitecture() + ", " + std::to_string(multiprocessors) +
                " SMs, CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
                ", clocks as found";
  flushBytes = 2 * uint64_t(std::max(l2, 1 << 20));
  return {};
}

Error CudaMeter::allocate(uint64_t bytes, Address &address) {
  if (Error error = check(context->getDriver().memAlloc(&address, std::max<uint64_t>(bytes, 1)), "cuMemAlloc"))
    return error;
  memory.push_back(address);
  return {};
}

Error CudaMeter::moveInputs(unsigned ordinal) {
  const Driver &driver = context->getDriver();
  for (weft_tensor &input : inputs) {
    Address address = 0;
    if (Error error = allocate(input.bytes, address))
      return std::move(error).within("an input");
    if (input.bytes)
      if (Error error = check(driver.memcpyToDevice(address, input.data, input.bytes, stream), "cuMemcpyHtoDAsync"))
        return error;
    // An address of the card, not of the host. NOLINTNEXTLINE(performance-no-int-to-ptr)
    input.data = reinterpret_cast<void *>(address);
    input.memory = WEFT_MEMORY_CUDA;
    input.card = int32_t(ordinal);
  }
  return wait();
}

std::vector<Clock> CudaMeter::getClocks() const {
  if (includesTransfers) // Runs wait for their copies.
    return {Clock::Latency};
  return {Clock::Device, Clock::Latency, Clock::Pipelined};
}

Error CudaMeter::run() {
  for (weft_tensor &output : outputs) {
    output = {};
    output.memory = includesTransfers ? WEFT_MEMORY_HOST : WEFT_MEMORY_CUDA;
  }
  return run::take(weft_session_run_on(session, stream, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
}

Error CudaMeter::flush() {
  return check(context->getDriver().memsetBytes(flushMemory, ++flushValue, flushBytes, stream), "cuMemsetD8Async");
}

Error CudaMeter::measure(Clock clock, bool isCold, int count, std::vector<double> &times) {
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  switch (clock) {
  case Clock::Latency:
    return measureLatency(isCold, count, times);
  case Clock::Device:
    return measureDevice(isCold, count, times);
  case Clock::Pipelined:
    return measurePipelined(count, times);
  }
  return {};
}

Error CudaMeter::measureLatency(bool isCold, int count, std::vector<double> &times) {
  for (int i = 0; i < count; ++i) {
    if (isCold)
      if (Error error = flush())
        return error;
    if (Error error = wait())
      return error;
    double begin = now();
    if (Error error = run())
      return error;
    if (Error error = wait())
      return error;
    times.push_back(now() - begin);
  }
  return {};
}

Error CudaMeter::measureDevice(bool isCold, int count, std::vector<double> &times) {
  const Driver &driver = context->getDriver();
  while (count > 0) {
    size_t batch = std::min(size_t(count), kBatch);
    count -= int(batch);
    for (size_t i = 0; i < batch; ++i) {
      if (isCold)
        if (Error error = flush())
          return error;
      if (Error error = check(driver.eventRecord(events[2 * i], stream), "cuEventRecord"))
        return error;
      if (Error error = run())
        return error;
      if (Error error = check(driver.eventRecord(events[2 * i + 1], stream), "cuEventRecord"))
        return error;
    }
    if (Error error = wait())
      return error;
    for (size_t i = 0; i < batch; ++i) {
      float time = 0;
      if (Error error = check(driver.eventElapsedTime(&time, events[2 * i], events[2 * i + 1]), "cuEventElapsedTime"))
        return error;
      times.push_back(double(time));
    }
  }
  return {};
}

/// One sample for each batch.
Error CudaMeter::measurePipelined(int count, std::vector<double> &times) {
  for (int i = 0; i < count; ++i) {
    double begin = now();
    for (size_t run = 0; run < kBatch; ++run)
      if (Error error = this->run())
        return error;
    if (Error error = wait())
      return error;
    times.push_back((now() - begin) / double(kBatch));
  }
  return {};
}

Error weft::bench::createCudaMeter(run::Runner &runner, unsigned ordinal, bool includesTransfers,
                                   std::unique_ptr<Meter> &meter) {
  auto created = std::make_unique<CudaMeter>(runner, includesTransfers);
  if (Error error = created->open(ordinal))
    return error;
  meter = std::move(created);
  return {};
}
