// A card behind the CUDA driver, which is loaded at run time; times between two events of a stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CalibratedCard.h"
#include "Cuda/Driver.h"

#include <cstdlib>

using namespace weft;
using namespace weft::calibrate;
using namespace weft::cuda;

namespace {
class CudaCard : public CalibratedCard {
public:
  ~CudaCard() override;
  Error open(unsigned ordinal);
  const CardDescription &getDescription() const override { return description; }
  Error load(const std::string &ptx) override;
  Error allocate(uint64_t bytes, uint64_t &address) override;
  Error read(uint64_t address, void *target, uint64_t bytes) override;
  Error time(const KernelStart &start, int count, double &seconds) override;

private:
  Error check(Result result, const char *call) const { return context->getDriver().check(result, call); }
  Error describe();
  Error start(const KernelStart &start);

  std::shared_ptr<Context> context;
  CardDescription description;
  Handle stream = nullptr, begin = nullptr, end = nullptr;
  std::vector<Handle> modules;
  std::vector<Address> memory;
};
} // namespace

Error CudaCard::open(unsigned ordinal) {
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
  for (Handle *event : {&begin, &end})
    if (Error error = check(driver.eventCreate(event, 0), "cuEventCreate"))
      return error;
  return {};
}

CudaCard::~CudaCard() {
  if (!context)
    return;
  Context::Scope scope(*context);
  const Driver &driver = context->getDriver();
  if (stream)
    (void)driver.streamSynchronize(stream);
  for (Address address : memory)
    (void)driver.memFree(address);
  for (Handle module : modules)
    (void)driver.moduleUnload(module);
  for (Handle event : {begin, end})
    if (event)
      (void)driver.eventDestroy(event);
  if (stream)
    (void)driver.streamDestroy(stream);
}

Error CudaCard::describe() {
  const Driver &driver = context->getDriver();
  char name[128] = {};
  int l2 = 0, sms = 0, version = driver.getVersion();
  DeviceNumber device = context->getDevice();
  if (Error error = check(driver.deviceGetName(name, int(sizeof name - 1), device), "cuDeviceGetName"))
    return error;
  if (Error error = check(driver.deviceGetAttribute(&l2, L2CacheBytes, device), "cuDeviceGetAttribute"))
    return error;
  if (Error error = check(driver.deviceGetAttribute(&sms, MultiprocessorCount, device), "cuDeviceGetAttribute"))
    return error;
  description = {name,
                 context->getArchitecture(),
                 "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10),
                 sms,
                 l2,
                 false};
  return {};
}

Error CudaCard::load(const std::string &ptx) {
  Context::Scope scope(*context);
  Handle module = nullptr;
  if (Error error =
          check(context->getDriver().moduleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx"))
    return error;
  modules.push_back(module);
  return {};
}

Error CudaCard::allocate(uint64_t bytes, uint64_t &address) {
  Context::Scope scope(*context);
  const Driver &driver = context->getDriver();
  if (Error error = check(driver.memAlloc(&address, bytes), "cuMemAlloc"))
    return error;
  memory.push_back(address);
  if (Error error = check(driver.memsetBytes(address, 0, bytes, stream), "cuMemsetD8Async"))
    return error;
  return check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

Error CudaCard::read(uint64_t address, void *target, uint64_t bytes) {
  Context::Scope scope(*context);
  const Driver &driver = context->getDriver();
  if (Error error = check(driver.memcpyToHost(target, address, bytes, stream), "cuMemcpyDtoHAsync"))
    return error;
  return check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

Error CudaCard::start(const KernelStart &start) {
  const Driver &driver = context->getDriver();
  Handle function = nullptr;
  for (Handle module : modules)
    if (driver.moduleGetFunction(&function, module, start.entry.c_str()) == result::Success)
      break;
  if (!function)
    return Error(ErrorCode::Internal, "no kernel " + bundle::quote(start.entry));
  std::vector<uint64_t> values = start.parameters;
  std::vector<void *> parameters;
  for (uint64_t &value : values)
    parameters.push_back(&value);
  LaunchConfig config = {{unsigned(start.grid), 1, 1}, {unsigned(start.block), 1, 1}, 0, stream, nullptr, 0};
  return check(driver.launchKernelEx(&config, function, parameters.data(), nullptr), "cuLaunchKernelEx");
}

Error CudaCard::time(const KernelStart &kernel, int count, double &seconds) {
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  const Driver &driver = context->getDriver();
  if (Error error = check(driver.eventRecord(begin, stream), "cuEventRecord"))
    return error;
  for (int i = 0; i < count; ++i)
    if (Error error = start(kernel))
      return error;
  if (Error error = check(driver.eventRecord(end, stream), "cuEventRecord"))
    return error;
  if (Error error = check(driver.streamSynchronize(stream), "cuStreamSynchronize"))
    return error;
  float milliseconds = 0;
  if (Error error = check(driver.eventElapsedTime(&milliseconds, begin, end), "cuEventElapsedTime"))
    return error;
  seconds = 1e-3 * double(milliseconds);
  return {};
}

Error calibrate::openCudaCard(unsigned ordinal, std::unique_ptr<CalibratedCard> &card) {
  auto created = std::make_unique<CudaCard>();
  if (Error error = created->open(ordinal))
    return error;
  card = std::move(created);
  return {};
}
