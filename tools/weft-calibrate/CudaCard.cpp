// A GPU behind the CUDA driver, which is loaded at run time; times between two events of a stream.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CalibratedCard.h"

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

private:
  Error run(const KernelStart &start, int count, double &seconds) override;
  Error start(const KernelStart &start);

  tools::TimedCard card;
  CardDescription description;
  std::vector<Handle> modules;
};
} // namespace

/// Events of the GPU.
static constexpr size_t kBegin = 0, kEnd = 1, kEvents = 2;

Error CudaCard::open(unsigned ordinal) {
  if (Error error = card.open(ordinal, kEvents))
    return error;
  description = {card.getProperties(), /*isEmulated=*/false};
  return {};
}

CudaCard::~CudaCard() {
  if (modules.empty())
    return;
  Context::Scope scope(card.getContext());
  (void)card.wait();
  for (Handle module : modules)
    (void)card.getDriver().moduleUnload(module);
}

Error CudaCard::load(const std::string &ptx) {
  Context::Scope scope(card.getContext());
  Handle module = nullptr;
  if (Error error = card.check(card.getDriver().moduleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr),
                               "cuModuleLoadDataEx"))
    return error;
  modules.push_back(module);
  return {};
}

Error CudaCard::allocate(uint64_t bytes, uint64_t &address) {
  Context::Scope scope(card.getContext());
  if (Error error = card.allocate(bytes, address))
    return error;
  if (Error error = card.check(card.getDriver().memsetBytes(address, 0, bytes, card.getStream()), "cuMemsetD8Async"))
    return error;
  return card.wait();
}

Error CudaCard::read(uint64_t address, void *target, uint64_t bytes) {
  Context::Scope scope(card.getContext());
  if (Error error =
          card.check(card.getDriver().memcpyToHost(target, address, bytes, card.getStream()), "cuMemcpyDtoHAsync"))
    return error;
  return card.wait();
}

Error CudaCard::start(const KernelStart &start) {
  const Driver &driver = card.getDriver();
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
  LaunchConfig config = {{unsigned(start.grid), 1, 1}, {unsigned(start.block), 1, 1}, 0, card.getStream(), nullptr, 0};
  return card.check(driver.launchKernelEx(&config, function, parameters.data(), nullptr), "cuLaunchKernelEx");
}

Error CudaCard::run(const KernelStart &kernel, int count, double &seconds) {
  Context::Scope scope(card.getContext());
  if (Error error = scope.check())
    return error;
  if (Error error = card.record(kBegin))
    return error;
  for (int i = 0; i < count; ++i)
    if (Error error = start(kernel))
      return error;
  if (Error error = card.record(kEnd))
    return error;
  if (Error error = card.wait())
    return error;
  if (Error error = card.getMilliseconds(kBegin, kEnd, seconds))
    return error;
  seconds *= 1e-3;
  return {};
}

Error calibrate::openCudaCard(unsigned ordinal, std::unique_ptr<CalibratedCard> &card) {
  auto created = std::make_unique<CudaCard>();
  if (Error error = created->open(ordinal))
    return error;
  card = std::move(created);
  return {};
}
