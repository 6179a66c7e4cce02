// Times of runs on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs go to a stream of the meter's, with inputs and outputs in the GPU's memory. A cold run follows a write of twice
// the L2 cache on the same stream. Uses the runtime's table of the driver, since tools link no CUDA either.
#include "Meter.h"
#include "TimedCard.h"

#include <algorithm>

using namespace weft;
using namespace weft::bench;
using namespace weft::cuda;

namespace {
class CudaMeter : public Meter {
public:
  explicit CudaMeter(run::Runner &runner, bool includesTransfers)
      : session(runner.getSession()), inputs(runner.getInputViews()), outputs(runner.getOutputPorts().size()),
        includesTransfers(includesTransfers) {}
  Error open(unsigned ordinal);

  std::vector<Clock> getClocks() const override;
  Error measure(Clock clock, bool isCold, int count, std::vector<double> &times) override;
  uint64_t getFlushBytes() const override { return flushBytes; }
  std::string describeDevice() const override { return description; }

private:
  Error moveInputs(unsigned ordinal);
  Error run();
  Error flush();
  Error measureLatency(bool isCold, int count, std::vector<double> &times);
  Error measureDevice(bool isCold, int count, std::vector<double> &times);
  Error measurePipelined(int count, std::vector<double> &times);

  weft_session *session;
  std::vector<weft_tensor> inputs, outputs;
  bool includesTransfers;
  tools::TimedCard card;
  std::string description;
  Address flushMemory = 0;
  uint64_t flushBytes = 0;
  unsigned char flushValue = 0;
};
} // namespace

/// Runs that are queued at a time, each between two events.
static constexpr size_t kBatch = 16;

Error CudaMeter::open(unsigned ordinal) {
  if (Error error = card.open(ordinal, 2 * kBatch))
    return error;
  const tools::CardProperties &properties = card.getProperties();
  description = properties.name + ", " + properties.architecture + ", " + std::to_string(properties.sms) + " SMs, " +
                properties.driver + ", clocks as found";
  flushBytes = 2 * std::max<uint64_t>(uint64_t(properties.l2Bytes), 1 << 20);
  Context::Scope scope(card.getContext());
  if (Error error = scope.check())
    return error;
  if (Error error = card.allocate(flushBytes, flushMemory))
    return std::move(error).within("memory to flush the L2 cache");
  return includesTransfers ? Error() : moveInputs(ordinal);
}

Error CudaMeter::moveInputs(unsigned ordinal) {
  const Driver &driver = card.getDriver();
  for (weft_tensor &input : inputs) {
    Address address = 0;
    if (Error error = card.allocate(input.bytes, address))
      return std::move(error).within("an input");
    if (input.bytes)
      if (Error error = card.check(driver.memcpyToDevice(address, input.data, input.bytes, card.getStream()),
                                   "cuMemcpyHtoDAsync"))
        return error;
    // An address of the GPU, not of the host. NOLINTNEXTLINE(performance-no-int-to-ptr)
    input.data = reinterpret_cast<void *>(address);
    input.memory = WEFT_MEMORY_CUDA;
    input.card = int32_t(ordinal);
  }
  return card.wait();
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
  return run::take(
      weft_session_run_on(session, card.getStream(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
}

Error CudaMeter::flush() {
  return card.check(card.getDriver().memsetBytes(flushMemory, ++flushValue, flushBytes, card.getStream()),
                    "cuMemsetD8Async");
}

Error CudaMeter::measure(Clock clock, bool isCold, int count, std::vector<double> &times) {
  Context::Scope scope(card.getContext());
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
    if (Error error = card.wait())
      return error;
    double begin = now();
    if (Error error = run())
      return error;
    if (Error error = card.wait())
      return error;
    times.push_back(now() - begin);
  }
  return {};
}

Error CudaMeter::measureDevice(bool isCold, int count, std::vector<double> &times) {
  while (count > 0) {
    size_t batch = std::min(size_t(count), kBatch);
    count -= int(batch);
    for (size_t i = 0; i < batch; ++i) {
      if (isCold)
        if (Error error = flush())
          return error;
      if (Error error = card.record(2 * i))
        return error;
      if (Error error = run())
        return error;
      if (Error error = card.record(2 * i + 1))
        return error;
    }
    if (Error error = card.wait())
      return error;
    for (size_t i = 0; i < batch; ++i) {
      double time = 0;
      if (Error error = card.getMilliseconds(2 * i, 2 * i + 1, time))
        return error;
      times.push_back(time);
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
    if (Error error = card.wait())
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
