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

#include "../Session/WeightOrder.h"

#include <cinttypes>

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

static constexpr uint64_t kAlignment = 256;

/// Host memory for weights in the order in which kernels see them, before they are waited for.
static constexpr uint64_t kStagingBytes = 64 << 20;

static uint64_t align(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Whether kernels can read the caller's memory.
static bool isInPlace(const ReadOnlyData &item) {
  return item.card >= 0 && !item.order && reinterpret_cast<Address>(item.data) % kBufferAlignment == 0;
}

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
    if (isInPlace(item))
      addresses.emplace(item.id, reinterpret_cast<Address>(item.data));
    else if (!addresses.count(item.id) && missing.emplace(item.id, &item).second)
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

Error CudaData::order(const ReadOnlyData &item, Handle stream, AlignedMemory &result) const {
  const void *data = item.data;
  AlignedMemory fetched;
  if (item.card >= 0) {
    if (!fetched.allocate(item.bytes))
      return makeError(ErrorCode::Resource, "no memory for %" PRIu64 " bytes of the host", item.bytes);
    const Driver &driver = context->getDriver();
    if (Error error =
            driver.check(driver.memcpyToHost(fetched.get(), reinterpret_cast<Address>(item.data), item.bytes, stream),
                         "cuMemcpyDtoHAsync"))
      return error;
    if (Error error = driver.check(driver.streamSynchronize(stream), "cuStreamSynchronize"))
      return error;
    data = fetched.get();
  }
  return reorderWeight(*item.order, data, item.bytes, result);
}

/// Starts copying the items to `block`; `items` are in use until the stream has been waited for, but what is made here
/// for their sake is waited for here.
Error CudaData::upload(const std::vector<ReadOnlyData *> &items, Address block, Handle stream) const {
  const Driver &driver = context->getDriver();
  auto wait = [&] { return driver.check(driver.streamSynchronize(stream), "cuStreamSynchronize"); };
  std::vector<AlignedMemory> staging;
  uint64_t staged = 0;
  Error error;
  for (const ReadOnlyData *item : items) {
    const void *data = item->data;
    if (item->order) {
      error = order(*item, stream, staging.emplace_back());
      data = staging.back().get();
      staged += item->bytes;
    }
    if (item->bytes && !error)
      error = item->card >= 0 && !item->order
                  ? driver.check(driver.memcpyOnDevice(block, reinterpret_cast<Address>(data), item->bytes, stream),
                                 "cuMemcpyDtoDAsync")
                  : driver.check(driver.memcpyToDevice(block, data, item->bytes, stream), "cuMemcpyHtoDAsync");
    if (!error && staged > kStagingBytes) {
      error = wait();
      staging.clear();
      staged = 0;
    }
    if (error)
      break;
    block += align(item->bytes);
  }
  if (!staging.empty())
    if (Error waiting = wait(); waiting && !error) // Also after a failure: copies that were started use the memory.
      error = std::move(waiting);
  return error;
}

Error CudaData::copy(const std::vector<ReadOnlyData *> &missing, uint64_t bytes, Handle stream) {
  const Driver &driver = context->getDriver();
  Address block = 0;
  if (Error error = driver.check(driver.memAlloc(&block, bytes), "cuMemAlloc"))
    return error;
  Error error = upload(missing, block, stream);
  // Also after a failure: copies that were started use the memory.
  Error waiting = driver.check(driver.streamSynchronize(stream), "cuStreamSynchronize");
  if (!error)
    error = std::move(waiting);
  if (error) {
    (void)driver.memFree(block);
    return error;
  }
  blocks.push_back(block);
  Address next = block;
  for (const ReadOnlyData *item : missing) {
    addresses[item->id] = next;
    next += align(item->bytes);
  }
  return {};
}
