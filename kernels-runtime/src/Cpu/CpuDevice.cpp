// The CPU as a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels in this process: host memory, a thread pool of its own, scratch for each worker. Dispatch returns when
// the kernel is done, so synchronise has nothing to do.
#include "../Device.h"
#include "CpuCode.h"

#include <cinttypes>
#include <cstring>
#include <sched.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;

/// CPUs that this process may run on.
static unsigned countCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return unsigned(CPU_COUNT(&set));
  long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? unsigned(online) : 1;
}

namespace {
class CpuDevice : public Device {
public:
  explicit CpuDevice(const DeviceOptions &options)
      : pool(options.threads ? options.threads : countCpus()),
        capabilities{"cpu", /*hostMemory=*/true, pool.getWorkers(), "cpu", /*card=*/-1, /*memoryBytes=*/0},
        scratch(pool.getWorkers()), scratchAddresses(pool.getWorkers()) {}

  const DeviceCapabilities &getCapabilities() const override { return capabilities; }
  Error loadCode(LoadedBundle &bundle, std::string_view target) override;
  const std::string &getCode() const override { return codeText; }
  Error allocate(uint64_t bytes, void *&address) override;
  void free(void *address) override { freeAligned(address); }
  Error upload(void *destination, const void *source, uint64_t bytes) override {
    return copy(destination, source, bytes);
  }
  Error download(void *destination, const void *source, uint64_t bytes) override {
    return copy(destination, source, bytes);
  }
  Error copy(void *destination, const void *source, uint64_t bytes) override;
  Error placeReadOnly(LoadedBundle &bundle, std::vector<ReadOnlyData> &items) override;
  Error dispatch(const Launch &launch) override;
  Error synchronise() override { return {}; }

private:
  Error reserveScratch(int64_t bytes);

  ThreadPool pool;
  DeviceCapabilities capabilities;
  std::shared_ptr<SharedResource> code;
  std::string codeText;
  std::vector<AlignedMemory> scratch;
  std::vector<void *> scratchAddresses;
  int64_t scratchBytes = -1;
};
} // namespace

Error CpuDevice::loadCode(LoadedBundle &bundle, std::string_view) {
  uint32_t variant = 0;
  if (Error error = chooseVariant(bundle, variant))
    return error;
  codeText = describeVariant(bundle, variant);
  return bundle.getShared(
      "cpu/" + std::to_string(variant),
      [&](std::shared_ptr<SharedResource> &loaded) { return CpuCode::load(bundle, variant, loaded); }, code);
}

Error CpuDevice::allocate(uint64_t bytes, void *&address) {
  address = allocateAligned(bytes);
  return address ? Error() : makeError(ErrorCode::Resource, "no memory for %" PRIu64 " bytes", bytes);
}

Error CpuDevice::copy(void *destination, const void *source, uint64_t bytes) {
  std::memmove(destination, source, bytes);
  return {};
}

Error CpuDevice::reserveScratch(int64_t bytes) {
  if (bytes <= scratchBytes)
    return {};
  scratchBytes = -1;
  for (size_t i = 0; i < scratch.size(); ++i) {
    if (!scratch[i].allocate(uint64_t(bytes)))
      return makeError(ErrorCode::Resource, "no memory for %" PRId64 " bytes of scratch for each of %zu workers", bytes,
                       scratch.size());
    scratchAddresses[i] = scratch[i].get();
  }
  scratchBytes = bytes;
  return {};
}

/// Kernels read the data where they are.
Error CpuDevice::placeReadOnly(LoadedBundle &bundle, std::vector<ReadOnlyData> &items) {
  for (ReadOnlyData &item : items) {
    const auto *data = static_cast<const uint8_t *>(item.view.stored);
    if (item.view.order || item.view.part)
      if (Error error = bundle.getSeenWeight(item.id % bundle.getDataCount(), item.view.rank, data))
        return error;
    item.address = const_cast<uint8_t *>(data);
  }
  return {};
}

Error CpuDevice::dispatch(const Launch &launch) {
  CpuKernel kernel = static_cast<const CpuCode &>(*code).getKernel(launch.kernel);
  if (!kernel)
    return Error(ErrorCode::Input, "the kernel has GPU code only");
  if (Error error = reserveScratch(launch.scratchBytes))
    return error;
  pool.run({kernel, launch.buffers, launch.scalars, launch.grid, scratchAddresses.data()});
  return {};
}

std::unique_ptr<Device> weft::createCpuDevice(const DeviceOptions &options) {
  return std::make_unique<CpuDevice>(options);
}
