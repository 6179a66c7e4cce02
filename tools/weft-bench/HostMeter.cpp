// Times of runs on the CPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wall clock. A cold run follows the writing of twice the largest cache, by one thread: what other cores hold in
// caches of their own may stay there.
#include "Meter.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>

using namespace weft;
using namespace weft::bench;

const char *weft::bench::getName(Clock clock) {
  switch (clock) {
  case Clock::Latency:
    return "latency";
  case Clock::Device:
    return "device";
  case Clock::Pipelined:
    return "pipelined";
  }
  return "";
}

double weft::bench::now() {
  struct timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
}

/// Bytes of the largest cache of the first CPU; 32 MiB where the system does not tell.
static uint64_t getCacheBytes() {
  uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::string text; // "1024K", "32M"
    uint64_t value = 0;
    if (!(file >> text))
      break;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc())
      largest = std::max(largest, value << (*end == 'M' ? 20 : *end == 'K' ? 10 : 0));
  }
  constexpr uint64_t usual = 32 << 20, most = 1 << 30;
  return std::min(largest ? largest : usual, most);
}

namespace {
class HostMeter : public Meter {
public:
  explicit HostMeter(run::Runner &runner)
      : session(runner.getSession()), inputs(runner.getInputViews()), outputs(runner.getOutputPorts().size()),
        flushBytes(2 * getCacheBytes()) {}

  std::vector<Clock> getClocks() const override { return {Clock::Latency}; }
  Error measure(Clock clock, bool isCold, int count, std::vector<double> &times) override;
  uint64_t getFlushBytes() const override { return flushBytes; }

private:
  void flush();

  weft_session *session;
  std::vector<weft_tensor> inputs, outputs;
  uint64_t flushBytes;
  std::vector<uint8_t> memory;
};
} // namespace

void HostMeter::flush() {
  memory.resize(flushBytes);
  std::memset(memory.data(), memory[0] + 1, memory.size());
  __asm__ volatile("" : : "r"(memory.data()) : "memory"); // The writes are to happen though nobody reads.
}

Error HostMeter::measure(Clock, bool isCold, int count, std::vector<double> &times) {
  for (int i = 0; i < count; ++i) {
    if (isCold)
      flush();
    std::fill(outputs.begin(), outputs.end(), weft_tensor{});
    double begin = now();
    if (Error error =
            run::take(weft_session_run(session, inputs.data(), inputs.size(), outputs.data(), outputs.size())))
      return error;
    times.push_back(now() - begin);
  }
  return {};
}

std::unique_ptr<Meter> weft::bench::createHostMeter(run::Runner &runner) { return std::make_unique<HostMeter>(runner); }

Error Meter::create(run::Runner &runner, const std::string &device, bool includesTransfers,
                    std::unique_ptr<Meter> &meter) {
  if (device.substr(0, 4) != "cuda") {
    meter = createHostMeter(runner);
    return {};
  }
  // The session has checked the name.
  unsigned ordinal = 0;
  if (size_t colon = device.find(':'); colon != device.npos)
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), ordinal);
  return createCudaMeter(runner, ordinal, includesTransfers, meter);
}
