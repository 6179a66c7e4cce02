// Weights on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. The memory belongs to no stream, since sessions come and go with theirs.
#include "CudaData.h"

#include <algorithm>

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

static constexpr uint64_t kAlignment = 256;

static uint64_t align(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Where kernels can read the caller's memory; null: nowhere.
static const uint8_t *findInPlace(const ReadOnlyData &item) {
  return item.card >= 0 ? item.view.findInPlace() : nullptr;
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
    if (const uint8_t *place = findInPlace(item))
      addresses.emplace(item.id, reinterpret_cast<Address>(place));
    else if (!addresses.count(item.id) && missing.emplace(item.id, &item).second)
      bytes += align(item.view.getBytes());
  std::vector<ReadOnlyData *> list;
  for (auto [id, item] : missing)
    list.push_back(item);
  if (bytes)
    if (Error error = copy(list, bytes, stream))
      return std::move(error).within(std::to_string(bytes) + " bytes of weights");
  for (ReadOnlyData &item : items) {
    auto found = addresses.find(item.id);
    // An address of the GPU, not of the host. NOLINTNEXTLINE(performance-no-int-to-ptr)
    item.address = found == addresses.end() ? nullptr : reinterpret_cast<void *>(found->second);
  }
  return {};
}

/// Whether the item is copied before kernels put it in order.
static bool isStaged(const ReadOnlyData &item) { return item.view.order && (item.card < 0 || !item.view.findPiece()); }

/// Memory of the GPU in which weights of the host lie as they are stored, until kernels have put them in order.
class CudaData::Staging {
public:
  Staging(const Driver &driver, Handle stream) : driver(driver), stream(stream) {}
  ~Staging() {
    (void)driver.streamSynchronize(stream); // Kernels that were started use it.
    if (address)
      (void)driver.memFree(address);
  }
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;

  Error allocate(const std::vector<ReadOnlyData *> &items) {
    uint64_t bytes = 0;
    for (const ReadOnlyData *item : items)
      if (isStaged(*item))
        bytes = std::max(bytes, item->view.getBytes());
    return bytes ? driver.check(driver.memAlloc(&address, bytes), "cuMemAlloc") : Error();
  }
  Address get() const { return address; }

private:
  const Driver &driver;
  Handle stream;
  Address address = 0;
};

/// Starts copying what the rank sees of `item`, in the order in which it is stored, to `target`.
Error CudaData::copyPart(const ReadOnlyData &item, Address target, Handle stream) const {
  const Driver &driver = context->getDriver();
  const WeightView &view = item.view;
  auto fromCard = [&](Address to, const uint8_t *from, uint64_t bytes) {
    return driver.check(driver.memcpyOnDevice(to, reinterpret_cast<Address>(from), bytes, stream), "cuMemcpyDtoDAsync");
  };
  auto fromHost = [&](const void *from) {
    return driver.check(driver.memcpyToDevice(target, from, view.getBytes(), stream), "cuMemcpyHtoDAsync");
  };
  if (const uint8_t *piece = view.findPiece())
    return item.card >= 0 ? fromCard(target, piece, view.getBytes()) : fromHost(piece);
  if (item.card >= 0) {
    Error error;
    const uint8_t *row = static_cast<const uint8_t *>(view.stored) + view.rank * view.part->pieceBytes;
    for (uint64_t i = 0; i < view.part->outer && !error; ++i, row += view.part->parts * view.part->pieceBytes)
      error = fromCard(target + i * view.part->pieceBytes, row, view.part->pieceBytes);
    return error;
  }
  AlignedMemory gathered;
  if (Error error = gatherPart(view, gathered))
    return error;
  Error error = fromHost(gathered.get());
  Error waiting = driver.check(driver.streamSynchronize(stream), "cuStreamSynchronize");
  return error ? std::move(error) : std::move(waiting);
}

/// Starts making at `block` what kernels see of `item`.
Error CudaData::upload(const ReadOnlyData &item, Address block, Address staging, CudaOrder &order,
                       Handle stream) const {
  const WeightView &view = item.view;
  if (view.getBytes() == 0)
    return {};
  if (!view.order)
    return copyPart(item, block, stream);
  if (!isStaged(item))
    return order.start(*view.order, reinterpret_cast<Address>(view.findPiece()), block, stream);
  if (Error error = copyPart(item, staging, stream))
    return error;
  return order.start(*view.order, staging, block, stream);
}

/// Starts copying the items to `block`; they are in use until the stream has been waited for.
Error CudaData::upload(const std::vector<ReadOnlyData *> &items, Address block, Handle stream) const {
  CudaOrder order(context->getDriver());
  Staging staging(context->getDriver(), stream);
  if (Error error = staging.allocate(items))
    return error;
  for (const ReadOnlyData *item : items) {
    if (Error error = upload(*item, block, staging.get(), order, stream))
      return error;
    block += align(item->view.getBytes());
  }
  return {};
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
    next += align(item->view.getBytes());
  }
  return {};
}
