// All-reduces of few and of many bytes, one after the other, by the transport that programs have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LinkCalibration.h"
#include "../weft-run/Ranks.h"
#include "Comm/Communicator.h"
#include "Device.h"

#include <algorithm>
#include <cstdlib>

using namespace weft;
using namespace weft::bundle;
using namespace weft::calibrate;

namespace {

class LinkBenchmark {
public:
  LinkBenchmark(Device &device, Communicator &communicator) : device(device), communicator(communicator) {}
  ~LinkBenchmark() {
    device.free(source);
    device.free(destination);
  }

  Error allocate(uint64_t bytes) {
    Error error = device.allocate(bytes, source);
    return error ? std::move(error) : device.allocate(bytes, destination);
  }

  /// Of one of `count` sums of `bytes`: the least of five times after one that warms up.
  Error time(uint64_t bytes, int count, double &seconds) {
    const Collective sum = {CollectiveKind::AllReduce, Reduction::Add, DType::F32, source, destination, bytes, "links"};
    for (int turn = 0; turn < 6; ++turn) {
      uint64_t begin = nowNs();
      for (int i = 0; i < count; ++i)
        if (Error error = communicator.run(sum, device))
          return error;
      if (Error error = communicator.wait(device))
        return error;
      double taken = double(nowNs() - begin) * 1e-9 / count;
      seconds = turn < 2 ? taken : std::min(seconds, taken);
    }
    return {};
  }

private:
  Device &device;
  Communicator &communicator;
  void *source = nullptr, *destination = nullptr;
};

} // namespace

static Error measure(Device &device, Communicator &communicator, LinkTimes &times) {
  constexpr uint64_t few = 1024, many = 64 << 20;
  LinkBenchmark benchmark(device, communicator);
  double small = 0, large = 0;
  if (Error error = benchmark.allocate(many))
    return error;
  if (Error error = benchmark.time(few, 200, small))
    return error;
  if (Error error = benchmark.time(many, 3, large))
    return error;
  double ranks = communicator.getRanks(), sent = 2 * double(many) * (ranks - 1) / ranks;
  if (!(large > small))
    return Error(ErrorCode::Device, "linkBytesPerSecond: expected more time for more bytes");
  times = {communicator.getRanks(), sent / (large - small), small};
  return {};
}

Error calibrate::measureLinks(const std::string &name, const std::string &rank, LinkTimes &times) {
  run::RankOptions given;
  if (Error error = run::readRank(rank, given))
    return error;
  if (given.ranks < 2)
    return Error(ErrorCode::Usage, "--rank: expected at least 2 ranks, got " + std::to_string(given.ranks));
  DeviceOptions options;
  if (const char *driver = std::getenv("WEFT_CUDA_DRIVER"))
    options.cudaDriver = driver;
  std::unique_ptr<Device> device;
  if (Error error = createDevice(name, options, device))
    return error;
  CommunicatorOptions all;
  all.rank = uint32_t(given.rank);
  all.ranks = uint32_t(given.ranks);
  all.address = given.address;
  all.ncclLibrary = given.nccl;
  std::shared_ptr<Communicator> communicator;
  if (Error error = Communicator::create(all, communicator))
    return error;
  if (Error error = communicator->attach(*device))
    return error;
  Error error = measure(*device, *communicator, times);
  communicator->detach();
  return error ? std::move(error).within("links") : Error();
}
