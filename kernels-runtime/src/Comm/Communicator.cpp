// The ranks of a program together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which transport, and that one failure is all ranks' failure.
#include "Communicator.h"

#include "../Device.h"
#include "NcclTransport.h"

using namespace weft;
using namespace weft::bundle;

std::string weft::describe(const Collective &collective) {
  static constexpr const char *kinds[] = {"?", "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  return kinds[unsigned(collective.kind)] + std::string(" ") + quote(collective.name);
}

Error Communicator::create(const CommunicatorOptions &options, std::shared_ptr<Communicator> &result) {
  if (options.ranks < 1 || options.ranks > kMaxRanks || options.rank >= options.ranks)
    return makeError(ErrorCode::Usage, "expected a rank below the number of ranks, of 1 to %u, got rank %u of %u",
                     kMaxRanks, options.rank, options.ranks);
  if (!options.transport.empty() && options.transport != "host" && options.transport != "nccl")
    return Error(ErrorCode::Usage, "expected the transport host or nccl, got " + quote(options.transport));
  if (options.timeoutMs < 1)
    return makeError(ErrorCode::Usage, "expected a time-out of at least 1 ms, got %lld", (long long)options.timeoutMs);
  std::shared_ptr<Communicator> created(new Communicator(options));
  if (Error error = created->links.connect(options))
    return error;
  result = std::move(created);
  return {};
}

Communicator::~Communicator() { transport.reset(); }

void Communicator::detach() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (--sessions == 0)
    transport.reset();
}

Error Communicator::attach(Device &device) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (failure)
    return failure;
  const DeviceCapabilities &capabilities = device.getCapabilities();
  uint8_t wish = options.transport == "nccl" || (options.transport.empty() && capabilities.card >= 0);
  std::vector<uint8_t> wishes(options.ranks, wish);
  std::vector<Links::Transfer> transfers(options.ranks);
  for (uint32_t i = 0; i < options.ranks; ++i)
    transfers[i] = {&wish, 1, &wishes[i], 1};
  failure = links.exchange({0, 0, 0, attachments++, 1}, transfers, "session on " + std::string(capabilities.name));
  if (failure)
    return failure;
  wishes[options.rank] = wish;
  for (uint32_t i = 0; i < options.ranks; ++i)
    if (wishes[i] != wish)
      return failure =
                 Error(ErrorCode::Usage, "rank " + std::to_string(options.rank) +
                                             ": expected sessions of all "
                                             "ranks on GPUs with NCCL, or of all without, got another one of rank " +
                                             std::to_string(i));
  if (transport && attached != capabilities.name)
    return failure = Error(ErrorCode::Usage, "expected the sessions of a communicator on one device, " +
                                                 quote(attached) + ", got one on " + quote(capabilities.name));
  if (!transport && !wish)
    transport = createHostTransport(options, links);
  else if (!transport)
    failure = createNcclTransport(options, links, device, transport);
  attached = capabilities.name;
  sessions += !failure;
  return failure;
}

Error Communicator::begin(const std::vector<Collective> *collectives) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return failure ? failure : fail(transport->begin(collectives));
}

Error Communicator::run(const Collective &collective, Device &device) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return failure ? failure : fail(transport->run(collective, device));
}

Error Communicator::runBeside(const Collective &collective, Device &device) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return failure ? failure : fail(transport->runBeside(collective, device));
}

Error Communicator::await(size_t left, Device &device) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return failure ? failure : fail(transport->await(left, device));
}

Error Communicator::wait(Device &device) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return failure ? failure : fail(transport->wait(device));
}

void Communicator::abort(std::string_view reason) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (!failure)
    (void)fail(Error(ErrorCode::Device, "rank " + std::to_string(options.rank) + ": " + std::string(reason)));
}

/// The others hear of it, if they have not: a rank that fails must not look as if it had done its part.
Error Communicator::fail(Error error) {
  if (!error)
    return error;
  failure = std::move(error);
  links.cancel(); // A collective beside this thread holds them.
  links.abort(failure.getMessage());
  if (transport)
    transport->abort();
  return failure;
}
