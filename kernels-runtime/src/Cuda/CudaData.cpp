//===- CudaData.cpp - Weights on a card ---------------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// See the header. The memory belongs to no stream, since sessions come and go with theirs.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "CudaData.h"

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

static constexpr uint64_t kAlignment = 256;

static uint64_t align(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

CudaData::~CudaData() {
  Context::Scope scope(*context);
  for (Address block : blocks)
    (void)context->getDriver().memFree(block);
}

Error CudaData::place(std::vector<ReadOnlyData> &items, Handle stream) {
  std::lock_guard<std::mutex> lock(mutex);
  Context::Scope scope(*context);
  if (Error error = scope.check())
    return error;
  std::map<uint32_t, ReadOnlyData *> missing; // An entry may use one weight as two buffers.
  uint64_t bytes = 0;
  for (ReadOnlyData &item : items)
    if (!addresses.count(item.id) && missing.emplace(item.id, &item).second)
      bytes += align(item.bytes);
  std::vector<ReadOnlyData *> list;
  for (auto [id, item] : missing)
    list.push_back(item);
  if (bytes)
    if (Error error = copy(list, bytes, stream))
      return std::move(error).within(std::to_string(bytes) + " bytes of weights");
  for (ReadOnlyData &item : items) {
    auto found = addresses.find(item.id);
    // An address of the card, not of the host. NOLINTNEXTLINE(performance-no-int-to-ptr)
    item.address = found == addresses.end() ? nullptr : reinterpret_cast<void *>(found->second);
  }
  return {};
}

Error CudaData::copy(const std::vector<ReadOnlyData *> &missing, uint64_t bytes, Handle stream) {
  const Driver &driver = context->getDriver();
  Address block = 0;
  if (Error error = driver.check(driver.memAlloc(&block, bytes), "cuMemAlloc"))
    return error;
  Error error;
  Address next = block;
  for (const ReadOnlyData *item : missing) {
    if (item->bytes && !error)
      error = driver.check(driver.memcpyToDevice(next, item->data, item->bytes, stream), "cuMemcpyHtoDAsync");
    next += align(item->bytes);
  }
  // Also after a failure: copies that were started use the memory.
  Error waiting = driver.check(driver.streamSynchronize(stream), "cuStreamSynchronize");
  if (!error)
    error = std::move(waiting);
  if (error) {
    (void)driver.memFree(block);
    return error;
  }
  blocks.push_back(block);
  next = block;
  for (const ReadOnlyData *item : missing) {
    addresses[item->id] = next;
    next += align(item->bytes);
  }
  return {};
}
